//! The ramp of callers: one scenario of several callers, with 1, 2, 4 … callers until a trial does not hold.

use std::cmp::Reverse;
use std::path::Path;

use mock_services::BarrierOptions;

use super::plan::CaseGroup;
use super::{CALLERS, trials};
use crate::certify::model::CallersHeld;
use crate::certify::ramp::TRIALS_EACH;
use crate::report::Report;
use crate::scenario::Case;
use crate::score::TrialStatus;

/// The case of the ramp: several callers get one task with one effect, without faults, interrupts or turns.
/// The one with the most callers is chosen: it is made for many.
pub(super) fn case_for(groups: &[CaseGroup], callers: u32) -> Option<Case> {
    let fits = |case: &&Case| {
        case.callers > 1
            && case.barrier.is_some()
            && case.each.is_empty()
            && case.turns.is_empty()
            && case.faults.is_empty()
            && case.interrupts.is_empty()
            && case.terms.records.is_empty()
            && case.terms.intents.iter().all(|intent| intent.times == 1 && intent.at_least.is_none())
            && case.terms.attempts.iter().all(|budget| budget.at_least == 0)
    };
    let cases = groups.iter().flat_map(|group| &group.cases).filter(|_| callers > 1);
    cases.filter(fits).max_by_key(|case| (case.callers, Reverse(case.id.clone()))).cloned()
}

/// The case with another number of callers. The maximum numbers of attempts grow with it.
pub(super) fn with_callers(case: &Case, count: u32) -> Case {
    let mut changed = case.clone();
    let before = case.callers.max(1);
    changed.callers = count;
    changed.terms.callers = count;
    for budget in &mut changed.terms.attempts {
        budget.at_most = budget.at_most.map(|most| most.saturating_mul(count).div_ceil(before).max(1));
    }
    if count == 1 {
        changed.barrier = None;
    } else if changed.barrier.is_none() {
        changed.barrier = Some(BarrierOptions::default());
    }
    changed.terms.barrier = changed.barrier.is_some();
    // What the controls come to depends on the number of callers.
    changed.controls.clear();
    changed
}

/// Whether all trials of a run pass.
pub(super) fn holds(report: &Report) -> bool {
    let mut trials = report.cases.iter().flat_map(|case| &case.trials).peekable();
    trials.peek().is_some()
        && !report.interrupted
        && trials.all(|trial| trial.verdict.result == TrialStatus::Pass)
}

/// What the ramp in this folder shows; `None` without a ramp.
///
/// # Errors
/// When a run cannot be read.
pub(in crate::certify) fn callers_from_folder(folder: &Path) -> Result<Option<CallersHeld>, String> {
    let mut held = CallersHeld {
        question: String::new(),
        held: 0,
        broke_at: None,
        tried: Vec::new(),
        trials_each: TRIALS_EACH,
    };
    for (name, report) in trials::runs_in(&folder.join(CALLERS))? {
        let Ok(count) = name.parse::<u32>() else {
            return Err(format!("{CALLERS}/{name} is not a number of callers"));
        };
        if let Some(case) = report.cases.first() {
            held.question.clone_from(&case.id);
        }
        held.tried.push(count);
        if holds(&report) {
            held.held = held.held.max(count);
        } else {
            held.broke_at = Some(count);
            break;
        }
    }
    Ok((!held.tried.is_empty()).then_some(held))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    #[test]
    fn a_scenario_with_several_callers_and_one_effect_is_chosen_and_scaled() {
        let cases = scenario::load(&["concurrency".to_owned()]).unwrap().cases;
        let groups = [CaseGroup { trials: 1, cases }];
        let case = case_for(&groups, 8).unwrap();
        assert_eq!(case.id, "concurrency/twelve-callers-one-charge");
        let scaled = with_callers(&case, 32);
        assert_eq!((scaled.callers, scaled.terms.callers), (32, 32));
        let most = |case: &Case| case.terms.attempts.first().and_then(|budget| budget.at_most).unwrap();
        assert_eq!(most(&scaled), (most(&case) * 32).div_ceil(case.callers));
        let alone = with_callers(&case, 1);
        assert!(alone.barrier.is_none() && !alone.terms.barrier);
        assert!(case_for(&groups, 1).is_none());
    }
}
