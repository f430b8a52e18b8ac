//! The JSON Schema of service files, for editors. Rules that need more than one value (which names are fields,
//! which operations a read shows) are left to the reader.

use serde_json::{Value, json};

use super::route::METHODS;
use crate::idempotency::Profile;

/// The schema (draft 2020-12).
#[must_use]
pub fn service_schema() -> Value {
    let profiles = Profile::ALL.map(Profile::as_str);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hapax service",
        "description": "A service of your own: its operations, and the effects that they have.",
        "type": "object",
        "required": ["service", "operations"],
        "additionalProperties": false,
        "properties": {
            "service": {
                "description": "The name of the service, as scenarios use it.",
                "type": "string",
                "pattern": "^[a-z][a-z0-9_]*$",
            },
            "about": { "description": "What the service is, in one sentence.", "type": "string" },
            "idempotency": {
                "description": "How it treats idempotency keys, if a scenario does not say.",
                "enum": profiles,
            },
            "key": {
                "description": "Where a request has its key: a header, body.nonce or query.x.",
                "type": "string",
                "minLength": 1,
            },
            "operations": {
                "description": "The operations by name.",
                "type": "object",
                "minProperties": 1,
                "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
                "additionalProperties": { "$ref": "#/$defs/operation" },
            },
            "errors": {
                "description": "The form of errors. It can name ${status}, ${code} and ${message}.",
                "type": "object",
                "required": ["body"],
                "additionalProperties": false,
                "properties": { "body": true },
            },
            "hosts": {
                "description": "The real hosts that it stands for in sealed runs; `*` stands for any characters.",
                "type": "array",
                "items": { "type": "string" },
            },
        },
        "$defs": definitions(),
    })
}

fn definitions() -> Value {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let operation = json!({
        "type": "object",
        "required": ["route"],
        "additionalProperties": false,
        "oneOf": [{ "required": ["effect"] }, { "required": ["changes"] }, { "required": ["reads"] }],
        "dependentRequired": {
            "each": ["effect"],
            "shows": ["effect"],
            "unless": ["changes"],
            "filter": ["reads"],
        },
        "properties": {
            "route": {
                "description": "The method and the path: POST /tickets/{id}/close.",
                "type": "string",
                "pattern": format!("^({}) +/", METHODS.join("|")),
            },
            "effect": {
                "description": "It creates an item, which is an effect.",
                "type": "object",
                "required": ["identity"],
                "additionalProperties": false,
                "properties": {
                    "identity": {
                        "description": "The fields that identify one effect.",
                        "type": "array",
                        "items": { "type": "string" },
                        "minItems": 1,
                    },
                    "id": { "description": "The prefix of the ids.", "type": "string", "pattern": "^[A-Za-z0-9_]*$" },
                },
            },
            "changes": {
                "description": "It changes an item that this operation created. The route has {id}.",
                "type": "string",
            },
            "reads": {
                "description": "It returns the items of this operation: one, if the route has {id}, or a list.",
                "type": "string",
            },
            "fields": {
                "description": "The fields of the request and their places.",
                "type": "object",
                "additionalProperties": { "$ref": "#/$defs/place" },
            },
            "required": { "description": "The fields that a request must have.", "allOf": [texts.clone()] },
            "each": {
                "description": "A field and the place of a list: one item is created for each element.",
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": { "$ref": "#/$defs/place" },
            },
            "set": { "description": "What an item holds beside the fields of the request.", "type": "object" },
            "shows": { "description": "How responses show an item. It can name ${field}." },
            "unless": { "description": "Values of an item that refuse the change.", "type": "object" },
            "filter": { "description": "The fields by which a list can be filtered.", "allOf": [texts] },
            "answer": {
                "description": "The response.",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "status": { "type": "integer", "minimum": 200, "maximum": 299 },
                    "body": true,
                },
            },
        },
    });
    let place = json!({
        "description": "A place in a request: body.name, query.name, path.name or header.Name.",
        "type": "string",
        "pattern": "^(body|query|path|header)\\..+",
    });
    json!({ "operation": operation, "place": place })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::custom::Custom;
    use yaml_reader::Source;

    fn problems(text: &str) -> String {
        Custom::from_source(&Source::new("service.yaml", text)).unwrap_err().render(false)
    }

    /// The keys that the reader accepts, from its message about an unknown one.
    fn accepted(text: &str) -> Vec<String> {
        let all = problems(text);
        let line = all.lines().find(|line| line.contains("it can have")).unwrap_or_else(|| panic!("{all}"));
        let names = line.split("it can have").nth(1).unwrap();
        let mut names: Vec<String> = names.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        names.sort_unstable();
        names
    }

    fn keys(value: &Value) -> Vec<String> {
        value["properties"].as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn the_schema_has_the_keys_that_the_reader_accepts() {
        let schema = service_schema();
        assert_eq!(accepted("zzzz: 1"), keys(&schema));
        let operation = "service: desk\noperations:\n  open:\n    zzzz: 1";
        assert_eq!(accepted(operation), keys(&schema["$defs"]["operation"]));
    }
}
