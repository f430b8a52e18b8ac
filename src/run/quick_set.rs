//! The quick set: a few cases that together tell apart every two controls that all cases tell apart, and fail each
//! control in every way in which all cases fail it. For a first look, before all cases run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::plan::waits_for;
use crate::domain::{ControlOutcome, FindingKind};
use crate::scenario::Case;

/// What a case shows about controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ControlEvidence<'c> {
    /// Two controls come out differently; the first in the order of their names first.
    Apart(&'c str, &'c str),
    /// A control fails, and how.
    Fails(&'c str, FindingKind),
}

/// The ids of the cases of the quick set: again and again the case that shows the most that no chosen case
/// shows, for the time that it takes; and for each combination of operations one case,
/// without faults if there is such a case. Cases about the keys of one provider are left out: few subjects use it.
#[must_use]
pub fn quick_set<'c>(cases: impl Iterator<Item = &'c Arc<Case>>) -> BTreeSet<String> {
    let mut cases: Vec<&Case> = cases.map(AsRef::as_ref).collect();
    if !cases.iter().all(|case| is_about_a_profile(case)) {
        cases.retain(|case| !is_about_a_profile(case));
    }
    let mut chosen: BTreeSet<&str> = BTreeSet::new();
    let mut clean: BTreeMap<BTreeSet<String>, &Case> = BTreeMap::new();
    let disturbed_last = cases.iter().filter(|case| is_clean(case)).chain(&cases);
    for case in disturbed_last {
        clean.entry(super::probe::operations(case)).or_insert(case);
    }
    chosen.extend(clean.values().map(|case| case.id.as_str()));
    let pairs: Vec<(&Case, BTreeSet<ControlEvidence<'_>>)> =
        cases.iter().map(|case| (*case, shows(case))).collect();
    let mut left: BTreeSet<ControlEvidence<'_>> =
        pairs.iter().flat_map(|(_, pairs)| pairs).copied().collect();
    while !left.is_empty() {
        // For the time that it takes; of equal ones the first, so that the set is always the same.
        let worth = |pairs: &BTreeSet<ControlEvidence<'_>>, case: &Case| {
            pairs.intersection(&left).count() as u128 * 1_000_000 / cost(case).as_millis()
        };
        let best = pairs.iter().rev().max_by_key(|(case, pairs)| worth(pairs, case));
        let Some((case, told)) = best else { break };
        chosen.insert(&case.id);
        left.retain(|pair| !told.contains(pair));
    }
    chosen.into_iter().map(str::to_owned).collect()
}

fn is_clean(case: &Case) -> bool {
    case.faults.is_empty()
        && case.interrupts.is_empty()
        && case.turns.is_empty()
        && case.callers == 1
        && case.approvals.is_empty()
}

/// Whether the case is about how a certain provider treats keys.
fn is_about_a_profile(case: &Case) -> bool {
    case.tags.iter().any(|tag| tag == "profiles")
}

/// Which pairs of controls come out differently, and how each of them fails.
fn shows(case: &Case) -> BTreeSet<ControlEvidence<'_>> {
    let outcomes: BTreeMap<&str, &ControlOutcome> =
        case.controls.iter().map(|term| (term.control.as_str(), &term.is)).collect();
    let mut shown = BTreeSet::new();
    for (one, outcome) in &outcomes {
        let others = outcomes.range::<str, _>((std::ops::Bound::Excluded(*one), std::ops::Bound::Unbounded));
        shown.extend(
            others
                .filter(|(_, other)| *other != outcome)
                .map(|(other, _)| ControlEvidence::Apart(one, other)),
        );
        if let ControlOutcome::Failed(kind) = outcome {
            shown.insert(ControlEvidence::Fails(one, *kind));
        }
    }
    shown
}

/// Roughly how long a trial takes: what it waits for, its callers, and its starts.
fn cost(case: &Case) -> Duration {
    let waits: Duration = case.faults.iter().map(waits_for).sum();
    let answers: u32 =
        case.approvals.iter().flat_map(|approval| &approval.answers).map(|answer| answer.times).sum();
    let copies = case.events.iter().map(|event| event.copies.len() as u32 * event.workers).sum::<u32>();
    let starts = 1 + case.turns.len() as u32 + case.interrupts.len() as u32 + answers + copies;
    Duration::from_millis(300) * starts + Duration::from_millis(30) * case.callers + waits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{APPROVALS, EVENTS, MCP};
    use crate::scenario::shipped;

    #[test]
    fn the_quick_set_is_small_and_tells_apart_what_all_cases_tell_apart() {
        let cases: Vec<Arc<Case>> = shipped().unwrap().into_iter().map(Arc::new).collect();
        let of = |is_one: &dyn Fn(&Case) -> bool| {
            let selected: Vec<&Arc<Case>> = cases.iter().filter(|case| is_one(case)).collect();
            let quick = quick_set(selected.iter().copied());
            let usual = selected.iter().filter(|case| !is_about_a_profile(case));
            let all: BTreeSet<_> = usual.flat_map(|case| shows(case)).collect();
            let by_quick: BTreeSet<_> = selected
                .iter()
                .filter(|case| quick.contains(&case.id))
                .flat_map(|case| shows(case))
                .collect();
            assert_eq!(by_quick, all);
            quick
        };
        let charge = BTreeSet::from(["payment.charge".to_owned()]);
        let charges = of(&|case| super::super::probe::operations(case) == charge && !case.requires_mcp());
        insta::assert_snapshot!(charges.iter().cloned().collect::<Vec<_>>().join("\n"));
        let all = of(&|case| {
            case.terms.requires.iter().all(|word| ![APPROVALS, EVENTS, MCP].contains(&word.as_str()))
        });
        let with_everything = of(&|_| true);
        assert!(charges.len() <= 16, "{charges:?}");
        assert!(all.len() <= 43, "{} {all:?}", all.len());
        assert!(with_everything.len() <= 63, "{} {with_everything:?}", with_everything.len());
        assert!(!with_everything.iter().any(|id| id.contains("own-success-refused")), "{with_everything:?}");
        let of_providers: Vec<&Arc<Case>> = cases.iter().filter(|case| is_about_a_profile(case)).collect();
        assert!(
            !quick_set(of_providers.into_iter()).is_empty(),
            "they are taken where there is nothing else"
        );
    }
}
