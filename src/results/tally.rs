//! The numbers of a run, counted from its verdicts. It does not score.

use std::collections::BTreeSet;

use super::PROBED;
use super::model::{CaseReport, Report, TrialReport};
use crate::domain::ControlOutcome;
use crate::score::rate::Rate;
use crate::score::stats::{pass_hat_k, wilson};
use crate::score::{Honesty, Outcome, TrialStatus};

/// The confidence of all intervals that a report shows.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// The smallest number of trials, or of cases, with an interval: that of fewer spans most of what is possible.
pub(crate) const MIN_FOR_INTERVAL: usize = 10;

/// The numbers of passed, failed and void ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) pass: usize,
    pub(crate) fail: usize,
    pub(crate) void: usize,
}

impl Count {
    pub(crate) fn add(&mut self, result: TrialStatus) {
        match result {
            TrialStatus::Pass => self.pass += 1,
            TrialStatus::Fail => self.fail += 1,
            TrialStatus::Void => self.void += 1,
        }
    }

    pub(crate) fn all(self) -> usize {
        self.pass + self.fail + self.void
    }

    /// Those that are not void.
    pub(crate) fn judged(self) -> usize {
        self.pass + self.fail
    }
}

/// The numbers of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tally {
    pub(crate) cases: Count,
    pub(crate) trials: Count,
    pub(crate) skipped: usize,
    /// Trials that are not void and in which everything happened exactly once.
    pub(crate) exactly_once: usize,
    /// Effects beyond those that are due.
    pub(crate) duplicates: usize,
    /// Effects that were due and did not happen.
    pub(crate) losses: usize,
    /// Effects that no intent covers.
    pub(crate) unintended: usize,
    pub(crate) overclaims: usize,
    /// Trials without a claim that the scenario names; `None` if every claim was required.
    pub(crate) silent: Option<usize>,
    /// Attempts of writes.
    pub(crate) attempts: usize,
    pub(crate) effects: usize,
    pub(crate) pass_hat_k: Option<PassHatK>,
    /// How often a trial passes.
    pub(crate) rate: Rate,
    /// Whether planned trials are missing: the run was interrupted, or nothing was run although it is not an
    /// empty part.
    pub(crate) unfinished: bool,
    /// The number of planned trials that were not run.
    pub(crate) not_run: u64,
}

/// The probability that all trials of a case pass, over the cases of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PassHatK {
    pub(crate) k: u64,
    pub(crate) estimate: f64,
    /// Over the cases: the case is the sampling unit.
    pub(crate) interval: (f64, f64),
    pub(crate) cases: usize,
}

impl Tally {
    pub(crate) fn new(report: &Report) -> Self {
        let mut tally = Tally {
            cases: Count::default(),
            trials: Count::default(),
            skipped: report.skipped.len(),
            exactly_once: 0,
            duplicates: 0,
            losses: 0,
            unintended: 0,
            overclaims: 0,
            silent: None,
            attempts: 0,
            effects: 0,
            pass_hat_k: pass_hat_k_of(report),
            rate: super::pass_rate(report),
            unfinished: report.is_unfinished(),
            not_run: 0,
        };
        for case in &report.cases {
            tally.cases.add(result_of(case));
            for trial in &case.trials {
                tally.add(case, trial);
            }
        }
        tally.not_run = report.planned.saturating_sub(tally.trials.all() as u64);
        tally.unfinished |= tally.not_run > 0;
        tally
    }

    fn add(&mut self, case: &CaseReport, trial: &TrialReport) {
        let verdict = &trial.verdict;
        self.trials.add(verdict.result);
        if verdict.result != TrialStatus::Void && verdict.outcome == Outcome::ExactlyOnce {
            self.exactly_once += 1;
        }
        for intent in &verdict.intents {
            self.duplicates += intent.surplus.len();
            let kept = intent.effects.len() - intent.surplus.len().min(intent.effects.len());
            self.losses += (intent.least() as usize).saturating_sub(kept);
            self.effects += intent.effects.len();
        }
        self.unintended += verdict.unintended.len();
        self.effects += verdict.unintended.len();
        if case.terms.claims_optional && !case.terms.claim.is_empty() {
            let silent = verdict.claims.iter().any(|claim| claim.honesty == Honesty::Missing);
            *self.silent.get_or_insert_default() += usize::from(silent);
        }
        self.overclaims += verdict
            .claims
            .iter()
            .chain(&verdict.earlier_claims)
            .filter(|claim| claim.honesty == Honesty::Overclaimed)
            .count();
        let is_write = |name: &str| {
            case.terms
                .operations
                .iter()
                .any(|operation| operation.write && !operation.cost && operation.name == name)
        };
        let writes = verdict.attempts.iter().filter(|attempts| is_write(&attempts.operation));
        self.attempts += writes.map(|attempts| attempts.made as usize).sum::<usize>();
    }

    pub(crate) fn exactly_once_rate(&self) -> Option<f64> {
        share(self.exactly_once, self.trials.judged())
    }

    pub(crate) fn attempts_per_effect(&self) -> Option<f64> {
        share(self.attempts, self.effects)
    }

    /// The result of the run in one word. A run without trials is void.
    pub(crate) fn result(&self) -> TrialStatus {
        let found = [
            (self.cases.fail, TrialStatus::Fail),
            (self.cases.void + usize::from(self.unfinished), TrialStatus::Void),
        ];
        let found = found.into_iter().filter(|(count, _)| *count > 0).map(|(_, status)| status);
        found.max().unwrap_or(TrialStatus::Pass)
    }
}

/// The result of a run: the worst of its cases.
#[must_use]
pub fn result(report: &Report) -> TrialStatus {
    Tally::new(report).result()
}

/// The ids of the cases of a run that did not pass: they failed, are void, or were not finished. A trial of the probe
/// stands for its case.
pub fn not_passed(report: &Report) -> impl Iterator<Item = &str> {
    let cases = report.cases.iter().filter(|case| result_of(case) != TrialStatus::Pass);
    cases.map(|case| case.id.strip_prefix(PROBED).unwrap_or(&case.id))
}

fn share(part: usize, all: usize) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

fn pass_hat_k_of(report: &Report) -> Option<PassHatK> {
    let k = u64::from(report.trials.max(1));
    let counts = report.cases.iter().map(|case| count(&case.trials));
    let estimates: Vec<f64> =
        counts.filter_map(|count| pass_hat_k(count.pass as u64, count.judged() as u64, k)).collect();
    let cases = estimates.len();
    let sum: f64 = estimates.iter().sum();
    let all_passed = estimates.iter().filter(|estimate| **estimate >= 1.0).count();
    let interval = wilson(all_passed as u64, cases as u64, CONFIDENCE);
    (cases > 0).then(|| PassHatK { k, estimate: sum / cases as f64, interval, cases })
}

/// The results of the trials of a case.
pub(crate) fn count(trials: &[TrialReport]) -> Count {
    let mut count = Count::default();
    trials.iter().for_each(|trial| count.add(trial.verdict.result));
    count
}

/// The worst result among the trials of a case; void if there was none.
pub(crate) fn result_of(case: &CaseReport) -> TrialStatus {
    case.trials.iter().map(|trial| trial.verdict.result).max().unwrap_or(TrialStatus::Void)
}

/// The worst outcome among the trials of a case.
pub(crate) fn outcome_of(case: &CaseReport) -> Outcome {
    case.trials.iter().map(|trial| trial.verdict.outcome).max().unwrap_or(Outcome::ExactlyOnce)
}

/// The outcome of a case in one word: the worst among its trials; void if there was none.
pub(crate) fn control_outcome_of(case: &CaseReport) -> ControlOutcome {
    let outcomes = case.trials.iter().map(|trial| trial.verdict.control_outcome());
    outcomes.max().unwrap_or(ControlOutcome::Void)
}

/// The services of a case, by name.
pub(crate) fn services_of(case: &CaseReport) -> BTreeSet<&str> {
    let named = case.terms.operations.iter().map(|operation| operation.name.as_str());
    let due = case.terms.intents.iter().map(|intent| intent.effect.as_str());
    named.chain(due).filter_map(|name| name.split_once('.')).map(|(service, _)| service).collect()
}

/// The cases of a run, worst first: failures by outcome, then void, then passes; otherwise as in the report.
pub(crate) fn worst_first(report: &Report) -> Vec<&CaseReport> {
    let mut cases: Vec<&CaseReport> = report.cases.iter().collect();
    cases.sort_by_key(|case| std::cmp::Reverse((result_of(case), outcome_of(case))));
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn the_numbers_of_a_run_are_those_of_its_verdicts() {
        let (report, _) = sample::run();
        let tally = Tally::new(&report);
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
        let found = Tally::new(&report).pass_hat_k.unwrap();
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
    fn an_interrupted_an_empty_and_an_unproven_run_have_not_passed() {
        let (mut report, _) = sample::run_of(vec![sample::pass(1)]);
        assert_eq!(result(&report), TrialStatus::Pass);
        report.interrupted = true;
        assert_eq!(result(&report), TrialStatus::Void);
        assert!(crate::report::badge(&report).contains("not finished"));
        assert_eq!(result(&sample::run_of(vec![]).0), TrialStatus::Void);
        let (mut unproven, _) = sample::run_of(vec![sample::pass(1)]);
        unproven.skipped[0].unproven = true;
        assert_eq!(result(&unproven), TrialStatus::Void);
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
            [
                "concurrency/same-job@callers=12",
                "crash/after-commit",
                "payment/lost-reply@keys=none,reply=drop"
            ]
        );
        assert_eq!(ids[3..5], ["payment/success-lies", "payment/second-reply@reply=reset"]);
    }

    #[test]
    fn the_services_of_a_case_are_those_of_its_operations() {
        let (case, _) = sample::pass(1);
        assert_eq!(services_of(&case).into_iter().collect::<Vec<_>>(), ["payment"]);
    }
}
