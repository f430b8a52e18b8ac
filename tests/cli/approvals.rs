//! Agents that ask a person for an approval: the examples of the docs, and the one-command way.

use crate::kit::workspace::Workspace;

const PAGE: &str = include_str!("../../docs/agents-that-wait.md");

/// The n-th example in Python of the page.
fn example(number: usize) -> &'static str {
    let blocks = PAGE.split("```python\n").skip(1).filter_map(|rest| rest.split("```").next());
    let block = blocks.into_iter().nth(number).unwrap();
    assert!(block.lines().filter(|line| !line.trim().is_empty()).count() <= 30, "{block}");
    block
}

/// The scenarios in which the person answers, except to many workers.
const ANSWERED: [&str; 6] = [
    "approval/answered-twice",
    "approval/other-arguments",
    "approval/denied",
    "approval/expired",
    "approval/killed-after-the-refund",
    "approval/approved-then-denied",
];

fn run(workspace: &Workspace, scenarios: &[&str], subject: &[&str]) -> (i32, String) {
    let arguments: Vec<&str> = [&["run"], scenarios, subject].concat();
    let ended = workspace.call(&arguments);
    (ended.status, format!("{}{}", ended.stdout, ended.stderr))
}

#[test]
fn the_example_that_ends_and_is_started_again_passes_also_with_eight_workers() {
    let workspace = Workspace::new();
    workspace.write("agent.py", example(0));
    let scenarios = [&ANSWERED[..], &["approval/resumed-by-many@workers=8"]].concat();
    let (status, message) =
        run(&workspace, &scenarios, &["--with", "approvals", "--", "python3", "agent.py"]);
    assert_eq!(status, 0, "{message}");
}

#[test]
fn the_example_over_http_passes() {
    let workspace = Workspace::new();
    workspace.write("agent.py", example(1));
    let subject = "subjects:\n  mine: { http: \"http://127.0.0.1:${port}/task\", command: python3 agent.py, \
                   approvals: {} }\n";
    workspace.write("hapax.yaml", subject);
    let (status, message) = run(&workspace, &ANSWERED[..4], &["--subject", "mine"]);
    assert_eq!(status, 0, "{message}");
}

#[test]
fn the_example_that_waits_without_ending_passes() {
    let workspace = Workspace::new();
    workspace.write("agent.py", example(2));
    let scenarios = ["approval/other-arguments", "approval/denied", "approval/expired"];
    let (status, message) =
        run(&workspace, &scenarios, &["--with", "approvals", "--", "python3", "agent.py"]);
    assert_eq!(status, 0, "{message}");
}

#[test]
fn a_subject_that_does_not_say_that_it_asks_skips_such_cases() {
    let workspace = Workspace::new();
    workspace.write("agent.py", example(0));
    let (_, message) = run(&workspace, &ANSWERED[..1], &["--", "python3", "agent.py"]);
    assert!(message.contains("needs an agent that asks for approvals"), "{message}");
    assert!(message.contains("--with approvals"), "{message}");
}

const ONE_COMMAND: [&str; 6] = [
    "--task",
    "Refund $10.00 of order ord_7. A refund needs an approval.",
    "--expect",
    "payment.refund:order=ord_7,amount=1000",
    "--approve",
    "payment.refund",
];

#[test]
fn one_command_tests_an_agent_that_asks_and_one_that_does_not() {
    let workspace = Workspace::new();
    workspace.write("agent.py", example(0));
    let unasking = example(0).replace("if decision == \"approved\":", "decision = \"approved\"\nif True:");
    workspace.write("unasking.py", &unasking);
    let clean = ["-E", "keys=stripe & commit=now & reply=ok"];
    let subject = |file| [&clean[..], &["--", "python3", file]].concat();
    let (status, message) = run(&workspace, &ONE_COMMAND, &subject("agent.py"));
    assert_eq!(status, 0, "{message}");
    let (status, message) = run(&workspace, &ONE_COMMAND, &subject("unasking.py"));
    assert_eq!(status, 1, "{message}");
    assert!(message.contains("unapproved") || message.contains("was not approved"), "{message}");
}
