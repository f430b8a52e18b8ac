//! Classifies replies of services: done, refused, retry later, or ambiguous. It sends nothing.

use serde_json::Value;

/// The meaning of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyClass {
    /// A complete reply says that it is done.
    Done,
    /// Refused: nothing happened, and the same request would be refused again.
    Refused,
    /// The expected version does not match: nothing happened.
    Outdated,
    /// The idempotency key was used for another request.
    KeyTaken,
    /// A request with this key is still running.
    InFlight,
    /// Locked, or another operation is in progress.
    Busy,
    /// Too many requests; whether this one was executed is unknown.
    Limited,
    /// The service failed; whether the request was executed is unknown.
    Failed,
    /// No reply, or one that is incomplete or invalid.
    Lost,
}

/// A reply and its meaning.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) class: ReplyClass,
    /// The status; `None` where no head of a reply was received.
    pub(super) status: Option<u16>,
    /// The value of `Retry-After`, in seconds.
    pub(super) retry_after: Option<u64>,
    /// Whether the service replayed an earlier reply for this key.
    pub(super) replayed: bool,
    /// Whether the service says that the same request can be retried.
    pub(super) is_safe_to_retry: Option<bool>,
    /// The body; `null` where there is none.
    pub(super) body: Value,
}

impl Reply {
    /// No complete reply was received.
    pub(super) const fn lost() -> Self {
        Reply::bare(ReplyClass::Lost, None)
    }

    /// A reply with a class and nothing else.
    pub(super) const fn bare(class: ReplyClass, status: Option<u16>) -> Self {
        Reply { class, status, retry_after: None, replayed: false, is_safe_to_retry: None, body: Value::Null }
    }

    /// Reads a complete reply.
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
            is_safe_to_retry: flag("stripe-should-retry").or_else(|| flag("x-should-retry")),
            body: parsed.unwrap_or_default(),
        }
    }

    /// Whether it is unknown what happened.
    pub(super) const fn is_ambiguous(&self) -> bool {
        matches!(self.class, ReplyClass::Limited | ReplyClass::Failed | ReplyClass::Lost)
    }

    /// Whether the same request, sent again, would be refused again.
    pub(super) const fn is_final(&self) -> bool {
        matches!(
            self.class,
            ReplyClass::Done | ReplyClass::Refused | ReplyClass::Outdated | ReplyClass::KeyTaken
        )
    }
}

fn class(status: u16, body: Option<&Value>, is_empty: bool) -> ReplyClass {
    match status {
        // These statuses have a body; without it the reply is incomplete.
        200 | 201 if is_empty => ReplyClass::Lost,
        200..=299 if body.is_none() => ReplyClass::Lost,
        200..=299 => ReplyClass::Done,
        400 | 422 if is_key_error(body) => ReplyClass::KeyTaken,
        409 if names(body, &["invalid_idempotent_request"]) => ReplyClass::KeyTaken,
        409 if is_key_error(body) => ReplyClass::InFlight,
        409 | 423 => ReplyClass::Busy,
        412 => ReplyClass::Outdated,
        429 => ReplyClass::Limited,
        408 | 425 => ReplyClass::Failed,
        400..=499 => ReplyClass::Refused,
        _ => ReplyClass::Failed,
    }
}

/// Whether an error is about the idempotency key and not about the request.
fn is_key_error(body: Option<&Value>) -> bool {
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

/// Whether the error has one of these words as its type, code or name.
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

    fn of(status: u16, body: &Value) -> ReplyClass {
        Reply::read(status, |_| None, body.to_string().as_bytes()).class
    }

    #[test]
    fn a_complete_success_is_done_and_an_incomplete_one_is_lost() {
        assert_eq!(of(200, &json!({"id": "ch_1"})), ReplyClass::Done);
        assert_eq!(Reply::read(202, |_| None, b"").class, ReplyClass::Done);
        assert_eq!(Reply::read(204, |_| None, b"").class, ReplyClass::Done);
        assert_eq!(Reply::read(200, |_| None, b"").class, ReplyClass::Lost);
        assert_eq!(Reply::read(200, |_| None, b"{\"id\": \"ch").class, ReplyClass::Lost);
    }

    #[test]
    fn refusals_conflicts_and_failures_are_distinguished() {
        for status in [400, 401, 402, 403, 404, 405, 413, 422, 428] {
            assert_eq!(
                of(status, &json!({"error": {"code": "card_declined"}})),
                ReplyClass::Refused,
                "{status}"
            );
        }
        for (status, class) in [
            (412, ReplyClass::Outdated),
            (409, ReplyClass::Busy),
            (429, ReplyClass::Limited),
            (500, ReplyClass::Failed),
        ] {
            assert_eq!(of(status, &json!({"error": "locked"})), class, "{status}");
        }
        assert_eq!([of(408, &json!({})), of(504, &json!({})), of(302, &json!({}))], [ReplyClass::Failed; 3]);
    }

    #[test]
    fn the_key_errors_of_every_profile_are_recognized() {
        let in_flight = [
            json!({"error": {"code": "idempotency_key_in_use", "type": "idempotency_error"}}),
            json!({"title": "A request is outstanding for this Idempotency-Key"}),
            json!({"type": "invalid_request", "code": "idempotency_in_flight"}),
            json!({"name": "concurrent_idempotent_requests"}),
        ];
        for body in &in_flight {
            assert_eq!(of(409, body), ReplyClass::InFlight, "{body}");
        }
        for (status, body) in [
            (400, json!({"error": {"type": "idempotency_error"}})),
            (422, json!({"title": "Idempotency-Key is already used"})),
            (422, json!({"code": "idempotency_conflict"})),
            (409, json!({"name": "invalid_idempotent_request"})),
        ] {
            assert_eq!(of(status, &body), ReplyClass::KeyTaken, "{body}");
        }
        assert_eq!(of(400, &json!({"title": "Idempotency-Key is missing"})), ReplyClass::Refused);
        assert_eq!(of(400, &json!({"code": "idempotency_key_required"})), ReplyClass::Refused);
    }

    #[test]
    fn headers_have_the_wait_and_whether_the_reply_was_replayed() {
        let header = |name: &str| match name {
            "retry-after" => Some(" 2 ".to_owned()),
            "idempotent-replayed" => Some("true".to_owned()),
            "stripe-should-retry" => Some("False".to_owned()),
            _ => None,
        };
        let reply = Reply::read(500, header, b"{}");
        assert_eq!((reply.retry_after, reply.replayed, reply.is_safe_to_retry), (Some(2), true, Some(false)));
        assert!(reply.is_ambiguous() && !reply.is_final());
    }
}
