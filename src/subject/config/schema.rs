//! The JSON Schema of `hapax.yaml`, for editors, from the shapes that it is read with. Rules that need more than one value are left to the reader.

use mock_services::catalog;
use mock_services::idempotency::IDEMPOTENCY_DEFINITION;
use serde_json::{Value, json};

use super::read::{CONFIG, SUBJECT};

/// The schema as `hapax schema config` prints it: indented, with a line break at the end.
#[must_use]
pub fn config_schema_text() -> String {
    format!("{:#}\n", config_schema())
}

/// The schema (draft 2020-12).
#[must_use]
pub fn config_schema() -> Value {
    let mut subject = SUBJECT.shape().schema(false);
    subject["description"] = "One subject.".into();
    for service in catalog::services().iter().filter(|service| service.can_be_added) {
        let text = format!(
            "Adds the service `{}` to every case; its options are those of a scenario.",
            service.name
        );
        subject["properties"][&service.name] = json!({ "description": text, "type": ["object", "null"] });
    }
    let duration =
        json!({ "description": "A duration: 800ms, 30s, 2m.", "type": "string", "pattern": "^[0-9]" });
    let idempotency = IDEMPOTENCY_DEFINITION.schema(false);
    let definitions = json!({ "subject": subject, "duration": duration, "idempotency": idempotency });
    CONFIG.document("hapax.yaml", "The subjects to test, and how they are started.", definitions, false)
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
            "{http: \"http://127.0.0.1:8080/task\", watch: 2s, stdin: open, finds_work: true, approvals: {}, command: ./serve.sh}",
            "{http: {url: \"http://127.0.0.1:8080/\", format: openai}}",
            "{command: ./a, http: {format: openai, claim: {patterns: {placed: done}}}}",
            "{command: ./a, http: {request: {prompt: \"${task}\"}, claim: {pointer: /answer}}}",
            "{command: ./a, http: {request: '{\"prompt\": \"${task}\"}', claim: {status: {200: done, 5xx: unknown}}}}",
            "{command: ./a, http: {request: {method: PUT, path: /run, headers: {A: b}, body: [\"${task}\"]}}}",
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
            "{command: ./a, http: 5}",
            "{command: ./a, http: {formt: openai}}",
            "{command: ./a, http: {format: anthropic}}",
            "{command: ./a, http: {request: 5}}",
            "{command: ./a, http: {request: {}}}",
            "{command: ./a, http: {claim: last-line}}",
            "{command: ./a, http: {claim: {}}}",
            "{command: ./a, http: {claim: {pointer: answer}}}",
            "{command: ./a, http: {claim: {status: {}}}}",
            "{command: ./a, http: {claim: {status: {700: done}}}}",
            "{command: ./a, http: {claim: {patterns: {placed: maybe}}}}",
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
