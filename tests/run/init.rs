//! `hapax init`: what it lays out runs at once, and what was there is kept.

use std::process::{Command, Stdio};

use crate::kit::workspace::{Called, Workspace};

/// The agent that is laid out needs curl.
fn with_curl() {
    let has_curl = || {
        Command::new("curl")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    if !has_curl() {
        let install = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/install");
        assert!(Command::new(install).status().unwrap().success(), "curl could not be installed");
    }
}

#[test]
fn in_an_empty_folder_what_is_laid_out_runs_at_once() {
    with_curl();
    let workspace = Workspace::new();
    let called = workspace.call(&["init", "--yes"]).expect(0);
    insta::assert_snapshot!(called.stdout);
    workspace.call(&["lint"]).expect(0);
    workspace.call(&["run", "first-charge"]).expect(0);
    // What the workflow runs.
    assert!(
        workspace
            .read(".github/workflows/hapax.yml")
            .contains("run: hapax run first-charge --out hapax-report")
    );
    workspace.call(&["run", "first-charge", "--out", "hapax-report"]).expect(0);
    // It is no scenario that everybody passes.
    workspace.call(&["selftest", "first-charge"]).expect(0);
}

#[test]
fn an_agent_that_is_there_is_named() {
    let workspace = Workspace::new();
    workspace.write("agent.py", "print('hello')\n");
    let called = workspace.call(&["init", "--yes"]).expect(0);
    assert!(
        called.stdout.contains("The agent: python3 agent.py (there is a file agent.py)"),
        "{}",
        called.stdout
    );
    assert!(workspace.read("hapax.yaml").contains("command: [\"python3\", \"agent.py\"]"));
    assert!(!workspace.path().join("agent.sh").exists(), "no sample where there is an agent");
}

#[test]
fn the_user_can_say_what_starts_the_agent() {
    let workspace = Workspace::new();
    workspace.write("agent.py", "");
    workspace.call(&["init", "--", "sh", "-c", "echo 'it is me'"]).expect(0);
    assert!(workspace.read("hapax.yaml").contains(r#"command: ["sh", "-c", "echo 'it is me'"]"#));
}

#[test]
fn nothing_is_overwritten_and_what_was_kept_is_said() {
    let workspace = Workspace::new();
    let mine = "subjects:\n  mine: { command: [true] }\n";
    workspace.write("hapax.yaml", mine).write("scenarios/first-charge.yaml", "mine too");
    let called = workspace.call(&["init", "--yes"]).expect(0);
    assert!(called.stdout.contains("kept     hapax.yaml, which exists already"), "{}", called.stdout);
    assert!(called.stdout.contains("kept     scenarios/first-charge.yaml"), "{}", called.stdout);
    assert!(called.stdout.contains("created  .github/workflows/hapax.yml"), "{}", called.stdout);
    assert_eq!(
        (workspace.read("hapax.yaml").as_str(), workspace.read("scenarios/first-charge.yaml").as_str()),
        (mine, "mine too")
    );
}

#[test]
fn without_a_terminal_nothing_is_asked() {
    let workspace = Workspace::new();
    let called: Called = workspace.command(&["init"]).stdin(Stdio::null()).output().unwrap().into();
    let called = called.expect(0);
    assert!(!called.stderr.contains('?'), "{}", called.stderr);
}

#[test]
fn a_folder_that_cannot_be_laid_out_in_says_which_file() {
    let workspace = Workspace::new();
    workspace.write("scenarios", "a file");
    let called = workspace.call(&["init", "--yes"]).expect(2);
    assert!(called.stderr.contains("cannot write scenarios/first-charge.yaml"), "{}", called.stderr);
}
