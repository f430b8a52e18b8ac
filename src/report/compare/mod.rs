//! Two runs side by side: what got better, worse, new and gone; with several trials, whether the difference
//! is more than chance.

mod show;

pub use show::{compare_md, compare_page, compare_text};

use std::collections::BTreeMap;

use super::headline::control_outcome_of;
use super::model::{CaseReport, Report};
use super::tally::{Count, count, outcome_of, result_of};
use crate::ExitStatus;
use crate::scenario::{ControlOutcome, Promise};
use crate::score::stats::fisher_exact;
use crate::score::{Outcome, TrialStatus};

/// A difference that chance alone makes less often than this is more than chance.
pub const SIGNIFICANT: f64 = 0.05;

/// Two runs side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The name and the subject of the old run.
    pub old: (String, String),
    /// Those of the new run.
    pub new: (String, String),
    /// Cases that are in both and differ, and those that are in one alone; by id.
    pub changes: Vec<Change>,
    /// How many cases are the same in both.
    pub same: usize,
    /// How many cases that are in both runs have a changed scenario.
    pub scenarios_changed: usize,
    /// What the two runs were judged by, where that is not the same: then no change says anything about the
    /// agent alone.
    pub promises: Option<(Promise, Promise)>,
    /// The versions of hapax, where they are not the same.
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
    /// How likely chance alone makes such a difference; only where a case had several trials.
    pub chance: Option<f64>,
    /// What can have made the difference; only where the case is in both.
    pub cause: Option<CompareCause>,
}

/// What can have made a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareCause {
    /// The case says something else now.
    Scenario,
    /// The case is the same, and another promise was judged.
    Promise,
    /// The case is the same, and hapax is another version.
    Hapax,
    /// The case is the same, so the agent did something else.
    Agent,
    /// The reports do not tell whether the case is the same.
    Unknown,
}

/// How a case changed, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It got worse.
    Worse,
    /// It is new, and fails.
    NewFailing,
    /// It ran before and does not any more.
    Gone,
    /// It is new.
    New,
    /// It got better.
    Better,
}

impl ChangeKind {
    /// All of them.
    pub const ALL: [ChangeKind; 5] =
        [ChangeKind::Worse, ChangeKind::NewFailing, ChangeKind::Gone, ChangeKind::New, ChangeKind::Better];

    /// The words for it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            ChangeKind::Worse => "worse",
            ChangeKind::NewFailing => "new and failing",
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
    /// How many of its trials passed.
    pub passed: usize,
    /// How many proved something.
    pub judged: usize,
    /// How many there were.
    pub trials: usize,
}

impl CaseState {
    fn of(case: &CaseReport) -> Self {
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
    /// Whether something got worse.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.changes.iter().any(|change| matches!(change.kind, ChangeKind::Worse | ChangeKind::NewFailing))
    }

    /// The exit status of a comparison: failed where something got worse.
    #[must_use]
    pub fn exit_status(&self) -> ExitStatus {
        if self.is_worse() { ExitStatus::Failed } else { ExitStatus::Success }
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
        report.cases.iter().map(|case| (case.id.clone(), CaseState::of(case))).collect()
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
    let ids: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let (mut changes, mut same, mut scenarios_changed) = (Vec::new(), 0, 0);
    for id in ids {
        let cause = cause(id);
        scenarios_changed += usize::from(cause == Some(CompareCause::Scenario));
        let (old, new) = (before.get(id).copied(), after.get(id).copied());
        match kind(old, new) {
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

fn kind(old: Option<CaseState>, new: Option<CaseState>) -> Option<ChangeKind> {
    match (old, new) {
        (Some(old), Some(new)) => match badness(new).cmp(&badness(old)) {
            std::cmp::Ordering::Greater => Some(ChangeKind::Worse),
            std::cmp::Ordering::Less => Some(ChangeKind::Better),
            std::cmp::Ordering::Equal => share(old, new),
        },
        (None, Some(new)) if new.result == TrialStatus::Fail => Some(ChangeKind::NewFailing),
        (None, Some(_)) => Some(ChangeKind::New),
        (Some(_), None) => Some(ChangeKind::Gone),
        (None, None) => None,
    }
}

/// A pass is better than a void case, which is better than a failure; among failures the outcome tells.
fn badness(state: CaseState) -> (u8, Outcome) {
    match state.result {
        TrialStatus::Pass => (0, Outcome::ExactlyOnce),
        TrialStatus::Void => (1, Outcome::ExactlyOnce),
        TrialStatus::Fail => (2, state.outcome),
    }
}

/// Where the result is the same: whether a larger share of the trials passes by more than chance.
fn share(old: CaseState, new: CaseState) -> Option<ChangeKind> {
    let (before, after) = (old.passed * new.judged, new.passed * old.judged);
    let told = before != after && chance(old, new).is_some_and(|chance| chance < SIGNIFICANT);
    told.then_some(if after < before { ChangeKind::Worse } else { ChangeKind::Better })
}

fn chance(old: CaseState, new: CaseState) -> Option<f64> {
    let several = old.judged > 1 || new.judged > 1;
    let (passed, judged) = ((old.passed as u64, new.passed as u64), (old.judged as u64, new.judged as u64));
    several.then(|| fisher_exact(passed.0, judged.0, passed.1, judged.1))
}

#[cfg(test)]
mod tests;
