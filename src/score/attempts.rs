//! Attempts of each operation, against their budgets.

use std::collections::BTreeMap;

use super::story::Story;
use super::verdict::AttemptsMade;
use crate::scenario::Terms;

/// Attempts of each operation that was used or has a budget, by name.
pub(super) fn attempts(terms: &Terms, story: &Story<'_>) -> Vec<AttemptsMade> {
    let mut made: BTreeMap<&str, u32> = terms.attempts.iter().map(|budget| (budget.operation.as_str(), 0)).collect();
    for attempt in &story.attempts {
        let count = made.entry(attempt.operation()).or_default();
        *count = count.saturating_add(1);
    }
    made.into_iter()
        .map(|(operation, made)| {
            let budgets = terms.attempts.iter().filter(|budget| budget.operation == operation);
            AttemptsMade { operation: operation.to_owned(), made, budget: budgets.map(|budget| budget.at_most).min() }
        })
        .collect()
}
