//! The part of the schema that describes faults, from the tables of the reader of faults.

use mock_services::fault::words::{
    ANY, COMMIT_WORDS, EVERY, HEADERS, MAX_FAULTS, REPLY_WORDS, STATUSES, TRUNCATION_WORDS, UNTIL_TIMEOUT,
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
    let duration = |name: &'static str| object([(name, reference("duration"))], &[name]);
    let hang = or_name(object([("release", reference("duration"))], &["release"]));
    let body_delay =
        or_name(object([("time", reference("duration")), ("after", word([HEADERS]))], &["time", "after"]));
    let reads = or_name(object([("reads", integer(1..=u32::MAX))], &["reads"]));
    let size = or_name(json!({ "type": "string", "pattern": "^[0-9]+(B|KB|MB|KiB|MiB)$" }));
    json!({ "anyOf": [
        word(words_of(&REPLY_WORDS)),
        object([("delay", json!({ "anyOf": [reference("duration"), body_delay] }))], &["delay"]),
        duration("drip"),
        object([("hang", json!({ "anyOf": [word([UNTIL_TIMEOUT]), hang] }))], &["hang"]),
        object([("oversize", size)], &["oversize"]),
        object([("truncate", word(words_of(&TRUNCATION_WORDS)))], &["truncate"]),
        object([("stale", json!({ "anyOf": [reference("duration"), reads] }))], &["stale"]),
        status(),
    ] })
}

fn status() -> Value {
    let mut headers = map_of(json!({ "type": ["string", "integer", "boolean"] }));
    headers["anyOf"][0]["propertyNames"] = json!({ "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" });
    let keys = [
        ("status", integer(STATUSES)),
        ("headers", headers),
        ("body", json!({ "not": { "type": "null" } })),
        ("retry_after", json!({ "anyOf": [integer(0..=u32::MAX), reference("duration")] })),
        ("kept", flag()),
    ];
    object(keys, &["status"])
}
