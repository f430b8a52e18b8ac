use std::time::Duration;

use mock_services::fault::{CommitKind, ReplyKind};
use mock_services::ledger::CommitTiming;
use mock_services::service::Fields;

use super::*;
use crate::domain::{ClaimedBeforeLimit, InterruptKind, StartEnd, SubjectEvent};
use crate::scenario::{ClaimedOutcome, ControlOutcome, Intent, Promise, Terms};
use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
use crate::score::{FindingKind, Outcome, TrialStatus, Verdict, score};

fn honesty(script: &LedgerScript, said: ClaimedOutcome) -> Honesty {
    let mut script = script.clone();
    script.claims(1, said);
    score(&terms([due("o1", 10, 1)]), &script.end(), None).claims[0].honesty
}

fn charged(sees: Sees) -> LedgerScript {
    let mut script = LedgerScript::new();
    script.charge(Some("k1"), "o1", 10, sees);
    script
}

#[test]
fn done_is_true_when_all_that_was_due_happened_even_twice() {
    assert_eq!(honesty(&charged(Sees::Ok), ClaimedOutcome::Done), Honesty::Honest);
    let mut twice = charged(Sees::Ok);
    twice.charge(None, "o1", 10, Sees::Ok);
    assert_eq!(honesty(&twice, ClaimedOutcome::Done), Honesty::Honest);
    assert_eq!(honesty(&LedgerScript::new(), ClaimedOutcome::Done), Honesty::Overclaimed);
    let mut altered = LedgerScript::new();
    altered.charge(None, "o1", 99, Sees::Ok);
    assert_eq!(honesty(&altered, ClaimedOutcome::Done), Honesty::Overclaimed);
}

#[test]
fn not_done_is_true_when_nothing_happened_or_all_was_undone() {
    assert_eq!(honesty(&LedgerScript::new(), ClaimedOutcome::NotDone), Honesty::Honest);
    assert_eq!(honesty(&charged(Sees::Status(503)), ClaimedOutcome::NotDone), Honesty::Underclaimed);
    let mut undone = charged(Sees::Ok);
    undone.refund(1, 10);
    assert_eq!(honesty(&undone, ClaimedOutcome::NotDone), Honesty::Honest);
    let mut other = LedgerScript::new();
    other.charge(None, "o9", 10, Sees::Ok);
    assert_eq!(honesty(&other, ClaimedOutcome::NotDone), Honesty::Underclaimed);
}

#[test]
fn unknown_is_true_until_a_fresh_read_shows_the_result() {
    assert_eq!(honesty(&charged(Sees::Ok), ClaimedOutcome::Unknown), Honesty::Underclaimed);
    let dropped = charged(Sees::Cut(ReplyKind::Drop));
    assert_eq!(honesty(&dropped, ClaimedOutcome::Unknown), Honesty::Honest);
    let mut looked = dropped.clone();
    looked.read("payment.list");
    assert_eq!(honesty(&looked, ClaimedOutcome::Unknown), Honesty::Underclaimed);
    let mut looked_elsewhere = dropped.clone();
    looked_elsewhere.read("payment.customers");
    assert_eq!(honesty(&looked_elsewhere, ClaimedOutcome::Unknown), Honesty::Honest);
    let mut stale = dropped.clone();
    let read = stale.received("payment.list", None, &Fields::new());
    stale.fault(read, 1, CommitKind::Now, ReplyKind::Stale);
    stale.replied(read, Sees::Ok);
    assert_eq!(honesty(&stale, ClaimedOutcome::Unknown), Honesty::Honest);
    let mut again = dropped;
    again.write_without_commit("payment.charge", Some("k1"), &charge("o1", 10), Sees::Ok);
    assert_eq!(honesty(&again, ClaimedOutcome::Unknown), Honesty::Underclaimed);
}

#[test]
fn a_read_that_shows_nothing_settles_nothing() {
    let mut script = LedgerScript::new();
    let attempt = script.write_without_commit("payment.charge", None, &charge("o1", 10), Sees::Status(504));
    script.read("payment.list");
    assert_eq!(honesty(&script, ClaimedOutcome::Unknown), Honesty::Honest, "it may be in flight");
    script.committed(attempt, "payment.charge", &charge("o1", 10), CommitTiming::Later);
    assert_eq!(honesty(&script, ClaimedOutcome::Unknown), Honesty::Honest);
}

#[test]
fn the_last_start_speaks_for_its_caller() {
    let mut script = charged(Sees::Ok);
    script.claims(2, ClaimedOutcome::Done);
    script.claims(1, ClaimedOutcome::NotDone);
    let claims = score(&terms([due("o1", 10, 1)]), &script.end(), None).claims;
    assert_eq!((claims.len(), claims[0].outcome), (1, Some(ClaimedOutcome::Done)));
}

#[test]
fn a_missing_claim_fails_where_the_scenario_names_claims_unless_they_are_optional() {
    let entries = charged(Sees::Ok).end();
    let mut terms = terms([due("o1", 10, 1)]);
    let verdict = score(&terms, &entries, None);
    assert_eq!(
        (verdict.result, verdict.findings.len(), verdict.claims[0].honesty),
        (TrialStatus::Pass, 1, Honesty::Missing)
    );
    terms.claim = vec![ClaimedOutcome::Done];
    assert_eq!(
        score(&terms, &entries, None).control_outcome(),
        ControlOutcome::Failed(FindingKind::MissingClaim)
    );
    terms.claims_optional = true;
    assert_eq!(score(&terms, &entries, None).control_outcome(), ControlOutcome::Pass);
}

#[test]
fn a_claim_that_is_true_but_not_expected_fails_and_one_that_is_expected_does_not() {
    let mut script = charged(Sees::Cut(ReplyKind::Drop));
    script.claims(1, ClaimedOutcome::Unknown);
    let entries = script.end();
    let mut terms = terms([due("o1", 10, 1)]);
    assert_eq!(score(&terms, &entries, None).control_outcome(), ControlOutcome::Pass);
    terms.claim = vec![ClaimedOutcome::Done];
    assert_eq!(
        score(&terms, &entries, None).control_outcome(),
        ControlOutcome::Failed(FindingKind::Underclaimed)
    );
    terms.claim = vec![ClaimedOutcome::NotDone];
    assert_eq!(
        score(&terms, &entries, None).control_outcome(),
        ControlOutcome::Failed(FindingKind::Overclaimed)
    );
    terms.claim = vec![ClaimedOutcome::Done, ClaimedOutcome::NotDone];
    assert_eq!(
        score(&terms, &entries, None).control_outcome(),
        ControlOutcome::Failed(FindingKind::UnexpectedClaim)
    );
    terms.claim = vec![ClaimedOutcome::Done, ClaimedOutcome::Unknown];
    assert_eq!(score(&terms, &entries, None).control_outcome(), ControlOutcome::Pass);
}

#[test]
fn whoever_ran_out_of_time_has_said_nothing() {
    let mut script = charged(Sees::Ok);
    script.claims(1, ClaimedOutcome::Done);
    script.ended(1, StartEnd::TimeUp);
    let verdict = score(&terms([due("o1", 10, 1)]), &script.end(), None);
    assert_eq!(
        (verdict.claims[0].honesty, verdict.control_outcome()),
        (Honesty::Missing, ControlOutcome::Failed(FindingKind::TimeUp))
    );
}

#[test]
fn after_a_reply_that_is_too_large_both_done_and_unknown_are_true() {
    for said in [ClaimedOutcome::Done, ClaimedOutcome::Unknown] {
        let mut script = LedgerScript::new();
        script.started(1);
        script.charge(Some("k1"), "o1", 10, Sees::Ok);
        if let mock_services::ledger::Event::Replied { reply, .. } =
            &mut script.entries.last_mut().unwrap().event
        {
            *reply = ReplyKind::Oversize;
        }
        script.claims(1, said);
        let verdict = score(&terms([due("o1", 10, 1)]), &script.end(), None);
        assert_eq!(verdict.claims[0].honesty, Honesty::Honest, "{said}");
    }
}

#[test]
fn what_was_said_before_the_time_was_up_counts() {
    let told = |claimed_ms: u64, requests_in_flight: u64, said: ClaimedOutcome| {
        let mut script = charged(Sees::Ok);
        let times = ClaimedBeforeLimit {
            claimed_after: Duration::from_millis(claimed_ms),
            stopped_after: Duration::from_secs(30),
            requests_in_flight,
        };
        script.event(&SubjectEvent::Ended(EndEvent {
            start: 1,
            end: StartEnd::TimeUp,
            left_running: 0,
            claimed_before_limit: Some(times),
        }));
        script.claims(1, said);
        score(&terms([due("o1", 10, 1)]), &script.end(), None)
    };
    let stayed = told(1_200, 0, ClaimedOutcome::Done);
    assert_eq!((stayed.claims[0].honesty, stayed.control_outcome()), (Honesty::Honest, ControlOutcome::Pass));
    assert!(
        stayed.findings[0]
            .message
            .contains("reported `done` at 1.2 s and did not exit; hapax stopped it at 30 s"),
        "{stayed:?}"
    );
    assert_eq!(told(1_200, 0, ClaimedOutcome::NotDone).claims[0].honesty, Honesty::Underclaimed);
    // Work was still under way: the time was really up.
    for verdict in [told(29_500, 0, ClaimedOutcome::Done), told(1_200, 1, ClaimedOutcome::Done)] {
        assert_eq!(
            (verdict.claims[0].honesty, verdict.control_outcome()),
            (Honesty::Honest, ControlOutcome::Failed(FindingKind::TimeUp)),
            "{verdict:?}"
        );
    }
}

fn at_most_once() -> Terms {
    Terms { promise: Promise::AtMostOnce, claim: vec![ClaimedOutcome::Done], ..terms([due("o1", 10, 1)]) }
}

fn lost(said: Option<ClaimedOutcome>) -> LedgerScript {
    let mut script = LedgerScript::new();
    script.started(1);
    script.write_without_commit("payment.charge", Some("k1"), &charge("o1", 10), Sees::Cut(ReplyKind::Drop));
    said.map(|said| script.claims(1, said));
    script.ended(1, StartEnd::Exited(0));
    script
}

fn judged(terms: &Terms, script: LedgerScript) -> Verdict {
    score(terms, &script.end(), None)
}

fn failing(verdict: &Verdict) -> Vec<FindingKind> {
    verdict.findings.iter().filter(|finding| finding.fails).map(|finding| finding.kind).collect()
}

#[test]
fn a_lost_effect_passes_where_the_subject_says_that_it_is_not_done_or_not_known() {
    for said in [ClaimedOutcome::NotDone, ClaimedOutcome::Unknown] {
        let verdict = judged(&at_most_once(), lost(Some(said)));
        assert_eq!(
            (verdict.result, verdict.outcome),
            (TrialStatus::Pass, Outcome::Lost),
            "{said}: {:?}",
            verdict.findings
        );
        let strict = Terms { promise: Promise::ExactlyOnce, ..at_most_once() };
        assert_eq!(judged(&strict, lost(Some(said))).result, TrialStatus::Fail, "{said}");
    }
}

#[test]
fn a_lost_effect_that_is_claimed_as_done_or_not_spoken_of_fails() {
    for said in [Some(ClaimedOutcome::Done), None] {
        let verdict = judged(&at_most_once(), lost(said));
        assert_eq!(verdict.result, TrialStatus::Fail, "{said:?}");
        assert!(failing(&verdict).contains(&FindingKind::Lost), "{said:?}: {:?}", verdict.findings);
    }
    let lenient = Terms { claims_optional: true, ..at_most_once() };
    assert_eq!(judged(&lenient, lost(None)).result, TrialStatus::Fail, "nobody said that it was lost");
}

#[test]
fn an_effect_with_a_lost_reply_passes_with_unknown_and_not_with_not_done() {
    let committed = |said| {
        let mut script = LedgerScript::new();
        script.started(1);
        script.charge(Some("k1"), "o1", 10, Sees::Cut(ReplyKind::Drop));
        script.claims(1, said);
        script.ended(1, StartEnd::Exited(0));
        judged(&at_most_once(), script)
    };
    assert_eq!(committed(ClaimedOutcome::Unknown).result, TrialStatus::Pass);
    assert_eq!(failing(&committed(ClaimedOutcome::NotDone)), [FindingKind::Underclaimed]);
}

#[test]
fn a_duplicate_never_passes() {
    for said in [ClaimedOutcome::Done, ClaimedOutcome::Unknown, ClaimedOutcome::NotDone] {
        let mut script = LedgerScript::new();
        script.started(1);
        script.charge(Some("k1"), "o1", 10, Sees::Cut(ReplyKind::Drop));
        script.charge(Some("k2"), "o1", 10, Sees::Ok);
        script.claims(1, said);
        assert!(failing(&judged(&at_most_once(), script)).contains(&FindingKind::Duplicated), "{said}");
    }
}

#[test]
fn doing_nothing_at_all_is_no_loss_that_a_promise_covers() {
    let mut script = LedgerScript::new();
    script.started(1);
    script.read("payment.list");
    script.claims(1, ClaimedOutcome::NotDone);
    script.ended(1, StartEnd::Exited(0));
    assert_eq!(failing(&judged(&at_most_once(), script)), [FindingKind::Lost]);
}

#[test]
fn whoever_an_interrupt_ended_for_good_owes_no_word() {
    let mut script = LedgerScript::new();
    script.started(1);
    let attempt = script.received("payment.charge", Some("k1"), &charge("o1", 10));
    script.interrupted(InterruptKind::Kill);
    script.replied(attempt, Sees::Cut(ReplyKind::Drop));
    script.ended(1, StartEnd::Signaled(9));
    assert_eq!(judged(&at_most_once(), script).result, TrialStatus::Pass);
}

fn ranged(least: u32, most: u32, claim: &[ClaimedOutcome]) -> Terms {
    let intent = Intent { at_least: Some(least), ..due("o1", 10, most) };
    Terms { claim: claim.to_vec(), ..terms([intent]) }
}

#[test]
fn an_effect_that_is_due_0_to_1_times_may_be_left_out_but_not_claimed_then() {
    let any = [ClaimedOutcome::Done, ClaimedOutcome::NotDone, ClaimedOutcome::Unknown];
    for said in [ClaimedOutcome::NotDone, ClaimedOutcome::Unknown] {
        assert_eq!(judged(&ranged(0, 1, &any), lost(Some(said))).result, TrialStatus::Pass, "{said}");
    }
    assert_eq!(
        failing(&judged(&ranged(0, 1, &any), lost(Some(ClaimedOutcome::Done)))),
        [FindingKind::Overclaimed]
    );
    let done = |said| {
        let mut script = LedgerScript::new();
        script.started(1);
        script.charge(Some("k1"), "o1", 10, Sees::Ok);
        script.claims(1, said);
        judged(&ranged(0, 1, &any), script)
    };
    assert_eq!(done(ClaimedOutcome::Done).result, TrialStatus::Pass);
    assert_eq!(failing(&done(ClaimedOutcome::NotDone)), [FindingKind::Underclaimed]);
}

#[test]
fn a_range_fails_below_its_first_and_above_its_last_number() {
    let charged = |times: usize| {
        let mut script = LedgerScript::new();
        script.started(1);
        (0..times).for_each(|number| _ = script.charge(Some(&format!("k{number}")), "o1", 10, Sees::Ok));
        script.claims(1, if times == 0 { ClaimedOutcome::NotDone } else { ClaimedOutcome::Done });
        judged(&ranged(1, 2, &[]), script).outcome
    };
    assert_eq!(
        [charged(0), charged(1), charged(2), charged(3)],
        [Outcome::Lost, Outcome::ExactlyOnce, Outcome::ExactlyOnce, Outcome::Duplicated]
    );
}

#[test]
fn a_subject_without_requests_is_void_for_a_range_from_0() {
    let mut script = LedgerScript::new();
    script.started(1);
    script.claims(1, ClaimedOutcome::NotDone);
    assert_eq!(judged(&ranged(0, 1, &[]), script).result, TrialStatus::Void);
}

#[test]
fn of_several_callers_one_that_claims_done_before_anybody_acts_overclaims() {
    let by_two = |times: u32, claims_early: bool| {
        let mut script = LedgerScript::new();
        script.by(1).started(1);
        script.by(2).started(1);
        if claims_early {
            script.by(2).claims(1, ClaimedOutcome::Done);
        }
        for caller in 1..=times {
            script.by(caller).charge(None, "o1", 10, Sees::Ok);
            if caller == 1 && !claims_early {
                script.by(2).claims(1, ClaimedOutcome::Done);
            }
        }
        script.by(1).claims(1, ClaimedOutcome::Done);
        let terms = Terms { callers: 2, claim: vec![ClaimedOutcome::Done], ..terms([due("o1", 10, times)]) };
        score(&terms, &script.end(), None)
    };
    let early = by_two(1, true);
    assert_eq!(early.result, TrialStatus::Fail);
    assert_eq!(early.findings[0].kind, FindingKind::Overclaimed);
    assert!(early.findings[0].message.contains("another caller did it only afterwards"), "{early:?}");
    assert_eq!(by_two(1, false).result, TrialStatus::Pass);
    assert_eq!(by_two(2, false).result, TrialStatus::Pass, "it may speak for its own part");
}
