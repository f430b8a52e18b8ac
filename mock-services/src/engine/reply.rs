//! What a fault makes of the true answer before it goes to the wire.

use crate::fault::{Reply, StatusReply};
use crate::service::{Answer, Context, Request, Service};
use crate::wire::Manner;

/// How the bytes of an answer are handed over.
pub(super) fn manner(reply: &Reply) -> Manner {
    match reply {
        Reply::Ok | Reply::Garble | Reply::Status(_) | Reply::Stale(_) => Manner::Whole,
        Reply::Delay(time) => Manner::Delay(*time),
        Reply::Drop => Manner::Drop,
        Reply::Reset => Manner::Reset,
        Reply::Hang { release } => Manner::Hang(*release),
        Reply::Truncate(framing) => Manner::Truncate(*framing),
        Reply::Drip(time) => Manner::Drip(*time),
    }
}

/// The answer with another status: the one that the real service would send, unless the fault brings its own.
pub(super) fn with_status<S: Service>(
    service: &S,
    wanted: &StatusReply,
    truth: &Answer,
    request: &Request,
    context: &Context,
) -> Answer {
    let mut answer = if wanted.status < 300 {
        Answer { status: wanted.status, ..truth.clone() }
    } else {
        service.failure(wanted.status, request, context)
    };
    if let Some(body) = &wanted.body {
        answer.body = body.clone().into_bytes();
    }
    if let Some(seconds) = wanted.retry_after {
        answer.set_header("Retry-After", seconds.to_string());
    }
    for (name, value) in &wanted.headers {
        answer.set_header(name.clone(), value.clone());
    }
    answer
}

/// The same answer with a body of the same length that no parser accepts.
pub(super) fn garbled(mut answer: Answer) -> Answer {
    const NOISE: &[u8] = b"\x17\x03\x03<!\\}{";
    if answer.body.is_empty() {
        answer.body = NOISE.to_vec();
    } else {
        // The first byte spoils JSON and HTML alike, the second half whatever reads on.
        let half = answer.body.len() / 2;
        answer.body[0] = NOISE[0];
        for (at, byte) in answer.body[half..].iter_mut().enumerate() {
            *byte = NOISE[at % NOISE.len()];
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_garbled_body_keeps_its_length_and_does_not_parse() {
        for body in ["{}", "[]", "1", "{\"id\":\"ch_1\",\"amount\":4999}", "\"x\""] {
            let answer = garbled(Answer::text(200, "application/json", body));
            assert_eq!(answer.body.len(), body.len());
            assert!(serde_json::from_slice::<serde_json::Value>(&answer.body).is_err(), "{body}");
        }
        assert!(!garbled(Answer::empty(202)).body.is_empty());
    }
}
