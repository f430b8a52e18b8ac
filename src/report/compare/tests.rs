use proptest::prelude::*;

use super::*;
use crate::report::sample;

/// A case of which so many trials passed and so many failed.
fn trials(id: &str, passed: usize, failed: usize) -> sample::SampleCase {
    let (mut case, saved) = sample::pass(1);
    let (pass, fail) = (case.trials.remove(0), sample::lost().0.trials.remove(0));
    id.clone_into(&mut case.id);
    case.trials = std::iter::repeat_n(pass, passed).chain(std::iter::repeat_n(fail, failed)).collect();
    (case, saved)
}

fn report(cases: &[(&str, usize, usize)]) -> Report {
    let (mut report, _) = sample::run_of(vec![]);
    report.cases = cases.iter().map(|(id, passed, failed)| trials(id, *passed, *failed).0).collect();
    report
}

fn kinds(old: &[(&str, usize, usize)], new: &[(&str, usize, usize)]) -> Vec<(String, ChangeKind)> {
    compare(&report(old), &report(new)).changes.into_iter().map(|change| (change.id, change.kind)).collect()
}

#[test]
fn what_fails_now_and_passed_before_is_worse() {
    assert_eq!(kinds(&[("a", 1, 0)], &[("a", 0, 1)]), [("a".to_owned(), ChangeKind::Worse)]);
    assert_eq!(kinds(&[("a", 0, 1)], &[("a", 1, 0)]), [("a".to_owned(), ChangeKind::Better)]);
    assert_eq!(kinds(&[("a", 1, 0)], &[("a", 1, 0)]), []);
}

#[test]
fn a_worse_outcome_of_a_failure_is_worse() {
    let (mut old, mut new) = (report(&[]), report(&[]));
    let (mut duplicated, _) = sample::double_charge("none");
    duplicated.id = "payment/success-lies".to_owned();
    old.cases = vec![sample::lost().0];
    new.cases = vec![duplicated];
    let found = compare(&old, &new);
    assert_eq!(found.changes[0].kind, ChangeKind::Worse);
    assert!(found.is_worse());
}

#[test]
fn a_void_case_is_worse_than_a_pass_and_better_than_a_failure() {
    let state = |result| CaseState {
        result,
        outcome: Outcome::ExactlyOnce,
        control_outcome: ControlOutcome::Pass,
        passed: 0,
        judged: 1,
        trials: 1,
    };
    assert_eq!(kind(Some(state(TrialStatus::Pass)), Some(state(TrialStatus::Void))), Some(ChangeKind::Worse));
    assert_eq!(
        kind(Some(state(TrialStatus::Fail)), Some(state(TrialStatus::Void))),
        Some(ChangeKind::Better)
    );
}

#[test]
fn new_and_gone_cases_are_named_and_a_new_failure_counts_as_worse() {
    let found = compare(&report(&[("a", 1, 0)]), &report(&[("b", 1, 0), ("c", 0, 1)]));
    let kinds: Vec<ChangeKind> = found.changes.iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::Gone, ChangeKind::New, ChangeKind::NewFailing]);
    assert!(found.is_worse());
}

#[test]
fn a_changed_scenario_differs_from_a_changed_agent_and_from_another_hapax() {
    let cause = |change: fn(&mut Report)| {
        let (old, mut new) = (report(&[("a", 1, 0)]), report(&[("a", 0, 1)]));
        change(&mut new);
        let found = compare(&old, &new);
        (found.changes[0].cause.unwrap(), found.scenarios_changed)
    };
    assert_eq!(cause(|_| {}), (CompareCause::Agent, 0));
    assert_eq!(cause(|new| "other".clone_into(&mut new.cases[0].digest)), (CompareCause::Scenario, 1));
    assert_eq!(cause(|new| "9.9.9".clone_into(&mut new.hapax)), (CompareCause::Hapax, 0));
    assert_eq!(cause(|new| new.cases[0].digest.clear()), (CompareCause::Unknown, 0));
    let (old, mut new) = (report(&[("a", 1, 0)]), report(&[("a", 1, 0)]));
    "other".clone_into(&mut new.cases[0].digest);
    let found = compare(&old, &new);
    assert_eq!(
        (found.changes.len(), found.scenarios_changed),
        (0, 1),
        "it is told also where nothing came of it"
    );
}

#[test]
fn among_several_trials_only_more_than_chance_is_a_change() {
    assert_eq!(kinds(&[("a", 5, 5)], &[("a", 4, 6)]), [], "9 of 20 could be luck");
    assert_eq!(kinds(&[("a", 19, 1)], &[("a", 5, 15)]), [("a".to_owned(), ChangeKind::Worse)]);
    assert_eq!(kinds(&[("a", 5, 15)], &[("a", 19, 1)]), [("a".to_owned(), ChangeKind::Better)]);
}

#[test]
fn a_first_failure_among_several_trials_is_worse_and_says_how_likely_chance_is() {
    let found = compare(&report(&[("a", 10, 0)]), &report(&[("a", 9, 1)]));
    assert_eq!(found.changes[0].kind, ChangeKind::Worse);
    assert!((found.changes[0].chance.unwrap() - 1.0).abs() < 1e-9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn seen_from_the_other_side_better_is_worse_and_new_is_gone(
        old in (0usize..6, 0usize..6),
        new in (0usize..6, 0usize..6),
    ) {
        let (old, new) = ([("a", old.0, old.1)], [("a", new.0, new.1)]);
        let mirrored = |kind| match kind {
            ChangeKind::Worse => ChangeKind::Better,
            ChangeKind::Better => ChangeKind::Worse,
            other => other,
        };
        let back: Vec<ChangeKind> = kinds(&new, &old).into_iter().map(|(_, kind)| mirrored(kind)).collect();
        let forth: Vec<ChangeKind> = kinds(&old, &new).into_iter().map(|(_, kind)| kind).collect();
        prop_assert_eq!(forth, back);
        prop_assert_eq!(kinds(&old, &old), []);
    }
}

#[test]
fn runs_with_different_promises_show_a_note() {
    let (old, mut new) = (report(&[("a", 0, 1)]), report(&[("a", 1, 0)]));
    new.cases[0].terms.promise = Promise::AtMostOnce;
    let found = compare(&old, &new);
    assert_eq!(found.promises, Some((Promise::ExactlyOnce, Promise::AtMostOnce)));
    assert_eq!(found.changes[0].cause, Some(CompareCause::Promise));
    assert_eq!(compare(&old, &old).promises, None);
}
