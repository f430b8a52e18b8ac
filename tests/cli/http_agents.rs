//! Agents over HTTP as they are: with a request, a response and a way to answer of their own.

use std::fs::File;
use std::process::Command;

use serde_json::Value;

use crate::kit::workspace::{Called, Workspace, charge, free_port, kinds, verdict};

/// A workspace with a scenario that expects a charge and the claim that it is done.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("agent.py", include_str!("http_agent.py"));
    workspace.write("scenarios/plain.yaml", &format!("{}  claim: [done]\n", charge("")));
    workspace
}

/// Runs the scenario against an agent that hapax starts, and returns the verdict.
fn run(agent: &str, http: &str, status: i32) -> (Value, Called) {
    let workspace = workspace();
    let subject = format!("{{ command: python3 agent.py {agent}, watch: 1s, http: {http} }}");
    workspace.write("hapax.yaml", &format!("subjects: {{ shop: {subject} }}\n"));
    let called = workspace.call(&["run", "scenarios/plain.yaml"]).expect(status);
    (verdict(&workspace.report(), "plain").clone(), called)
}

fn passes(agent: &str, http: &str) {
    let (verdict, _) = run(agent, http, 0);
    assert_eq!((&verdict["result"], &verdict["claims"][0]["outcome"]), (&"pass".into(), &"done".into()));
}

/// The reason why an agent that made its charge has no claim.
fn claims_nothing(agent: &str, http: &str) -> String {
    let (verdict, called) = run(agent, http, 1);
    assert_eq!(verdict["outcome"], "exactly-once", "{agent}: {verdict:#}");
    assert_eq!(kinds(&verdict), ["missing-claim"], "{agent}: {verdict:#}");
    called.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

const PLACED: &str = "patterns: { \"order was placed\": done }";

#[test]
fn a_request_and_a_response_of_the_agent_are_described_in_hapax_yaml() {
    let request = "{ path: /agents/run, headers: { X-Api-Key: key_of_the_agent }, body: { input: { prompt: \
                   \"${task}\" } } }";
    passes("result", &format!("{{ request: {request}, claim: {{ pointer: /result/text, {PLACED} }} }}"));
}

#[test]
fn a_request_can_be_written_as_json_and_a_status_can_be_the_claim() {
    let request = r#"'{"task": "${task}"}'"#;
    passes(
        "created",
        &format!("{{ request: {request}, claim: {{ status: {{ 201: done, 5xx: unknown }} }} }}"),
    );
    let (verdict, _) = run(
        "refused",
        &format!("{{ request: {request}, claim: {{ status: {{ 201: done, 5xx: unknown }} }} }}"),
        1,
    );
    assert_eq!(verdict["claims"][0]["outcome"], "unknown", "{verdict:#}");
}

#[test]
fn a_chat_completion_needs_one_word() {
    passes("chat", "{ format: openai }");
    passes(
        "chat_stream",
        &format!("{{ url: \"http://127.0.0.1:${{port}}/v1\", format: openai, claim: {{ {PLACED} }} }}"),
    );
}

#[test]
fn what_a_chat_completion_says_and_did_not_do_fails() {
    let (verdict, _) = run("overclaim", &format!("{{ format: openai, claim: {{ {PLACED} }} }}"), 1);
    assert_eq!((&verdict["outcome"], &verdict["claims"][0]["outcome"]), (&"lost".into(), &"done".into()));
}

#[test]
fn an_agent_that_accepts_its_task_is_asked_until_it_has_ended() {
    let headers = "headers: { Authorization: Bearer token_of_the_agent }";
    let claim = format!("claim: {{ pointer: /answer, {PLACED} }}");
    for agent in ["accepted", "accepted_in_body"] {
        passes(agent, &format!("{{ request: {{ {headers} }}, {claim} }}"));
    }
}

#[test]
fn an_answer_that_is_broken_is_no_claim() {
    let chat = format!("{{ format: openai, claim: {{ {PLACED} }} }}");
    let at_text = format!("{{ claim: {{ pointer: /result/text, {PLACED} }} }}");
    for (agent, http, why) in [
        ("chat_cut", &chat, "its answer broke off"),
        ("chat_unfinished", &chat, "the stream ended without `data: [DONE]`"),
        ("invalid", &at_text, "the answer is not valid JSON"),
        ("refused", &at_text, "the answer has the status 500"),
    ] {
        let said = claims_nothing(agent, http);
        assert!(said.contains(why), "{agent}: {said}");
    }
}

#[test]
fn a_status_that_is_dropped_is_no_claim() {
    let http = format!(
        "{{ request: {{ headers: {{ Authorization: Bearer token_of_the_agent }} }}, claim: {{ {PLACED} }} }}"
    );
    let said = claims_nothing("dropped", &http);
    assert!(said.contains("it closed the connection before it answered"), "{said}");
}

#[test]
fn a_status_at_another_origin_makes_the_trial_void() {
    let (verdict, called) = run("elsewhere", "{ claim: { pointer: /answer } }", 3);
    assert_eq!(verdict["result"], "void");
    let said = called.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("its status is at `http://example.com/runs/run_1`"), "{said}");
}

#[test]
fn an_agent_that_is_already_running_gets_the_services_where_its_request_has_them() {
    let workspace = workspace();
    let (port, listens) = (free_port(), workspace.pipe("listens"));
    let mut agent = Command::new("python3");
    let mut agent = agent
        .args(["agent.py", "tokens", &port.to_string(), "listens"])
        .current_dir(workspace.path())
        .spawn()
        .unwrap();
    drop(File::open(listens).unwrap());
    let request = "{ task: \"${task}\", payment: { url: \"${payment.url}\", key: \"${payment.key}\" } }";
    let http = format!(
        "{{ url: \"http://127.0.0.1:{port}/run\", request: {request}, claim: {{ pointer: /token, {PLACED} }} }}"
    );
    workspace.write("hapax.yaml", &format!("subjects: {{ shop: {{ http: {http} }} }}\n"));
    let called = workspace.call(&["run", "scenarios/plain.yaml"]);
    agent.kill().unwrap();
    agent.wait().unwrap();
    called.expect(0);
    assert_eq!(verdict(&workspace.report(), "plain")["claims"][0]["outcome"], "done");
}

#[test]
fn the_key_of_an_agent_is_hidden() {
    let workspace = workspace();
    let http = "{ request: { headers: { Authorization: Bearer zq-hidden-7 } }, claim: { pointer: /answer } }";
    let script = "import os, sys; print('got zq-hidden-7'); sys.exit(3)";
    workspace.write("agent.py", script);
    workspace.write(
        "hapax.yaml",
        &format!("subjects: {{ shop: {{ command: python3 agent.py, http: {http} }} }}\n"),
    );
    workspace.call(&["run", "scenarios/plain.yaml"]);
    let report = workspace.read("reports/latest/report.json");
    assert!(report.contains("got ") && !report.contains("zq-hidden-7"), "{report}");
}
