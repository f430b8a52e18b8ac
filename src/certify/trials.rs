//! The trials of a certification, and what they show: a verdict and a level for each scenario, pass^k, and the
//! number of callers. This is the one place where trials become a conclusion, and it needs the trials alone, so
//! that `verify` can compute it again. Pure.

use std::collections::BTreeMap;

use mock_services::word_enum;
use serde::{Deserialize, Serialize};

use crate::domain::{FindingKind, VoidCause, VoidOwner, is_default};
use crate::score::bound::lower_bound;
use crate::score::stats::pass_hat_k;

/// The maximum number of evidence lines of a scenario.
const MAX_EVIDENCE: usize = 12;
/// The k of pass^k.
const PASS_K: u32 = 10;

word_enum! {
    /// The verdict of a trial or of a scenario. A single trial is never inconclusive.
    pub(crate) enum CaseVerdict {
        /// Every trial passes, and there are enough for the level that was asked for.
        Pass => "pass",
        /// A trial fails, or is void because of the subject beside trials that were judged.
        Fail => "fail",
        /// No trial fails, but one proves nothing, also in its second try.
        Void => "void",
        /// No trial fails, but there are too few for the level.
        Inconclusive => "inconclusive",
        /// Nothing was judged: the message says why.
        Skipped => "skipped",
    }
}

/// One trial of one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TrialRecord {
    pub(crate) scenario: String,
    pub(crate) case: String,
    /// Its number within the case, from 1.
    pub(crate) trial: u32,
    /// Whether it is the second try of the void trial with this number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) second_try: bool,
    pub(crate) verdict: CaseVerdict,
    /// Why it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finding: Option<FindingKind>,
    /// Why it is void, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) void: Option<VoidCause>,
    /// What happened, in one sentence.
    pub(crate) message: String,
    /// What was seen: calls, answers, state, the ledger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) evidence: Vec<String>,
}

impl TrialRecord {
    /// Stands for the trials of a scenario that has none.
    pub(super) fn skipped(scenario: &str, why: &str) -> Self {
        TrialRecord {
            scenario: scenario.to_owned(),
            case: scenario.to_owned(),
            trial: 1,
            second_try: false,
            verdict: CaseVerdict::Skipped,
            finding: None,
            void: None,
            message: why.to_owned(),
            evidence: Vec::new(),
        }
    }

    /// Whether it is void because of the subject, which does the same in a second try.
    pub(super) fn is_void_by_subject(&self) -> bool {
        self.verdict == CaseVerdict::Void
            && self.void.as_ref().is_some_and(|cause| cause.owner == VoidOwner::Subject)
    }

    fn is_judged(&self) -> bool {
        matches!(self.verdict, CaseVerdict::Pass | CaseVerdict::Fail)
    }
}

/// The reason for which all of these trials are void, if there is one: then nothing was tested.
pub(super) fn only_cause<'a>(trials: &[&'a TrialRecord]) -> Option<&'a VoidCause> {
    let of = |trial: &&'a TrialRecord| trial.void.as_ref().filter(|_| trial.verdict == CaseVerdict::Void);
    let first = trials.first().and_then(of)?;
    trials.iter().all(|trial| of(trial).is_some_and(|cause| cause.reason == first.reason)).then_some(first)
}

/// The level that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedLevel {
    /// The share of trials that must pass.
    pub(crate) level: f64,
    /// The one-sided confidence.
    pub(crate) confidence: f64,
}

/// What trials show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Conclusion {
    /// The worst verdict of a scenario.
    pub(crate) verdict: CaseVerdict,
    /// The lowest level of a scenario.
    pub(crate) level: f64,
    pub(crate) confidence: f64,
    /// pass^k of the scenario with the lowest level.
    pub(crate) pass_hat_k: PassHatKBound,
    pub(crate) scenarios: Vec<ScenarioResult>,
}

/// pass^k: the probability that k trials in a row pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PassHatKBound {
    pub(crate) k: u32,
    /// The estimate; 0 if there are fewer than k trials.
    pub(crate) estimate: f64,
    /// Its lower bound: the level to the power of k.
    pub(crate) bound: f64,
}

/// What the trials of one scenario show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ScenarioResult {
    pub(crate) scenario: String,
    /// How many trials pass or fail.
    pub(crate) trials: u64,
    pub(crate) failures: u64,
    /// How many of the failures are trials that are void because of the subject, beside trials that were judged.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) not_held: u64,
    /// How many stayed void after their second try.
    pub(crate) voids: u64,
    pub(crate) second_tries: u64,
    /// The cases that were not tested, because all of their trials are void for one reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_tested: Vec<UntestedCase>,
    pub(crate) verdict: CaseVerdict,
    /// The exact lower bound of the share of trials that pass.
    pub(crate) level: f64,
    /// The kind of finding of the first trial that fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finding: Option<FindingKind>,
    /// The message of the first trial that fails, else of the first that is void, else of the first.
    pub(crate) message: String,
    /// What was seen in that trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) evidence: Vec<String>,
}

/// A case whose trials are all void for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UntestedCase {
    pub(crate) case: String,
    pub(crate) trials: u64,
    pub(crate) cause: VoidCause,
    /// The message of its first trial.
    pub(crate) message: String,
}

impl UntestedCase {
    pub(super) fn sentence(&self) -> String {
        let all = match self.trials {
            1 => "its only trial is".to_owned(),
            several => format!("all of its {several} trials are"),
        };
        format!("{}: {all} void: {}", self.case, self.message)
    }
}

impl Conclusion {
    /// The cases that were not tested, as sentences.
    pub(super) fn not_tested(&self) -> impl Iterator<Item = String> {
        self.scenarios.iter().flat_map(|result| &result.not_tested).map(UntestedCase::sentence)
    }

    pub(crate) fn new(trials: &[TrialRecord], asked: AskedLevel) -> Self {
        let scenarios = scenario_results(trials, asked);
        let has = |verdict: &CaseVerdict| scenarios.iter().any(|result| result.verdict == *verdict);
        let worst_first =
            [CaseVerdict::Fail, CaseVerdict::Void, CaseVerdict::Inconclusive, CaseVerdict::Pass];
        let verdict = worst_first.into_iter().find(has).unwrap_or(CaseVerdict::Skipped);
        let judged = scenarios.iter().filter(|result| result.verdict != CaseVerdict::Skipped);
        let weakest = judged.min_by(|one, other| one.level.total_cmp(&other.level));
        let (passes, all) =
            weakest.map_or((0, 0), |weakest| (weakest.trials - weakest.failures, weakest.trials));
        let level = lower_bound(passes, all, asked.confidence);
        let estimate = pass_hat_k(passes, all, u64::from(PASS_K)).unwrap_or_default();
        let pass_hat_k = PassHatKBound { k: PASS_K, estimate, bound: level.powf(f64::from(PASS_K)) };
        Conclusion { verdict, level, confidence: asked.confidence, pass_hat_k, scenarios }
    }

    /// The verdict of a scenario; skipped if it has no trial.
    pub(super) fn verdict_of(&self, scenario: &str) -> CaseVerdict {
        let found = self.scenarios.iter().find(|result| result.scenario == scenario);
        found.map_or(CaseVerdict::Skipped, |result| result.verdict)
    }
}

/// The results in the order in which the trials name the scenarios first.
fn scenario_results(trials: &[TrialRecord], asked: AskedLevel) -> Vec<ScenarioResult> {
    let mut groups: Vec<(&str, Vec<&TrialRecord>)> = Vec::new();
    let mut indexes: BTreeMap<&str, usize> = BTreeMap::new();
    for trial in trials {
        let index = *indexes.entry(&trial.scenario).or_insert_with(|| {
            groups.push((&trial.scenario, Vec::new()));
            groups.len() - 1
        });
        groups[index].1.push(trial);
    }
    groups.into_iter().map(|(scenario, trials)| scenario_result(scenario, &trials, asked)).collect()
}

fn scenario_result(scenario: &str, trials: &[&TrialRecord], asked: AskedLevel) -> ScenarioResult {
    // Of a trial and its second try the worse one counts, except that a second try replaces a trial that is void
    // through no fault of the subject.
    let mut kept: BTreeMap<(&str, u32), &TrialRecord> = BTreeMap::new();
    let mut second_tries = 0;
    for trial in trials.iter().filter(|trial| trial.verdict != CaseVerdict::Skipped) {
        second_tries += u64::from(trial.second_try);
        let kept = kept.entry((&trial.case, trial.trial)).or_insert(trial);
        let is_replaced = kept.verdict == CaseVerdict::Void && !kept.is_void_by_subject();
        if (is_replaced && trial.second_try) || trial.verdict == CaseVerdict::Fail {
            *kept = trial;
        }
    }
    let mut cases: BTreeMap<&str, Vec<&TrialRecord>> = BTreeMap::new();
    for ((case, _), trial) in kept {
        cases.entry(case).or_default().push(trial);
    }
    let (mut passed, mut failed, mut not_held, mut void) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut not_tested = Vec::new();
    for (case, trials) in cases {
        if let Some(cause) = only_cause(&trials) {
            not_tested.push(UntestedCase {
                case: case.to_owned(),
                trials: trials.len() as u64,
                cause: cause.clone(),
                message: trials[0].message.clone(),
            });
            continue;
        }
        let is_judged = trials.iter().any(|trial| trial.is_judged());
        for trial in trials {
            match trial.verdict {
                CaseVerdict::Pass => passed.push(trial),
                CaseVerdict::Fail => failed.push(trial),
                _ if is_judged && trial.is_void_by_subject() => not_held.push(trial),
                _ => void.push(trial),
            }
        }
    }
    let [passes, failures, voids] =
        [passed.len(), failed.len() + not_held.len(), void.len()].map(|count| count as u64);
    let level = lower_bound(passes, passes + failures, asked.confidence);
    let verdict = match (passes + failures + voids, failures, voids) {
        (0, _, _) => CaseVerdict::Skipped,
        (_, 1.., _) => CaseVerdict::Fail,
        (_, _, 1..) => CaseVerdict::Void,
        _ if level >= asked.level => CaseVerdict::Pass,
        _ => CaseVerdict::Inconclusive,
    };
    // The trials in their own order, not in that of their cases.
    let first_of = |chosen: &[&TrialRecord]| {
        trials.iter().copied().find(|trial| chosen.iter().any(|other| std::ptr::eq(*other, *trial)))
    };
    let shown = [&failed, &not_held, &void, &passed].into_iter().find_map(|chosen| first_of(chosen));
    let shown = shown.or_else(|| trials.first().copied());
    let message = match shown {
        Some(trial) if failed.is_empty() && !not_held.is_empty() => {
            format!("{}; beside trials that were judged, this counts as a failure", trial.message)
        }
        shown => shown.map(|trial| trial.message.clone()).unwrap_or_default(),
    };
    ScenarioResult {
        scenario: scenario.to_owned(),
        trials: passes + failures,
        failures,
        not_held: not_held.len() as u64,
        voids,
        second_tries,
        not_tested,
        verdict,
        level,
        finding: shown.and_then(|trial| trial.finding),
        message,
        evidence: shown
            .map(|trial| trial.evidence.iter().take(MAX_EVIDENCE).cloned().collect())
            .unwrap_or_default(),
    }
}

/// How many callers at once pass: trials with 1, 2, 4 … callers until one does not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CallersPassed {
    pub(crate) scenario: String,
    /// The largest number with which every trial passes; 0 if not even one caller does.
    pub(crate) passed: u32,
    /// The smallest number with which a trial does not pass, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failed_at: Option<u32>,
    /// The numbers that were tried, in order.
    pub(crate) tried: Vec<u32>,
    /// How many trials each number has.
    pub(crate) trials_each: u32,
}

impl CallersPassed {
    pub(super) fn new(scenario: &str, trials_each: u32) -> Self {
        let scenario = scenario.to_owned();
        CallersPassed { scenario, passed: 0, failed_at: None, tried: Vec::new(), trials_each }
    }

    /// Adds the next number of callers; returns whether to go on.
    pub(super) fn add(&mut self, count: u32, passes: bool) -> bool {
        self.tried.push(count);
        match passes {
            true => self.passed = count,
            false => self.failed_at = Some(count),
        }
        passes
    }

    /// `None` if no number was tried.
    pub(super) fn if_tried(self) -> Option<Self> {
        (!self.tried.is_empty()).then_some(self)
    }
}

/// 1, 2, 4 … up to `largest`, which is included.
pub(super) fn caller_counts(largest: u32) -> impl Iterator<Item = u32> {
    let doubled = std::iter::successors(Some(1_u32), |count| count.checked_mul(2));
    let largest = largest.max(1);
    doubled.take_while(move |count| *count < largest).chain([largest])
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: AskedLevel = AskedLevel { level: 0.5, confidence: 0.95 };

    fn trial(number: u32, verdict: CaseVerdict) -> TrialRecord {
        TrialRecord {
            trial: number,
            verdict,
            message: format!("trial {number} {verdict}"),
            evidence: vec![format!("evidence of trial {number}")],
            ..TrialRecord::skipped("create/same-call-twice", "")
        }
    }

    fn result(trials: &[TrialRecord]) -> ScenarioResult {
        let mut results = scenario_results(trials, ASKED);
        assert_eq!(results.len(), 1);
        results.remove(0)
    }

    fn passes(count: u32) -> Vec<TrialRecord> {
        (1..=count).map(|number| trial(number, CaseVerdict::Pass)).collect()
    }

    #[test]
    fn a_scenario_passes_only_with_enough_trials() {
        assert_eq!(result(&passes(5)).verdict, CaseVerdict::Pass);
        assert_eq!(result(&passes(4)).verdict, CaseVerdict::Inconclusive);
        let mut of_two_cases = passes(4);
        of_two_cases.push(TrialRecord { case: "another".to_owned(), ..trial(1, CaseVerdict::Pass) });
        assert_eq!(result(&of_two_cases).verdict, CaseVerdict::Pass);
    }

    #[test]
    fn one_failure_fails_a_scenario_and_gives_it_its_message() {
        let mut trials = passes(40);
        trials[7].verdict = CaseVerdict::Fail;
        trials[7].finding = Some(FindingKind::Duplicated);
        trials[7].message = "two effects".to_owned();
        trials[9].verdict = CaseVerdict::Void;
        let result = result(&trials);
        assert_eq!((result.verdict, result.failures, result.voids), (CaseVerdict::Fail, 1, 1));
        assert_eq!((result.message.as_str(), result.finding), ("two effects", Some(FindingKind::Duplicated)));
        assert_eq!(result.evidence, ["evidence of trial 8"]);
    }

    #[test]
    fn a_void_trial_makes_a_scenario_void_unless_its_second_try_passes() {
        let mut trials = passes(40);
        trials[3].verdict = CaseVerdict::Void;
        let void = result(&trials);
        assert_eq!((void.verdict, void.voids, void.second_tries), (CaseVerdict::Void, 1, 0));
        trials.push(TrialRecord { second_try: true, ..trial(4, CaseVerdict::Pass) });
        let again = result(&trials);
        assert_eq!((again.verdict, again.voids, again.second_tries), (CaseVerdict::Pass, 0, 1));
        assert_eq!(again.trials, 40);
    }

    fn void(number: u32, reason: &str, owner: VoidOwner) -> TrialRecord {
        let void = Some(VoidCause::new(reason, owner));
        TrialRecord { void, ..trial(number, CaseVerdict::Void) }
    }

    #[test]
    fn a_void_trial_of_the_subject_counts_as_a_failure_beside_judged_trials_and_a_second_try_does_not_help() {
        let mut trials = passes(40);
        trials[3] = void(4, "missing-feature", VoidOwner::Subject);
        trials.push(TrialRecord { second_try: true, ..trial(4, CaseVerdict::Pass) });
        let found = result(&trials);
        assert_eq!((found.verdict, found.trials), (CaseVerdict::Fail, 40));
        assert_eq!((found.failures, found.not_held, found.voids), (1, 1, 0));
        assert_eq!(found.message, "trial 4 void; beside trials that were judged, this counts as a failure");
        for owner in [VoidOwner::Hapax, VoidOwner::Machine] {
            trials[3] = void(4, "too-slow", owner);
            assert_eq!(result(&trials).verdict, CaseVerdict::Pass, "{owner}");
        }
    }

    #[test]
    fn a_case_whose_trials_are_all_void_for_one_reason_is_not_tested_and_the_others_count() {
        let of = |case: &str, trial: TrialRecord| TrialRecord { case: case.to_owned(), ..trial };
        let unused = |number| of("other", void(number, "fault-not-fired", VoidOwner::Subject));
        let mut trials = passes(40);
        trials.extend((1..=3).map(unused));
        let found = result(&trials);
        assert_eq!((found.verdict, found.trials, found.voids), (CaseVerdict::Pass, 40, 0));
        assert_eq!((found.not_tested.len(), found.not_tested[0].trials), (1, 3));
        // Two reasons are not one, and a trial that was judged shows that it can be tested.
        trials[41] = of("other", void(2, "missing-feature", VoidOwner::Subject));
        assert_eq!((result(&trials).verdict, result(&trials).voids), (CaseVerdict::Void, 3));
        trials[41] = of("other", trial(2, CaseVerdict::Pass));
        assert_eq!((result(&trials).verdict, result(&trials).not_held), (CaseVerdict::Fail, 2));
        let all: Vec<TrialRecord> = (1..=3).map(unused).collect();
        assert_eq!((result(&all).verdict, result(&all).trials), (CaseVerdict::Skipped, 0));
    }

    #[test]
    fn a_second_try_never_replaces_a_failure() {
        let mut trials = passes(40);
        trials[3].verdict = CaseVerdict::Fail;
        trials.push(TrialRecord { second_try: true, ..trial(4, CaseVerdict::Pass) });
        assert_eq!(result(&trials).verdict, CaseVerdict::Fail);
        trials[3].verdict = CaseVerdict::Void;
        trials.last_mut().unwrap().verdict = CaseVerdict::Fail;
        assert_eq!(result(&trials).verdict, CaseVerdict::Fail);
    }

    #[test]
    fn a_skipped_scenario_has_no_trial() {
        let result = result(&[TrialRecord::skipped("create/dry-run", "the file names no `dry_run`")]);
        assert_eq!((result.verdict, result.trials), (CaseVerdict::Skipped, 0));
        assert_eq!(result.message, "the file names no `dry_run`");
    }

    #[test]
    fn the_level_is_that_of_the_weakest_scenario() {
        let mut trials = passes(29);
        let other = |number| TrialRecord { scenario: "x".to_owned(), ..trial(number, CaseVerdict::Pass) };
        trials.extend((1..=3).map(other));
        let conclusion = Conclusion::new(&trials, AskedLevel { level: 0.9, confidence: 0.95 });
        assert_eq!(conclusion.verdict, CaseVerdict::Inconclusive);
        assert!((conclusion.level - 0.05_f64.powf(1.0 / 3.0)).abs() < 1e-9, "{}", conclusion.level);
    }

    #[test]
    fn the_number_of_callers_doubles_up_to_the_largest() {
        assert_eq!(caller_counts(8).collect::<Vec<_>>(), [1, 2, 4, 8]);
        assert_eq!(caller_counts(12).collect::<Vec<_>>(), [1, 2, 4, 8, 12]);
        assert_eq!(caller_counts(1).collect::<Vec<_>>(), [1]);
        assert_eq!(caller_counts(0).collect::<Vec<_>>(), [1]);
    }
}
