//! The schema is fresh, and it and the reader accept and refuse the same documents. The documents are in
//! `schema_agreement.txt`: fragments that are added to a minimal scenario, one on each line. Those about replies come
//! from their list.

use mock_services::fault::ReplyKind;
use serde_json::Value;
use yaml_reader::{Source, parse};

use super::{schema, schema_text};
use crate::scenario::files::SHIPPED;
use crate::scenario::read_scenario;

const BASE: [(&str, &str); 3] =
    [("about", "A charge."), ("task", "Charge."), ("expect", "{effects: [], claim: not-done}")];

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

/// The lines of one section of the table, without comments.
fn section(name: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/scenario/schema_agreement.txt");
    let table = std::fs::read_to_string(path).unwrap();
    let start = format!("[{name}]");
    let lines =
        table.lines().skip_while(|line| *line != start).skip(1).take_while(|line| !line.starts_with('['));
    let lines: Vec<String> =
        lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect();
    assert!(!lines.is_empty(), "no section {name}");
    lines
}

/// The minimal scenario with a fragment, whose keys replace those of the scenario.
fn document(fragment: &str) -> String {
    let tree = parse(&Source::new("fragment", format!("{{{fragment}}}")))
        .unwrap_or_else(|problems| panic!("{fragment}: {problems}"));
    let base = BASE.iter().filter(|(key, _)| tree.get(key).is_none());
    let base: Vec<String> = base.map(|(key, value)| format!("{key}: {value}, ")).collect();
    format!("{{{}{fragment}}}", base.concat())
}

/// The problems that the reader finds; empty if it accepts the document.
fn problems(document: &str) -> Vec<String> {
    let source = Source::new("scenarios/test.yaml", document);
    let found = read_scenario(&source, "test").err();
    found.into_iter().flatten().map(|problem| problem.message).collect()
}

/// A fault with this reply, on an operation that can have it.
fn fault_with(kind: ReplyKind, reply: &str) -> String {
    let is_read = kind.facts().content.is_for_reads();
    let operation = if is_read { "payment.list" } else { "model.generate" };
    format!("faults: [{{on: {operation}, reply: {reply}}}]")
}

/// Every form of every reply.
fn valid_replies() -> Vec<String> {
    let forms = |kind: ReplyKind| {
        let facts = kind.facts();
        let documented = facts.docs.iter().map(|(form, _)| *form);
        let forms = facts.samples.iter().chain(facts.help).copied().chain(documented);
        forms.map(move |form| fault_with(kind, form))
    };
    ReplyKind::ALL.into_iter().flat_map(forms).collect()
}

/// The samples of every reply, each with `@` in place of one of its values, however deep that is.
fn places_in_replies() -> Vec<String> {
    fn with_places(value: &Value) -> Vec<Value> {
        let Value::Object(fields) = value else { return Vec::new() };
        let replaced = |name: &String, inner: Value| {
            let mut fields = fields.clone();
            fields.insert(name.clone(), inner);
            Value::Object(fields)
        };
        let places = fields.iter().flat_map(|(name, inner)| {
            with_places(inner).into_iter().chain([Value::from("@")]).map(|inner| replaced(name, inner))
        });
        places.collect()
    }
    let mut places = Vec::new();
    for kind in ReplyKind::ALL {
        let trees = kind.facts().samples.iter().map(|sample| as_json("sample", sample));
        let replies =
            trees.flat_map(|tree| with_places(&tree)).map(|tree| tree.to_string().replace("\"@\"", "@"));
        places.extend(replies.map(|reply| fault_with(kind, &reply)));
    }
    places.sort();
    places.dedup();
    places
}

#[test]
fn both_accept_valid_documents() {
    let validator = validator();
    for fragment in section("valid").into_iter().chain(valid_replies()) {
        let document = document(&fragment);
        assert_eq!(problems(&document), Vec::<String>::new(), "{fragment}");
        let errors: Vec<String> =
            validator.iter_errors(&as_json("valid", &document)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "the schema refuses {fragment}: {errors:?}");
    }
}

#[test]
fn both_refuse_invalid_documents() {
    let validator = validator();
    for fragment in section("invalid") {
        let document = document(&fragment);
        assert!(!problems(&document).is_empty(), "the reader accepts {fragment}");
        assert!(!validator.is_valid(&as_json("invalid", &document)), "the schema accepts {fragment}");
    }
    for document in [
        "{about: a, expect: {effects: [], claim: not-done}}",
        "{about: a, task: t}",
        "{task: t, expect: {effects: [], claim: not-done}}",
    ] {
        assert!(!problems(document).is_empty(), "the reader accepts {document}");
        assert!(!validator.is_valid(&as_json("invalid", document)), "the schema accepts {document}");
    }
}

#[test]
fn only_the_reader_refuses_what_needs_more_than_one_value() {
    let validator = validator();
    for fragment in section("reader only") {
        let document = document(&fragment);
        assert!(!problems(&document).is_empty(), "the reader accepts {fragment}");
        assert!(validator.is_valid(&as_json("reader only", &document)), "the schema refuses {fragment}");
    }
}

/// Puts every value into every place. Where the schema accepts a document that the reader refuses, each
/// problem must be one that a schema cannot express.
#[test]
fn both_agree_on_every_value_in_every_place() {
    let validator = validator();
    let (values, reader_only) = (section("values"), section("messages of the reader only"));
    let mut disagreements = Vec::new();
    for place in section("places").into_iter().chain(places_in_replies()) {
        for value in &values {
            let fragment = place.replace('@', value);
            let document = document(&fragment);
            let problems = problems(&document);
            let is_valid = validator.is_valid(&as_json("place", &document));
            let is_known = |problem: &String| reader_only.iter().any(|message| problem.contains(message));
            if problems.is_empty() && !is_valid {
                disagreements.push(format!("the schema refuses, the reader accepts: {fragment}"));
            } else if is_valid && !problems.iter().all(is_known) {
                disagreements
                    .push(format!("the schema accepts, the reader refuses: {fragment}: {problems:?}"));
            }
        }
    }
    assert!(disagreements.is_empty(), "{}:\n{}", disagreements.len(), disagreements.join("\n"));
}
