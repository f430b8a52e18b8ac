use mock_services::ledger::Event;

use super::*;
use crate::scenario::{Come, Said};
use crate::score::testing::{Sees, Tale, charge, due, terms};
use crate::score::{FindingKind, Result3, score};

/// A declined charge is expected: nothing is due, and it must be tried.
fn declined(at_least: u32, at_most: Option<u32>) -> Terms {
    let budget = Budget { operation: "payment.charge".to_owned(), at_least, at_most };
    Terms { attempts: vec![budget], claim: vec![Said::NotDone], ..terms([due("o1", 10, 0)]) }
}

fn refuse(tale: &mut Tale, operation: &'static str) {
    tale.add(Event::Refused {
        service: "payment".into(),
        operation: Some(operation.into()),
        method: "POST".into(),
        path: "/v1/charges".into(),
        status: 402,
        caller: 1,
        connection: 1,
        key: None,
        reason: None,
        unsupported: None,
    });
}

fn come(terms: &Terms, tell: impl FnOnce(&mut Tale)) -> Come {
    let mut tale = Tale::new();
    tale.started(1);
    tell(&mut tale);
    tale.claims(1, Said::NotDone);
    score(terms, &tale.end(), None).come()
}

#[test]
fn one_read_and_not_done_is_not_an_attempt() {
    let terms = declined(1, Some(3));
    assert_eq!(come(&terms, |tale| _ = tale.read("payment.list")), Come::NotAttempted);
    assert_eq!(come(&declined(0, Some(3)), |tale| _ = tale.read("payment.list")), Come::Pass);
}

#[test]
fn the_lower_bound_counts_attempts_and_refusals_and_the_upper_one_attempts() {
    let terms = declined(2, Some(2));
    let vain = |tale: &mut Tale| _ = tale.vain("payment.charge", None, &charge("o1", 10), Sees::Status(503));
    assert_eq!(come(&terms, |tale| refuse(tale, "payment.charge")), Come::NotAttempted);
    let both = |tale: &mut Tale| {
        refuse(tale, "payment.charge");
        vain(tale);
    };
    assert_eq!(come(&terms, both), Come::Pass);
    let many_refusals = |tale: &mut Tale| (0..5).for_each(|_| refuse(tale, "payment.charge"));
    assert_eq!(come(&terms, many_refusals), Come::Pass);
    assert_eq!(come(&terms, |tale| (0..3).for_each(|_| vain(tale))), Come::OverBudget);
    assert_eq!(come(&declined(1, None), |tale| (0..9).for_each(|_| vain(tale))), Come::Pass);
}

#[test]
fn a_refusal_of_another_operation_is_no_attempt() {
    assert_eq!(come(&declined(1, Some(3)), |tale| refuse(tale, "payment.refund")), Come::NotAttempted);
}

#[test]
fn a_torn_ledger_may_have_held_the_attempt() {
    let mut tale = Tale::new();
    tale.read("payment.list");
    tale.claims(1, Said::NotDone);
    let verdict = score(&declined(1, None), &tale.end(), Some("a line is missing"));
    let finding = verdict.findings.iter().find(|finding| finding.kind == FindingKind::NotAttempted).unwrap();
    assert!(!finding.fails);
    assert_eq!(verdict.result, Result3::Void);
}
