use mock_services::service::Fields;

use super::*;
use crate::score::history::TrialHistory;
use crate::score::testing::{LedgerScript, Sees, due, terms};

fn taken(terms: &Terms, script: LedgerScript) -> Assignment {
    let entries = script.end();
    assignment(terms, &TrialHistory::new(terms, &entries).effects)
}

#[test]
fn what_is_left_over_is_a_surplus_of_what_it_fits_or_unintended() {
    let mut script = LedgerScript::new();
    script.charge(None, "o1", 10, Sees::Ok);
    script.charge(None, "o1", 10, Sees::Ok);
    script.charge(None, "o9", 10, Sees::Ok);
    let found = taken(&terms([due("o1", 10, 1)]), script);
    assert_eq!(
        (found.intents[0].counted.as_slice(), found.intents[0].surplus.as_slice()),
        ([0].as_slice(), [1].as_slice())
    );
    assert_eq!(found.unintended, [2]);
}

#[test]
fn whichever_of_two_charges_is_refunded_the_other_one_counts() {
    for refunded in [1, 2] {
        let mut script = LedgerScript::new();
        script.charge(None, "o1", 10, Sees::Ok);
        script.charge(None, "o1", 10, Sees::Ok);
        script.refund(refunded, 10);
        let found = taken(&terms([due("o1", 10, 1)]), script);
        let other = usize::from(refunded == 1);
        assert_eq!(
            (found.intents[0].counted.as_slice(), found.intents[0].compensated.as_slice()),
            ([other].as_slice(), [1 - other].as_slice())
        );
        assert!(found.unintended.is_empty(), "the refund of a surplus is not unintended as well");
    }
}

#[test]
fn a_refund_that_was_asked_for_undoes_nothing() {
    let refund = Intent {
        effect: "payment.refund".to_owned(),
        selector: Fields::new(),
        expected: Fields::new().with("amount", 10),
        defaults: Fields::new(),
        times: 1,
        at_least: None,
    };
    let mut script = LedgerScript::new();
    let charge = script.charge(None, "o1", 10, Sees::Ok);
    script.refund(charge, 10);
    let found = taken(&terms([due("o1", 10, 1), refund]), script);
    assert_eq!(
        (found.intents[0].counted.len(), found.intents[1].counted.len(), found.undone.len()),
        (1, 1, 0)
    );
}

#[test]
fn a_refund_of_the_only_charge_takes_it_back() {
    let mut script = LedgerScript::new();
    let charge = script.charge(None, "o1", 10, Sees::Ok);
    script.refund(charge, 10);
    let found = taken(&terms([due("o1", 10, 1)]), script);
    assert_eq!((found.intents[0].counted.len(), found.intents[0].taken_back.as_slice()), (0, [0].as_slice()));
}

#[test]
fn an_effect_that_must_not_happen_belongs_to_the_intent_that_forbids_it() {
    let mut script = LedgerScript::new();
    script.charge(None, "o2", 10, Sees::Ok);
    let found = taken(&terms([due("o1", 10, 1), due("o2", 10, 0)]), script);
    assert_eq!(found.intents[1].surplus, [0]);
}
