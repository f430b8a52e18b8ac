//! The record store at the end: its state at the start with the changes of the ledger applied.

use mock_services::catalog;
use mock_services::service::Value;
use serde_json::Value as Json;

use super::effects::Effect;
use crate::scenario::{RecordDue, Terms};

/// A record that does not have the expected value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mismatch<'t> {
    /// The expectation.
    pub(super) due: &'t RecordDue,
    /// Its value at the end; `None` if it does not exist.
    pub(super) actual: Option<Value>,
    /// The entries that changed it.
    pub(super) entries: Vec<u64>,
}

/// Whether the effect changes a record whose value at the end the scenario expects.
pub(super) fn is_due(terms: &Terms, effect: &Effect<'_>) -> bool {
    terms.records.iter().any(|due| due.concerns(effect.name, effect.fields))
}

/// The records that do not have the expected value.
pub(super) fn mismatches<'t>(terms: &'t Terms, effects: &[Effect<'_>]) -> Vec<Mismatch<'t>> {
    terms.records.iter().filter_map(|due| mismatch(due, effects)).collect()
}

fn mismatch<'t>(due: &'t RecordDue, effects: &[Effect<'_>]) -> Option<Mismatch<'t>> {
    let mut actual = plain(&due.start);
    let mut entries = Vec::new();
    for effect in effects.iter().filter(|effect| due.concerns(effect.name, effect.fields)) {
        actual = catalog::store_change(effect.name).and_then(|change| change.after(actual, effect.fields));
        entries.push(effect.n);
    }
    let is_right = match (&actual, plain(&due.value)) {
        (None, None) => true,
        // A counter without changes has no value.
        (None, Some(Value::Number(0))) | (Some(Value::Number(0)), None) => due.counter,
        (Some(actual), Some(want)) => same(actual, &want),
        _ => false,
    };
    (!is_right).then(|| Mismatch { due, actual, entries })
}

/// A JSON value as the value of a field: other values than texts, whole numbers and booleans are JSON text.
/// `null` is no value.
fn plain(value: &Json) -> Option<Value> {
    match value {
        Json::Null => None,
        Json::Bool(flag) => Some(Value::Bool(*flag)),
        Json::String(text) => Some(Value::from(text.as_str())),
        other => Some(other.as_i64().map_or_else(|| Value::from(other.to_string()), Value::Number)),
    }
}

/// `4` is not `"4"` in a store of JSON, but the order of keys in an object and the notation of a fraction do
/// not matter.
fn same(actual: &Value, want: &Value) -> bool {
    let json = |value: &Value| match value {
        Value::Text(text) => serde_json::from_str::<Json>(text).ok().filter(|json| !json.is_string()),
        _ => None,
    };
    actual == want || json(actual).zip(json(want)).is_some_and(|(actual, want)| actual == want)
}

#[cfg(test)]
mod tests;
