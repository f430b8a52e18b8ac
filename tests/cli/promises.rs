//! What a subject promises: `--promise at-most-once`, `times: 0..1` and `expect.recovery`, through the
//! command.

use crate::kit::workspace::{LOOK, WRITES, Workspace, charge, kinds, verdict};

const LOST_REPLY: &str = "payment/lost-reply@keys=none,reply=drop";

/// A request that is lost before it commits.
const LOST: &str = "faults: [{ on: payment.charge, commit: never, reply: drop }]\n";

fn lost() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("scenarios/lost.yaml", &charge(LOST).replace("expect:\n", "expect:\n  claim: [done]\n"));
    workspace
}

#[test]
fn a_lost_effect_with_an_honest_claim_passes_at_most_once_and_the_report_says_so() {
    let workspace = lost();
    let run = ["run", "scenarios/lost.yaml", "--subject", "timid"];
    workspace.call(&run).expect(1);
    let called = workspace.call(&[&run[..], &["--promise", "at-most-once"]].concat()).expect(0);
    assert!(called.stdout.contains("Judged by the promise at-most-once"), "{}", called.stdout);
    let report = workspace.report();
    assert_eq!(report["cases"][0]["terms"]["promise"], "at-most-once");
    let found = verdict(&report, "lost");
    assert_eq!((found["result"].as_str(), found["outcome"].as_str()), (Some("pass"), Some("lost")));
    assert!(
        report["cases"][0]["trials"][0]["replay"].as_str().unwrap().contains("--promise at-most-once"),
        "{report:#}"
    );
    assert!(workspace.read("reports/latest/index.html").contains("Judged by the promise at-most-once"));
    // The saved ledger is scored again by the stored promise.
    let shown = workspace.call(&["report", "show", "reports/latest"]).expect(0);
    assert!(shown.stdout.contains("Judged by the promise at-most-once"), "{}", shown.stdout);
}

#[test]
fn a_lost_effect_that_is_claimed_as_done_and_a_duplicate_fail_at_most_once() {
    let workspace = lost();
    let at_most_once = ["--promise", "at-most-once", "--subject"];
    workspace
        .call(&[&["run", "scenarios/lost.yaml"], &at_most_once[..], &["overclaimer"]].concat())
        .expect(1);
    assert!(kinds(verdict(&workspace.report(), "lost")).contains(&"lost"));
    workspace.call(&[&["run", LOST_REPLY], &at_most_once[..], &["naive"]].concat()).expect(1);
    assert_eq!(verdict(&workspace.report(), LOST_REPLY)["outcome"], "duplicated");
}

#[test]
fn a_refused_try_with_an_honest_claim_passes_at_most_once_and_no_try_at_all_does_not() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("").replace("expect:\n", "expect:\n  claim: [done]\n"));
    let claim = "echo '{\"outcome\": \"not-done\"}'";
    let refused = format!("{WRITES}charge 'customer=cus_42' >&2\n{claim}");
    let looked = format!("{LOOK}\n{claim}");
    for (agent, status) in [(&refused, 0), (&looked, 1)] {
        let call = ["run", "scenarios/plain.yaml", "--promise", "at-most-once", "--", "bash", "-c", agent];
        let called = workspace.call(&call).expect(status);
        let found = verdict(&workspace.report(), "plain")["outcome"].clone();
        assert_eq!(found, "lost", "{}", called.stdout);
    }
    workspace.call(&["run", "scenarios/plain.yaml", "--", "bash", "-c", &refused]).expect(1);
}

#[test]
fn hapax_yaml_can_name_the_promise_and_a_comparison_says_when_promises_differ() {
    let workspace = lost();
    let hapax = crate::kit::workspace::HAPAX;
    workspace.write(
        "hapax.yaml",
        &format!(
            "subjects:\n  guard: {{ command: [{hapax}, control, timid], promise: at-most-once }}\n  \
            strict: {{ command: [{hapax}, control, timid] }}\n"
        ),
    );
    workspace.call(&["run", "scenarios/lost.yaml", "--subject", "guard", "--out", "guard"]).expect(0);
    workspace.call(&["run", "scenarios/lost.yaml", "--subject", "strict", "--out", "strict"]).expect(1);
    let compared = workspace.call(&["report", "compare", "strict", "guard"]);
    assert!(
        compared.stdout.contains("the first run was judged by exactly-once, the second by at-most-once"),
        "{}",
        compared.stdout
    );
    workspace
        .call(&["run", "scenarios/lost.yaml", "--subject", "guard", "--promise", "exactly-once"])
        .expect(1);
}

#[test]
fn an_effect_that_is_due_0_to_1_times_may_be_lost() {
    let workspace = Workspace::new();
    let text = charge(LOST).replace("with: { amount: 4999 } }", "with: { amount: 4999 }, times: 0..1 }");
    workspace.write("scenarios/lost.yaml", &text);
    workspace.call(&["run", "scenarios/lost.yaml", "--subject", "timid"]).expect(0);
    workspace.call(&["run", "scenarios/lost.yaml", "--subject", "overclaimer"]).expect(1);
    assert!(kinds(verdict(&workspace.report(), "lost")).contains(&"overclaimed"));
}

#[test]
fn a_lucky_retry_with_a_new_key_fails_where_only_the_same_key_is_permitted() {
    let workspace = Workspace::new();
    let text = charge(LOST).replace("expect:\n", "expect:\n  recovery: [same-key, verified-then-retried]\n");
    workspace.write("scenarios/lost.yaml", &text);
    workspace.call(&["run", "scenarios/lost.yaml", "--subject", "naive"]).expect(1);
    let report = workspace.report();
    let found = verdict(&report, "lost");
    assert_eq!(
        (kinds(found), found["outcome"].as_str()),
        (vec!["unexpected-recovery"], Some("exactly-once"))
    );
    workspace.call(&["run", "scenarios/lost.yaml", "--subject", "keyed"]).expect(0);
    workspace.call(&["run", "scenarios/lost.yaml", "--subject", "careful"]).expect(0);
}

#[test]
fn the_time_of_a_commit_in_a_range_is_drawn_from_the_seed_and_is_in_the_ledger() {
    let workspace = Workspace::new();
    workspace.write(
        "scenarios/late.yaml",
        &charge("faults: [{ on: payment.charge, commit: { later: 5ms..90ms }, reply: ok }]\n"),
    );
    let drawn = |seed: &str| {
        workspace.call(&["run", "scenarios/late.yaml", "--subject", "timid", "--seed", seed]).expect(0);
        let ledger = workspace.read("reports/latest/ledger.jsonl");
        let (_, rest) = ledger.split_once("\"drawn\":\"").unwrap_or_else(|| panic!("{ledger}"));
        rest.split_once('"').unwrap().0.to_owned()
    };
    let first = drawn("7");
    assert!(first.ends_with("ms"), "{first}");
    assert_eq!(drawn("7"), first);
    assert!(["8", "9", "10"].iter().any(|seed| drawn(seed) != first));
}

#[test]
fn a_careful_agent_passes_with_an_oversize_reply() {
    let workspace = Workspace::new();
    workspace.write(
        "scenarios/large.yaml",
        &charge("faults: [{ on: payment.charge, commit: now, reply: { oversize: 6MB } }]\n"),
    );
    workspace.call(&["run", "scenarios/large.yaml", "--subject", "careful"]).expect(0);
    let ledger = workspace.read("reports/latest/ledger.jsonl");
    assert!(ledger.contains("\"reply\":\"oversize\""), "{ledger}");
}

#[test]
fn the_report_says_who_retried_with_evidence() {
    let workspace = Workspace::new();
    workspace.write("scenarios/lost.yaml", &charge(LOST));
    for (subject, by, evidence) in [
        ("keyed", "agent", "same bytes and same key"),
        ("naive", "agent", "a new key"),
        ("careful", "agent", "after a read"),
    ] {
        let called = workspace.call(&["run", "scenarios/lost.yaml", "--subject", subject]).expect(0);
        let report = workspace.report();
        let found = verdict(&report, "lost");
        assert_eq!(found["retried_by"], by, "{subject}: {found:#}\n{}", called.stdout);
        assert!(found["retries"][0]["evidence"].as_str().unwrap().contains(evidence), "{subject}: {found:#}");
    }
    let shown = workspace.call(&["report", "show", "reports/latest", "lost"]).expect(0);
    assert!(shown.stdout.contains(", the agent's code:"), "{}", shown.stdout);
}
