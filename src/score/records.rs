//! What stands in the record store at the end: the changes of the ledger, one after another, over what stood
//! there at the start.

use mock_services::catalog;
use mock_services::service::Value;
use serde_json::Value as Json;

use super::effects::Effect;
use crate::scenario::{RecordDue, Terms};

/// A record that does not stand as it should.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mismatch<'t> {
    /// What was due.
    pub(super) due: &'t RecordDue,
    /// How it stands; `None` where there is none.
    pub(super) stands: Option<Value>,
    /// The entries that changed it.
    pub(super) entries: Vec<u64>,
}

/// Whether the effect changes a record of which the scenario says how it must stand at the end.
pub(super) fn is_due(terms: &Terms, effect: &Effect<'_>) -> bool {
    terms.records.iter().any(|due| due.concerns(effect.name, effect.fields))
}

/// The records that do not stand as they should.
pub(super) fn mismatches<'t>(terms: &'t Terms, effects: &[Effect<'_>]) -> Vec<Mismatch<'t>> {
    terms.records.iter().filter_map(|due| mismatch(due, effects)).collect()
}

fn mismatch<'t>(due: &'t RecordDue, effects: &[Effect<'_>]) -> Option<Mismatch<'t>> {
    let mut stands = plain(&due.start);
    let mut entries = Vec::new();
    for effect in effects.iter().filter(|effect| due.concerns(effect.name, effect.fields)) {
        stands = catalog::store_change(effect.name).and_then(|change| change.after(stands, effect.fields));
        entries.push(effect.n);
    }
    let is_right = match (&stands, plain(&due.value)) {
        (None, None) => true,
        // A counter that nobody has moved stands at nothing.
        (None, Some(Value::Number(0))) | (Some(Value::Number(0)), None) => due.counter,
        (Some(have), Some(want)) => same(have, &want),
        _ => false,
    };
    (!is_right).then(|| Mismatch { due, stands, entries })
}

/// A value as a field has it: what is neither text, whole number nor truth value is its JSON. `null` is none.
fn plain(value: &Json) -> Option<Value> {
    match value {
        Json::Null => None,
        Json::Bool(flag) => Some(Value::Bool(*flag)),
        Json::String(text) => Some(Value::from(text.as_str())),
        other => Some(other.as_i64().map_or_else(|| Value::from(other.to_string()), Value::Number)),
    }
}

/// `4` is no `"4"` in a store of JSON, but the order of the keys of an object and the way a fraction is
/// written are nothing.
fn same(have: &Value, want: &Value) -> bool {
    let json = |value: &Value| match value {
        Value::Text(text) => serde_json::from_str::<Json>(text).ok().filter(|json| !json.is_string()),
        _ => None,
    };
    have == want || json(have).zip(json(want)).is_some_and(|(have, want)| have == want)
}

#[cfg(test)]
mod tests;
