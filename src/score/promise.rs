//! Whether the promise of a subject allows a lost effect.

use super::claim::was_ended_by_interrupt;
use super::history::TrialHistory;
use super::verdict::{Claim, Honesty};
use crate::scenario::{Promise, Terms};

/// Whether a lost effect passes: the subject promises only at most once, it tried, and no caller claimed that
/// it was done. A caller that an interrupt ended cannot make a claim.
pub(super) fn permits_loss(terms: &Terms, history: &TrialHistory<'_>, claims: &[Claim]) -> bool {
    let is_open = |claim: &Claim| match claim.honesty {
        Honesty::Honest => true,
        Honesty::Missing => was_ended_by_interrupt(history, claim.caller),
        Honesty::Overclaimed | Honesty::Underclaimed => false,
    };
    terms.promise == Promise::AtMostOnce
        && claims.iter().all(is_open)
        && history.attempts.iter().any(|attempt| attempt.write)
}

#[cfg(test)]
mod tests {
    use crate::domain::{InterruptKind, StartEnd};
    use crate::scenario::{ClaimedOutcome, Intent, Promise, Terms};
    use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
    use crate::score::verdict::{FindingKind, Outcome, TrialStatus};
    use crate::score::{Verdict, score};
    use mock_services::fault::ReplyKind;

    fn at_most_once() -> Terms {
        Terms { promise: Promise::AtMostOnce, claim: vec![ClaimedOutcome::Done], ..terms([due("o1", 10, 1)]) }
    }

    fn lost(said: Option<ClaimedOutcome>) -> LedgerScript {
        let mut script = LedgerScript::new();
        script.started(1);
        script.write_without_commit(
            "payment.charge",
            Some("k1"),
            &charge("o1", 10),
            Sees::Cut(ReplyKind::Drop),
        );
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
}
