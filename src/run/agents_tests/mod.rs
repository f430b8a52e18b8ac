//! Agents that are wrong in one way each, and agents that are right, as tables: each acts over real sockets on the
//! services of a shipped case, and the ledger is scored as that of a trial. No wrong one passes, and no right one
//! fails. What needs processes (seals, interrupts, late writes) is tested through the command line.

mod mail;
mod payment;
mod remedies;
mod web;

use std::sync::LazyLock;

use crate::domain::ClaimedOutcome;
use crate::scenario::{Case, ControlOutcome, shipped};
use crate::score::{FindingKind, score};
use crate::trial::in_process::{self, Acts, Client, InProcessReply};

/// An agent of a table.
struct TestedAgent {
    /// What it does.
    what: String,
    case: &'static str,
    acts: Acts,
    outcome: ControlOutcome,
}

impl TestedAgent {
    fn new(
        what: impl Into<String>,
        case: &'static str,
        outcome: ControlOutcome,
        acts: impl FnOnce(&mut Client) -> ClaimedOutcome + Send + 'static,
    ) -> Self {
        TestedAgent { what: what.into(), case, acts: Box::new(acts), outcome }
    }
}

const PASS: ControlOutcome = ControlOutcome::Pass;
const VOID: ControlOutcome = ControlOutcome::Void;

/// The outcome of an agent that fails with this finding first.
const fn fails(kind: FindingKind) -> ControlOutcome {
    ControlOutcome::Failed(kind)
}

/// Whether a reply came and says that the write was made.
fn is_success(reply: &Option<InProcessReply>) -> bool {
    reply.as_ref().is_some_and(|reply| (200..300).contains(&reply.status))
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| shipped().unwrap());

/// Runs every agent, and names all whose outcome is another one.
async fn check(agents: Vec<TestedAgent>) {
    let (mut different, count) = (Vec::new(), agents.len());
    for TestedAgent { what, case, acts, outcome: expected } in agents {
        let found = CASES.iter().find(|found| found.id == case);
        let found = found.unwrap_or_else(|| panic!("no case is called {case}"));
        let (terms, entries) = in_process::trial(found, acts).await;
        let verdict = score(&terms, &entries, None);
        let outcome = verdict.control_outcome();
        if outcome != expected {
            let said: Vec<&str> = verdict.findings.iter().map(|finding| finding.message.as_str()).collect();
            let because = verdict.void_because;
            different.push(format!("{what} ({case}): {outcome:?}, not {expected:?}: {said:?} {because:?}"));
        }
    }
    assert!(different.is_empty(), "{} of {count}:\n{}", different.len(), different.join("\n"));
}

#[tokio::test]
async fn agents_of_an_unknown_api() {
    check(web::agents()).await;
}

#[tokio::test]
async fn agents_that_charge() {
    check(payment::agents()).await;
}

#[tokio::test]
async fn agents_that_send_mail() {
    check(mail::agents()).await;
}

#[test]
fn the_tables_have_many_wrong_agents_and_many_right_ones() {
    let all = || [web::agents(), payment::agents(), mail::agents()].into_iter().flatten();
    let right = all().filter(|agent| agent.outcome == PASS).count();
    let wrong = all().count() - right;
    assert!(wrong >= 120 && right >= 40, "{wrong} wrong, {right} right");
}
