//! Agents that are wrong in one way each, and agents that are right, as tables: each acts over real sockets on the
//! services of a shipped case, and the ledger is scored as that of a trial. No wrong one passes, and no right one
//! fails. What needs processes (seals, interrupts, late writes) is tested through the command line.

mod client;
mod web;

use std::sync::LazyLock;

use mock_services::Clock;
use mock_services::ledger::Ledger;

use super::{EventLog, services, terms};
use crate::domain::{ClaimEvent, ClaimOrigin, ClaimedOutcome, EndEvent, StartEnd, StartEvent, SubjectEvent};
use crate::scenario::{Case, ControlOutcome, shipped};
use crate::score::{FindingKind, Verdict, score};
use crate::subject::Subject;
use client::Client;

/// What an agent does; it returns what it claims.
type Acts = fn(&mut Client) -> ClaimedOutcome;

/// One row of a table: what the agent does in words, the case, the agent, and its outcome.
type Row = (&'static str, &'static str, Acts, ControlOutcome);

const PASS: ControlOutcome = ControlOutcome::Pass;
const VOID: ControlOutcome = ControlOutcome::Void;

/// The outcome of an agent that fails with this finding first.
const fn fails(kind: FindingKind) -> ControlOutcome {
    ControlOutcome::Failed(kind)
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| shipped().unwrap());

async fn verdict(case: &Case, acts: Acts) -> Verdict {
    const SEED: u64 = 7;
    let clock = Clock::default();
    let ledger = Ledger::new(&case.id, SEED, clock);
    let subject = Subject::command(vec!["agent".to_owned()]);
    let terms = terms(case, &subject, false);
    let services = services::builder(case, &terms, &[], SEED)
        .any_key()
        .seed(SEED)
        .clock(clock)
        .ledger(ledger.clone())
        .start()
        .await
        .unwrap();
    let log = EventLog::new(ledger.clone());
    let (trial, name) = ("t".to_owned(), "c".to_owned());
    log.write(1, &SubjectEvent::Started(StartEvent { start: 1, trial, name, turn: 0 }));
    let mut client = Client::new(&services);
    let claimed = tokio::task::spawn_blocking(move || acts(&mut client)).await.unwrap();
    let end = StartEnd::Exited(0);
    log.write(
        1,
        &SubjectEvent::Ended(EndEvent { start: 1, end, left_running: 0, claimed_before_limit: None }),
    );
    let claim = ClaimEvent {
        start: 1,
        outcome: Some(claimed),
        message: String::new(),
        origin: Some(ClaimOrigin::ResultFile),
        problem: None,
    };
    log.write(1, &SubjectEvent::Claimed(claim));
    services.settle().await;
    services.stop().await;
    ledger.close();
    score(&terms, &ledger.entries(), None)
}

/// Runs every row, and names all whose outcome is another one.
async fn check(rows: &[Row]) {
    let mut different = Vec::new();
    for (what, case, acts, expected) in rows {
        let found = CASES.iter().find(|found| found.id == *case);
        let found = found.unwrap_or_else(|| panic!("no case is called {case}"));
        let verdict = verdict(found, *acts).await;
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
