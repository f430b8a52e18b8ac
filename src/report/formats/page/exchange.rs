//! What the ledger keeps of a request, an effect and a reply, for the page to show on demand: the recognized
//! fields, and the headers and the body as text, with secrets redacted.

use mock_services::ledger::{Entry, Event, RefusedRequest};
use mock_services::service::Fields;

/// The maximum number of fields of an entry that are shown.
const MAX_FIELDS: usize = 60;

/// The name of the headers and the body.
const AS_SENT: &str = "as sent";

/// Names and values of an entry; none if its text says everything.
pub(super) fn facts_of(entry: &Entry) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut push = |name: &str, value: String| facts.push((name.to_owned(), value));
    match &entry.event {
        Event::Received(received) => {
            push("request", format!("{} {}", received.method, received.path));
            if let Some(key) = &received.key {
                push("idempotency key", key.to_string());
            }
            if received.replay {
                push("stored answer", "the service had an answer under this key".to_owned());
            }
            if let Some(first) = received.repeats {
                push("same bytes as", format!("attempt {first}"));
            }
            push("connection", received.connection.to_string());
            if let Some(message) = &received.message {
                push(AS_SENT, message.to_string());
            } else {
                push_fields(&mut facts, "header ", &received.client);
            }
            push_fields(&mut facts, "", &received.fields);
        }
        Event::Refused(refused) => {
            let RefusedRequest { method, path, status, key, reason, connection, message, answer, .. } =
                &**refused;
            push("request", format!("{method} {path}"));
            if let Some(key) = key {
                push("idempotency key", key.to_string());
            }
            push("connection", connection.to_string());
            if *status != 0 {
                push("status", status.to_string());
            }
            if let Some(reason) = reason {
                push("reason", reason.to_string());
            }
            if let Some(message) = message {
                push(AS_SENT, message.to_string());
            }
            if let Some(answer) = answer {
                push("answer", answer.to_string());
            }
        }
        Event::Committed { effect, id, fields, timing, .. } => {
            push("effect", effect.to_string());
            push("id", id.to_string());
            push("timing", timing.to_string());
            push_fields(&mut facts, "", fields);
        }
        Event::Withheld { effect, id, fields, .. } => {
            push("effect", format!("{effect}, not committed"));
            push("id", id.to_string());
            push_fields(&mut facts, "", fields);
        }
        Event::Replied { reply, status, bytes, whole, replay, retry_after, message, .. } => {
            push("reply", reply.to_string());
            if let Some(status) = status {
                push("status", status.to_string());
            }
            let part = if *whole { "the whole answer" } else { "not the whole answer" };
            push("sent", format!("{bytes} bytes, {part}"));
            if *replay {
                push("replay", "the answer that is stored under the key".to_owned());
            }
            if let Some(seconds) = retry_after {
                push("Retry-After", format!("{seconds} s"));
            }
            if let Some(message) = message {
                let is_as_sent = *whole && reply.can_be_parsed();
                push(if is_as_sent { AS_SENT } else { "answer before the fault" }, message.to_string());
            }
        }
        Event::Opened { .. }
        | Event::Fault { .. }
        | Event::Reverted { .. }
        | Event::Lapsed { .. }
        | Event::Unsent { .. }
        | Event::Closed { .. }
        | Event::Barrier { .. }
        | Event::Noted { .. }
        | Event::End { .. } => {}
    }
    facts
}

fn push_fields(facts: &mut Vec<(String, String)>, before: &str, fields: &Fields) {
    let shown = fields.iter().take(MAX_FIELDS);
    facts.extend(shown.map(|(name, value)| (format!("{before}{name}"), value.to_string())));
    let more = fields.len().saturating_sub(MAX_FIELDS);
    if more > 0 {
        facts.push((
            "more".to_owned(),
            format!("{more} other fields; report.json and ledger.jsonl have them"),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn a_request_has_its_key_and_fields_and_a_reply_what_was_sent() {
        let (_, saved) = sample::double_charge("none");
        let facts: Vec<Vec<(String, String)>> = saved.entries.iter().map(facts_of).collect();
        let has = |name: &str, value: &str| {
            facts.iter().flatten().any(|(have, is)| have == name && is.contains(value))
        };
        for (name, value) in [
            ("request", "POST /v1/charges"),
            ("idempotency key", "a1f0"),
            ("amount", "4999"),
            ("effect", "payment.charge"),
            ("sent", "0 bytes, not the whole answer"),
            ("status", "200"),
            (AS_SENT, "amount=4999&currency=usd"),
            (AS_SENT, "{\"object\":\"charge\""),
            ("answer before the fault", "HTTP 200"),
        ] {
            assert!(has(name, value), "{name}: {value} in {facts:?}");
        }
    }
}
