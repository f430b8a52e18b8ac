use crate::score::history::TrialHistory;
use crate::score::testing::{LedgerScript, Sees, terms};

use super::*;

fn pairs(script: LedgerScript) -> Vec<UndoneCharge> {
    let entries = script.end();
    let history = TrialHistory::new(&terms([]), &entries);
    let spare: Vec<usize> = (0..history.effects.len()).collect();
    undone(&history.effects, &spare)
}

#[test]
fn a_full_refund_undoes_its_charge_and_no_other() {
    let mut script = LedgerScript::new();
    script.charge(None, "o1", 10, Sees::Ok);
    let second = script.charge(None, "o1", 10, Sees::Ok);
    script.refund(second, 10);
    assert_eq!(pairs(script), [UndoneCharge { charge: 1, refunds: vec![2] }]);
}

#[test]
fn two_halves_undo_a_charge_and_one_half_does_not() {
    let mut script = LedgerScript::new();
    let charge = script.charge(None, "o1", 10, Sees::Ok);
    script.refund(charge, 5);
    assert_eq!(pairs(script.clone()), []);
    script.refund(charge, 5);
    assert_eq!(pairs(script), [UndoneCharge { charge: 0, refunds: vec![1, 2] }]);
}

#[test]
fn a_refund_of_an_unknown_charge_undoes_nothing() {
    let mut script = LedgerScript::new();
    script.charge(None, "o1", 10, Sees::Ok);
    script.refund(77, 10);
    assert_eq!(pairs(script), []);
}
