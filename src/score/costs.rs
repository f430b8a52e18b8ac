//! Effects that are only paid for: how many were made, delivered, and paid for twice.

use std::collections::{BTreeMap, HashSet};

use super::effects::Effect;
use super::history::TrialHistory;
use super::verdict::EffectCost;
use crate::scenario::Terms;

/// The costs of a trial, by the name of the effect.
pub(super) fn costs(terms: &Terms, history: &TrialHistory<'_>) -> Vec<EffectCost> {
    let mut by_name: BTreeMap<&str, Vec<&Effect<'_>>> = BTreeMap::new();
    for effect in &history.costs {
        by_name.entry(effect.name).or_default().push(effect);
    }
    let cost = |(name, effects): (&str, Vec<&Effect<'_>>)| {
        let term = terms.operations.iter().find(|term| term.name == name);
        let identity = term.map(|term| term.identity.as_slice()).unwrap_or_default();
        let values = |effect: &Effect<'_>| -> Vec<Option<String>> {
            identity.iter().map(|field| effect.fields.get(field).map(ToString::to_string)).collect()
        };
        let different: HashSet<Vec<Option<String>>> = effects.iter().map(|effect| values(effect)).collect();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        EffectCost {
            effect: name.to_owned(),
            made: count(effects.len()),
            delivered: count(effects.iter().filter(|effect| is_delivered(history, effect)).count()),
            repeated: count(effects.len() - different.len()),
        }
    };
    by_name.into_iter().map(cost).collect()
}

/// Whether the reply with the effect was sent completely, as a success.
fn is_delivered(history: &TrialHistory<'_>, effect: &Effect<'_>) -> bool {
    let answer = history.attempt(effect.attempt).and_then(|attempt| attempt.answer);
    answer.is_some_and(|answer| answer.whole && answer.status.is_some_and(|status| status < 300))
}

#[cfg(test)]
mod tests;
