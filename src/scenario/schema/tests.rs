use mock_services::yaml::{Source, parse};
use serde_json::Value;

use super::super::files::SHIPPED;
use super::{schema, schema_text};

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&schema()).unwrap()
}

fn as_json(name: &str, text: &str) -> Value {
    serde_json::to_value(parse(&Source::new(name, text)).unwrap()).unwrap()
}

/// The paths and texts of all shipped scenario files.
fn shipped() -> Vec<(String, &'static str)> {
    fn gather(dir: &'static include_dir::Dir<'static>, all: &mut Vec<(String, &'static str)>) {
        // The page of the scenarios stands among them.
        let files = dir.files().filter(|file| file.path().extension().is_some_and(|end| end == "yaml"));
        all.extend(files.map(|file| (file.path().display().to_string(), file.contents_utf8().unwrap())));
        dir.dirs().for_each(|inner| gather(inner, all));
    }
    let mut all = Vec::new();
    gather(&SHIPPED, &mut all);
    all
}

#[test]
fn the_schema_that_is_kept_is_not_stale() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scenario.schema.json");
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == schema_text(),
        "docs/scenario.schema.json is stale: cargo run -- schema > docs/scenario.schema.json"
    );
}

#[test]
fn every_shipped_scenario_obeys_the_schema() {
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
        assert!(text.starts_with(&line), "{path} does not begin with {line}");
    }
}

#[test]
fn what_the_reader_refuses_by_its_shape_the_schema_refuses_too() {
    let validator = validator();
    let right = "{about: a, task: t, expect: {effects: []}";
    assert!(validator.is_valid(&as_json("right", &format!("{right}}}"))));
    for wrong in [
        "atask: x",
        "tags: [Upper]",
        "steps: [{with: {a: 1}}]",
        "steps: [{do: charge}]",
        "matrix: {Keys: [a]}",
        "matrix: {keys: []}",
        "services: {payment: {idempotency: strip}}",
        "services: {mine: {}}",
        "services: {email: {delivery: {later: 5}}}",
        "faults: [{on: payment.charge}]",
        "faults: [{on: payment.charge, reply: dorp}]",
        "faults: [{on: payment.charge, commit: {later: {requests: 0}}}]",
        "callers: 0",
        "callers: 65",
        "deliver: {times: 1, how: together}",
        "deliver: {times: 2}",
        "interrupts: [{when: {attempt: 1}, do: kill}]",
        "interrupts: [{when: {received: payment.charge, replied: payment.charge}, do: kill}]",
        "interrupts: [{when: {received: payment.charge}, do: hit}]",
        "turns: [{steps: []}]",
        "controls: {naiv: pass}",
        "controls: {naive: passes}",
        "timeout: 30",
    ] {
        let scenario = as_json("wrong", &format!("{right}, {wrong}}}"));
        assert!(!validator.is_valid(&scenario), "{wrong}");
    }
    for wrong in [
        "{about: a, expect: {effects: []}}",
        "{about: a, task: t}",
        "{about: a, task: t, expect: {claim: dne}}",
    ] {
        assert!(!validator.is_valid(&as_json("wrong", wrong)), "{wrong}");
    }
}

#[test]
fn a_name_of_the_matrix_can_stand_wherever_the_reader_takes_one() {
    let scenario = "{about: a, task: t, expect: {effects: '${e}', claim: '${c}'}, services: {payment: {idempotency: '${k}'}}, \
                    faults: [{on: '${o}', attempt: '${n}', commit: '${m}', reply: '${r}'}], callers: '${count}', timeout: '${t}'}";
    assert!(validator().is_valid(&as_json("names", scenario)));
}
