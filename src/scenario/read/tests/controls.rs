use super::{cases, charge, problems_of, read};
use crate::domain::FindingKind;
use crate::scenario::{Case, ControlOutcome};

#[test]
fn the_first_entry_that_matches_decides_the_outcome_of_a_control() {
    let more = "matrix: {keys: [stripe, none], reply: [drop, reset, hang]}\nservices: {payment: \
        {idempotency: \"${keys}\"}}\n\
                faults: [{on: payment.charge, reply: \"${reply}\"}]\ncontrols:\n  naive: duplicated\n  \
                keyed: [{when: {keys: none, reply: [drop, hang]}, is: duplicated}, {is: pass}]\n";
    let keyed = |case: &Case| case.controls[1].is;
    let outcomes: Vec<ControlOutcome> = cases(&charge(more)).iter().map(keyed).collect();
    assert_eq!(
        outcomes,
        [
            ControlOutcome::Pass,
            ControlOutcome::Pass,
            ControlOutcome::Pass,
            ControlOutcome::Failed(FindingKind::Duplicated),
            ControlOutcome::Pass,
            ControlOutcome::Failed(FindingKind::Duplicated)
        ]
    );
}

#[test]
fn a_scenario_that_no_control_fails_is_refused_unless_it_is_clean() {
    insta::assert_snapshot!(problems_of("controls: {naive: pass}\n"));
    assert_eq!(problems_of("controls: {naive: pass}\ntags: [clean]\n"), "1 cases");
}

#[test]
fn controls_without_steps_are_refused() {
    let text = "about: a\ntask: t\nexpect: {effects: [], claim: not-done}\ncontrols: {naive: duplicated}\n";
    insta::assert_snapshot!(read(text).unwrap_err().to_string());
}
