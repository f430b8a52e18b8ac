//! Effects that are only paid for: how many were made, delivered, and paid for twice.

use std::collections::{BTreeMap, HashSet};

use mock_services::service::Value;

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
            tokens: effects
                .iter()
                .filter_map(|effect| billed_tokens(history, effect))
                .reduce(|all, more| all + more),
        }
    };
    by_name.into_iter().map(cost).collect()
}

/// The tokens that are billed for a generation. With an `answer_bytes`, only the share of the answer that was
/// sent is billed.
fn billed_tokens(history: &TrialHistory<'_>, effect: &Effect<'_>) -> Option<u64> {
    let number = |name: &str| match effect.fields.get(name) {
        Some(Value::Number(number)) => u64::try_from(*number).ok(),
        _ => None,
    };
    let (input, output) = (number("input_tokens")?, number("output_tokens")?);
    let billed = match number("answer_bytes") {
        Some(all) if !is_delivered(history, effect) => {
            let answer = history.attempt(effect.attempt).and_then(|attempt| attempt.answer);
            let sent = answer.map_or(0, |answer| answer.sent).min(all);
            output * sent / all.max(1)
        }
        _ => output,
    };
    Some(input + billed)
}

/// Whether the reply with the effect was sent completely, as a success.
fn is_delivered(history: &TrialHistory<'_>, effect: &Effect<'_>) -> bool {
    let answer = history.attempt(effect.attempt).and_then(|attempt| attempt.answer);
    answer.is_some_and(|answer| answer.whole && answer.status.is_some_and(|status| status < 300))
}

#[cfg(test)]
mod tests;
