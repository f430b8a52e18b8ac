use mock_services::fault::ReplyKind;
use mock_services::ledger::Event;

use super::*;
use crate::domain::StartEnd;
use crate::scenario::{ClaimedOutcome, Terms};
use crate::score::score;
use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
use crate::score::verdict::TrialStatus;

/// A 429 that says when to come again, and the next attempt so many milliseconds after it.
fn retried(seconds: u64, after: u64, between: impl FnOnce(&mut LedgerScript)) -> LedgerScript {
    let mut script = LedgerScript::new();
    script.started(1);
    let attempt = script.received("payment.charge", None, &charge("ord_1001", 4999));
    script.add(Event::Replied {
        attempt,
        reply: ReplyKind::Status,
        status: Some(429),
        bytes: 100,
        whole: true,
        replay: false,
        retry_after: Some(seconds),
        silence: None,
        message: None,
    });
    between(&mut script);
    // The entry of the attempt is written a millisecond after what was before it.
    script.wait(after - 1);
    script
}

fn again(mut script: LedgerScript, order: &str) -> LedgerScript {
    script.charge(None, order, 4999, Sees::Ok);
    script
}

fn respectful() -> Terms {
    Terms { respect_retry_after: true, ..terms([due("ord_1001", 4999, 1)]) }
}

fn early(terms: &Terms, script: LedgerScript) -> Option<Finding> {
    let mut script = script;
    script.ended(1, StartEnd::Exited(0));
    script.claims(1, ClaimedOutcome::Done);
    let verdict = score(terms, &script.end(), None);
    let found = verdict.findings.into_iter().find(|finding| finding.kind == FindingKind::EarlyRetry);
    assert_eq!(verdict.result == TrialStatus::Fail, found.as_ref().is_some_and(|finding| finding.fails));
    found
}

#[test]
fn an_early_retry_fails_where_the_scenario_requires_it_and_is_a_note_elsewhere() {
    let script = || again(retried(2, 500, |_| {}), "ord_1001");
    let finding = early(&respectful(), script()).unwrap();
    assert!(finding.fails);
    assert_eq!(
        finding.message,
        "The reply to payment.charge#1 was 429 with Retry-After: 2, and payment.charge#2 was sent 0.50 s later."
    );
    assert_eq!(finding.entries.len(), 3);
    assert!(!early(&terms([due("ord_1001", 4999, 1)]), script()).unwrap().fails);
}

#[test]
fn a_retry_in_time_is_no_finding_nor_is_one_that_is_early_by_the_width_of_a_timer() {
    for after in [2_000, 1_990, 1_981, 5_000] {
        assert_eq!(early(&respectful(), again(retried(2, after, |_| {}), "ord_1001")), None, "{after} ms");
    }
    assert!(early(&respectful(), again(retried(2, 1_970, |_| {}), "ord_1001")).is_some());
}

#[test]
fn another_order_another_caller_and_another_start_are_no_retry() {
    let two =
        Terms { respect_retry_after: true, ..terms([due("ord_1001", 4999, 0), due("ord_1002", 4999, 1)]) };
    assert_eq!(early(&two, again(retried(2, 5, |_| {}), "ord_1002")), None);
    let by_another = retried(2, 5, |script| _ = script.by(2));
    assert_eq!(early(&respectful(), again(by_another, "ord_1001")).map(|finding| finding.message), None);
    let restarted = retried(2, 5, |script| _ = script.started(2));
    assert_eq!(early(&respectful(), again(restarted, "ord_1001")), None);
}
