//! `hapax list`, `lint` and `schema` as a user runs them: the real command in a temporary folder.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const MINE: &str = "\
about: The desk answers, and nobody hears it.
tags: [mine]
task: Open a ticket for ann.
steps:
  - { do: tickets.open, with: { customer: ann, subject: Broken } }
matrix:
  reply: [drop, { status: 503 }]
faults:
  - { on: tickets.open, reply: \"${reply}\" }
expect:
  effects:
    - { effect: tickets.open, where: { customer: ann } }
";

struct Ended {
    status: Option<i32>,
    out: String,
    err: String,
}

fn hapax(home: &Path, arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapax"));
    command.current_dir(home).args(arguments).env("NO_COLOR", "1").env("COLUMNS", "100").stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("scenarios")).unwrap();
    for (path, text) in files {
        fs::write(home.path().join(path), text).unwrap();
    }
    home
}

#[test]
fn cases_are_listed_by_scenario() {
    let home = home(&[("scenarios/desk.yaml", MINE)]);
    let ended = hapax(home.path(), &["list", "mine", "declined"]);
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(ended.out);
}

#[test]
fn cases_are_listed_for_machines() {
    let home = home(&[("scenarios/desk.yaml", MINE)]);
    insta::assert_snapshot!(hapax(home.path(), &["list", "desk@", "--json"]).out);
}

#[test]
fn a_listed_id_is_a_filter_that_matches_one_case() {
    let home = home(&[("scenarios/desk.yaml", MINE)]);
    let lines = hapax(home.path(), &["list", "--json"]).out;
    for line in lines.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap();
        assert!(
            id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/@=,._+-".contains(&byte)),
            "{id} needs quotes"
        );
    }
    assert_eq!(hapax(home.path(), &["list", "desk@reply=503", "--json"]).out.lines().count(), 1);
}

#[test]
fn files_without_a_problem_are_counted() {
    let home = home(&[("scenarios/desk.yaml", MINE), ("other.yaml", MINE)]);
    let ended = hapax(home.path(), &["lint", "other.yaml", "scenarios"]);
    assert_eq!((ended.status, ended.out.as_str()), (Some(0), "2 files, 4 cases: no problem\n"));
    assert_eq!(hapax(home.path(), &["lint"]).status, Some(0));
}

#[test]
fn problems_are_shown_and_the_exit_status_says_so() {
    let wrong = MINE
        .replace("customer: ann, subject", "custmer: ann, subject")
        .replace("tags: [mine]", "tgs: [mine]");
    let home = home(&[("scenarios/desk.yaml", &wrong), ("scenarios/next.yaml", "about: [\n")]);
    let ended = hapax(home.path(), &["lint"]);
    assert_eq!((ended.status, ended.out.as_str()), (Some(2), ""));
    insta::assert_snapshot!(ended.err);
    assert_eq!(hapax(home.path(), &["list"]).status, Some(2));
}

#[test]
fn without_a_name_the_services_are_listed_and_each_has_a_reference() {
    let home = home(&[]);
    let names = hapax(home.path(), &["list", "--service"]).out;
    assert_eq!(names.lines().collect::<Vec<_>>(), mock_services::catalog::names().collect::<Vec<_>>());
    let name = names.lines().next_back().unwrap();
    let reference = hapax(home.path(), &["list", "--service", name]);
    assert_eq!(reference.status, Some(0));
    assert!(reference.out.contains(&format!("`hapax list --service {name}`")), "{}", reference.out);
}

#[test]
fn a_filter_that_names_nothing_is_refused() {
    let home = home(&[]);
    let ended = hapax(home.path(), &["list", "paiment"]);
    assert_eq!(ended.status, Some(2));
    assert_eq!(
        ended.err,
        "error: no case matches `paiment`\nhelp: did you mean `payment`? `hapax list` shows all cases\n"
    );
}

#[test]
fn an_endless_file_is_refused() {
    let home = home(&[]);
    let file = fs::File::create(home.path().join("scenarios/large.yaml")).unwrap();
    file.set_len(100 << 20).unwrap();
    let ended = hapax(home.path(), &["lint", "scenarios/large.yaml"]);
    assert_eq!(ended.status, Some(2));
    assert!(ended.err.contains("the file is larger than the maximum of 1048576 bytes"), "{}", ended.err);
}

#[test]
fn the_printed_schema_is_the_committed_one() {
    let home = home(&[]);
    let ended = hapax(home.path(), &["schema"]);
    assert_eq!(ended.status, Some(0));
    assert_eq!(ended.out, include_str!("../../docs/scenario.schema.json"));
    assert_eq!(hapax(home.path(), &["schema", "scenario"]).out, ended.out);
}
