//! Reads the JSON object in a body. It says what is wrong; each API says it in its own words.

use serde_json::{Map, Value};

/// The members of a body.
#[derive(Debug, Default)]
pub(crate) struct Body(Map<String, Value>);

/// What is wrong with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    NotJson,
    NotAnObject,
    Missing(&'static str),
    /// The member, its value as JSON, and what it should be.
    Mistyped(&'static str, String, &'static str),
}

impl Body {
    pub(crate) fn read(bytes: &[u8]) -> Result<Body, Flaw> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(members)) => Ok(Body(members)),
            Ok(_) => Err(Flaw::NotAnObject),
            Err(_) => Err(Flaw::NotJson),
        }
    }

    /// The same, where there may be no body at all.
    pub(crate) fn read_optional(bytes: &[u8]) -> Result<Body, Flaw> {
        if bytes.is_empty() { Ok(Body::default()) } else { Body::read(bytes) }
    }

    /// A member that is there and not null, taken out.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, Flaw> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Flaw::Mistyped(name, shown(&other), "a string")),
        }
    }

    pub(crate) fn required_text(&mut self, name: &'static str) -> Result<String, Flaw> {
        self.text(name)?.ok_or(Flaw::Missing(name))
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Flaw> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(Flaw::Mistyped(name, shown(&other), "a boolean")),
        }
    }

    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, Flaw> {
        let texts = |members: &Value| {
            members.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
        };
        match self.take(name) {
            None => Ok(None),
            Some(members) => match texts(&members) {
                Some(texts) => Ok(Some(texts)),
                None => Err(Flaw::Mistyped(name, shown(&members), "an array of strings")),
            },
        }
    }

    pub(crate) fn seconds(&mut self, name: &'static str) -> Result<Option<u64>, Flaw> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(seconds @ 1..=31_536_000) => Ok(Some(seconds)),
                _ => Err(Flaw::Mistyped(name, shown(&value), "a number of seconds between 1 and 31536000")),
            },
        }
    }
}

/// The value as JSON, cut where it is long.
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
    fn what_is_wrong_with_a_body_is_told_apart() {
        assert_eq!(Body::read(b"{").err(), Some(Flaw::NotJson));
        assert_eq!(Body::read(b"[1]").err(), Some(Flaw::NotAnObject));
        assert_eq!(Body::read("[".repeat(100_000).as_bytes()).err(), Some(Flaw::NotJson));
        let mut body = Body::read(br#"{"a": 7, "b": null, "c": true}"#).unwrap();
        assert_eq!(body.text("a"), Err(Flaw::Mistyped("a", "7".to_owned(), "a string")));
        assert_eq!(body.required_text("b"), Err(Flaw::Missing("b")));
        assert_eq!(body.flag("c"), Ok(Some(true)));
    }

    #[test]
    fn a_lifetime_is_a_number_of_seconds_that_some_clock_can_hold() {
        let seconds = |text: &str| Body::read(text.as_bytes()).unwrap().seconds("ttl");
        assert_eq!(seconds(r#"{"ttl": 5}"#), Ok(Some(5)));
        for wrong in ["0", "-1", "1.5", "99999999999999999999", "\"5\""] {
            assert!(seconds(&format!("{{\"ttl\": {wrong}}}")).is_err(), "{wrong}");
        }
    }
}
