use crate::score::story::Story;
use crate::score::testing::{Sees, Tale, terms};

use super::*;

fn pairs(tale: Tale) -> Vec<Undone> {
    let entries = tale.end();
    let story = Story::new(&terms([]), &entries);
    let spare: Vec<usize> = (0..story.effects.len()).collect();
    undone(&story.effects, &spare)
}

#[test]
fn a_full_refund_undoes_its_charge_and_no_other() {
    let mut tale = Tale::new();
    tale.charge(None, "o1", 10, Sees::Ok);
    let second = tale.charge(None, "o1", 10, Sees::Ok);
    tale.refund(second, 10);
    assert_eq!(pairs(tale), [Undone { charge: 1, refunds: vec![2] }]);
}

#[test]
fn two_halves_undo_a_charge_and_one_half_does_not() {
    let mut tale = Tale::new();
    let charge = tale.charge(None, "o1", 10, Sees::Ok);
    tale.refund(charge, 5);
    assert_eq!(pairs(tale.clone()), []);
    tale.refund(charge, 5);
    assert_eq!(pairs(tale), [Undone { charge: 0, refunds: vec![1, 2] }]);
}

#[test]
fn a_refund_of_an_unknown_charge_undoes_nothing() {
    let mut tale = Tale::new();
    tale.charge(None, "o1", 10, Sees::Ok);
    tale.refund(77, 10);
    assert_eq!(pairs(tale), []);
}
