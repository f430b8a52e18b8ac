//! What an answer means to its caller: whether it was done, refused, put off, or whether nobody can tell. It
//! sends nothing.

use serde_json::Value;

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A whole answer says that it is done.
    Done,
    /// A true refusal: nothing happened, and the same again would be refused again.
    Refused,
    /// The condition on the version does not hold: nothing happened.
    Outdated,
    /// The key was used for something else.
    KeyTaken,
    /// A request with this key is still running.
    InFlight,
    /// Somebody else is at it: a lock, a roll-out.
    Busy,
    /// Too many requests; nobody can tell whether this one counted.
    Limited,
    /// The service failed; nobody can tell how far it had come.
    Failed,
    /// No answer, or one that is torn or cannot be read.
    Lost,
}

/// An answer and what a caller can take from it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) class: Class,
    /// The status; none where no head of an answer came.
    pub(super) status: Option<u16>,
    /// For how many seconds the service asks to be left alone.
    pub(super) retry_after: Option<u64>,
    /// Whether the service says that it had answered this key before.
    pub(super) replayed: bool,
    /// Whether the service says that the same may be sent again.
    pub(super) may_repeat: Option<bool>,
    /// The body; `null` where there is none.
    pub(super) body: Value,
}

impl Reply {
    /// Nothing came, or nothing whole.
    pub(super) const fn lost() -> Self {
        Reply::bare(Class::Lost, None)
    }

    /// An answer of which nothing is known but what it means.
    pub(super) const fn bare(class: Class, status: Option<u16>) -> Self {
        Reply { class, status, retry_after: None, replayed: false, may_repeat: None, body: Value::Null }
    }

    /// Reads a whole answer.
    pub(super) fn read(status: u16, header: impl Fn(&str) -> Option<String>, body: &[u8]) -> Self {
        let parsed = if body.is_empty() { Some(Value::Null) } else { serde_json::from_slice(body).ok() };
        let flag = |name: &str| {
            header(name).and_then(|value| value.trim().to_ascii_lowercase().parse::<bool>().ok())
        };
        Reply {
            class: class(status, parsed.as_ref(), body.is_empty()),
            status: Some(status),
            retry_after: header("retry-after").and_then(|value| value.trim().parse().ok()),
            replayed: flag("idempotent-replayed").unwrap_or(false),
            may_repeat: flag("stripe-should-retry").or_else(|| flag("x-should-retry")),
            body: parsed.unwrap_or_default(),
        }
    }

    /// Whether nobody can tell from it what happened.
    pub(super) const fn is_doubtful(&self) -> bool {
        matches!(self.class, Class::Limited | Class::Failed | Class::Lost)
    }

    /// Whether the same request, sent again, would be refused again.
    pub(super) const fn is_final(&self) -> bool {
        matches!(self.class, Class::Done | Class::Refused | Class::Outdated | Class::KeyTaken)
    }
}

fn class(status: u16, body: Option<&Value>, is_empty: bool) -> Class {
    match status {
        // A body that is due and does not come is as good as none at all.
        200 | 201 if is_empty => Class::Lost,
        200..=299 if body.is_none() => Class::Lost,
        200..=299 => Class::Done,
        400 | 422 if speaks_of_keys(body) => Class::KeyTaken,
        409 if names(body, &["invalid_idempotent_request"]) => Class::KeyTaken,
        409 if speaks_of_keys(body) => Class::InFlight,
        409 | 423 => Class::Busy,
        412 => Class::Outdated,
        429 => Class::Limited,
        408 | 425 => Class::Failed,
        400..=499 => Class::Refused,
        _ => Class::Failed,
    }
}

/// Whether an error is about the idempotency key and not about the request.
fn speaks_of_keys(body: Option<&Value>) -> bool {
    let words = [
        "idempotency_error",
        "idempotency_key_in_use",
        "idempotency_in_flight",
        "idempotency_conflict",
        "concurrent_idempotent_requests",
    ];
    let title = body.and_then(|body| body.get("title")).and_then(Value::as_str).unwrap_or_default();
    names(body, &words)
        || (title.contains("Idempotency-Key") && !title.contains("missing") && !title.contains("invalid"))
}

/// Whether one of these words stands where errors have their names.
fn names(body: Option<&Value>, words: &[&str]) -> bool {
    let Some(body) = body else { return false };
    let error = body.get("error").unwrap_or(body);
    let found = ["type", "code", "name"].iter().filter_map(|place| error.get(place)?.as_str());
    found.into_iter().any(|word| words.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(status: u16, body: &Value) -> Class {
        Reply::read(status, |_| None, body.to_string().as_bytes()).class
    }

    #[test]
    fn a_whole_success_is_done_and_a_torn_one_is_lost() {
        assert_eq!(of(200, &json!({"id": "ch_1"})), Class::Done);
        assert_eq!(Reply::read(202, |_| None, b"").class, Class::Done);
        assert_eq!(Reply::read(204, |_| None, b"").class, Class::Done);
        assert_eq!(Reply::read(200, |_| None, b"").class, Class::Lost);
        assert_eq!(Reply::read(200, |_| None, b"{\"id\": \"ch").class, Class::Lost);
    }

    #[test]
    fn refusals_are_told_from_conflicts_and_failures() {
        for status in [400, 401, 402, 403, 404, 405, 413, 422, 428] {
            assert_eq!(of(status, &json!({"error": {"code": "card_declined"}})), Class::Refused, "{status}");
        }
        for (status, class) in
            [(412, Class::Outdated), (409, Class::Busy), (429, Class::Limited), (500, Class::Failed)]
        {
            assert_eq!(of(status, &json!({"error": "locked"})), class, "{status}");
        }
        assert_eq!([of(408, &json!({})), of(504, &json!({})), of(302, &json!({}))], [Class::Failed; 3]);
    }

    #[test]
    fn every_profile_is_understood_when_it_speaks_of_a_key() {
        let in_flight = [
            json!({"error": {"code": "idempotency_key_in_use", "type": "idempotency_error"}}),
            json!({"title": "A request is outstanding for this Idempotency-Key"}),
            json!({"type": "invalid_request", "code": "idempotency_in_flight"}),
            json!({"name": "concurrent_idempotent_requests"}),
        ];
        for body in &in_flight {
            assert_eq!(of(409, body), Class::InFlight, "{body}");
        }
        for (status, body) in [
            (400, json!({"error": {"type": "idempotency_error"}})),
            (422, json!({"title": "Idempotency-Key is already used"})),
            (422, json!({"code": "idempotency_conflict"})),
            (409, json!({"name": "invalid_idempotent_request"})),
        ] {
            assert_eq!(of(status, &body), Class::KeyTaken, "{body}");
        }
        assert_eq!(of(400, &json!({"title": "Idempotency-Key is missing"})), Class::Refused);
        assert_eq!(of(400, &json!({"code": "idempotency_key_required"})), Class::Refused);
    }

    #[test]
    fn headers_say_how_long_to_wait_and_whether_it_was_said_before() {
        let header = |name: &str| match name {
            "retry-after" => Some(" 2 ".to_owned()),
            "idempotent-replayed" => Some("true".to_owned()),
            "stripe-should-retry" => Some("False".to_owned()),
            _ => None,
        };
        let reply = Reply::read(500, header, b"{}");
        assert_eq!((reply.retry_after, reply.replayed, reply.may_repeat), (Some(2), true, Some(false)));
        assert!(reply.is_doubtful() && !reply.is_final());
    }
}
