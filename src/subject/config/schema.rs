//! The JSON Schema of `hapax.yaml`, for editors. Rules that need more than one value are left to the reader.

use mock_services::catalog;
use mock_services::idempotency::Profile;
use serde_json::{Map, Value, json};

use crate::scenario::{ClaimedOutcome, Promise};
use crate::subject::Signal;

/// The schema as `hapax schema config` prints it: indented, with a line break at the end.
#[must_use]
pub fn config_schema_text() -> String {
    format!("{:#}\n", config_schema())
}

/// The schema (draft 2020-12).
#[must_use]
pub fn config_schema() -> Value {
    let mut schema = object(
        "The subjects to test, and how they are started.",
        &[
            ("default", text("The subject that `hapax run` tests if no other is named.")),
            (
                "subjects",
                described(
                    "The subjects by name.",
                    json!({
                        "type": "object",
                        "minProperties": 1,
                        "additionalProperties": { "$ref": "#/$defs/subject" },
                    }),
                ),
            ),
            ("allow", texts("Hosts outside of a trial that every subject may call.")),
            ("ignore", texts("Hosts whose requests are refused and do not count.")),
            ("hosts", hosts()),
            ("assume", assume()),
        ],
    );
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "hapax.yaml".into();
    schema["required"] = json!(["subjects"]);
    schema["$defs"] = json!({ "subject": subject(), "duration": duration() });
    schema
}

fn subject() -> Value {
    let word = |text: &str, words: &[&str]| described(text, json!({ "enum": words }));
    let mut keys = vec![
        ("command", command("The command that starts the subject.")),
        ("http", text("The URL at which the subject takes tasks; ${port} is a port that hapax chooses.")),
        ("directory", text("The folder in which it starts, relative to this file.")),
        ("env", map("Variables to set. ${SERVICE.url} stands for the URL of a service.", "string")),
        ("pass", texts("Variables of your environment to pass to it.")),
        (
            "fields",
            map("Where the subject stores fields that scenarios name: {order: metadata.order_id}.", "string"),
        ),
        ("tools", map("The tool of the subject for an operation.", "string")),
        ("can", texts("The services or operations that it can use. Cases that need others are skipped.")),
        ("claim", claim()),
        ("promise", word("What it promises.", &Promise::ALL.map(Promise::word))),
        ("timeout", duration_of("The time limit of one start.")),
        ("client_timeout", duration_of("The time after which its clients give up on a request.")),
        ("grace", duration_of("The time that it has to end after a signal.")),
        ("cancel", word("The signal that cancels it.", &Signal::ALL.map(Signal::name))),
        (
            "watch",
            duration_of("How long requests are watched for after the response of a subject over HTTP."),
        ),
        ("stdin", word("Whether its standard input stays open.", &["closed", "open"])),
        ("before", command("A command that runs once before the first trial.")),
        ("allow", texts("Hosts outside of a trial that it may call.")),
        ("ignore", texts("Hosts whose requests are refused and do not count.")),
        ("hosts", hosts()),
        ("assume", assume()),
        ("sealed", flag("Whether it runs sealed: it calls the real hosts and reaches only the services.")),
        ("intercept", flag("Whether its requests to the real hosts are intercepted without a seal.")),
        ("via", word("How it gets its tools.", &["mcp"])),
    ];
    for service in catalog::services().iter().filter(|service| service.can_be_added) {
        let text = format!(
            "Adds the service `{}` to every case; its options are those of a scenario.",
            service.name
        );
        keys.push((&service.name, described(&text, json!({ "type": ["object", "null"] }))));
    }
    let mut subject = object("One subject.", &keys);
    subject["anyOf"] = json!([{ "required": ["command"] }, { "required": ["http"] }]);
    subject
}

fn claim() -> Value {
    let services = catalog::services().iter().filter(|service| service.claim_field.is_some());
    let words: Vec<&str> = ["result-file", "last-line"]
        .into_iter()
        .chain(services.map(|service| service.name.as_str()))
        .collect();
    let outcomes = json!({ "enum": ClaimedOutcome::ALL.map(ClaimedOutcome::word) });
    let of = |name: &str| {
        let values = json!({ "type": "object", "additionalProperties": outcomes });
        let mut one = object("", &[(name, values)]);
        one["required"] = json!([name]);
        one
    };
    described(
        "Where its claim is.",
        json!({ "anyOf": [{ "enum": words }, of("exit-status"), of("patterns")] }),
    )
}

fn object(description: &str, keys: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        keys.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if description.is_empty() { schema } else { described(description, schema) }
}

fn described(description: &str, mut schema: Value) -> Value {
    schema["description"] = description.into();
    schema
}

fn text(description: &str) -> Value {
    described(description, json!({ "type": "string" }))
}

fn flag(description: &str) -> Value {
    described(description, json!({ "type": "boolean" }))
}

fn texts(description: &str) -> Value {
    described(description, json!({ "type": "array", "items": { "type": "string" } }))
}

fn map(description: &str, values: &str) -> Value {
    described(description, json!({ "type": "object", "additionalProperties": { "type": values } }))
}

fn command(description: &str) -> Value {
    let words = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
    described(description, json!({ "anyOf": [{ "type": "string", "pattern": "\\S" }, words] }))
}

fn duration() -> Value {
    json!({ "description": "A duration: 800ms, 30s, 2m.", "type": "string", "pattern": "^[0-9]" })
}

fn duration_of(description: &str) -> Value {
    described(description, json!({ "$ref": "#/$defs/duration" }))
}

fn assume() -> Value {
    let profiles = Profile::ALL.map(Profile::word);
    let one = object("", &[("idempotency", json!({ "enum": profiles }))]);
    described(
        "What is known of a real provider: {SERVICE: {idempotency: stripe}}. Cases that assume otherwise are \
         skipped.",
        json!({ "type": "object", "additionalProperties": one }),
    )
}

fn hosts() -> Value {
    described(
        "Further hosts that services stand for in sealed runs.",
        json!({
            "type": "object",
            "additionalProperties": { "type": "array", "items": { "type": "string" } },
        }),
    )
}

#[cfg(test)]
mod tests;
