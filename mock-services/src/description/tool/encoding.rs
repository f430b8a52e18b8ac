//! How arguments are written into paths, queries and forms, and read back.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};

/// Everything but letters, digits and `-_.~`.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A text, a number or a boolean as text.
pub(super) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The text, percent-encoded for a path, a query or a form.
pub(super) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Pairs as a query or a form.
pub(super) fn form(pairs: &[(String, String)]) -> String {
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// The pairs of a query or a form.
pub(super) fn pairs(text: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(text.as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

/// Sets a nested member.
pub(super) fn set(members: &mut Map<String, Value>, names: &[String], value: Value) {
    match names {
        [] => {}
        [name] => {
            members.insert(name.clone(), value);
        }
        [name, rest @ ..] => {
            let inner = members.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                set(inner, rest, value);
            }
        }
    }
}

/// The members as pairs of a form: `items[0][price]`.
pub(super) fn flattened(members: &Map<String, Value>) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (name, value) in members {
        flatten(name.clone(), value, &mut all);
    }
    all
}

fn flatten(name: String, value: &Value, all: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                flatten(format!("{name}[{index}]"), item, all);
            }
        }
        Value::Object(members) => {
            for (inner, value) in members {
                flatten(format!("{name}[{inner}]"), value, all);
            }
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) => {
            all.push((name, plain(value).unwrap_or_default()));
        }
    }
}

/// The members of a form: the inverse of [`flattened`], with texts for numbers and booleans.
pub(super) fn nested(pairs: Vec<(String, String)>) -> Map<String, Value> {
    let mut members = Map::new();
    for (name, text) in pairs {
        let parts = name.split('[').map(|part| part.strip_suffix(']').unwrap_or(part).to_owned());
        set(&mut members, &parts.collect::<Vec<_>>(), Value::String(text));
    }
    members.into_iter().map(|(name, value)| (name, with_lists(value))).collect()
}

/// Makes lists of the objects whose names are `0`, `1`, `2` …
fn with_lists(value: Value) -> Value {
    let Value::Object(members) = value else { return value };
    let is_list = !members.is_empty() && (0..members.len()).all(|at| members.contains_key(&at.to_string()));
    if is_list {
        let mut items: Vec<(usize, Value)> = members
            .into_iter()
            .map(|(name, value)| (name.parse().unwrap_or_default(), with_lists(value)))
            .collect();
        items.sort_by_key(|(at, _)| *at);
        return Value::Array(items.into_iter().map(|(_, value)| value).collect());
    }
    Value::Object(members.into_iter().map(|(name, value)| (name, with_lists(value))).collect())
}

/// The values of the names in a template of a path; `None` if the path does not match it.
pub(super) fn matched(template: &str, path: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(found),
            (Some(wanted), Some(given)) => {
                match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                    Some(name) if !given.is_empty() => {
                        let value = percent_decode_str(given).decode_utf8_lossy().into_owned();
                        found.push((name.to_owned(), value));
                    }
                    None if wanted == given => {}
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
}
