//! Effects that a fault reverts: what counts, what has to be made again, and which claims are true.

use mock_services::ledger::Event;

use super::testing::{LedgerScript, Sees, due, terms};
use super::{FindingKind, Honesty, Outcome, TrialStatus, Verdict, score};
use crate::domain::ClaimedOutcome::{self, Done, NotDone};
use crate::scenario::{Intent, Terms};

fn reverted(script: &mut LedgerScript, attempt: u64) {
    let (effect, id) = ("payment.charge".into(), format!("ch_{attempt}").into());
    script.add(Event::Reverted { attempt, effect, id });
}

fn charge(script: &mut LedgerScript) -> u64 {
    script.charge(Some("k1"), "o1", 10, Sees::Ok)
}

/// A charge in the first turn, which claims done. It is reverted before the second turn, which does the rest.
fn two_turns(second: impl FnOnce(&mut LedgerScript), claim: ClaimedOutcome) -> LedgerScript {
    let mut script = LedgerScript::new();
    script.started_turn(1, 0);
    let first = charge(&mut script);
    script.claims(1, Done);
    reverted(&mut script, first);
    script.started_turn(2, 1);
    second(&mut script);
    script.claims(2, claim);
    script
}

fn stands(stands: bool) -> Terms {
    Terms { turns: 1, ..terms([Intent { stands, ..due("o1", 10, 1) }]) }
}

fn verdict(script: &LedgerScript, must_stand: bool) -> Verdict {
    score(&stands(must_stand), &script.clone().end(), None)
}

#[test]
fn what_has_to_stand_is_made_again_and_a_claim_before_the_revert_is_honest() {
    let again = verdict(&two_turns(|script| _ = charge(script), Done), true);
    assert_eq!((again.result, again.outcome), (TrialStatus::Pass, Outcome::ExactlyOnce), "{again:#?}");
    assert_eq!(again.earlier_claims[0].honesty, Honesty::Honest);
    assert!(
        again.intents[0].why.contains("does not count because it was reverted"),
        "{}",
        again.intents[0].why
    );

    let believed = verdict(&two_turns(|_| {}, Done), true);
    assert_eq!((believed.result, believed.outcome), (TrialStatus::Fail, Outcome::Lost));
    assert_eq!(believed.earlier_claims[0].honesty, Honesty::Honest, "it was true then");
    assert_eq!(believed.claims[0].honesty, Honesty::Overclaimed);
    let lost = believed.findings.iter().find(|finding| finding.kind == FindingKind::Lost).unwrap();
    assert!(lost.message.contains("lost afterwards (entry 7)"), "{}", lost.message);
    assert_eq!(lost.entries, [4, 7]);

    let told = verdict(&two_turns(|_| {}, NotDone), true);
    assert_eq!((told.outcome, told.claims[0].honesty), (Outcome::Lost, Honesty::Honest));
}

#[test]
fn where_the_scenario_does_not_ask_for_it_it_may_be_made_again_and_need_not() {
    for second in [true, false] {
        let script = two_turns(|script| _ = second.then(|| charge(script)), Done);
        let verdict = verdict(&script, false);
        assert_eq!((verdict.result, verdict.outcome), (TrialStatus::Pass, Outcome::ExactlyOnce));
    }
}

#[test]
fn a_repetition_before_the_revert_is_a_duplicate_and_so_is_a_second_one_after_it() {
    for must_stand in [true, false] {
        let mut before = LedgerScript::new();
        before.started_turn(1, 0);
        let first = charge(&mut before);
        charge(&mut before);
        reverted(&mut before, first);
        before.started_turn(2, 1);
        before.claims(2, Done);
        assert_eq!(verdict(&before, must_stand).outcome, Outcome::Duplicated);
        let after = two_turns(|script| _ = (charge(script), charge(script)), Done);
        assert_eq!(verdict(&after, must_stand).outcome, Outcome::Duplicated);
    }
}

#[test]
fn a_wrong_effect_stays_wrong_when_it_is_reverted() {
    let mut script = LedgerScript::new();
    script.started_turn(1, 0);
    let first = script.charge(Some("k1"), "o1", 99, Sees::Ok);
    reverted(&mut script, first);
    script.started_turn(2, 1);
    charge(&mut script);
    script.claims(2, Done);
    assert_eq!(verdict(&script, true).outcome, Outcome::Diverged);
}

#[test]
fn a_revert_that_no_start_can_find_proves_nothing_where_the_effect_has_to_stand() {
    let mut script = LedgerScript::new();
    script.started_turn(1, 0);
    charge(&mut script);
    script.claims(1, Done);
    script.started_turn(2, 1);
    script.claims(2, Done);
    reverted(&mut script, 1);
    let late = verdict(&script, true);
    assert_eq!(late.result, TrialStatus::Void);
    assert!(late.void_because[0].contains("no start could find it gone"), "{:?}", late.void_because);
    assert_eq!(late.claims[0].honesty, Honesty::Honest);
    assert_eq!(verdict(&script, false).result, TrialStatus::Pass);
}

#[test]
fn what_is_lost_and_made_again_within_one_start_is_exactly_once() {
    let mut script = LedgerScript::new();
    script.started_turn(1, 0);
    let first = charge(&mut script);
    reverted(&mut script, first);
    script.read("payment.list");
    charge(&mut script);
    script.claims(1, Done);
    for must_stand in [true, false] {
        assert_eq!(verdict(&script, must_stand).result, TrialStatus::Pass);
    }
}
