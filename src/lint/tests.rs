use std::fs;

use super::*;

/// The problems of files in a temporary folder, which is shown as `.`.
fn problems(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<String> = files
        .iter()
        .map(|(name, text)| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        })
        .collect();
    let advice = lint(&paths).unwrap_err().advice(false);
    advice.replace(&folder.path().display().to_string(), ".")
}

#[test]
fn problems_of_every_kind_of_file_are_reported_at_once() {
    insta::assert_snapshot!(problems(&[
        ("hapax.yaml", "default: agnet\nsubjects:\n  agent:\n    comand: python agent.py\n"),
        (
            "desk.yaml",
            "service: desk\noperations:\n  open:\n    route: PSOT /tickets\n    fields: { subject: subject }\n    \
             effect: { identity: [subjct] }\n",
        ),
        ("lost.yaml", "about: A charge.\ntask: Charge.\nexpekt: { effects: [], claim: not-done }\n"),
        ("subjects.yaml", "subjects: { agent: { http: \"ftp://x\" } }\n"),
    ]));
}

#[test]
fn the_kind_of_a_file_is_known_from_its_name_or_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, kind) in [
        ("hapax.yaml", "", FileKind::Config),
        ("other.yaml", "subjects: {}", FileKind::Config),
        ("desk.yaml", "service: desk", FileKind::Service),
        ("no-name.yaml", "operations: {}", FileKind::Service),
        ("scenario.yaml", "about: a\nservices: {}", FileKind::Scenario),
        ("broken.yaml", "a: [", FileKind::Scenario),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        assert_eq!(kind_of(&path), kind, "{name}");
    }
    assert_eq!(kind_of(&folder.path().join("none/hapax.yaml")), FileKind::Scenario);
}

#[test]
fn files_without_a_problem_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (config, service) = (folder.path().join("hapax.yaml"), folder.path().join("tickets.yaml"));
    fs::write(&config, "subjects: { agent: { command: ./agent } }\n").unwrap();
    fs::write(&service, mock_services::custom::TICKETS).unwrap();
    let linted = lint(&[config, service].map(|path| path.display().to_string())).unwrap();
    assert_eq!((linted.files, linted.cases.len()), (2, 0));
    assert!(matches!(lint(&["no/such/hapax.yaml".to_owned()]), Err(LoadError::NoMatch(_))));
}

#[test]
fn the_schema_of_service_files_is_fresh_and_accepts_the_shipped_one() {
    let schema = mock_services::custom::service_schema();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/service.schema.json");
    let stored = fs::read_to_string(path).unwrap();
    assert_eq!(
        stored,
        format!("{schema:#}\n"),
        "stale: cargo run -- schema service > docs/service.schema.json"
    );
    let validator = jsonschema::validator_for(&schema).unwrap();
    let as_json = |text: &str| serde_json::to_value(parse(&Source::new("service", text)).unwrap()).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&as_json(mock_services::custom::TICKETS))
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    for (operation, is_valid) in [
        ("{route: POST /a, effect: {identity: [x]}, fields: {x: body.x}}", true),
        ("{route: POST /a/{id}, changes: open, set: {state: done}, unless: {state: done}}", false),
        ("{route: \"POST /a/{id}\", changes: open, set: {state: done}, unless: {state: done}}", true),
        ("{route: GET /a, reads: open, filter: [x], answer: {status: 200, body: {n: 1}}}", true),
        ("{route: PSOT /a, effect: {identity: [x]}}", false),
        ("{route: POST /a}", false),
        ("{route: POST /a, effect: {identity: [x]}, reads: open}", false),
        ("{route: POST /a, effect: {identity: []}}", false),
        ("{route: GET /a, reads: open, each: {x: body.x}}", false),
        ("{route: GET /a, reads: open, fields: {x: somewhere}}", false),
        ("{route: GET /a, reads: open, answer: {status: 404}}", false),
    ] {
        let text = format!("{{service: desk, operations: {{open: {operation}}}}}");
        let Ok(tree) = parse(&Source::new("service", text.as_str())) else {
            assert!(!is_valid, "{text}");
            continue;
        };
        let value = serde_json::to_value(tree).unwrap();
        assert_eq!(validator.is_valid(&value), is_valid, "{text}");
    }
}
