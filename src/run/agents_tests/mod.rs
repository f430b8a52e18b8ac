//! Agents that are wrong in one way each, and agents that are right, as tables: each acts over real sockets on the
//! services of a shipped case, and the ledger is scored as that of a trial. No wrong one passes, and no right one
//! fails. What needs processes (seals, interrupts, late writes) is tested through the command line.

mod web;

use std::sync::LazyLock;

use crate::scenario::{Case, ControlOutcome, shipped};
use crate::score::{FindingKind, score};
use crate::trial::in_process::{self, Acts};

/// One row of a table: what the agent does in words, the case, the agent, and its outcome.
type AgentRow = (&'static str, &'static str, Acts, ControlOutcome);

const PASS: ControlOutcome = ControlOutcome::Pass;
const VOID: ControlOutcome = ControlOutcome::Void;

/// The outcome of an agent that fails with this finding first.
const fn fails(kind: FindingKind) -> ControlOutcome {
    ControlOutcome::Failed(kind)
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| shipped().unwrap());

/// Runs every row, and names all whose outcome is another one.
async fn check(rows: &[AgentRow]) {
    let mut different = Vec::new();
    for (what, case, acts, expected) in rows {
        let found = CASES.iter().find(|found| found.id == *case);
        let found = found.unwrap_or_else(|| panic!("no case is called {case}"));
        let (terms, entries) = in_process::trial(found, *acts).await;
        let verdict = score(&terms, &entries, None);
        let outcome = verdict.control_outcome();
        if outcome != *expected {
            let said: Vec<&str> = verdict.findings.iter().map(|finding| finding.message.as_str()).collect();
            different.push(format!(
                "{what} ({case}): {outcome:?}, not {expected:?}: {said:?} {:?}",
                verdict.void_because
            ));
        }
    }
    assert!(different.is_empty(), "{} of {}:\n{}", different.len(), rows.len(), different.join("\n"));
}

#[tokio::test]
async fn agents_of_an_unknown_api() {
    check(web::ROWS).await;
}
