use mock_services::service::Fields;

use super::*;
use crate::score::score;
use crate::score::testing::{LedgerScript, Sees, due, terms};

fn outcome_of(terms: &Terms, charges: &[Fields]) -> Outcome {
    let mut script = LedgerScript::new();
    for fields in charges {
        script.write("payment.charge", None, fields, Sees::Ok);
    }
    score(terms, &script.end(), None).outcome
}

fn charge(order: &str, amount: i64) -> Fields {
    crate::score::testing::charge(order, amount)
}

#[test]
fn each_outcome_of_the_table_is_distinguished() {
    let terms = terms([due("o1", 10, 1)]);
    let cases: [(&[Fields], Outcome); 6] = [
        (&[charge("o1", 10)], Outcome::ExactlyOnce),
        (&[charge("o1", 99)], Outcome::Altered),
        (&[], Outcome::Lost),
        (&[charge("o1", 10), charge("o2", 10)], Outcome::Unintended),
        (&[charge("o1", 10), charge("o1", 10)], Outcome::Duplicated),
        (&[charge("o1", 10), charge("o1", 99)], Outcome::Diverged),
    ];
    for (charges, expected) in cases {
        assert_eq!(outcome_of(&terms, charges), expected);
    }
}

#[test]
fn a_field_that_one_of_them_leaves_out_makes_no_difference() {
    let bare = Fields::new().with("amount", 10);
    assert_eq!(outcome_of(&terms([due("o1", 10, 1)]), std::slice::from_ref(&bare)), Outcome::ExactlyOnce);
    assert_eq!(outcome_of(&terms([due("o1", 10, 1)]), &[charge("o1", 10), bare]), Outcome::Duplicated);
}

#[test]
fn a_field_that_the_scenario_does_not_ask_for_but_that_identifies_makes_two_charges_differ() {
    let to = |customer: &str| charge("o1", 10).with("customer", customer);
    assert_eq!(outcome_of(&terms([due("o1", 10, 1)]), &[to("a"), to("b")]), Outcome::Diverged);
    let noted = |text: &str| charge("o1", 10).with("description", text);
    assert_eq!(outcome_of(&terms([due("o1", 10, 1)]), &[noted("a"), noted("b")]), Outcome::Duplicated);
}

#[test]
fn of_an_intent_that_is_due_three_times_a_repeated_one_is_a_duplicate() {
    let terms = terms([due("o1", 10, 3)]);
    let to = |customer: &str| charge("o1", 10).with("customer", customer);
    assert_eq!(outcome_of(&terms, &[to("a"), to("b"), to("c")]), Outcome::ExactlyOnce);
    assert_eq!(outcome_of(&terms, &[to("a"), to("b"), to("c"), to("b")]), Outcome::Duplicated);
    assert_eq!(outcome_of(&terms, &[to("a"), to("b"), to("c"), to("d")]), Outcome::Diverged);
    assert_eq!(outcome_of(&terms, &[to("a"), to("a"), to("a"), charge("o1", 99)]), Outcome::Diverged);
    assert_eq!(outcome_of(&terms, &[to("a"), to("b")]), Outcome::Lost);
}

#[test]
fn what_must_not_happen_is_unintended() {
    let verdict = {
        let mut script = LedgerScript::new();
        script.charge(None, "o2", 10, Sees::Ok);
        score(&terms([due("o2", 10, 0)]), &script.end(), None)
    };
    assert_eq!(verdict.intents[0].outcome, Outcome::Unintended);
    assert_eq!(
        verdict.findings[0].message,
        "1 charge for o2, but none is allowed. Attempt payment.charge#1 committed, and the reply was 200."
    );
}

#[test]
fn the_matching_is_explained() {
    let mut script = LedgerScript::new();
    script.charge(None, "o1", 10, Sees::Ok);
    script.write("payment.charge", None, &Fields::new().with("amount", 10), Sees::Ok);
    let verdict = score(&terms([due("o1", 10, 1), due("o2", 20, 1)]), &script.end(), None);
    insta::assert_snapshot!(format!("{}\n{}", verdict.intents[0].why, verdict.intents[1].why), @r"
    1 due; entry 3 counts: its order is o1; entry 6 is surplus: it carries no order, and nothing that it carries contradicts
    1 due; no effect fits
    ");
}
