//! What makes two requests the same: the order of parameters does not matter, their values do.

use sha2::{Digest, Sha256};

use crate::service::Request;

/// A hash of all that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint([u8; 16]);

/// The fingerprint of a request's query and body.
pub(crate) fn fingerprint(request: &Request) -> Fingerprint {
    let body = request.bytes();
    let mut text = Vec::with_capacity(request.query().len() + body.len() + 2);
    text.extend_from_slice(request.query().as_bytes());
    text.push(0);
    let kind = request.header_value("content-type").unwrap_or_default();
    if kind.starts_with("application/x-www-form-urlencoded") {
        let mut pairs = Vec::with_capacity(8);
        pairs.extend(body.split(|byte| *byte == b'&'));
        pairs.sort_unstable();
        for pair in pairs {
            text.extend_from_slice(pair);
            text.push(b'&');
        }
    } else if let Ok(value) = serde_json::from_slice::<serde_json::Value>(body) {
        // Maps are ordered by name, so the same content is the same text.
        text.extend_from_slice(value.to_string().as_bytes());
    } else {
        text.extend_from_slice(body);
    }
    let digest: [u8; 32] = Sha256::digest(&text).into();
    let mut short = [0; 16];
    short.copy_from_slice(&digest[..16]);
    Fingerprint(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(body: &str) -> Fingerprint {
        fingerprint(&Request::new("POST", "/x").header("Content-Type", "application/x-www-form-urlencoded").body(body))
    }

    fn json(body: &str) -> Fingerprint {
        fingerprint(&Request::new("POST", "/x").header("Content-Type", "application/json").body(body))
    }

    #[test]
    fn the_order_of_parameters_does_not_matter_their_values_do() {
        assert_eq!(form("a=1&b=2"), form("b=2&a=1"));
        assert_ne!(form("a=1&b=2"), form("a=1&b=3"));
        assert_ne!(form("a=1&b=2"), form("a=1&b=2&b=2"));
        assert_eq!(json(r#"{"a":1,"b":[1,2]}"#), json(r#"{ "b": [1, 2], "a": 1 }"#));
        assert_ne!(json(r#"{"a":1,"b":[1,2]}"#), json(r#"{"a":1,"b":[2,1]}"#));
    }
}
