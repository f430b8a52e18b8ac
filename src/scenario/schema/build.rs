//! The building blocks of the schema. A matrix name can replace any value of a case, so most blocks also
//! accept `${name}`.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

/// A map with these keys and no others.
pub(in crate::scenario) fn object<'a>(
    keys: impl IntoIterator<Item = (&'a str, Value)>,
    required: &[&str],
) -> Value {
    let properties: Map<String, Value> =
        keys.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A map with any keys, or a matrix name.
pub(in crate::scenario) fn map_of(values: Value) -> Value {
    or_name(json!({ "type": "object", "additionalProperties": values }))
}

/// A list, or a matrix name.
pub(in crate::scenario) fn list(items: Value) -> Value {
    or_name(json!({ "type": "array", "items": items }))
}

/// A list with a bounded number of items, or a matrix name.
pub(super) fn list_of(items: Value, count: RangeInclusive<usize>) -> Value {
    let (min, max) = count.into_inner();
    or_name(json!({ "type": "array", "items": items, "minItems": min, "maxItems": max }))
}

/// A reference to a definition.
pub(in crate::scenario) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// The value, or a matrix name.
pub(in crate::scenario) fn or_name(value: Value) -> Value {
    json!({ "anyOf": [value, reference("name")] })
}

/// One of some words, or a matrix name.
pub(in crate::scenario) fn word<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    or_name(plain_word(words))
}

/// One of some words. No matrix name, for the parts that are read before the matrix is expanded.
pub(super) fn plain_word<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    let words: Vec<&str> = words.into_iter().collect();
    json!({ "enum": words })
}

/// The words of a table of words and their meanings.
pub(super) fn words_of<'a, T>(table: &'a [(&'a str, T)]) -> impl Iterator<Item = &'a str> {
    table.iter().map(|(word, _)| *word)
}

/// Any text.
pub(in crate::scenario) fn text() -> Value {
    json!({ "type": "string" })
}

/// A text that is not blank.
pub(super) fn sentence() -> Value {
    json!({ "type": "string", "pattern": "\\S" })
}

/// `true`, `false` or a matrix name.
pub(in crate::scenario) fn flag() -> Value {
    or_name(json!({ "type": "boolean" }))
}

/// An integer with a minimum, or a matrix name.
pub(in crate::scenario) fn whole(min: u32) -> Value {
    or_name(json!({ "type": "integer", "minimum": min }))
}

/// An integer in a range, or a matrix name.
pub(super) fn integer<N: Into<i64> + Copy>(range: RangeInclusive<N>) -> Value {
    or_name(plain_integer(range))
}

/// An integer in a range. No matrix name.
pub(super) fn plain_integer<N: Into<i64> + Copy>(range: RangeInclusive<N>) -> Value {
    let (min, max): (i64, i64) = ((*range.start()).into(), (*range.end()).into());
    json!({ "type": "integer", "minimum": min, "maximum": max })
}

/// The schema with a description.
pub(super) fn described(description: &str, mut schema: Value) -> Value {
    schema["description"] = description.into();
    schema
}
