//! The result of a search.

use serde::Serialize;

use super::cell::Call;
use super::found::ExploredFailure;
use super::schedule::Schedule;
use super::search::{ScheduleCounts, ScheduleKind};
use crate::ExitStatus;
use crate::domain::FindingKind;

/// The number of failures with which a search ends: a subject with more is repaired first.
pub(super) const MAX_FAILURES: usize = 10;

/// Why nothing can be searched for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoStart {
    /// The subject made no call.
    NoCall,
    /// It is wrong without faults.
    Wrong {
        /// The worst finding.
        kind: FindingKind,
        /// What happened.
        message: String,
    },
    /// The trial without faults is void.
    Void(String),
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchEnd {
    /// Nothing is left to try.
    Exhausted,
    /// The number of trials is reached.
    Trials,
    /// The time is over.
    Time,
    /// It has found as many failures as it looks for.
    Found,
    /// It was interrupted.
    Interrupted,
}

/// The result of a search.
#[derive(Debug, Clone, Serialize)]
pub struct Exploration {
    /// The subject.
    pub subject: String,
    /// The case that it searches in; empty for a task without a file.
    pub case: String,
    /// The seed.
    pub seed: u64,
    /// Why there is no search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_start: Option<NoStart>,
    /// The calls without faults.
    pub calls: Vec<Call>,
    /// What was found, in the order in which it was.
    pub failures: Vec<ExploredFailure>,
    /// Schedules that the control `careful` fails, too, so that it is not known whether any subject can pass them.
    pub doubtful: Vec<ExploredFailure>,
    /// What was tried, assumed and left.
    pub counts: Vec<(ScheduleKind, ScheduleCounts)>,
    /// How many trials the search took, without those that confirm and shrink.
    pub trials: u32,
    /// How many trials confirmed and made failures smaller.
    pub confirming: u32,
    /// Of schedules that were run again: how many, and how many of these had other calls.
    pub reruns: (u32, u32),
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Why it ended.
    pub end: SearchEnd,
    /// Whether each single fault, interrupt and order was tried.
    pub all_singles: bool,
    /// Of these, how many trials are void, or did not happen as planned: nothing is known about them.
    pub unknown_singles: u32,
    /// What was not tried, because of the options or because hapax cannot do it.
    pub not_tried: Vec<String>,
    /// Whether interrupts were tried: hapax cannot interrupt what it has not started.
    pub interrupts: bool,
    /// What is being tried; empty at the end.
    #[serde(skip)]
    pub now: String,
    /// How many trials have ended of those that were chosen last; they are counted when all of these have.
    #[serde(skip)]
    pub ended_now: u32,
}

impl Exploration {
    /// Nothing is known yet.
    pub(super) fn new(subject: &str, seed: u64) -> Self {
        Exploration {
            subject: subject.to_owned(),
            case: String::new(),
            seed,
            no_start: None,
            calls: Vec::new(),
            failures: Vec::new(),
            doubtful: Vec::new(),
            counts: Vec::new(),
            trials: 0,
            confirming: 0,
            reruns: (0, 0),
            took_ms: 0,
            end: SearchEnd::Exhausted,
            all_singles: false,
            unknown_singles: 0,
            not_tried: Vec::new(),
            interrupts: true,
            now: String::new(),
            ended_now: 0,
        }
    }

    /// Whether it ends a pipeline: a failure is one, and a search that could not try each single fault is no pass.
    #[must_use]
    pub fn exit_status(&self) -> ExitStatus {
        match &self.no_start {
            Some(NoStart::Wrong { .. }) => ExitStatus::Failed,
            Some(_) => ExitStatus::Unproven,
            None if !self.failures.is_empty() => ExitStatus::Failed,
            None if self.end == SearchEnd::Interrupted => ExitStatus::Unproven,
            None if !self.all_singles || self.covered() == 0 => ExitStatus::Unproven,
            None if self.unknown_singles > 0 => ExitStatus::Unproven,
            // The subject fails these, and nobody knows whether it could have passed.
            None if !self.doubtful.is_empty() => ExitStatus::Unproven,
            None => ExitStatus::Success,
        }
    }

    /// The failure that is known, as steady, and has the same cause as one that was seen. One that is not judged stands only
    /// for what does the same and more: what looks the same can be a schedule that `careful` passes.
    pub(super) fn known(
        &mut self,
        schedule: &Schedule,
        kind: Option<FindingKind>,
        cause: &str,
        steady: bool,
    ) -> Option<&mut ExploredFailure> {
        let has_same_cause = |known: &ExploredFailure| known.cause == cause;
        let is_explained =
            |known: &ExploredFailure| Some(known.kind) == kind && known.schedule.explains(schedule);
        let is_full = self.doubtful.len() >= MAX_FAILURES;
        let failures = self.failures.iter_mut().filter(|known| has_same_cause(known) || is_explained(known));
        let is_part =
            |known: &ExploredFailure| Some(known.kind) == kind && known.schedule.is_part_of(schedule);
        let doubtful = self.doubtful.iter_mut();
        let doubtful = doubtful.filter(|known| is_part(known) || (is_full && has_same_cause(known)));
        failures.chain(doubtful).find(|known| known.is_steady() == steady)
    }

    /// How many trials have ended.
    #[must_use]
    pub fn ended(&self) -> u32 {
        self.trials + self.ended_now
    }

    /// How many schedules were tried and reached.
    #[must_use]
    pub fn covered(&self) -> u32 {
        self.counts.iter().map(|(_, counts)| counts.covered).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cell;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn a_search_passes_only_if_each_single_fault_was_tried_and_reached() {
        let covered = ScheduleCounts { covered: 3, ..ScheduleCounts::default() };
        let missed = ScheduleCounts { not_reached: 2, void: 1, ..ScheduleCounts::default() };
        let passed = Exploration {
            all_singles: true,
            counts: vec![(ScheduleKind::Write, covered), (ScheduleKind::Several, missed)],
            ..Exploration::new("agent", 1)
        };
        assert_eq!(passed.exit_status(), ExitStatus::Success);
        let unproven = [
            Exploration { all_singles: false, ..passed.clone() },
            Exploration { unknown_singles: 1, ..passed.clone() },
            Exploration { counts: Vec::new(), ..passed.clone() },
            Exploration { end: SearchEnd::Interrupted, ..passed },
        ];
        for search in unproven {
            assert_eq!(search.exit_status(), ExitStatus::Unproven, "{search:?}");
        }
    }

    #[test]
    fn what_is_not_judged_is_no_pass_and_does_not_hide_another_schedule() {
        let covered = ScheduleCounts { covered: 3, ..ScheduleCounts::default() };
        let doubted = failure(Cell::ErrorAfterCommit, (4, 4));
        let mut result = Exploration {
            all_singles: true,
            counts: vec![(ScheduleKind::Write, covered)],
            doubtful: vec![doubted.clone()],
            ..Exploration::new("agent", 1)
        };
        assert_eq!(result.exit_status(), ExitStatus::Unproven);
        // What a caller can know after it is the same, and still `careful` may pass it.
        let other = failure(Cell::LostReply, (4, 4));
        let mut is_known =
            |of: &ExploredFailure| result.known(&of.schedule, Some(of.kind), &of.cause, true).is_some();
        assert!(is_known(&doubted));
        assert!(!is_known(&other), "{} has the same cause", other.when);
        result.failures.push(doubted);
        assert!(result.known(&other.schedule, Some(other.kind), &other.cause, true).is_some());
    }
}
