//! The number of attempts of each operation, and the budgets.

use std::collections::BTreeMap;

use super::history::TrialHistory;
use super::retry_layers::retry_layers;
use super::verdict::AttemptsMade;
use crate::scenario::{Budget, Terms};

/// The attempts of each operation that was used or has a budget, by name. Requests that a service refused are
/// counted separately.
pub(super) fn attempts(terms: &Terms, history: &TrialHistory<'_>) -> Vec<AttemptsMade> {
    let mut made: BTreeMap<&str, (u32, u32)> =
        terms.attempts.iter().map(|budget| (budget.operation.as_str(), (0, 0))).collect();
    for attempt in &history.attempts {
        let (count, _) = made.entry(attempt.operation()).or_default();
        *count = count.saturating_add(1);
    }
    for operation in history.refusals.iter().filter_map(|refusal| refusal.operation) {
        // An operation that was only refused and has no budget is not listed.
        if let Some((_, refused)) = made.get_mut(operation) {
            *refused = refused.saturating_add(1);
        }
    }
    let cost_of = |name: &str| terms.operations.iter().find(|term| term.cost && term.name == name);
    made.into_iter()
        .map(|(operation, (made, refused))| {
            let budgets: Vec<&Budget> =
                terms.attempts.iter().filter(|budget| budget.operation == operation).collect();
            AttemptsMade {
                operation: operation.to_owned(),
                made,
                refused,
                at_least: budgets.iter().map(|budget| budget.at_least).max().unwrap_or_default(),
                layers: cost_of(operation).and_then(|term| retry_layers(history, term)),
                budget: budgets.iter().filter_map(|budget| budget.at_most).min(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
