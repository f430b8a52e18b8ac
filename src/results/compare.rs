//! Compares two runs: better, worse, new and removed cases; with several trials, whether the difference is
//! significant.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{CaseReport, Report};
use super::tally::{Count, control_outcome_of, count, outcome_of, result_of};
use crate::ExitStatus;
use crate::scenario::{ControlOutcome, Promise};
use crate::score::stats::fisher_exact;
use crate::score::{Outcome, TrialStatus};

/// A difference with a lower probability by chance is significant.
pub const SIGNIFICANT: f64 = 0.05;

/// Two runs compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The name and the subject of the old run.
    pub old: (String, String),
    /// The name and the subject of the new run.
    pub new: (String, String),
    /// Cases that differ, and cases that are in only one of the runs; by id.
    pub changes: Vec<Change>,
    /// The number of cases that are the same in both.
    pub same: usize,
    /// The number of cases in both runs whose scenario changed.
    pub scenarios_changed: usize,
    /// The promises of the two runs, if they differ: then a change need not be a change of the agent.
    pub promises: Option<(Promise, Promise)>,
    /// The versions of hapax, if they differ.
    pub versions: Option<(String, String)>,
}

/// One case that is not the same in both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its id.
    pub id: String,
    /// How it changed.
    pub kind: ChangeKind,
    /// What it was.
    pub old: Option<CaseState>,
    /// What it is.
    pub new: Option<CaseState>,
    /// The probability of such a difference by chance; only if a case had several trials.
    pub chance: Option<f64>,
    /// The possible cause of the difference; only if the case is in both.
    pub cause: Option<CompareCause>,
}

/// The possible cause of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareCause {
    /// The case changed.
    Scenario,
    /// The case is the same, and another promise was scored.
    Promise,
    /// The case is the same, and the version of hapax differs.
    Hapax,
    /// The case is the same, so the agent behaves differently.
    Agent,
    /// The reports do not show whether the case is the same.
    Unknown,
}

/// How a case changed, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It got worse.
    Worse,
    /// It is new, and fails.
    NewFailing,
    /// It failed, and the new run selected it and skipped it.
    FailingSkipped,
    /// It failed, and the new run did not select it, or did not come to it.
    FailingGone,
    /// It is not in the new run, and did not fail.
    Gone,
    /// It is new.
    New,
    /// It got better.
    Better,
}

impl ChangeKind {
    /// All of them.
    pub const ALL: [ChangeKind; 7] = [
        ChangeKind::Worse,
        ChangeKind::NewFailing,
        ChangeKind::FailingSkipped,
        ChangeKind::FailingGone,
        ChangeKind::Gone,
        ChangeKind::New,
        ChangeKind::Better,
    ];

    /// Its words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            ChangeKind::Worse => "worse",
            ChangeKind::NewFailing => "new and failing",
            ChangeKind::FailingSkipped => "failing and now skipped",
            ChangeKind::FailingGone => "failing and now gone",
            ChangeKind::Gone => "gone",
            ChangeKind::New => "new",
            ChangeKind::Better => "better",
        }
    }
}

/// The result of a case in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaseState {
    /// The worst result of its trials.
    pub result: TrialStatus,
    /// The worst outcome of its trials.
    pub outcome: Outcome,
    /// Its outcome in one word.
    pub control_outcome: ControlOutcome,
    /// The number of its trials that passed.
    pub passed: usize,
    /// The number of its trials that are not void.
    pub judged: usize,
    /// The number of its trials.
    pub trials: usize,
}

impl CaseState {
    fn new(case: &CaseReport) -> Self {
        let count: Count = count(&case.trials);
        let (result, outcome) = (result_of(case), outcome_of(case));
        CaseState {
            result,
            outcome,
            control_outcome: control_outcome_of(case),
            passed: count.pass,
            judged: count.judged(),
            trials: count.all(),
        }
    }
}

impl Comparison {
    /// The number of cases that are worse. One that failed before and is skipped now counts.
    #[must_use]
    pub fn worse(&self) -> usize {
        let kinds = [ChangeKind::Worse, ChangeKind::NewFailing, ChangeKind::FailingSkipped];
        kinds.into_iter().map(|kind| self.of_kind(kind).count()).sum()
    }

    /// The exit status of a comparison: failed if a case is worse. A failing case that the new run left out proves
    /// nothing.
    #[must_use]
    pub fn exit_status(&self) -> ExitStatus {
        match (self.worse(), self.of_kind(ChangeKind::FailingGone).count()) {
            (0, 0) => ExitStatus::Success,
            (0, _) => ExitStatus::Unproven,
            _ => ExitStatus::Failed,
        }
    }

    /// The changes of one kind.
    pub fn of_kind(&self, kind: ChangeKind) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.kind == kind)
    }
}

/// Compares two runs.
#[must_use]
pub fn compare(old: &Report, new: &Report) -> Comparison {
    let states = |report: &Report| -> BTreeMap<String, CaseState> {
        report.cases.iter().map(|case| (case.id.clone(), CaseState::new(case))).collect()
    };
    let (before, after) = (states(old), states(new));
    let digests = |report: &Report| -> BTreeMap<String, String> {
        report.cases.iter().map(|case| (case.id.clone(), case.digest.clone())).collect()
    };
    let (digests_before, digests_after) = (digests(old), digests(new));
    let cause = |id: &String| {
        let (before, after) = (digests_before.get(id)?, digests_after.get(id)?);
        Some(match (before.is_empty() || after.is_empty(), before == after) {
            (true, _) => CompareCause::Unknown,
            (_, false) => CompareCause::Scenario,
            (_, true) if old.promise() != new.promise() => CompareCause::Promise,
            (_, true) if old.hapax != new.hapax => CompareCause::Hapax,
            (_, true) => CompareCause::Agent,
        })
    };
    let ids: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let after_skipped: BTreeSet<&str> = new.skipped.iter().map(|skipped| skipped.id.as_str()).collect();
    let (mut changes, mut same, mut scenarios_changed) = (Vec::new(), 0, 0);
    for id in ids {
        let cause = cause(id);
        scenarios_changed += usize::from(cause == Some(CompareCause::Scenario));
        let (old, new) = (before.get(id).copied(), after.get(id).copied());
        let is_skipped = || after_skipped.contains(id.as_str());
        match kind(old, new, is_skipped) {
            Some(kind) => {
                let chance = old.zip(new).and_then(|(old, new)| chance(old, new));
                changes.push(Change { id: id.clone(), kind, old, new, chance, cause });
            }
            None => same += 1,
        }
    }
    let named = |report: &Report| (report.run.clone(), report.subject.clone());
    let versions = (old.hapax != new.hapax).then(|| (old.hapax.clone(), new.hapax.clone()));
    let promises = (old.promise() != new.promise()).then(|| (old.promise(), new.promise()));
    Comparison { old: named(old), new: named(new), changes, same, scenarios_changed, promises, versions }
}

fn kind(
    old: Option<CaseState>,
    new: Option<CaseState>,
    is_skipped: impl FnOnce() -> bool,
) -> Option<ChangeKind> {
    match (old, new) {
        (Some(old), Some(new)) => match severity(new).cmp(&severity(old)) {
            std::cmp::Ordering::Greater => Some(ChangeKind::Worse),
            std::cmp::Ordering::Less => Some(ChangeKind::Better),
            std::cmp::Ordering::Equal => share(old, new),
        },
        (None, Some(new)) if new.result == TrialStatus::Fail => Some(ChangeKind::NewFailing),
        (None, Some(_)) => Some(ChangeKind::New),
        (Some(old), None) if old.result != TrialStatus::Fail => Some(ChangeKind::Gone),
        (Some(_), None) if is_skipped() => Some(ChangeKind::FailingSkipped),
        (Some(_), None) => Some(ChangeKind::FailingGone),
        (None, None) => None,
    }
}

/// A pass is better than void, and void is better than a failure; failures are compared by their outcome.
fn severity(state: CaseState) -> (u8, Outcome) {
    match state.result {
        TrialStatus::Pass => (0, Outcome::ExactlyOnce),
        TrialStatus::Void => (1, Outcome::ExactlyOnce),
        TrialStatus::Fail => (2, state.outcome),
    }
}

/// If the result is the same: whether the share of passes changed significantly.
fn share(old: CaseState, new: CaseState) -> Option<ChangeKind> {
    let (before, after) = (old.passed * new.judged, new.passed * old.judged);
    let is_significant = before != after && chance(old, new).is_some_and(|chance| chance < SIGNIFICANT);
    is_significant.then_some(if after < before { ChangeKind::Worse } else { ChangeKind::Better })
}

fn chance(old: CaseState, new: CaseState) -> Option<f64> {
    let several = old.judged > 1 || new.judged > 1;
    let (passed, judged) = ((old.passed as u64, new.passed as u64), (old.judged as u64, new.judged as u64));
    several.then(|| fisher_exact(passed.0, judged.0, passed.1, judged.1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::results::Skipped;
    use crate::results::sample;

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
        compare(&report(old), &report(new))
            .changes
            .into_iter()
            .map(|change| (change.id, change.kind))
            .collect()
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
        assert_eq!(found.exit_status(), ExitStatus::Failed);
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
        assert_eq!(
            kind(Some(state(TrialStatus::Pass)), Some(state(TrialStatus::Void)), || false),
            Some(ChangeKind::Worse)
        );
        assert_eq!(
            kind(Some(state(TrialStatus::Fail)), Some(state(TrialStatus::Void)), || false),
            Some(ChangeKind::Better)
        );
    }

    #[test]
    fn new_and_gone_cases_are_named_and_a_new_failure_counts_as_worse() {
        let found = compare(&report(&[("a", 1, 0)]), &report(&[("b", 1, 0), ("c", 0, 1)]));
        let kinds: Vec<ChangeKind> = found.changes.iter().map(|change| change.kind).collect();
        assert_eq!(kinds, [ChangeKind::Gone, ChangeKind::New, ChangeKind::NewFailing]);
        assert_eq!(found.exit_status(), ExitStatus::Failed);
    }

    #[test]
    fn a_failing_case_that_is_gone_is_no_success() {
        let (old, mut new) = (report(&[("a", 0, 1), ("b", 1, 0)]), report(&[("b", 1, 0)]));
        let found = compare(&old, &new);
        assert_eq!(
            (found.changes[0].kind, found.exit_status()),
            (ChangeKind::FailingGone, ExitStatus::Unproven)
        );
        new.skipped.push(Skipped::new("a".to_owned(), "needs payment.refund".to_owned()));
        let found = compare(&old, &new);
        assert_eq!(
            (found.changes[0].kind, found.exit_status()),
            (ChangeKind::FailingSkipped, ExitStatus::Failed)
        );
        let found = compare(&report(&[("a", 1, 0), ("b", 1, 0)]), &new);
        assert_eq!((found.changes[0].kind, found.exit_status()), (ChangeKind::Gone, ExitStatus::Success));
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
            "it is reported even if nothing changed"
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
}
