//! Reads the JSON object in a body. Each API words the errors itself.

use serde_json::{Map, Value};

/// The members of a body.
#[derive(Debug, Default)]
pub(crate) struct JsonBody(Map<String, Value>);

/// The error of a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    NotJson,
    NotAnObject,
    Missing(&'static str),
    /// The member, its value as JSON, and the expected type.
    Mistyped(&'static str, String, &'static str),
}

impl JsonBody {
    pub(crate) fn read(bytes: &[u8]) -> Result<JsonBody, BodyError> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(members)) => Ok(JsonBody(members)),
            Ok(_) => Err(BodyError::NotAnObject),
            Err(_) => Err(BodyError::NotJson),
        }
    }

    /// Reads a body that may be empty.
    pub(crate) fn read_optional(bytes: &[u8]) -> Result<JsonBody, BodyError> {
        if bytes.is_empty() { Ok(JsonBody::default()) } else { JsonBody::read(bytes) }
    }

    /// Removes and returns a member that is present and not null.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, BodyError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(BodyError::Mistyped(name, shown(&other), "a string")),
        }
    }

    pub(crate) fn required_text(&mut self, name: &'static str) -> Result<String, BodyError> {
        self.text(name)?.ok_or(BodyError::Missing(name))
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, BodyError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(BodyError::Mistyped(name, shown(&other), "a boolean")),
        }
    }

    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, BodyError> {
        let texts = |members: &Value| {
            members.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
        };
        match self.take(name) {
            None => Ok(None),
            Some(members) => match texts(&members) {
                Some(texts) => Ok(Some(texts)),
                None => Err(BodyError::Mistyped(name, shown(&members), "an array of strings")),
            },
        }
    }

    pub(crate) fn seconds(&mut self, name: &'static str) -> Result<Option<u64>, BodyError> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(seconds @ 1..=31_536_000) => Ok(Some(seconds)),
                _ => Err(BodyError::Mistyped(
                    name,
                    shown(&value),
                    "a number of seconds between 1 and 31536000",
                )),
            },
        }
    }
}

/// The value as JSON, truncated when it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_invalid_body_has_its_own_error() {
        assert_eq!(JsonBody::read(b"{").err(), Some(BodyError::NotJson));
        assert_eq!(JsonBody::read(b"[1]").err(), Some(BodyError::NotAnObject));
        assert_eq!(JsonBody::read("[".repeat(100_000).as_bytes()).err(), Some(BodyError::NotJson));
        let mut body = JsonBody::read(br#"{"a": 7, "b": null, "c": true}"#).unwrap();
        assert_eq!(body.text("a"), Err(BodyError::Mistyped("a", "7".to_owned(), "a string")));
        assert_eq!(body.required_text("b"), Err(BodyError::Missing("b")));
        assert_eq!(body.flag("c"), Ok(Some(true)));
    }

    #[test]
    fn a_lifetime_is_a_positive_number_of_seconds_in_range() {
        let seconds = |text: &str| JsonBody::read(text.as_bytes()).unwrap().seconds("ttl");
        assert_eq!(seconds(r#"{"ttl": 5}"#), Ok(Some(5)));
        for wrong in ["0", "-1", "1.5", "99999999999999999999", "\"5\""] {
            assert!(seconds(&format!("{{\"ttl\": {wrong}}}")).is_err(), "{wrong}");
        }
    }
}
