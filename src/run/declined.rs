//! Cases whose task the subject declines: it attempted nothing and does not claim otherwise, and neither did it in two
//! trials of the same task without faults. A fault did not keep it from its task, so they are left out of the run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mock_services::ledger::{Ledger, LedgerFile};

use super::FinishedTrials;
use super::probe::last_words;
use super::smoke::{FaultFreeTrial, without_faults};
use super::work::TrialRunner;
use crate::results::{CLEAN_TRIALS, Skipped, TrialReport, clean_ledger};
use crate::scenario::Case;
use crate::score::{TaskEnd, TrialStatus};

/// What becomes of cases whose task the subject declines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeclinedCases {
    /// They fail: the subject is said to do them, or the run is about all of its cases.
    #[default]
    Fail,
    /// They are left out.
    LeftOut {
        /// Whether the run proves less because of it: the subject is said to do everything.
        unproven: bool,
    },
}

/// Where the trials without faults are numbered from: no trial of a run has such a number.
const FIRST_NUMBER: u32 = 1 << 31;

/// Whether a trial may be left out of the run when all trials have ended: then nobody is told of it before.
pub(super) fn may_be_left_out(declined: DeclinedCases, case: &Case, trial: &TrialReport) -> bool {
    declined != DeclinedCases::Fail && is_one_plain_task(case) && is_declined(trial)
}

fn is_declined(trial: &TrialReport) -> bool {
    trial.verdict.result != TrialStatus::Pass
        && trial.first_try.is_none()
        && matches!(trial.end, Some(TaskEnd::Declined { .. }))
}

/// Whether a case has one caller that gets one task and ends: nothing but the faults would be missing without them.
fn is_one_plain_task(case: &Case) -> bool {
    case.callers <= 1
        && case.each.is_empty()
        && case.turns.is_empty()
        && case.overlap.is_none()
        && case.interrupts.is_empty()
        && case.approvals.is_empty()
        && case.events.is_empty()
}

/// Takes the declined cases out of the finished trials, and returns why they are left out. The trials without faults that
/// show it are added to the ledger.
pub(super) async fn leave_out(
    work: &Arc<TrialRunner>,
    cases: &BTreeMap<String, Arc<Case>>,
    done: &mut FinishedTrials,
    ledger: &LedgerFile,
) -> Vec<Skipped> {
    let DeclinedCases::LeftOut { unproven } = work.options.declined else { return Vec::new() };
    let mut skipped = Vec::new();
    for group in groups(cases, done) {
        let Some(first) = group.first() else { continue };
        let clean = without_faults(first);
        let trial = |number| FaultFreeTrial::run(work, &clean, FIRST_NUMBER + number);
        let trials: [FaultFreeTrial; 2] = tokio::join!(trial(1), trial(2)).into();
        if !trials.iter().all(|trial| matches!(trial.end, TaskEnd::Declined { .. })) {
            continue;
        }
        let words = last_words(&trials[0].last_words());
        for (number, trial) in CLEAN_TRIALS.zip(&trials) {
            let _ = Ledger::write_closed(&clean_ledger(&first.id, number), trial.entries.clone(), ledger, "");
        }
        for case in &group {
            done.retain(|(id, _), _| *id != case.id);
            let why =
                format!("does not do this task: no attempt, and none in two trials without faults{words}");
            let declined = Some(first.id.clone());
            skipped.push(Skipped { unproven, declined, ..Skipped::new(case.id.clone(), why) });
        }
    }
    skipped.sort_by(|one, other| one.id.cmp(&other.id));
    skipped
}

/// The cases of which every trial was declined, by their tasks. A task that was attempted in any case is not one.
fn groups<'c>(cases: &'c BTreeMap<String, Arc<Case>>, done: &FinishedTrials) -> Vec<Vec<&'c Arc<Case>>> {
    let task = |id: &String| cases.get(id).map(|case| case.work.task.as_str());
    let could_begin = |trial: &TrialReport| !matches!(trial.end, Some(TaskEnd::CouldNotStart { .. }));
    let attempted: BTreeSet<&str> = done
        .iter()
        .filter(|(_, trial)| !matches!(trial.end, Some(TaskEnd::Declined { .. })) && could_begin(trial))
        .filter_map(|((id, _), _)| task(id))
        .collect();
    let is_declined = |case: &Case| {
        let mut trials = done.iter().filter(|((id, _), _)| *id == case.id).map(|(_, trial)| trial).peekable();
        trials.peek().is_some() && trials.all(is_declined)
    };
    let mut groups: BTreeMap<String, Vec<&Arc<Case>>> = BTreeMap::new();
    for case in cases.values() {
        if is_one_plain_task(case) && !attempted.contains(case.work.task.as_str()) && is_declined(case) {
            groups.entry(world(case)).or_default().push(case);
        }
    }
    groups.into_values().collect()
}

/// What cases have in common that differ in their faults alone: the task, the services and what happens in them.
fn world(case: &Case) -> String {
    let clean = without_faults(case);
    // Plain data with text keys can always be serialized.
    serde_json::to_string(&(&clean.work, &clean.services, &clean.happens, &clean.mcp)).unwrap_or_default()
}
