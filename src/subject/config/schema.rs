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
        ("promise", word("What it promises.", &Promise::ALL.map(Promise::as_str))),
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
    let outcomes = json!({ "enum": ClaimedOutcome::ALL.map(ClaimedOutcome::as_str) });
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
    let profiles = Profile::ALL.map(Profile::as_str);
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
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use yaml_reader::{Source, parse};

    use super::*;
    use crate::subject::config::Config;

    fn as_json(name: &str, text: &str) -> Value {
        let tree = parse(&Source::new(name, text)).unwrap_or_else(|problems| panic!("{name}: {problems}"));
        serde_json::to_value(&tree).unwrap()
    }

    fn validator() -> jsonschema::Validator {
        jsonschema::validator_for(&config_schema()).unwrap()
    }

    fn problems(text: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hapax.yaml");
        fs::write(&path, text).unwrap();
        Config::load(&path).err().map(|error| error.to_string())
    }

    /// The keys that the reader accepts, from its message about an unknown one.
    fn accepted(text: &str) -> Vec<String> {
        let all = problems(text).unwrap();
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
        let schema = config_schema();
        assert_eq!(accepted("zzzz: 1"), keys(&schema));
        assert_eq!(accepted("subjects: { agent: { zzzz: 1 } }"), keys(&schema["$defs"]["subject"]));
    }

    #[test]
    fn the_schema_in_docs_is_fresh() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/config.schema.json");
        let stored = fs::read_to_string(path).unwrap();
        assert_eq!(
            stored,
            config_schema_text(),
            "stale: cargo run -- schema config > docs/config.schema.json"
        );
    }

    #[test]
    fn the_schema_and_the_reader_accept_the_same_files() {
        let validator = validator();
        for text in [
            "{command: python agent.py}",
            "{command: [python, agent.py], env: {A: \"${payment.url}\"}, pass: [HOME], timeout: 90s, can: [payment]}",
            "{http: \"http://127.0.0.1:8080/task\", watch: 2s, stdin: open, command: ./serve.sh}",
            "{command: ./a, claim: {exit-status: {0: done}}, promise: at-most-once, cancel: SIGTERM}",
            "{command: ./a, claim: model, web: {}, sealed: true, via: mcp}",
            "{command: ./a, hosts: {payment: [pay.example]}, assume: {payment: {idempotency: stripe}}}",
        ] {
            let text = format!("subjects: {{ agent: {text} }}");
            assert_eq!(problems(&text), None, "{text}");
            let errors: Vec<String> =
                validator.iter_errors(&as_json("valid", &text)).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{text}: {errors:?}");
        }
        for text in [
            "{comand: python agent.py}",
            "{}",
            "{command: 5}",
            "{command: ./a, timeout: 30}",
            "{command: ./a, env: {PORT: 80}}",
            "{command: ./a, claim: {exit-status: {0: maybe}}}",
            "{command: ./a, claim: somewhere}",
            "{command: ./a, promise: always}",
            "{command: ./a, sealed: \"yes\"}",
            "{command: ./a, assume: {payment: {idempotency: maybe}}}",
        ] {
            let text = format!("subjects: {{ agent: {text} }}");
            assert!(problems(&text).is_some(), "the reader accepts {text}");
            assert!(!validator.is_valid(&as_json("invalid", &text)), "the schema accepts {text}");
        }
    }

    fn files_below(folder: &Path, name: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, hidden) = (entry.path(), entry.file_name().to_string_lossy().starts_with('.'));
            let is_installed = ["target", "node_modules"].iter().any(|skipped| path.ends_with(skipped));
            if entry.file_type().unwrap().is_dir() && !hidden && !is_installed {
                files_below(&path, name, found);
            } else if path.ends_with(name) {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_hapax_yaml_of_the_repository_is_valid() {
        let mut found = Vec::new();
        files_below(Path::new(env!("CARGO_MANIFEST_DIR")), "hapax.yaml", &mut found);
        assert!(found.len() > 1, "{found:?}");
        let validator = validator();
        for path in found {
            // In the template of `hapax init` a placeholder stands for the command.
            let text = fs::read_to_string(&path).unwrap().replace("@COMMAND@", "[./agent.sh]");
            let errors: Vec<String> =
                validator.iter_errors(&as_json("hapax.yaml", &text)).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        }
    }
}
