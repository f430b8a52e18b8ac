//! The cases that a run leaves out because of what the probe saw.

use std::collections::BTreeSet;
use std::sync::Arc;

use yaml_reader::shown;

use super::families::{operations, plainness};
use crate::results::{FamilyOutcome, ProbeResult, ProbedFamily, Skipped};
use crate::run::Plan;
use crate::scenario::{Case, not_covered};

/// The longest text of a subject that is the reason for a skipped case, in characters.
const MAX_WORDS: usize = 200;

/// Who says what a subject does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Nobody: it is a command, and the probe finds out.
    Nothing,
    /// It is a subject of hapax.yaml, which does everything unless it says otherwise.
    Everything,
    /// `can` names its operations, and none of them can be declined.
    Operations,
}

/// Skips the cases of a plan that the probe makes pointless: of a family that came out wrong one case remains, of one
/// that was declined none. The run is void at best where a case came out wrong or the subject could not start, so that it
/// never passes for seeing less; what was declined does not count if nobody said that the subject does it. `planned`
/// is the number of cases before the probe.
pub fn skip_probed(plan: &mut Plan, result: &mut ProbeResult, planned: usize, said: Said) {
    let set = |family: &ProbedFamily| family.operations.iter().cloned().collect::<BTreeSet<String>>();
    let is_right = |family: &&ProbedFamily| matches!(family.outcome, FamilyOutcome::Right);
    let right: Vec<BTreeSet<String>> = result.families.iter().filter(is_right).map(set).collect();
    for family in &result.families {
        let Some((why, unproven)) = reason(family, said) else { continue };
        let needed = set(family);
        let is_pointless = |case: &Case| {
            let all = operations(case);
            let is_done_otherwise =
                || right.iter().any(|other| needed.is_subset(other) && other.is_subset(&all));
            needed.is_subset(&all) && !is_done_otherwise()
        };
        let kept = matches!(family.outcome, FamilyOutcome::Wrong { .. })
            .then(|| kept_case(plan.cases.values().filter(|case| is_pointless(case)), &family.case))
            .flatten();
        plan.skip(|case| {
            let is_skipped = is_pointless(case) && Some(&case.id) != kept.as_ref();
            is_skipped.then(|| Skipped { unproven, ..Skipped::new(case.id.clone(), why.clone()) })
        });
    }
    result.cases = (plan.cases.len(), planned.saturating_sub(plan.cases.len()));
}

/// Why the cases of a family are skipped, and whether the run proves less because of it; `None` if they are not.
fn reason(family: &ProbedFamily, said: Said) -> Option<(String, bool)> {
    let does_not = |rest: &str| format!("does not do {}: {rest}", family.operations.join(" and "));
    match &family.outcome {
        FamilyOutcome::Right => None,
        FamilyOutcome::Wrong { cause, .. } => {
            Some((format!("its trial without faults ({}) came out wrong: {cause}", family.case), true))
        }
        FamilyOutcome::DoneOtherwise { .. } => {
            let why = format!("other operations did it in the trial without faults ({})", family.case);
            Some((does_not(&why), said != Said::Nothing))
        }
        FamilyOutcome::Declined { .. } | FamilyOutcome::CouldNotStart { .. } if said == Said::Operations => {
            None
        }
        FamilyOutcome::Declined { words, .. } => {
            let why =
                format!("no attempt in the trials without faults ({}){}", family.case, last_words(words));
            Some((does_not(&why), said != Said::Nothing))
        }
        FamilyOutcome::CouldNotStart { how, .. } => {
            let why = format!("the subject {how} in both trials without faults ({})", family.case);
            Some((why, true))
        }
    }
}

/// What a subject said last, as the end of a sentence; may be empty.
pub(in crate::run) fn last_words(words: &str) -> String {
    if words.is_empty() {
        return String::new();
    }
    let words: String = words.chars().take(MAX_WORDS).collect();
    format!("; its last words: \"{}\"", shown(&words))
}

/// Skips the cases that need an operation or an API that the subject was not seen to use.
pub fn keep_can(plan: &mut Plan, can: &[String], subject: &str) {
    plan.skip(|case| {
        let missing = not_covered(case, can)?;
        Some(Skipped::new(
            case.id.clone(),
            format!("needs {missing}, which `can` of {subject} does not name"),
        ))
    });
}

/// The case that shows the failure of a family: the one that was tried, or the plainest if that one does not run.
fn kept_case<'c>(cases: impl Iterator<Item = &'c Arc<Case>> + Clone, tried: &str) -> Option<String> {
    let same = cases.clone().find(|case| case.id == tried);
    same.or_else(|| cases.min_by_key(|case| plainness(case))).map(|case| case.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::shipped;

    #[test]
    fn the_case_that_shows_a_failure_is_the_tried_one_or_else_the_plainest_that_runs() {
        let cases: Vec<Arc<Case>> = shipped().unwrap().into_iter().map(Arc::new).collect();
        let of = |text: &'static str| cases.iter().filter(move |case| case.id.contains(text));
        let tried = "payment/clean@keys=none";
        assert_eq!(kept_case(of("payment/"), tried).as_deref(), Some(tried));
        assert_eq!(kept_case(of("keys=stripe"), tried).as_deref(), Some("payment/clean@keys=stripe"));
        assert_eq!(kept_case(of("no such case"), tried), None);
    }
}
