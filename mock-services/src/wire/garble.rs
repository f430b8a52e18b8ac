//! Bytes that no parser accepts.

const NOISE: &[u8] = b"\x17\x03\x03<!\\}{";

/// Makes a body invalid in place. Its length stays the same, unless it was empty.
pub(super) fn garble(body: &mut Vec<u8>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_garbled_body_keeps_its_length_and_does_not_parse() {
        for text in ["{}", "[]", "1", "{\"id\":\"ch_1\",\"amount\":4999}", "\"x\""] {
            let mut body = text.as_bytes().to_vec();
            garble(&mut body);
            assert_eq!(body.len(), text.len());
            assert!(serde_json::from_slice::<serde_json::Value>(&body).is_err(), "{text}");
        }
        let mut nothing = Vec::new();
        garble(&mut nothing);
        assert!(!nothing.is_empty());
    }
}
