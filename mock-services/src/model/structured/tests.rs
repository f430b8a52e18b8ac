use super::*;

fn value(schema: &Value) -> Option<Value> {
    structured(schema, StructuredContent { text: "Done.", is_done: true })
}

#[test]
fn a_value_matches_the_schema() {
    let schema = json!({
        "type": "object",
        "$defs": {
            "Line": { "type": "object", "properties": { "sku": { "type": "string" } }, "required": ["sku"] },
        },
        "properties": {
            "summary": { "type": "string" },
            "short": { "type": "string", "maxLength": 2 },
            "done": { "type": "boolean" },
            "count": { "type": "integer", "minimum": 1 },
            "status": { "enum": ["failed", "succeeded"] },
            "note": { "anyOf": [{ "type": "null" }, { "type": "string" }] },
            "kind": { "type": ["null", "string"] },
            "lines": { "type": "array", "items": { "$ref": "#/$defs/Line" }, "minItems": 1 },
            "none": { "type": "array" },
            "day": { "type": "string", "format": "date" },
        },
        "required": ["summary"],
    });
    assert_eq!(
        value(&schema),
        Some(json!({
            "summary": "Done.", "short": "Do", "done": true, "count": 1, "status": "succeeded", "note": null,
            "kind": "Done.", "lines": [{ "sku": "Done." }], "none": [], "day": "2026-01-01",
        }))
    );
}

#[test]
fn a_task_that_is_not_done_is_not_reported_as_done() {
    let schema =
        json!({ "properties": { "done": { "type": "boolean" }, "status": { "enum": ["ok", "failed"] } } });
    let value = structured(&schema, StructuredContent { text: "No.", is_done: false });
    assert_eq!(value, Some(json!({ "done": false, "status": "failed" })));
}

#[test]
fn a_schema_that_cannot_be_satisfied_has_no_value() {
    let pattern = json!({ "type": "string", "pattern": "^a$" });
    assert_eq!(value(&pattern), None);
    assert_eq!(value(&json!({ "properties": { "a": pattern }, "required": ["a"] })), None);
    assert_eq!(value(&json!({ "properties": { "a": pattern } })), Some(json!({})));
    assert_eq!(value(&json!({ "required": ["a"] })), None);
    assert_eq!(value(&json!({ "$defs": { "A": { "$ref": "#/$defs/A" } }, "$ref": "#/$defs/A" })), None);
}
