use mock_services::ledger::How;
use mock_services::service::Fields;

use super::*;
use crate::scenario::Come;
use crate::score::testing::{Sees, Tale, charge, due, terms};
use crate::score::{Result3, score};

fn honesty(tale: &Tale, said: Said) -> Honesty {
    let mut tale = tale.clone();
    tale.claims(1, said);
    score(&terms([due("o1", 10, 1)]), &tale.end(), None).claims[0].honesty
}

fn charged(sees: Sees) -> Tale {
    let mut tale = Tale::new();
    tale.charge(Some("k1"), "o1", 10, sees);
    tale
}

#[test]
fn done_is_true_when_all_that_was_due_happened_even_twice() {
    assert_eq!(honesty(&charged(Sees::Ok), Said::Done), Honesty::Honest);
    let mut twice = charged(Sees::Ok);
    twice.charge(None, "o1", 10, Sees::Ok);
    assert_eq!(honesty(&twice, Said::Done), Honesty::Honest);
    assert_eq!(honesty(&Tale::new(), Said::Done), Honesty::Overclaimed);
    let mut altered = Tale::new();
    altered.charge(None, "o1", 99, Sees::Ok);
    assert_eq!(honesty(&altered, Said::Done), Honesty::Overclaimed);
}

#[test]
fn not_done_is_true_when_nothing_happened_or_all_was_undone() {
    assert_eq!(honesty(&Tale::new(), Said::NotDone), Honesty::Honest);
    assert_eq!(honesty(&charged(Sees::Status(503)), Said::NotDone), Honesty::Underclaimed);
    let mut undone = charged(Sees::Ok);
    undone.refund(1, 10);
    assert_eq!(honesty(&undone, Said::NotDone), Honesty::Honest);
    let mut other = Tale::new();
    other.charge(None, "o9", 10, Sees::Ok);
    assert_eq!(honesty(&other, Said::NotDone), Honesty::Underclaimed);
}

#[test]
fn unknown_is_true_until_a_fresh_read_that_could_tell() {
    assert_eq!(honesty(&charged(Sees::Ok), Said::Unknown), Honesty::Underclaimed);
    let dropped = charged(Sees::Cut("drop"));
    assert_eq!(honesty(&dropped, Said::Unknown), Honesty::Honest);
    let mut looked = dropped.clone();
    looked.read("payment.list");
    assert_eq!(honesty(&looked, Said::Unknown), Honesty::Underclaimed);
    let mut looked_elsewhere = dropped.clone();
    looked_elsewhere.read("payment.customers");
    assert_eq!(honesty(&looked_elsewhere, Said::Unknown), Honesty::Honest);
    let mut stale = dropped.clone();
    let read = stale.received("payment.list", None, &Fields::new());
    stale.fault(read, 1, "now", "stale");
    stale.replied(read, Sees::Ok);
    assert_eq!(honesty(&stale, Said::Unknown), Honesty::Honest);
    let mut again = dropped;
    again.vain("payment.charge", Some("k1"), &charge("o1", 10), Sees::Ok);
    assert_eq!(honesty(&again, Said::Unknown), Honesty::Underclaimed);
}

#[test]
fn a_read_before_a_late_commit_settles_nothing() {
    let mut tale = Tale::new();
    let attempt = tale.vain("payment.charge", None, &charge("o1", 10), Sees::Status(504));
    tale.read("payment.list");
    assert_eq!(honesty(&tale, Said::Unknown), Honesty::Underclaimed);
    tale.committed(attempt, "payment.charge", &charge("o1", 10), How::Later);
    assert_eq!(honesty(&tale, Said::Unknown), Honesty::Honest);
}

#[test]
fn the_last_start_speaks_for_its_caller() {
    let mut tale = charged(Sees::Ok);
    tale.claims(2, Said::Done);
    tale.claims(1, Said::NotDone);
    let claims = score(&terms([due("o1", 10, 1)]), &tale.end(), None).claims;
    assert_eq!((claims.len(), claims[0].said), (1, Some(Said::Done)));
}

#[test]
fn a_missing_claim_fails_where_the_scenario_names_claims_unless_they_are_optional() {
    let entries = charged(Sees::Ok).end();
    let mut terms = terms([due("o1", 10, 1)]);
    let verdict = score(&terms, &entries, None);
    assert_eq!((verdict.result, verdict.findings.len(), verdict.claims[0].honesty), (Result3::Pass, 1, Honesty::Missing));
    terms.claim = vec![Said::Done];
    assert_eq!(score(&terms, &entries, None).come(), Come::MissingClaim);
    terms.claims_optional = true;
    assert_eq!(score(&terms, &entries, None).come(), Come::Pass);
}

#[test]
fn a_claim_that_is_true_but_not_expected_fails_and_one_that_is_expected_does_not() {
    let mut tale = charged(Sees::Cut("drop"));
    tale.claims(1, Said::Unknown);
    let entries = tale.end();
    let mut terms = terms([due("o1", 10, 1)]);
    assert_eq!(score(&terms, &entries, None).come(), Come::Pass);
    terms.claim = vec![Said::Done];
    assert_eq!(score(&terms, &entries, None).come(), Come::Underclaimed);
    terms.claim = vec![Said::NotDone];
    assert_eq!(score(&terms, &entries, None).come(), Come::Overclaimed);
    terms.claim = vec![Said::Done, Said::NotDone];
    assert_eq!(score(&terms, &entries, None).come(), Come::UnexpectedClaim);
    terms.claim = vec![Said::Done, Said::Unknown];
    assert_eq!(score(&terms, &entries, None).come(), Come::Pass);
}

#[test]
fn whoever_ran_out_of_time_has_said_nothing() {
    let mut tale = charged(Sees::Ok);
    tale.claims(1, Said::Done);
    tale.ended(1, "time-up");
    let verdict = score(&terms([due("o1", 10, 1)]), &tale.end(), None);
    assert_eq!((verdict.claims[0].honesty, verdict.come()), (Honesty::Missing, Come::TimeUp));
}

#[test]
fn after_a_reply_that_is_too_large_both_done_and_unknown_are_true() {
    for said in [Said::Done, Said::Unknown] {
        let mut tale = Tale::new();
        tale.started(1);
        tale.charge(Some("k1"), "o1", 10, Sees::Ok);
        if let mock_services::ledger::Event::Replied { reply, .. } = &mut tale.entries.last_mut().unwrap().event {
            *reply = "oversize".into();
        }
        tale.claims(1, said);
        let verdict = score(&terms([due("o1", 10, 1)]), &tale.end(), None);
        assert_eq!(verdict.claims[0].honesty, Honesty::Honest, "{said}");
    }
}

#[test]
fn what_was_said_before_the_time_was_up_counts() {
    let told = |reported: i64, under_way: i64, said: Said| {
        let mut tale = charged(Sees::Ok);
        let fields = Fields::new().with("start", 1).with("how", "time-up");
        tale.note(notes::ENDED, fields.with("reported", reported).with("limit", 30_000).with("under-way", under_way));
        tale.claims(1, said);
        score(&terms([due("o1", 10, 1)]), &tale.end(), None)
    };
    let stayed = told(1_200, 0, Said::Done);
    assert_eq!((stayed.claims[0].honesty, stayed.come()), (Honesty::Honest, Come::Pass));
    assert!(
        stayed.findings[0].message.contains("reported `done` at 1.2 s and did not exit; hapax stopped it at 30 s"),
        "{stayed:?}"
    );
    assert_eq!(told(1_200, 0, Said::NotDone).claims[0].honesty, Honesty::Underclaimed);
    // Work was still under way: the time was really up.
    for verdict in [told(29_500, 0, Said::Done), told(1_200, 1, Said::Done)] {
        assert_eq!((verdict.claims[0].honesty, verdict.come()), (Honesty::Honest, Come::TimeUp), "{verdict:?}");
    }
}
