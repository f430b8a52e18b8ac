use crate::scenario::{Intent, Promise, Said, Terms};
use crate::score::testing::{Sees, Tale, charge, due, terms};
use crate::score::verdict::{FindingKind, Outcome, Result3};
use crate::score::{Verdict, score};
use crate::trial::notes;
use mock_services::service::Fields;

fn at_most_once() -> Terms {
    Terms { promise: Promise::AtMostOnce, claim: vec![Said::Done], ..terms([due("o1", 10, 1)]) }
}

fn lost(said: Option<Said>) -> Tale {
    let mut tale = Tale::new();
    tale.started(1);
    tale.vain("payment.charge", Some("k1"), &charge("o1", 10), Sees::Cut("drop"));
    said.map(|said| tale.claims(1, said));
    tale.ended(1, "exited");
    tale
}

fn judged(terms: &Terms, tale: Tale) -> Verdict {
    score(terms, &tale.end(), None)
}

fn failing(verdict: &Verdict) -> Vec<FindingKind> {
    verdict.findings.iter().filter(|finding| finding.fails).map(|finding| finding.kind).collect()
}

#[test]
fn a_lost_effect_passes_where_the_subject_says_that_it_is_not_done_or_not_known() {
    for said in [Said::NotDone, Said::Unknown] {
        let verdict = judged(&at_most_once(), lost(Some(said)));
        assert_eq!((verdict.result, verdict.outcome), (Result3::Pass, Outcome::Lost), "{said}: {:?}", verdict.findings);
        let strict = Terms { promise: Promise::ExactlyOnce, ..at_most_once() };
        assert_eq!(judged(&strict, lost(Some(said))).result, Result3::Fail, "{said}");
    }
}

#[test]
fn a_lost_effect_that_is_claimed_as_done_or_not_spoken_of_fails() {
    for said in [Some(Said::Done), None] {
        let verdict = judged(&at_most_once(), lost(said));
        assert_eq!(verdict.result, Result3::Fail, "{said:?}");
        assert!(failing(&verdict).contains(&FindingKind::Lost), "{said:?}: {:?}", verdict.findings);
    }
    let lenient = Terms { claims_optional: true, ..at_most_once() };
    assert_eq!(judged(&lenient, lost(None)).result, Result3::Fail, "nobody said that it was lost");
}

#[test]
fn an_effect_that_happened_behind_a_lost_reply_passes_with_unknown_and_not_with_not_done() {
    let committed = |said| {
        let mut tale = Tale::new();
        tale.started(1);
        tale.charge(Some("k1"), "o1", 10, Sees::Cut("drop"));
        tale.claims(1, said);
        tale.ended(1, "exited");
        judged(&at_most_once(), tale)
    };
    assert_eq!(committed(Said::Unknown).result, Result3::Pass);
    assert_eq!(failing(&committed(Said::NotDone)), [FindingKind::Underclaimed]);
}

#[test]
fn a_duplicate_never_passes() {
    for said in [Said::Done, Said::Unknown, Said::NotDone] {
        let mut tale = Tale::new();
        tale.started(1);
        tale.charge(Some("k1"), "o1", 10, Sees::Cut("drop"));
        tale.charge(Some("k2"), "o1", 10, Sees::Ok);
        tale.claims(1, said);
        assert!(failing(&judged(&at_most_once(), tale)).contains(&FindingKind::Duplicated), "{said}");
    }
}

#[test]
fn doing_nothing_at_all_is_no_loss_that_a_promise_covers() {
    let mut tale = Tale::new();
    tale.started(1);
    tale.read("payment.list");
    tale.claims(1, Said::NotDone);
    tale.ended(1, "exited");
    assert_eq!(failing(&judged(&at_most_once(), tale)), [FindingKind::Lost]);
}

#[test]
fn whoever_an_interrupt_ended_for_good_owes_no_word() {
    let mut tale = Tale::new();
    tale.started(1);
    let attempt = tale.received("payment.charge", Some("k1"), &charge("o1", 10));
    tale.note(notes::STRUCK, Fields::new().with("interrupt", 0).with("do", "kill").with("attempt", 1));
    tale.replied(attempt, Sees::Cut("drop"));
    tale.ended(1, "signalled");
    assert_eq!(judged(&at_most_once(), tale).result, Result3::Pass);
}

fn ranged(least: u32, most: u32, claim: &[Said]) -> Terms {
    let intent = Intent { at_least: Some(least), ..due("o1", 10, most) };
    Terms { claim: claim.to_vec(), ..terms([intent]) }
}

#[test]
fn an_effect_that_is_due_0_to_1_times_may_be_left_out_but_not_claimed_then() {
    let any = [Said::Done, Said::NotDone, Said::Unknown];
    for said in [Said::NotDone, Said::Unknown] {
        assert_eq!(judged(&ranged(0, 1, &any), lost(Some(said))).result, Result3::Pass, "{said}");
    }
    assert_eq!(failing(&judged(&ranged(0, 1, &any), lost(Some(Said::Done)))), [FindingKind::Overclaimed]);
    let done = |said| {
        let mut tale = Tale::new();
        tale.started(1);
        tale.charge(Some("k1"), "o1", 10, Sees::Ok);
        tale.claims(1, said);
        judged(&ranged(0, 1, &any), tale)
    };
    assert_eq!(done(Said::Done).result, Result3::Pass);
    assert_eq!(failing(&done(Said::NotDone)), [FindingKind::Underclaimed]);
}

#[test]
fn a_range_fails_below_its_first_and_above_its_last_number() {
    let charged = |times: usize| {
        let mut tale = Tale::new();
        tale.started(1);
        (0..times).for_each(|number| _ = tale.charge(Some(&format!("k{number}")), "o1", 10, Sees::Ok));
        tale.claims(1, if times == 0 { Said::NotDone } else { Said::Done });
        judged(&ranged(1, 2, &[]), tale).outcome
    };
    assert_eq!(
        [charged(0), charged(1), charged(2), charged(3)],
        [Outcome::Lost, Outcome::ExactlyOnce, Outcome::ExactlyOnce, Outcome::Duplicated]
    );
}

#[test]
fn a_subject_that_asks_nothing_of_anybody_proves_nothing_about_a_range_from_0() {
    let mut tale = Tale::new();
    tale.started(1);
    tale.claims(1, Said::NotDone);
    assert_eq!(judged(&ranged(0, 1, &[]), tale).result, Result3::Void);
}
