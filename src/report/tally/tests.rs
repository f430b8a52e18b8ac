use super::*;
use crate::report::sample;

#[test]
fn the_numbers_of_a_run_are_those_of_its_verdicts() {
    let (report, _) = sample::run();
    let tally = Tally::of(&report);
    assert_eq!(tally.cases, Count { pass: 4, fail: 4, void: 1 });
    assert_eq!(tally.skipped, 1);
    assert_eq!(tally.duplicates, 3);
    assert_eq!(tally.losses, 1);
    assert_eq!(tally.overclaims, 1);
    assert_eq!(tally.exactly_once, 4, "the void trial proves nothing");
    assert_eq!(tally.exactly_once_rate(), Some(0.5));
    assert_eq!((tally.attempts, tally.effects), (2 + 1 + 1 + 12 + 2 + 4, 2 + 1 + 2 + 2 + 4));
    assert_eq!(tally.result(), TrialStatus::Fail);
}

#[test]
fn pass_hat_k_is_over_cases_with_enough_trials_that_prove_something() {
    let (report, _) = sample::run();
    let found = Tally::of(&report).pass_hat_k.unwrap();
    assert_eq!((found.k, found.cases, found.estimate), (1, 8, 0.5));
    assert!(found.interval.0 < 0.5 && 0.5 < found.interval.1);
}

#[test]
fn a_failure_beats_void_and_void_beats_a_pass() {
    let (mut case, _) = sample::pass(1);
    assert_eq!(result_of(&case), TrialStatus::Pass);
    case.trials.push(sample::void().0.trials.remove(0));
    assert_eq!(result_of(&case), TrialStatus::Void);
    case.trials.push(sample::lost().0.trials.remove(0));
    assert_eq!((result_of(&case), outcome_of(&case)), (TrialStatus::Fail, Outcome::Lost));
    case.trials.clear();
    assert_eq!(result_of(&case), TrialStatus::Void, "nothing ran");
}

#[test]
fn an_interrupted_or_empty_run_has_not_passed() {
    let (mut report, _) = sample::run_of(vec![sample::pass(1)]);
    assert_eq!(result(&report), TrialStatus::Pass);
    report.interrupted = true;
    assert_eq!(result(&report), TrialStatus::Void);
    assert!(crate::report::badge(&report).contains("not finished"));
    assert_eq!(result(&sample::run_of(vec![]).0), TrialStatus::Void);
    let (mut failed, _) = sample::run_of(vec![sample::lost()]);
    failed.interrupted = true;
    assert_eq!(result(&failed), TrialStatus::Fail);
}

#[test]
fn the_worst_case_comes_first() {
    let (report, _) = sample::run();
    let ids: Vec<&str> = worst_first(&report).iter().map(|case| case.id.as_str()).collect();
    assert_eq!(
        ids[..3],
        ["concurrency/same-job@callers=12", "crash/after-commit", "payment/lost-reply@keys=none,reply=drop"]
    );
    assert_eq!(ids[3..5], ["payment/success-lies", "payment/second-reply@reply=reset"]);
}

#[test]
fn the_services_of_a_case_are_those_of_its_operations() {
    let (case, _) = sample::pass(1);
    assert_eq!(services_of(&case).into_iter().collect::<Vec<_>>(), ["payment"]);
}
