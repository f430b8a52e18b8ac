//! Agents over HTTP that accept a task with 202, are killed, and are restarted without the task.

use crate::kit::workspace::{Workspace, charge};

const AGENT: &str = include_str!("accepting_agent.py");

/// The result of a run of an agent with these words, that finds its work by itself or not.
fn run(words: &str, finds_work: bool) -> (i32, String) {
    let workspace = Workspace::new();
    workspace.write("agent.py", AGENT);
    let interrupts =
        "interrupts: [{when: {received: payment.charge}, do: kill, then: {restart: {task: none}}}]\n";
    let faults = "faults: [{on: payment.charge, attempt: 1, commit: never, reply: drop}]\n";
    workspace
        .write("scenarios/accepted.yaml", &format!("{interrupts}{faults}{}  claim: [done]\n", charge("")));
    let subject = format!(
        "subjects:\n  mine: {{ http: \"http://127.0.0.1:${{port}}/task\", command: python3 agent.py {words}, \
         finds_work: {finds_work}, watch: 1s }}\n"
    );
    workspace.write("hapax.yaml", &subject);
    let ended = workspace.call(&["run", "scenarios/accepted.yaml", "--subject", "mine"]);
    (ended.status, format!("{}{}", ended.stdout, ended.stderr))
}

#[test]
fn an_agent_that_stores_what_it_accepts_goes_on_and_its_status_has_its_claim() {
    let (status, message) = run("store", true);
    assert_eq!(status, 0, "{message}");
}

#[test]
fn an_agent_that_forgets_what_it_accepted_loses_it() {
    let (status, message) = run("forget", true);
    assert_eq!(status, 1, "{message}");
    assert!(message.contains("lost: "), "{message}");
}

#[test]
fn an_agent_that_was_killed_before_it_accepted_its_task_shows_nothing() {
    let (status, message) = run("synchronous", true);
    assert_eq!(status, 3, "{message}");
    assert!(message.contains("before it had accepted its task"), "{message}");
}

#[test]
fn an_agent_that_does_not_say_that_it_resumes_skips_such_cases() {
    let (_, message) = run("store", false);
    assert!(message.contains("finds its task by itself after a restart"), "{message}");
}
