use std::borrow::Cow;

use mock_services::Clock;
use mock_services::ledger::{CommitTiming, Ledger};

use super::*;

fn stopped(expected: &[&str], effects: &[(&'static str, Fields)]) -> StoppedServices {
    let ledger = Ledger::new("t", 1, Clock::default());
    for (attempt, (effect, fields)) in (1..).zip(effects) {
        ledger.append(&Event::Committed {
            attempt,
            effect: (*effect).into(),
            id: "x".into(),
            fields: Cow::Owned(fields.clone()),
            timing: CommitTiming::Now,
        });
    }
    let texts: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
    StoppedServices {
        entries: ledger.entries(),
        fired: Vec::new(),
        operations: Vec::new(),
        expected: CountedEffect::read(&texts, Vec::new()).unwrap(),
        evidence_removed: false,
    }
}

fn charge(order: &str) -> (&'static str, Fields) {
    ("payment.charge", Fields::new().with("order", order).with("amount", 4999))
}

fn differences(expected: &[&str], effects: &[(&'static str, Fields)]) -> String {
    stopped(expected, effects).differences().join("\n")
}

#[test]
fn effects_as_expected_are_no_difference_and_generations_are_never_one() {
    let generation = ("model.generate", Fields::new());
    let expected = ["payment.charge:order=o1,amount=4999", "payment.charge:order=o2*2"];
    assert_eq!(differences(&expected, &[charge("o1"), charge("o2"), charge("o2"), generation]), "");
    assert_eq!(differences(&[], &[charge("o1")]), "");
}

#[test]
fn a_missing_a_repeated_and_an_unexpected_effect_are_differences() {
    let mail = ("email.send", Fields::new().with("to", "a@b.example"));
    let expected = ["payment.charge:order=o1", "payment.charge:order=o2", "payment.refund:order=o3"];
    let found = differences(&expected, &[charge("o1"), charge("o1"), charge("o2"), mail]);
    insta::assert_snapshot!(found);
}

#[test]
fn an_expectation_with_a_mistake_is_refused_with_a_hint() {
    let read = CountedEffect::read(&["payment.chrge:order=o1".to_owned()], Vec::new());
    let problems = read.unwrap_err().to_string();
    assert!(problems.contains("did you mean `payment.charge`"), "{problems}");
}
