//! Where a request has its idempotency key. Plain data; the engine looks there.

use std::fmt;

use serde::{Serialize, Serializer};

/// Where a request has its idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// In a header.
    Header(String),
    /// In the body, under these names.
    Body(Vec<String>),
    /// In the query.
    Query(String),
    /// In a header of a message that comes over SMTP.
    Mime(String),
    /// The id that the client chooses for what it makes: the path of a `PUT`, otherwise `id` in the body.
    Id,
    /// The content of the request itself: the service takes equal requests for one.
    Content,
}

impl KeyPlace {
    /// Reads `header.X`, `body.a.b`, `query.x`, `mime.X`, `id` or `content`. A name without a place is that of a
    /// header.
    ///
    /// # Errors
    /// What the text cannot be, and how to write it.
    pub fn parse(text: &str) -> Result<Self, (&'static str, &'static str)> {
        let is_header = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let header = |name: &str| {
            is_header(name).then(|| name.to_owned()).ok_or((
                "the name of a header",
                "a header's name consists of letters, digits and dashes: Idempotency-Key",
            ))
        };
        let is_text = |name: &str| !name.is_empty() && !name.chars().any(char::is_control);
        match text.split_once('.') {
            Some(("header", name)) => header(name).map(KeyPlace::Header),
            Some(("mime", name)) => header(name).map(KeyPlace::Mime),
            Some(("body", names)) if is_text(names) && names.split('.').all(|name| !name.is_empty()) => {
                Ok(KeyPlace::Body(names.split('.').map(str::to_owned).collect()))
            }
            Some(("query", name)) if is_text(name) => Ok(KeyPlace::Query(name.to_owned())),
            Some(_) => Err((
                "the place of the key",
                "write the name of a header (Idempotency-Key), a field of the body (body.nonce) \
                 or of the query (query.x)",
            )),
            None if text == "id" => Ok(KeyPlace::Id),
            None if text == "content" => Ok(KeyPlace::Content),
            None => header(text).map(KeyPlace::Header),
        }
    }

    /// The header's name, if the key is in a header.
    #[must_use]
    pub fn header(&self) -> Option<&str> {
        match self {
            KeyPlace::Header(name) => Some(name),
            _ => None,
        }
    }
}

/// As in a file: `header.Idempotency-Key`.
impl fmt::Display for KeyPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyPlace::Header(name) => write!(out, "header.{name}"),
            KeyPlace::Body(names) => write!(out, "body.{}", names.join(".")),
            KeyPlace::Query(name) => write!(out, "query.{name}"),
            KeyPlace::Mime(name) => write!(out, "mime.{name}"),
            KeyPlace::Id => out.write_str("id"),
            KeyPlace::Content => out.write_str("content"),
        }
    }
}

impl Serialize for KeyPlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_as_it_is_read() {
        for text in ["header.X-Key", "body.nonce", "body.a.b", "query.x", "mime.X-Key", "id", "content"] {
            assert_eq!(KeyPlace::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(KeyPlace::parse("X-Key"), KeyPlace::parse("header.X-Key"));
    }

    #[test]
    fn what_is_not_a_place_is_refused() {
        for text in ["", "body.", "body..a", "cookie.a", "header.a b", "mime.", "query.", "a b"] {
            assert!(KeyPlace::parse(text).is_err(), "{text}");
        }
    }
}
