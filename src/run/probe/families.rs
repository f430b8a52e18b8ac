//! Which cases need the same operations, and which of them is tried without faults.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::scenario::Case;

/// Cases whose tasks have the same operations.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) operations: BTreeSet<String>,
    /// Those that no smaller family has.
    pub(super) own: BTreeSet<String>,
    /// What `can` must name so that all its cases run: the operations, and the effects that are due.
    pub(super) needed: BTreeSet<String>,
    /// The case that is tried without faults.
    pub(super) case: Arc<Case>,
}

/// The families of these cases. Operations that other families have together are no family: who can charge and send
/// mail needs no trial for both.
pub(super) fn families<'c>(cases: impl Iterator<Item = &'c Arc<Case>>) -> Vec<Family> {
    let mut by_operations: BTreeMap<BTreeSet<String>, Vec<&Arc<Case>>> = BTreeMap::new();
    for case in cases {
        by_operations.entry(operations(case)).or_default().push(case);
    }
    let sets: Vec<BTreeSet<String>> = by_operations.keys().cloned().collect();
    by_operations
        .into_iter()
        .filter(|(set, _)| !set.is_empty() && !is_union(set, &sets))
        .filter_map(|(operations, cases)| {
            let alike = |case: &Case| cases.iter().filter(|other| other.work.task == case.work.task).count();
            let case = cases.iter().min_by_key(|case| (plainness(case), Reverse(alike(case)), &case.id))?;
            let needed = cases.iter().flat_map(|case| due(case)).chain(operations.clone()).collect();
            let smaller =
                sets.iter().filter(|other| other.len() < operations.len() && other.is_subset(&operations));
            let own = operations.difference(&smaller.flatten().cloned().collect()).cloned().collect();
            Some(Family { operations, own, needed, case: Arc::clone(case) })
        })
        .collect()
}

/// The operations of its steps; without steps, the effects that are due.
pub(in crate::run) fn operations(case: &Case) -> BTreeSet<String> {
    let works = std::iter::once(&case.work).chain(&case.each).chain(&case.turns);
    let steps: BTreeSet<String> =
        works.flat_map(|work| &work.steps).map(|step| step.operation.clone()).collect();
    if steps.is_empty() { due(case).collect() } else { steps }
}

fn due(case: &Case) -> impl Iterator<Item = String> {
    case.terms.intents.iter().filter(|intent| intent.times > 0).map(|intent| intent.effect.clone())
}

/// Whether smaller sets have all of it together.
fn is_union(set: &BTreeSet<String>, sets: &[BTreeSet<String>]) -> bool {
    let smaller = sets.iter().filter(|other| other.len() < set.len() && other.is_subset(set));
    smaller.flatten().collect::<BTreeSet<_>>().len() == set.len()
}

/// The plainest cases come first: without faults and interrupts, with one caller and something due, for every subject, and
/// with few steps.
pub(super) fn plainness(case: &Case) -> (bool, bool, bool, bool, usize, bool) {
    let has_nothing_due = !case.terms.intents.iter().any(|intent| intent.times > 0);
    let is_disturbed = !case.faults.is_empty() || !case.interrupts.is_empty() || !case.approvals.is_empty();
    let is_long = case.callers > 1 || !case.turns.is_empty();
    let (requires, has_api) = (!case.terms.requires.is_empty(), !case.terms.via.is_empty());
    (has_nothing_due, requires, is_disturbed, is_long, case.work.steps.len(), has_api)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::shipped;

    #[test]
    fn each_operation_of_the_golden_set_has_one_plain_trial() {
        let cases: Vec<Arc<Case>> = shipped().unwrap().into_iter().map(Arc::new).collect();
        let families = families(cases.iter());
        let table: String = families
            .iter()
            .map(|family| {
                let operations = family.operations.iter().cloned().collect::<Vec<_>>().join(", ");
                format!("{operations}: {}\n", family.case.id)
            })
            .collect();
        insta::assert_snapshot!(table);
    }

    #[test]
    fn a_set_that_others_have_together_is_no_family() {
        let set = |text: &str| text.split(' ').map(str::to_owned).collect::<BTreeSet<String>>();
        let sets = [set("a"), set("b"), set("a b"), set("a c")];
        assert!(is_union(&set("a b"), &sets));
        assert!(!is_union(&set("a c"), &sets) && !is_union(&set("a"), &sets));
    }
}
