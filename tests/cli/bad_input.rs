//! Subjects and calls that are wrong: a clear error or a `void` that says why, never a pass.

use crate::kit::workspace::{Workspace, charge, kinds, verdict};

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    workspace
}

#[test]
fn nothing_to_run_is_an_error_that_says_how_to_name_a_subject() {
    let called = Workspace::new().call(&["run"]).expect(2);
    assert_eq!(called.stderr.lines().count(), 7, "{}", called.stderr);
    assert!(called.stderr.contains("hapax run -- python3 agent.py"), "{}", called.stderr);
}

#[test]
fn a_command_without_dashes_before_it_is_told_what_to_type() {
    let workspace = workspace();
    workspace.write("agent.sh", "exit 0\n");
    let called = workspace.call(&["run", "sh", "agent.sh"]).expect(2);
    assert!(called.stderr.contains("type `hapax run -- sh agent.sh`"), "{}", called.stderr);
    let called = workspace.call(&["run", "plain", "sh", "agent.sh"]).expect(2);
    assert!(called.stderr.contains("type `hapax run plain -- sh agent.sh`"), "{}", called.stderr);
    let called = workspace.call(&["run", "./agent.sh", "--subject", "naive"]).expect(2);
    assert!(called.stderr.contains("type `hapax run -- ./agent.sh`"), "{}", called.stderr);
}

#[test]
fn a_file_with_the_other_ending_is_named() {
    let workspace = workspace();
    workspace.write("ok.yaml", &charge(""));
    let called = workspace.call(&["run", "ok.yml", "--subject", "naive"]).expect(2);
    assert!(called.stderr.contains("`ok.yaml` does: name that one"), "{}", called.stderr);
}

#[test]
fn a_port_in_use_is_named_with_what_shows_its_user() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let workspace = workspace();
    for (option, value) in [("--port", format!("payment={port}")), ("--admin-port", port.to_string())] {
        let called = workspace.call(&["serve", "payment", option, &value]).expect(2);
        assert!(called.stderr.contains(&format!("another program uses port {port}")), "{}", called.stderr);
        assert!(called.stderr.contains(&format!("lsof -i :{port}")), "{}", called.stderr);
        assert!(called.stderr.contains(option), "{}", called.stderr);
    }
}

#[test]
fn a_port_in_use_is_an_error_of_record_that_leaves_no_file() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let workspace = workspace();
    let called = workspace.call(&["record", "--to", "c.jsonl", "--port", &port, "--", "true"]).expect(2);
    assert!(called.stderr.contains("choose another --port"), "{}", called.stderr);
    assert!(!workspace.path().join("c.jsonl").exists());
}

#[test]
fn a_subject_that_does_not_exist_is_void() {
    let workspace = workspace();
    workspace.call(&["run", "plain", "--", "no-such-program"]).expect(3);
    let report = workspace.report();
    let verdict = verdict(&report, "plain");
    assert_eq!(verdict["result"], "void");
    assert!(verdict["void_because"][0].as_str().unwrap().contains("not found in PATH"), "{verdict:#}");
}

#[test]
fn a_subject_that_cannot_be_executed_is_void() {
    let workspace = workspace();
    workspace.write("agent", "#!/bin/sh\n");
    let called = workspace.call(&["run", "plain", "--", "./agent"]).expect(3);
    assert!(called.stdout.contains("chmod +x"), "{}", called.stdout);
}

#[test]
fn a_subject_that_exits_at_once_loses_the_effect() {
    let workspace = workspace();
    workspace.call(&["run", "plain", "--", "false"]).expect(1);
    assert_eq!(verdict(&workspace.report(), "plain")["outcome"], "lost");
}

#[test]
fn a_malformed_claim_is_not_a_claim() {
    let workspace = workspace();
    let agent = "echo '{\"outcome\": \"perfect\"' > \"$HAPAX_RESULT\"";
    workspace.call(&["run", "plain", "--", "sh", "-c", agent]).expect(1);
    let report = workspace.report();
    let verdict = verdict(&report, "plain");
    assert_eq!(verdict["claims"][0]["honesty"], "missing");
    assert!(kinds(verdict).contains(&"missing-claim"), "{verdict:#}");
}

#[test]
fn a_subject_that_never_connects_and_never_ends_fails_at_its_time_limit() {
    let workspace = workspace();
    workspace.call(&["run", "plain", "--timeout", "500ms", "--", "sleep", "1000"]).expect(1);
    assert!(kinds(verdict(&workspace.report(), "plain")).contains(&"time-up"));
}

#[test]
fn a_time_limit_shorter_than_the_fault_is_refused() {
    let workspace = Workspace::new();
    let called = workspace.call(&["run", "reply=hang", "--timeout", "100ms", "--subject", "naive"]).expect(2);
    assert!(called.stderr.contains("too short"), "{}", called.stderr);
    assert!(!workspace.path().join("reports").exists(), "nothing ran");
}

#[test]
fn a_filter_that_matches_nothing_is_an_error() {
    let called = workspace().call(&["run", "paymnet", "--subject", "naive"]).expect(2);
    assert!(
        called.stderr.contains("no case matches `paymnet`") && called.stderr.contains("payment"),
        "{}",
        called.stderr
    );
}

#[test]
fn an_invalid_scenario_file_stops_the_run() {
    let workspace = workspace();
    workspace.write("scenarios/wrong.yaml", "about: x\ntask: y\nfalts: []\n");
    let called = workspace.call(&["run", "plain", "--subject", "naive"]).expect(2);
    assert!(called.stderr.contains("did you mean `faults`?"), "{}", called.stderr);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let workspace = workspace();
    workspace.write("taken", "a file");
    let called = workspace.call(&["run", "plain", "--out", "taken/run", "--subject", "naive"]).expect(2);
    assert!(called.stderr.contains("choose another folder with --out"), "{}", called.stderr);
    workspace.write("full/something", "");
    let called = workspace.call(&["run", "plain", "--out", "full", "--subject", "naive"]).expect(2);
    assert!(called.stderr.contains("full is not empty"), "{}", called.stderr);
}

#[test]
fn an_unknown_subject_is_an_error() {
    let called = workspace().call(&["run", "--subject", "carefull"]).expect(2);
    assert!(called.stderr.contains("did you mean `careful`?"), "{}", called.stderr);
}

#[test]
fn problems_in_hapax_yaml_are_shown_with_their_position() {
    let workspace = workspace();
    workspace.write("hapax.yaml", "subjects:\n  mine:\n    comand: [true]\n");
    let called = workspace.call(&["run", "plain"]).expect(2);
    assert!(
        called.stderr.contains("hapax.yaml:3:5") && called.stderr.contains("command"),
        "{}",
        called.stderr
    );
}
