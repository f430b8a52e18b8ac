//! A reply is a module and its line in the list: nothing else names one, so nothing else changes for a new
//! one.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use mock_services::fault::{Fault, PlainWord, ReplyKind};

use crate::adding_a_service::names::{SourcePart, collect_files, is_word, source_parts};
use crate::adding_a_service::root;

/// The folder of the replies.
const FOLDER: &str = "mock-services/src/fault/replies/";

/// Other files that may name replies, with the reason.
const EXCEPTIONS: [(&str, &str); 4] = [
    ("src/explore/cell.rs", "the cells of a search, as they are written in scenarios"),
    ("src/certify/mcp/scenarios.rs", "which faults the scenarios of MCP servers inject"),
    ("src/scenario/events.rs", "the answer of a receiver to a copy of an event is dropped"),
    ("src/results/sample/", "the sample report that tests use"),
];

/// Words of replies that are also words of something else, so that a text is no sign of a reply.
const OTHER_MEANINGS: [&str; 4] = ["ok", "other", "reset", "status"];

#[test]
fn every_module_of_the_folder_is_a_reply_of_the_list() {
    let files = fs::read_dir(root().join(FOLDER)).unwrap().map(|entry| entry.unwrap().path());
    let modules: BTreeSet<String> =
        files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    let mut listed: BTreeSet<String> =
        ReplyKind::ALL.into_iter().map(|kind| kind.as_str().replace('-', "_")).collect();
    listed.insert("mod".to_owned());
    assert_eq!(modules, listed);
}

#[test]
fn no_source_file_outside_the_folder_names_a_reply() {
    let root = root();
    let mut files = Vec::new();
    for folder in ["src", "mock-services/src"] {
        collect_files(&root.join(folder), &mut files);
    }
    assert!(files.len() > 100, "the source files are not where they are looked for");
    let mut message = String::new();
    for path in files {
        let file = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        if file.starts_with(FOLDER) || EXCEPTIONS.iter().any(|(exception, _)| file.starts_with(exception)) {
            continue;
        }
        for (line, found) in replies_named_in(&fs::read_to_string(&path).unwrap()) {
            writeln!(message, "{file}:{line} names the reply `{found}`").unwrap();
        }
    }
    assert!(message.is_empty(), "{message}Ask its facts (`ReplyKind::facts`) or its behavior instead.");
}

/// The replies that a source file names in its code, each with its line.
fn replies_named_in(text: &str) -> Vec<(usize, ReplyKind)> {
    let mut found = Vec::new();
    for (line, part) in source_parts(text) {
        let is_named = |kind: &ReplyKind| match &part {
            SourcePart::Text(text) => text == kind.as_str() && !OTHER_MEANINGS.contains(&kind.as_str()),
            SourcePart::Code(code) => ["Reply", "ReplyKind"].iter().any(|name| names(code, name, *kind)),
        };
        found.extend(ReplyKind::ALL.into_iter().filter(is_named).map(|kind| (line, kind)));
    }
    found
}

/// Whether a line of code has `ReplyKind::Drop`.
fn names(code: &str, type_name: &str, kind: ReplyKind) -> bool {
    let word = kind.as_str();
    let path = format!("{type_name}::{}{}", word[..1].to_uppercase(), &word[1..]);
    code.match_indices(&path).any(|(at, _)| {
        let (before, after) = (code[..at].chars().next_back(), code[at + path.len()..].chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[test]
fn a_reply_is_found_in_paths_and_texts() {
    assert_eq!(replies_named_in("Reply::Hang(hang) => 1,"), [(1, ReplyKind::Hang)]);
    assert_eq!(replies_named_in("\nfault::ReplyKind::Ok"), [(2, ReplyKind::Ok)]);
    assert_eq!(replies_named_in("if word == \"garble\" {"), [(1, ReplyKind::Garble)]);
    for text in ["ToolReply::Drop", "Reply::Dropped", "// Reply::Drop", "\"reset\"", "Reply::status(503)"] {
        assert_eq!(replies_named_in(text), [], "{text}");
    }
}

#[test]
fn the_page_for_contributors_names_the_two_files() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let section = page.split("## Add a reply\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let files = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(files.collect::<Vec<_>>(), [format!("{FOLDER}NAME.rs"), format!("{FOLDER}mod.rs")]);
}

#[test]
fn the_samples_of_a_reply_are_that_reply_and_have_each_of_its_forms() {
    for kind in ReplyKind::ALL {
        let facts = kind.facts();
        let reply = |text: &str| {
            let fault: Fault = format!("a.b reply={text}").parse().unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(fault.reply.kind(), kind, "{text}");
            fault.reply
        };
        facts.samples.iter().chain(facts.help).for_each(|text| drop(reply(text)));
        facts.docs.iter().for_each(|(text, _)| drop(reply(text)));
        assert!(!facts.samples.is_empty() && !facts.docs.is_empty(), "{kind}");
        let has_value = facts.samples.iter().any(|text| text.starts_with('{'));
        assert_eq!(has_value, facts.value.is_some(), "{kind}");
        if let PlainWord::Means(plain) = facts.plain {
            assert_eq!(reply(kind.as_str()), plain());
        }
        // A sample is sent over a socket in many tests.
        let longest = facts.samples.iter().filter_map(|text| reply(text).takes()).max().unwrap_or_default();
        assert!(longest.as_millis() <= 10, "{kind}");
    }
}
