//! Three published laws, checked for every combination of commit and ambiguous reply, with one caller and no
//! interrupts. A law is about effects alone; claims are not considered.

use std::collections::BTreeMap;
use std::fs;

use hapax::scenario::{Case, load_in};
use hapax::score::Outcome;

use crate::kit::control::run_over;

/// Every reply that does not say what happened.
const REPLIES: &str = "[drop, reset, { hang: { release: 50ms } }, truncate, garble, { status: 500 }, { \
    status: 504 }, { status: 429 }]";

/// All combinations for one service that may or may not honor keys; `more` are further faults.
fn all_combinations(replies: &str, commits: &str, more: &str) -> String {
    format!(
        "about: The square.
task: Charge customer cus_42 $49.99 for order ord_1001.
steps:
  - {{ do: payment.charge, with: {{ customer: cus_42, amount: 4999, currency: usd, order: ord_1001 }} }}
matrix:
  keys: [stripe, none]
  commit: {commits}
  reply: {replies}
services:
  payment: {{ idempotency: \"${{keys}}\" }}
faults:
  - {{ on: payment.charge, attempt: 1, commit: \"${{commit}}\", reply: \"${{reply}}\" }}
{more}
expect:
  effects:
    - {{ effect: payment.charge, where: {{ order: ord_1001 }}, with: {{ amount: 4999 }} }}
"
    )
}

/// One cell: the value of each name of the matrix, as the id has it.
type Cell = BTreeMap<String, String>;

fn cell(case: &Case) -> Cell {
    case.variant.iter().cloned().collect()
}

/// The outcome of a control in every cell, all in one run.
async fn sweep(text: &str, control: &str) -> Vec<(Cell, Outcome)> {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("square.yaml"), text).unwrap();
    let cases = load_in(home.path(), &["square.yaml".to_owned()]).unwrap().cases;
    let cells: BTreeMap<String, Cell> = cases.iter().map(|case| (case.id.clone(), cell(case))).collect();
    let report = run_over(cases, control).await;
    assert_eq!(report.cases.len(), cells.len(), "every cell was run");
    let outcomes = report.cases.iter().map(|case| {
        let verdict = &case.trials[0].verdict;
        assert!(verdict.void_because.is_empty(), "{}: {:?}", case.id, verdict.void_because);
        (cells[&case.id].clone(), verdict.outcome)
    });
    outcomes.collect()
}

#[tokio::test]
async fn a_blind_retry_duplicates_exactly_if_the_effect_was_committed() {
    for (cell, outcome) in sweep(&all_combinations(REPLIES, "[now, never, later]", ""), "naive").await {
        let due = if cell["commit"] == "never" { Outcome::ExactlyOnce } else { Outcome::Duplicated };
        assert_eq!(outcome, due, "{cell:?}");
    }
}

#[tokio::test]
async fn looking_first_is_exactly_once_unless_the_commit_is_late_or_the_read_is_stale() {
    for (cell, outcome) in sweep(&all_combinations(REPLIES, "[now, never, later]", ""), "verify-first").await
    {
        let due = if cell["commit"] == "later" { Outcome::Duplicated } else { Outcome::ExactlyOnce };
        assert_eq!(outcome, due, "{cell:?}");
    }
    let lagging = "  - { on: payment.list, attempt: every, reply: { stale: { reads: 3 } } }";
    for (cell, outcome) in
        sweep(&all_combinations("[drop, { status: 504 }]", "[now, never]", lagging), "verify-first").await
    {
        let due = if cell["commit"] == "now" { Outcome::Duplicated } else { Outcome::ExactlyOnce };
        assert_eq!(outcome, due, "the read is stale: {cell:?}");
    }
}

#[tokio::test]
async fn one_key_per_intent_is_exactly_once_if_keys_are_honored_and_errors_are_not_stored() {
    for (cell, outcome) in sweep(&all_combinations(REPLIES, "[now, never, later]", ""), "keyed").await {
        let safe = cell["keys"] == "stripe" || cell["commit"] == "never";
        assert_eq!(outcome, if safe { Outcome::ExactlyOnce } else { Outcome::Duplicated }, "{cell:?}");
    }
    let kept = "[{ status: 500, kept: true }, { status: 503, kept: true }]";
    for (cell, outcome) in sweep(&all_combinations(kept, "[now, never]", ""), "keyed").await {
        let due = match (cell["keys"].as_str(), cell["commit"].as_str()) {
            // The same key always gets the same error.
            ("stripe", "never") => Outcome::Lost,
            // A service that ignores keys stores nothing under them.
            ("none", "now") => Outcome::Duplicated,
            _ => Outcome::ExactlyOnce,
        };
        assert_eq!(outcome, due, "the error is stored: {cell:?}");
    }
}
