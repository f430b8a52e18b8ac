//! Reading the JSON of requests.

use serde_json::Value;

use crate::model::conversation::Calling;

/// The text of a field.
pub(super) fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

/// The items of a list; none if the field is missing.
pub(super) fn items<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts of a list, or a text alone.
pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(only)) => vec![only.clone()],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Whether a field is `true`.
pub(super) fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// The text of a message: a plain text, or the texts of its parts.
pub(super) fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| match part {
                Value::String(text) => Some(text.as_str()),
                part => text(part, "text"),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// The arguments of an earlier tool call, which OpenAI's APIs send as a text.
pub(super) fn arguments(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// Whether a request to one of OpenAI's APIs lets the model call tools; `named` is the tool that it names.
pub(super) fn calling(choice: Option<&Value>, named: Option<&str>) -> Calling {
    match (choice.and_then(Value::as_str), named) {
        (_, Some(name)) => Calling::Named(name.to_owned()),
        (Some("none"), None) => Calling::Forbidden,
        (Some("required"), None) => Calling::Required,
        _ => Calling::Allowed,
    }
}
