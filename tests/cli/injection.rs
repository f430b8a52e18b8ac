//! Text of a subject or a scenario that tries to act as a command of a CI system, or to have files shown.

use crate::kit::workspace::{Called, LOOK, Workspace, charge};

/// The lines of a text that GitHub's runner, or one like it, would carry out.
fn commands(printed: &str) -> Vec<&str> {
    let acts = |line: &&str| {
        line.trim_start().starts_with("::")
            || ["##[", "##vso[", "##teamcity["].iter().any(|command| line.contains(command))
    };
    printed.split(['\n', '\r']).filter(acts).collect()
}

/// Writes commands to both outputs and into its claim. Long words before them make a table or a paragraph
/// break at the beginning of a command.
fn hostile() -> String {
    let write = r#"for out in 1 2; do
printf '::error::pwned-%s\n  ::set-env name=PATH::pwned\n##[error]pwned\n' $out >&$out
printf 'x ##[group]pwned ##vso[task.x]pwned\nx\r::stop-commands::pwned\n' >&$out
done
word=$(printf 'w%.0s' $(seq 1 90))
message="::error::pwned ##[error]pwned $word ::warning::pwned $word"
message="$message ::debug::pwned ${word}::notice::pwned \\n::error::pwned"
printf '{"outcome": "done", "message": "%s"}' "$message" > "$HAPAX_RESULT""#;
    format!("{LOOK}\n{write}")
}

#[test]
fn output_of_a_subject_is_not_a_workflow_command() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("")).write("agent", &hostile());
    for arguments in [
        &["run", "plain", "-v", "--", "bash", "agent"][..],
        &["run", "plain", "--format", "json", "--", "bash", "agent"],
        &["run", "plain", "--format", "jsonl", "--", "bash", "agent"],
        &["run", "plain", "--format", "tap", "--", "bash", "agent"],
    ] {
        let mut command = workspace.command(arguments);
        let called: Called = command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_STEP_SUMMARY", "step.md")
            .output()
            .unwrap()
            .into();
        let called = called.expect(1);
        let found = commands(&called.stdout);
        if arguments.contains(&"-v") {
            assert!(called.stdout.contains("pwned"), "the output is shown:\n{}", called.stdout);
            assert_eq!(found.len(), 1, "{found:#?}");
            assert!(
                found[0].starts_with("::error file=") && !found[0].contains("##["),
                "its own annotation: {}",
                found[0]
            );
        } else {
            assert_eq!(found, [""; 0], "{arguments:?}");
        }
        assert_eq!(commands(&called.stderr), [""; 0], "{arguments:?}");
    }
    for format in ["terminal", "markdown", "html", "junit", "tap", "jsonl"] {
        let called = workspace.call(&["report", "show", "reports/latest", "--format", format]).expect(1);
        assert!(called.stdout.contains("plain"), "{format}");
        assert_eq!(commands_but_style(&called.stdout), [""; 0], "{format}");
    }
    let called = workspace.call(&["report", "show", "reports/latest", "plain", "-v"]).expect(1);
    assert_eq!(commands(&called.stdout), [""; 0]);
    assert_eq!(commands(&workspace.read("step.md")), [""; 0]);
}

/// Without the lines of a style sheet: a selector has a pair of colons once, a command twice.
fn commands_but_style(printed: &str) -> Vec<&str> {
    commands(printed).into_iter().filter(|line| line.matches("::").count() != 1).collect()
}

#[test]
fn a_problem_in_a_scenario_is_not_a_workflow_command() {
    let workspace = Workspace::new();
    workspace.write("scenarios/wrong.yaml", "about: x\n\"##[error]pwned\": 1\n\"a\\r::error::pwned\": 2\n");
    let called = workspace.call(&["lint", "scenarios"]).expect(2);
    assert!(called.stderr.contains("pwned"), "{}", called.stderr);
    assert_eq!(commands(&called.stderr), [""; 0], "{}", called.stderr);
}

const SECRET: &str = "hunter2-of-this-machine";

/// A scenario that names this file as its service.
fn naming(file: &str) -> String {
    charge(&format!("services: {{ tickets: {{ file: {file} }} }}\n"))
}

#[test]
fn a_service_file_outside_of_the_folder_is_not_shown() {
    let workspace = Workspace::new();
    workspace.write("passwords", &format!("root:x:0\nkey: {SECRET}\n\"{SECRET}\n"));
    workspace.write("tree.yaml", &format!("service: {SECRET}\noperations: {{ {SECRET}: [] }}\n"));
    let absolute = workspace.path().join("passwords").display().to_string();
    for file in
        ["../passwords", "../tree.yaml", "../scenarios/../passwords", absolute.as_str(), "linked.yaml"]
    {
        if file == "linked.yaml" {
            std::os::unix::fs::symlink(
                workspace.path().join("passwords"),
                workspace.path().join("scenarios/linked.yaml"),
            )
            .unwrap();
        }
        workspace.write("scenarios/naming.yaml", &naming(file));
        let called = workspace.call(&["lint", "scenarios/naming.yaml"]).expect(2);
        assert!(!called.stderr.contains("hunter2"), "{file}: {}", called.stderr);
        assert!(called.stderr.contains("nothing of this file is shown"), "{file}: {}", called.stderr);
        let named = if file == "linked.yaml" { "linked.yaml:" } else { file.rsplit('/').next().unwrap() };
        assert!(called.stderr.contains(named), "{file}: {}", called.stderr);
    }
    // A scenario that links to such a file is not shown either.
    let called = workspace.call(&["lint", "scenarios/linked.yaml"]).expect(2);
    assert!(!called.stderr.contains("hunter2"), "{}", called.stderr);
}

#[test]
fn a_service_file_in_the_folder_is_shown_with_its_line() {
    let workspace = Workspace::new();
    workspace
        .write("scenarios/naming.yaml", &naming("parts/mine.yaml"))
        .write("scenarios/parts/mine.yaml", "service: tickets\noprations: {}\n");
    let called = workspace.call(&["lint", "scenarios/naming.yaml"]).expect(2);
    assert!(called.stderr.contains("oprations"), "{}", called.stderr);
}
