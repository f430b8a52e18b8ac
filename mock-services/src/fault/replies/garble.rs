//! `garble`: the right status and headers, and a body that does not parse.

use super::Reply;
use crate::fault::reply::{PlainWord, ReplyBehavior, ReplyContent, ReplyFacts, ReplyWords};

/// Bytes that no parser accepts.
const NOISE: &[u8] = b"\x17\x03\x03<!\\}{";

/// The right status and headers, and a body that does not parse.
pub(super) struct Garble;

pub(super) const FACTS: ReplyFacts = ReplyFacts {
    plain: PlainWord::Means(|| Reply::Garble),
    value: None,
    content: ReplyContent::Unparsable,
    words: |sent| {
        Some(ReplyWords {
            timeline: format!("answered {}, with an invalid body", sent.status_text()),
            finding: "the reply could not be parsed".to_owned(),
            service: "sends a reply that does not parse",
        })
    },
    title: "the reply is not readable",
    help: &[],
    docs: &[("garble", "the right status and headers, and a body of the right length that does not parse")],
    samples: &["garble"],
};

impl ReplyBehavior for Garble {
    /// The length stays the same, unless the body was empty.
    fn change_body(&self, body: &mut Vec<u8>) {
        if body.is_empty() {
            body.extend_from_slice(NOISE);
        } else {
            // The first byte makes JSON and HTML invalid, the second half everything else.
            let half = body.len() / 2;
            body[0] = NOISE[0];
            for (at, byte) in body[half..].iter_mut().enumerate() {
                *byte = NOISE[at % NOISE.len()];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_garbled_body_keeps_its_length_and_does_not_parse() {
        for text in ["{}", "[]", "1", "{\"id\":\"ch_1\",\"amount\":4999}", "\"x\""] {
            let mut body = text.as_bytes().to_vec();
            Garble.change_body(&mut body);
            assert_eq!(body.len(), text.len());
            assert!(serde_json::from_slice::<serde_json::Value>(&body).is_err(), "{text}");
        }
        let mut nothing = Vec::new();
        Garble.change_body(&mut nothing);
        assert!(!nothing.is_empty());
    }
}
