//! The part of the schema that describes faults.

use serde_json::{Value, json};

use super::{flag, list, map_of, object, or_name, reference, whole, word};

/// A list of faults.
pub(super) fn faults() -> Value {
    let keys = [
        ("on", reference("operation")),
        ("attempt", attempt()),
        ("where", json!({ "anyOf": [reference("fields"), { "const": "any" }] })),
        ("caller", whole(1)),
        ("chance", or_name(json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }))),
        ("optional", flag()),
        ("commit", commit()),
        ("reply", reply()),
    ];
    let mut fault = object(keys, &["on"]);
    fault["anyOf"] = json!([{ "required": ["commit"] }, { "required": ["reply"] }]);
    list(or_name(fault))
}

fn attempt() -> Value {
    or_name(json!({ "anyOf": [
        { "type": "integer", "minimum": 1 },
        { "type": "array", "items": { "type": "integer", "minimum": 1 }, "minItems": 1 },
        { "const": "every" },
        { "type": "string", "pattern": "^[0-9]+\\.\\.[0-9]+$" },
    ] }))
}

fn commit() -> Value {
    let requests = object([("requests", whole(1))], &["requests"]);
    let within = json!({ "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(ms|s|m)\\.\\.[0-9]+(\\.[0-9]+)?(ms|s|m)$" });
    let later = json!({ "anyOf": [reference("duration"), within, requests] });
    let part = or_name(json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }));
    json!({ "anyOf": [
        word(["now", "never", "later", "twice"]),
        object([("later", later)], &["later"]),
        object([("part", part)], &["part"]),
    ] })
}

fn reply() -> Value {
    let duration = |name: &'static str| object([(name, reference("duration"))], &[name]);
    let hang = object([("release", reference("duration"))], &[]);
    let reads = object([("reads", whole(1))], &["reads"]);
    let status = [
        ("status", or_name(json!({ "type": "integer", "minimum": 200, "maximum": 599 }))),
        ("headers", map_of(json!({ "type": ["string", "integer", "number", "boolean"] }))),
        ("body", json!(true)),
        ("retry_after", json!({ "anyOf": [whole(0), reference("duration")] })),
        ("kept", flag()),
    ];
    json!({ "anyOf": [
        word(["ok", "drop", "reset", "hang", "truncate", "garble", "drip"]),
        duration("delay"),
        duration("drip"),
        object([("hang", json!({ "anyOf": [word(["until-timeout"]), hang] }))], &["hang"]),
        object([("oversize", or_name(json!({ "type": "string", "pattern": "^[0-9]+(B|KB|MB|KiB|MiB)$" })))], &["oversize"]),
        object([("truncate", word(["length", "chunked"]))], &["truncate"]),
        object([("stale", json!({ "anyOf": [reference("duration"), reads] }))], &["stale"]),
        object(status, &["status"]),
    ] })
}
