//! Replies that never come, and who ends the wait; replies with `Retry-After`.

use serde_json::Value;

use crate::kit::workspace::{Workspace, charge, kinds, verdict};

const AGENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/noting.pl");

/// Runs a client with or without a timeout against a reply that never comes.
fn silent(reply: &str, how: &str, more: &[&str], status: i32) -> (Workspace, Value, String) {
    let workspace = Workspace::new();
    workspace.write(
        "scenarios/silent.yaml",
        &charge(&format!("faults: [{{ on: payment.charge, reply: {reply} }}]\n")),
    );
    workspace.write(
        "hapax.yaml",
        &format!("subjects: {{ mine: {{ command: [perl, {AGENT}, {how}], client_timeout: 300ms }} }}\n"),
    );
    let call = [&["run", "scenarios/silent.yaml", "--subject", "mine", "-v"], more].concat();
    let called = workspace.call(&call).expect(status);
    let report = workspace.report();
    (workspace, report, called.stdout)
}

fn silences(workspace: &Workspace) -> Vec<String> {
    let lines = workspace.read("reports/latest/ledger.jsonl");
    let entries = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter_map(|entry| Some(entry["silence"].as_str()?.to_owned())).collect()
}

#[test]
fn a_silence_that_hapax_ended_is_noted_and_fails_nothing() {
    let (workspace, report, stdout) = silent("{ hang: { release: 100ms } }", "plain", &[], 0);
    assert_eq!(silences(&workspace), ["released"]);
    let found = verdict(&report, "silent");
    assert_eq!((found["result"].as_str(), kinds(found)), (Some("pass"), vec!["timeout-not-reached"]));
    assert!(stdout.contains("Client timeout not reached"), "{stdout}");
    assert!(
        workspace.read("reports/latest/summary.md").contains("The client timeout was not reached in 1 case")
    );
    assert!(workspace.read("reports/latest/index.html").contains("Client timeout not reached"));
}

#[test]
fn a_client_with_a_timeout_ends_the_silence_itself() {
    for reply in ["{ hang: { release: 20s } }", "{ hang: until-timeout }"] {
        let (workspace, report, _) = silent(reply, "impatient", &[], 0);
        assert_eq!(silences(&workspace), ["caller"], "{reply}");
        let found = verdict(&report, "silent");
        assert_eq!((found["result"].as_str(), kinds(found)), (Some("pass"), vec![]), "{reply}");
    }
}

#[test]
fn a_client_without_a_timeout_makes_a_case_void_that_waits_for_it() {
    let (workspace, report, stdout) = silent("{ hang: until-timeout }", "plain", &["--timeout", "10s"], 3);
    assert_eq!(silences(&workspace), ["limit"]);
    let why = verdict(&report, "silent")["void_because"].to_string();
    assert!(
        why.contains("the client's timeout was not reached within 5 s") && why.contains("client_timeout"),
        "{why}"
    );
    assert!(stdout.contains("the client's timeout was not reached within 5 s"), "{stdout}");
    assert!(stdout.contains("Give the client a timeout."), "{stdout}");
}

#[test]
fn a_retry_before_retry_after_fails_where_the_scenario_says_so_and_is_noted_elsewhere() {
    let workspace = Workspace::new();
    let limited = |expect: &str| {
        let faults =
            "faults: [{ on: payment.charge, commit: never, reply: { status: 429, retry_after: 2 } }]\n";
        charge(faults).replace("expect:\n", &format!("expect:\n{expect}"))
    };
    workspace
        .write("scenarios/strict.yaml", &limited("  respect_retry_after: true\n"))
        .write("scenarios/lenient.yaml", &limited(""));
    workspace
        .call(&["run", "scenarios/strict.yaml", "scenarios/lenient.yaml", "--subject", "naive"])
        .expect(1);
    let report = workspace.report();
    let (strict, lenient) = (verdict(&report, "strict"), verdict(&report, "lenient"));
    assert_eq!((strict["result"].as_str(), kinds(strict)), (Some("fail"), vec!["early-retry"]));
    assert_eq!((lenient["result"].as_str(), kinds(lenient)), (Some("pass"), vec!["early-retry"]));
    workspace.call(&["run", "scenarios/strict.yaml", "--subject", "careful"]).expect(0);
}
