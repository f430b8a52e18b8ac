//! Agents that get their tools over MCP, with the current SDKs: over streamable HTTP and over `hapax mcp`, with
//! and without `initialize`. The verdict of each fault must be the one of the API.

use serde_json::Value;

use crate::kit::installed;
use crate::kit::needs::{Test, tests};
use crate::kit::workspace::{HAPAX, Workspace, verdict};

const PYTHON: &str = "tests/clients/python/mcp_agent.py";
const TYPESCRIPT: &str = "tests/clients/node/mcp_agent.mjs";

/// The version of the protocol that clients with `initialize` agree on.
const INITIALIZED: &str = "2025-11-25";
const WITHOUT_INITIALIZE: &str = "2026-07-28";

/// Faults of the reply to a charge that is committed: of the transport, and errors of the tool.
const LOST: [&str; 3] = [
    "payment/lost-reply@keys=stripe,reply=drop",
    "payment/lost-reply@keys=stripe,reply=garble",
    "payment/lost-reply@keys=stripe,reply=429",
];
/// Two errors of the tool after a refund that is committed.
const REFUND: &str = "payment/refund-times-out-twice@keys=stripe,reply=504";
/// A lost connection and an error of the tool before anything is committed.
const NOT_COMMITTED: [&str; 2] =
    ["payment/lost-request@keys=stripe,reply=drop", "payment/lost-request@keys=stripe,reply=503"];

/// Runs an agent with these words over MCP, with cases and options; returns the report.
fn run(agent: &str, words: [&str; 3], options: &[&str], status: i32) -> Value {
    installed::clients();
    let command: Vec<String> =
        installed::command(agent).iter().map(|word| word.display().to_string()).collect();
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let workspace = Workspace::new();
    let arguments = [&["run", "--via", "mcp"], options, &["--"], &command, &words].concat();
    workspace.call(&arguments).expect(status);
    workspace.report()
}

/// Checks that an agent with keys holds in every case and one without keys repeats the effect in every case,
/// and that both spoke this version of the protocol.
fn holds_only_with_keys(agent: &str, transport: &str, protocol: &str, version: &str, cases: &[&str]) {
    for (keys, status) in [("keyed", 0), ("keyless", 1)] {
        let report = run(agent, [transport, protocol, keys], cases, status);
        let found = report["cases"].as_array().unwrap();
        assert_eq!(found.len(), cases.len(), "{agent} {protocol} {keys}");
        for case in found {
            let (trial, verdict) = (&case["trials"][0], &case["trials"][0]["verdict"]);
            let context = format!("{agent} {transport} {protocol} {keys} {}: {trial:#}", case["id"]);
            let expected = if keys == "keyed" { "exactly-once" } else { "duplicated" };
            assert_eq!(verdict["outcome"], expected, "{context}");
            assert_eq!(verdict["claims"][0]["outcome"], "done", "{context}");
            let is_refund = case["id"] == REFUND;
            let intent = &verdict["intents"][usize::from(is_refund)];
            let attempts = &verdict["attempts"].as_array().unwrap()[usize::from(is_refund)]["made"];
            let (made, effects) = if is_refund { (3, 3) } else { (2, 2) };
            assert_eq!(*attempts, made, "{context}");
            let effects = if keys == "keyed" { 1 } else { effects };
            assert_eq!(intent["effects"].as_array().unwrap().len(), effects, "{context}");
            let output = trial["output"][0]["stdout"].as_str().unwrap();
            assert!(output.contains(&format!("{version}: payment_create_")), "{context}");
        }
    }
}

async fn an_agent_with_the_python_sdk_holds_only_with_keys() {
    holds_only_with_keys(PYTHON, "http", "legacy", INITIALIZED, &[LOST[0], LOST[2]]);
    holds_only_with_keys(PYTHON, "http", WITHOUT_INITIALIZE, WITHOUT_INITIALIZE, &[LOST[1], REFUND]);
}

async fn an_agent_with_the_python_sdk_over_stdio_holds_only_with_keys() {
    holds_only_with_keys(PYTHON, HAPAX, "legacy", INITIALIZED, &LOST[..1]);
    holds_only_with_keys(PYTHON, HAPAX, WITHOUT_INITIALIZE, WITHOUT_INITIALIZE, &LOST[2..]);
}

async fn an_agent_with_the_typescript_sdk_holds_only_with_keys() {
    let cases = [&LOST[..], &[REFUND]].concat();
    holds_only_with_keys(TYPESCRIPT, "http", "sdk-1", INITIALIZED, &cases);
    holds_only_with_keys(TYPESCRIPT, "http", "legacy", INITIALIZED, &cases);
    holds_only_with_keys(TYPESCRIPT, "http", WITHOUT_INITIALIZE, WITHOUT_INITIALIZE, &cases);
}

async fn an_agent_with_the_typescript_sdk_over_stdio_holds_only_with_keys() {
    holds_only_with_keys(TYPESCRIPT, HAPAX, "sdk-1", "", &LOST);
    holds_only_with_keys(TYPESCRIPT, HAPAX, "legacy", INITIALIZED, &LOST[..1]);
    holds_only_with_keys(TYPESCRIPT, HAPAX, WITHOUT_INITIALIZE, WITHOUT_INITIALIZE, &LOST);
}

async fn sdks_that_ask_for_the_newest_version_get_the_one_without_initialize() {
    for (agent, transport) in [(PYTHON, "http"), (TYPESCRIPT, "http"), (TYPESCRIPT, HAPAX)] {
        let report = run(agent, [transport, "auto", "keyed"], &LOST[..1], 0);
        let output = report["cases"][0]["trials"][0]["output"][0]["stdout"].as_str().unwrap();
        assert!(
            output.contains(&format!("{WITHOUT_INITIALIZE}: payment_create_charge")),
            "{agent}: {output}"
        );
    }
}

async fn a_call_that_was_not_committed_may_be_repeated_without_a_key() {
    for agent in [PYTHON, TYPESCRIPT] {
        run(agent, ["http", WITHOUT_INITIALIZE, "keyless"], &NOT_COMMITTED, 0);
    }
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        an_agent_with_the_python_sdk_holds_only_with_keys,
        an_agent_with_the_python_sdk_over_stdio_holds_only_with_keys,
        an_agent_with_the_typescript_sdk_holds_only_with_keys,
        an_agent_with_the_typescript_sdk_over_stdio_holds_only_with_keys,
        sdks_that_ask_for_the_newest_version_get_the_one_without_initialize,
        a_call_that_was_not_committed_may_be_repeated_without_a_key,
    ]
}

async fn the_tools_are_reached_from_a_sealed_network() {
    for (agent, transport) in [(PYTHON, "http"), (TYPESCRIPT, HAPAX)] {
        for (keys, status) in [("keyed", 0), ("keyless", 1)] {
            let words = [transport, WITHOUT_INITIALIZE, keys];
            let report = run(agent, words, &["--sealed", LOST[0]], status);
            let verdict = verdict(&report, LOST[0]);
            let expected = if keys == "keyed" { "exactly-once" } else { "duplicated" };
            assert_eq!(verdict["outcome"], expected, "{agent} {transport}: {verdict:#}");
        }
    }
}

/// The tests that need namespaces, too.
pub(crate) fn sealed_tests() -> Vec<Test> {
    tests![the_tools_are_reached_from_a_sealed_network]
}
