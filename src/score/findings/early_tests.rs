use mock_services::ledger::Event;

use super::*;
use crate::scenario::{Said, Terms};
use crate::score::score;
use crate::score::testing::{Sees, Tale, charge, due, terms};
use crate::score::verdict::Result3;

/// A 429 that says when to come again, and the next attempt so many milliseconds after it.
fn retried(seconds: u64, after: u64, between: impl FnOnce(&mut Tale)) -> Tale {
    let mut tale = Tale::new();
    tale.started(1);
    let attempt = tale.received("payment.charge", None, &charge("ord_1001", 4999));
    tale.add(Event::Replied {
        attempt,
        reply: "status".into(),
        status: Some(429),
        bytes: 100,
        whole: true,
        replay: false,
        retry_after: Some(seconds),
        silence: None,
    });
    between(&mut tale);
    // The entry of the attempt is written a millisecond after what was before it.
    tale.wait(after - 1);
    tale
}

fn again(mut tale: Tale, order: &str) -> Tale {
    tale.charge(None, order, 4999, Sees::Ok);
    tale
}

fn respectful() -> Terms {
    Terms { respect_retry_after: true, ..terms([due("ord_1001", 4999, 1)]) }
}

fn early(terms: &Terms, tale: Tale) -> Option<Finding> {
    let mut tale = tale;
    tale.ended(1, "exited");
    tale.claims(1, Said::Done);
    let verdict = score(terms, &tale.end(), None);
    let found = verdict.findings.into_iter().find(|finding| finding.kind == FindingKind::EarlyRetry);
    assert_eq!(verdict.result == Result3::Fail, found.as_ref().is_some_and(|finding| finding.fails));
    found
}

#[test]
fn a_retry_before_the_time_fails_where_the_scenario_says_so_and_is_noted_elsewhere() {
    let tale = || again(retried(2, 500, |_| {}), "ord_1001");
    let finding = early(&respectful(), tale()).unwrap();
    assert!(finding.fails);
    assert_eq!(
        finding.message,
        "The reply to attempt 1 of payment.charge was 429 with Retry-After: 2, and attempt 2 came 0.50 s later."
    );
    assert_eq!(finding.entries.len(), 3);
    assert!(!early(&terms([due("ord_1001", 4999, 1)]), tale()).unwrap().fails);
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
    let two = Terms { respect_retry_after: true, ..terms([due("ord_1001", 4999, 0), due("ord_1002", 4999, 1)]) };
    assert_eq!(early(&two, again(retried(2, 5, |_| {}), "ord_1002")), None);
    let by_another = retried(2, 5, |tale| _ = tale.by(2));
    assert_eq!(early(&respectful(), again(by_another, "ord_1001")).map(|finding| finding.message), None);
    let restarted = retried(2, 5, |tale| _ = tale.started(2));
    assert_eq!(early(&respectful(), again(restarted, "ord_1001")), None);
}
