//! What makes two requests the same: the order of parameters does not matter, their values do.

use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use crate::service::Request;

/// A hash of all that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint([u8; 16]);

/// The fingerprint of a request's query and body.
pub(crate) fn fingerprint(request: &Request) -> Fingerprint {
    let body = request.bytes();
    let mut hasher = Sha256::new().chain_update(request.query()).chain_update([0]);
    let kind = request.header_value("content-type").unwrap_or_default();
    if kind.starts_with("application/x-www-form-urlencoded") {
        let mut pairs: SmallVec<[&[u8]; 16]> = body.split(|byte| *byte == b'&').collect();
        pairs.sort_unstable();
        for pair in pairs {
            hasher.update(pair);
            hasher.update(b"&");
        }
    } else if let Ok(value) = serde_json::from_slice::<serde_json::Value>(body) {
        // Maps are ordered by name, so the same content is the same text.
        hasher.update(value.to_string());
    } else {
        hasher.update(body);
    }
    let digest: [u8; 32] = hasher.finalize().into();
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
        let many: Vec<String> = (0..40).map(|number| format!("p{number}={number}")).collect();
        let turned: Vec<String> = many.iter().rev().cloned().collect();
        assert_eq!(form(&many.join("&")), form(&turned.join("&")));
        assert_ne!(form(&many.join("&")), form(&many[1..].join("&")));
        assert_eq!(json(r#"{"a":1,"b":[1,2]}"#), json(r#"{ "b": [1, 2], "a": 1 }"#));
        assert_ne!(json(r#"{"a":1,"b":[1,2]}"#), json(r#"{"a":1,"b":[2,1]}"#));
    }
}
