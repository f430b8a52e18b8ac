mod agreement;

use serde_json::Value;
use yaml_reader::{Source, parse};

use super::{schema, schema_text};
use crate::scenario::files::SHIPPED;

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&schema()).unwrap()
}

fn as_json(name: &str, text: &str) -> Value {
    serde_json::to_value(parse(&Source::new(name, text)).unwrap()).unwrap()
}

/// The paths and texts of all shipped scenario files.
fn shipped() -> Vec<(String, &'static str)> {
    fn gather(dir: &'static include_dir::Dir<'static>, all: &mut Vec<(String, &'static str)>) {
        // README.md is in the same folder.
        let files = dir.files().filter(|file| file.path().extension().is_some_and(|end| end == "yaml"));
        all.extend(files.map(|file| (file.path().display().to_string(), file.contents_utf8().unwrap())));
        dir.dirs().for_each(|inner| gather(inner, all));
    }
    let mut all = Vec::new();
    gather(&SHIPPED, &mut all);
    all
}

#[test]
fn the_schema_in_docs_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scenario.schema.json");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(path, schema_text()).unwrap();
    }
    let in_docs = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        in_docs == schema_text(),
        "docs/scenario.schema.json is stale: cargo run -- schema > docs/scenario.schema.json"
    );
}

#[test]
fn every_shipped_scenario_is_valid_by_the_schema() {
    let validator = validator();
    for (path, text) in shipped() {
        let scenario = as_json(&path, text);
        let errors: Vec<String> = validator
            .iter_errors(&scenario)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{path}: {errors:#?}");
    }
}

#[test]
fn every_shipped_scenario_names_the_schema_for_editors() {
    for (path, text) in shipped() {
        let up = "../".repeat(path.matches('/').count() + 1);
        let line = format!("# yaml-language-server: $schema={up}docs/scenario.schema.json\n");
        assert!(text.starts_with(&line), "{path} does not start with {line}");
    }
}

#[test]
fn a_matrix_name_can_replace_any_value() {
    let scenario = "{about: a, task: t, expect: {effects: '${e}', claim: '${c}'}, services: {payment: \
        {idempotency: '${k}'}}, \
                    faults: [{on: '${o}', attempt: '${n}', commit: '${m}', reply: '${r}'}], callers: \
                    '${count}', timeout: '${t}'}";
    assert!(validator().is_valid(&as_json("names", scenario)));
}
