//! The part of the schema that describes faults, from the tables of the reader of faults and the list of
//! replies.

use mock_services::fault::{
    ANY, COMMIT_WORDS, EVERY, MAX_FAULTS, PlainWord, ReplyKind, ReplyValue, ValueShape,
};
use serde_json::{Value, json};

use super::build::{
    flag, integer, list_of, map_of, object, or_name, plain_integer, reference, word, words_of,
};

/// The faults: a list, or a map with the list under `faults`, as in a file of faults for `hapax serve`.
pub(super) fn faults() -> Value {
    json!({ "anyOf": [reference("faults"), object([("faults", reference("faults"))], &["faults"])] })
}

/// The definition of a list of faults.
pub(super) fn fault_list() -> Value {
    let keys = [
        ("on", reference("operation")),
        ("attempt", attempt()),
        ("where", json!({ "anyOf": [reference("fields"), { "const": ANY }] })),
        ("caller", integer(1..=u32::MAX)),
        ("chance", or_name(json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }))),
        ("optional", flag()),
        ("commit", commit()),
        ("reply", reply()),
    ];
    let mut fault = object(keys, &["on"]);
    fault["anyOf"] = json!([{ "required": ["commit"] }, { "required": ["reply"] }]);
    list_of(or_name(fault), 0..=MAX_FAULTS)
}

fn attempt() -> Value {
    let number = || plain_integer(1..=u32::MAX);
    or_name(json!({ "anyOf": [
        number(),
        { "type": "array", "items": or_name(number()), "minItems": 1 },
        { "const": EVERY },
        { "type": "string", "pattern": "^0*[1-9][0-9]*\\.\\.0*[1-9][0-9]*$" },
    ] }))
}

fn commit() -> Value {
    let requests = or_name(object([("requests", integer(1..=u32::MAX))], &["requests"]));
    let duration = "[0-9]+(\\.[0-9]+)?(ms|s|m)";
    let range = json!({ "type": "string", "pattern": format!("^{duration}\\.\\.{duration}$") });
    let later = json!({ "anyOf": [reference("duration"), range, requests] });
    let part = or_name(json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }));
    json!({ "anyOf": [
        word(words_of(&COMMIT_WORDS)),
        object([("later", later)], &["later"]),
        object([("part", part)], &["part"]),
    ] })
}

fn reply() -> Value {
    let is_plain = |kind: &ReplyKind| matches!(kind.facts().plain, PlainWord::Means(_));
    let words = word(ReplyKind::ALL.into_iter().filter(is_plain).map(ReplyKind::as_str));
    let values = ReplyKind::ALL.into_iter().filter_map(|kind| {
        let ReplyValue { shape, is_whole_map, .. } = kind.facts().value.as_ref()?;
        Some(match shape {
            ValueShape::Map { keys, required } if *is_whole_map => map(keys, *required),
            shape => object([(kind.as_str(), value(shape))], &[kind.as_str()]),
        })
    });
    json!({ "anyOf": std::iter::once(words).chain(values).collect::<Vec<_>>() })
}

/// A value of this shape, or a matrix name.
fn value(shape: &ValueShape) -> Value {
    match shape {
        ValueShape::Duration => reference("duration"),
        ValueShape::Words(words) => word(words.iter().copied()),
        ValueShape::Text(pattern) => or_name(json!({ "type": "string", "pattern": pattern })),
        ValueShape::Integer(first, last) => integer(*first..=*last),
        ValueShape::Flag => flag(),
        ValueShape::Map { keys, required } => or_name(map(keys, *required)),
        ValueShape::Names(pattern) => {
            let mut names = map_of(json!({ "type": ["string", "integer", "boolean"] }));
            names["anyOf"][0]["propertyNames"] = json!({ "pattern": pattern });
            names
        }
        ValueShape::OneOf(shapes) => json!({ "anyOf": shapes.iter().map(value).collect::<Vec<_>>() }),
        ValueShape::Something => json!({ "not": { "type": "null" } }),
    }
}

fn map(keys: &[(&str, ValueShape)], required: usize) -> Value {
    let names: Vec<&str> = keys.iter().take(required).map(|(name, _)| *name).collect();
    object(keys.iter().map(|(name, shape)| (*name, value(shape))), &names)
}
