//! No source file names a particular service, except in the service's own folder.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use mock_services::catalog;

/// Folders and files that may name services, with the reason.
const EXCEPTIONS: [(&str, &str); 11] = [
    ("mock-services/src/custom/", "the folder of the services that files declare"),
    ("mock-services/src/built_in.rs", "the list of the services that are written in Rust"),
    ("mock-services/src/catalog/mod.rs", "the list of the services that a shipped file declares"),
    ("mock-services/src/examples.rs", "the examples of messages"),
    ("src/subject/control/tools/", "the control tool of each service"),
    ("src/subject/control/agent/", "how the controls ask the model service"),
    ("src/demo/", "the demo"),
    ("src/init/", "the templates of `hapax init`"),
    ("src/cli/", "examples in the help of commands"),
    ("src/results/sample/", "the sample report that tests use"),
    ("src/record/", "what `hapax record` records for the model service"),
];

/// Names of services that mean something else in a file or folder.
const OTHER_MEANINGS: [(&str, &str); 18] = [
    // A field of a customer.
    ("mock-services/src/payment/", "email"),
    // A format of JSON Schema, and a part of the names of arguments.
    ("src/certify/mcp/arguments.rs", "email"),
    // Words in the names of arguments.
    ("mock-services/src/model/arguments.rs", "email"),
    ("mock-services/src/model/arguments.rs", "payment"),
    ("mock-services/src/model/structured.rs", "email"),
    // Whoever retried.
    ("src/domain/verdicts.rs", "model"),
    ("src/score/retry_evidence.rs", "model"),
    // A field of a chat completion.
    ("src/subject/http/exchange.rs", "model"),
    // Keys of `expect` in a scenario.
    ("src/scenario/expect/mod.rs", "records"),
    ("src/scenario/expect/end_state.rs", "records"),
    ("src/scenario/schema/mod.rs", "records"),
    // What a person grants, whether a service was asked or the subject ended and waits.
    ("mock-services/src/description/", "approval"),
    ("src/domain/", "approval"),
    ("src/scenario/", "approval"),
    ("src/score/", "approval"),
    ("src/trial/person.rs", "approval"),
    ("src/subject/control/approvals.rs", "approval"),
    ("src/report/timeline/", "approval"),
];

#[test]
fn no_source_file_outside_its_folder_names_a_service() {
    let root = super::root();
    let mut files = Vec::new();
    for folder in ["src", "mock-services/src"] {
        collect_files(&root.join(folder), &mut files);
    }
    assert!(files.len() > 100, "the source files are not where they are looked for");
    let mut message = String::new();
    for path in files {
        let file = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        if EXCEPTIONS.iter().any(|(folder, _)| file.starts_with(folder)) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for (line, found) in services_named_in(&file, &text) {
            writeln!(message, "{file}:{line} names the service `{found}`").unwrap();
        }
    }
    assert!(
        message.is_empty(),
        "{message}Ask the catalog (mock-services/src/catalog) instead, and put what is special about the \
         service \
         into its description."
    );
}

/// Files and folders that treat the fields of all services alike.
const FIELD_READERS: [&str; 9] = [
    "mock-services/src/catalog/lookup.rs",
    "mock-services/src/ledger/words.rs",
    "src/fit/",
    "src/report/impact.rs",
    "src/scenario/expect/",
    "src/scenario/mcp.rs",
    "src/scenario/quick/",
    "src/score/",
    "src/subject/control/intent.rs",
];

/// Names of fields that mean something else in such a file, or the same for all services.
const NOT_FIELDS: [(&str, &str); 20] = [
    // The fields of every service that bills tokens.
    ("src/score/costs.rs", "input_tokens"),
    ("src/score/costs.rs", "output_tokens"),
    ("src/score/costs.rs", "answer_bytes"),
    ("src/score/costs.rs", "through"),
    // Words of salutations and of the names of addresses.
    ("src/fit/salutation.rs", "customer"),
    ("src/fit/salutation.rs", "from"),
    ("src/fit/salutation.rs", "name"),
    ("src/fit/salutation.rs", "recipient"),
    ("src/fit/salutation.rs", "to"),
    ("src/fit/addresses.rs", "customer"),
    ("src/fit/addresses.rs", "service"),
    // A noun for what a store has.
    ("src/score/findings/end_state.rs", "counter"),
    // Keys of `expect` in a scenario.
    ("src/scenario/expect/mod.rs", "claim"),
    ("src/scenario/expect/mod.rs", "order"),
    // The id that a service gives an effect, which no scenario can know.
    ("src/scenario/expect/times.rs", "id"),
    // The field with which every service reads one object.
    ("src/score/showing_reads.rs", "id"),
    // A noun for what a store has.
    ("src/score/findings/unexpected.rs", "counter"),
    // A noun for an effect without one.
    ("src/score/findings/words.rs", "operation"),
    // What an intent without a field is called.
    ("src/score/findings/words.rs", "task"),
    // A field of a step that every service with several APIs has.
    ("src/scenario/mcp.rs", "via"),
];

#[test]
fn what_treats_all_fields_alike_asks_their_descriptions() {
    let services = catalog::services();
    let carried = services.iter().flat_map(|service| &service.effects).flat_map(|effect| &effect.carried);
    let sent =
        services.iter().flat_map(|service| &service.operations).flat_map(|operation| &operation.fields);
    let fields: BTreeSet<&str> = carried.map(String::as_str).chain(sent.map(AsRef::as_ref)).collect();
    assert!(["amount", "to", "environment", "counter", "path"].iter().all(|name| fields.contains(name)));
    let root = super::root();
    let mut files = Vec::new();
    for folder in ["src", "mock-services/src"] {
        collect_files(&root.join(folder), &mut files);
    }
    let mut message = String::new();
    for path in files {
        let file = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        if !FIELD_READERS.iter().any(|reader| file.starts_with(reader)) {
            continue;
        }
        for (line, part) in source_parts(&std::fs::read_to_string(&path).unwrap()) {
            let SourcePart::Text(text) = part else { continue };
            if fields.contains(text.as_str()) && !NOT_FIELDS.contains(&(file.as_str(), text.as_str())) {
                writeln!(message, "{file}:{line} names the field `{text}`").unwrap();
            }
        }
    }
    assert!(
        message.is_empty(),
        "{message}Put what is special about the field into its description: FieldDescription, PhrasePart."
    );
}

#[test]
fn a_service_name_is_found_in_strings_paths_and_types_only() {
    let found = |text: &str| services_named_in("src/x.rs", text);
    assert_eq!(found("if name == \"payment\" {"), [(1, "payment".to_owned())]);
    assert_eq!(found("\n\"write payment.charge\""), [(2, "payment".to_owned())]);
    assert_eq!(found("effect.starts_with(\"payment.\")"), [(1, "payment".to_owned())]);
    assert_eq!(found("\"HAPAX_EMAIL_URL\""), [(1, "email".to_owned())]);
    assert_eq!(found("use mock_services::deploy::Deploy;"), [(1, "deploy".to_owned())]);
    assert_eq!(found("let x = RecordsOptions::default();"), [(1, "records".to_owned())]);
    assert_eq!(found("r#\"a \" payment.charge\"#"), [(1, "payment".to_owned())]);
    for text in [
        "// payment.charge",
        "/* \"payment\" */ '\"' 'a'",
        "let records = self.records.iter();",
        "402 => \"Payment Required\"",
        "x\n#[cfg(test)]\nmod tests {\n    \"payment\"\n}\n",
        "fn f<'a>(x: &'a str) {} // \"email\"",
        "pub mod payment;",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
    assert_eq!(services_named_in("mock-services/src/payment/x.rs", "\"payment\" \"deploy\"").len(), 1);
}

/// The source files of a folder, without tests.
pub(crate) fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut inside: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inside.sort();
    let modules = ["mod.rs", "lib.rs", "main.rs"].map(|name| folder.join(name));
    let of_tests: Vec<String> = inside
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .chain(&modules)
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .flat_map(|text| test_modules(&text))
        .collect();
    for path in inside {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_source = path.extension().is_some_and(|end| end == "rs");
        if of_tests.contains(&stem) || stem.ends_with("tests") {
            continue;
        }
        if path.is_dir() {
            collect_files(&path, files);
        } else if is_source {
            files.push(path);
        }
    }
}

/// The names of modules that are compiled only for tests.
fn test_modules(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let after_test = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]").map(|pair| pair[1]);
    let name = |line: &str| {
        let line = line.strip_suffix(';')?;
        Some(line.rsplit_once("mod ")?.1.to_owned())
    };
    after_test.filter_map(name).collect()
}

/// The services that a text names, each with its line, except the file's own.
fn services_named_in(file: &str, text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, piece) in source_parts(text) {
        for service in catalog::names() {
            let is_own = file.starts_with(&format!("mock-services/src/{service}/"));
            let is_other =
                OTHER_MEANINGS.iter().any(|(place, word)| file.starts_with(place) && *word == service);
            if !is_own && !is_other && piece.names(service) {
                found.push((line, service.to_owned()));
            }
        }
    }
    found.dedup();
    found
}

/// A part of a source file.
pub(crate) enum SourcePart {
    /// A string literal.
    Text(String),
    /// One line of code between strings and comments.
    Code(String),
}

impl SourcePart {
    fn names(&self, service: &str) -> bool {
        match self {
            SourcePart::Text(text) => {
                let is_operation = text.match_indices(&format!("{service}.")).any(|(at, found)| {
                    let before = text[..at].chars().next_back();
                    let after = text[at + found.len()..].chars().next();
                    !before.is_some_and(is_word) && after.is_some_and(|next| next.is_ascii_lowercase())
                });
                text == service
                    || text.strip_suffix('.') == Some(service)
                    || (is_operation && !text.contains(&format!("{service}.yaml")))
                    || text.contains(&format!("HAPAX_{}_", service.to_uppercase()))
            }
            SourcePart::Code(code) => {
                let capital = format!("{}{}", service[..1].to_uppercase(), &service[1..]);
                let mut words = code.split(|next: char| !is_word(next));
                let is_type = words.any(|word| {
                    word.strip_prefix(capital.as_str()).is_some_and(|rest| {
                        rest.is_empty() || rest.starts_with(|next: char| next.is_ascii_uppercase())
                    })
                });
                let is_path = ["crate", "mock_services"].iter().any(|package| {
                    let path = format!("{package}::{service}");
                    code.match_indices(&path)
                        .any(|(at, _)| !code[at + path.len()..].chars().next().is_some_and(is_word))
                });
                is_type || is_path
            }
        }
    }
}

pub(crate) fn is_word(next: char) -> bool {
    next.is_ascii_alphanumeric() || next == '_'
}

/// The strings and the code of a source file, each with its first line; comments and unit tests are left out.
pub(crate) fn source_parts(source: &str) -> Vec<(usize, SourcePart)> {
    // Unit tests are at the end of a file.
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let (mut source_parts, mut code) = (Vec::new(), String::new());
    let (mut at, mut line) = (0, 1);
    while let Some(next) = source[at..].chars().next() {
        let rest = &source[at..];
        let raw_marks = rest.strip_prefix('r').map(|rest| rest.len() - rest.trim_start_matches('#').len());
        let is_raw = raw_marks.is_some_and(|marks| rest[1 + marks..].starts_with('"'))
            && !code.chars().next_back().is_some_and(is_word);
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if is_raw {
            let marks = raw_marks.unwrap_or_default();
            let end = format!("\"{}", "#".repeat(marks));
            let begin = marks + 2;
            let length = rest[begin..].find(&end).unwrap_or(rest.len() - begin);
            source_parts.push((line, SourcePart::Text(rest[begin..begin + length].to_owned())));
            (begin + length + end.len()).min(rest.len())
        } else if next == '"' {
            let length = text_length(&rest[1..]);
            source_parts.push((line, SourcePart::Text(rest[1..=length].to_owned())));
            (length + 2).min(rest.len())
        } else if next == '\'' {
            character_length(rest)
        } else {
            code.push(next);
            next.len_utf8()
        };
        if next == '\n' && !code.trim().is_empty() {
            source_parts.push((line, SourcePart::Code(std::mem::take(&mut code))));
        }
        line += source[at..at + length].matches('\n').count();
        at += length;
    }
    source_parts.push((line, SourcePart::Code(code)));
    source_parts
}

/// The length of a string up to its closing quote.
fn text_length(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, next) in rest.char_indices() {
        match next {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character literal; 1 for the quote of a lifetime.
fn character_length(rest: &str) -> usize {
    let mut inside = rest.chars().skip(1);
    match (inside.next(), inside.next()) {
        (Some('\\'), _) => rest[3..].find('\'').map_or(1, |end| end + 4),
        (Some(character), Some('\'')) => character.len_utf8() + 2,
        _ => 1,
    }
}
