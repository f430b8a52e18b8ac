//! All that a record store remembers, how each change is committed, and what the ledger says of it.

use std::collections::BTreeMap;
use std::ops::Bound;

use jiff::Timestamp;
use serde_json::Value;

use crate::service::{self, EffectFacts, Fields};

/// When records that were there at the start say they were written: the first second of 2025.
const BEFORE: Timestamp = Timestamp::constant(1_735_689_600, 0);

/// What a record store remembers.
#[derive(Debug, Clone, Default)]
pub struct State {
    slots: BTreeMap<String, Slot>,
    pub(crate) counters: BTreeMap<String, i64>,
}

/// The place of a key. It outlives its record, so that no version comes twice.
#[derive(Debug, Clone)]
struct Slot {
    version: u64,
    record: Option<Record>,
}

/// One record.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) value: Value,
    pub(crate) version: u64,
    pub(crate) updated_at: Timestamp,
}

/// One change of the state.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// A record that was there at the start.
    Known { key: String, value: Value },
    /// A counter that was there at the start.
    Counted { counter: String, value: i64 },
    /// A record was written; `previous` is the version that it replaces.
    Put { key: String, record: Record, previous: Option<u64> },
    /// A record was taken away.
    Deleted { key: String, version: u64 },
    /// A counter was moved, and now stands at `value`.
    Moved { counter: String, by: i64, value: i64 },
}

impl State {
    pub(crate) fn record(&self, key: &str) -> Option<&Record> {
        self.slots.get(key).and_then(|slot| slot.record.as_ref())
    }

    /// The version that the next record under this key gets.
    pub(crate) fn next_version(&self, key: &str) -> u64 {
        self.slots.get(key).map_or(1, |slot| slot.version + 1)
    }

    /// The records whose key begins with `prefix` and comes behind `after`, by key.
    pub(crate) fn records<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Record)> {
        behind(&self.slots, prefix, after).filter_map(|(key, slot)| Some((key, slot.record.as_ref()?)))
    }

    pub(crate) fn commit(&mut self, change: &Change) {
        match change {
            Change::Known { key, value } => {
                self.put(key, Record { value: value.clone(), version: 1, updated_at: BEFORE })
            }
            Change::Put { key, record, .. } => self.put(key, record.clone()),
            Change::Deleted { key, .. } => {
                if let Some(slot) = self.slots.get_mut(key) {
                    slot.record = None;
                }
            }
            Change::Counted { counter, value } => {
                self.counters.insert(counter.clone(), *value);
            }
            Change::Moved { counter, by, .. } => {
                let value = self.counters.entry(counter.clone()).or_default();
                *value = value.saturating_add(*by);
            }
        }
    }

    fn put(&mut self, key: &str, record: Record) {
        self.slots.insert(key.to_owned(), Slot { version: record.version, record: Some(record) });
    }
}

/// The entries whose key begins with `prefix` and comes behind `after`, without walking over the others.
pub(crate) fn behind<'a, Entry>(
    map: &'a BTreeMap<String, Entry>,
    prefix: &'a str,
    after: &'a str,
) -> impl Iterator<Item = (&'a str, &'a Entry)> {
    let first =
        if after >= prefix && !after.is_empty() { Bound::Excluded(after) } else { Bound::Included(prefix) };
    map.range::<str, _>((first, Bound::Unbounded))
        .take_while(move |(key, _)| key.starts_with(prefix))
        .map(|(key, entry)| (key.as_str(), entry))
}

/// What the ledger says of a change; what was there at the start is none.
pub(crate) fn described(change: &Change) -> Option<EffectFacts> {
    Some(match change {
        Change::Known { .. } | Change::Counted { .. } => return None,
        Change::Put { key, record, previous } => EffectFacts {
            effect: "records.put".into(),
            id: key.clone(),
            fields: Fields::new()
                .with("key", key.as_str())
                .with("value", plain(&record.value))
                .with("version", number(record.version))
                .with_some("previous_version", previous.map(number)),
        },
        Change::Deleted { key, version } => EffectFacts {
            effect: "records.delete".into(),
            id: key.clone(),
            fields: Fields::new().with("key", key.as_str()).with("version", number(*version)),
        },
        Change::Moved { counter, by, value } => EffectFacts {
            effect: "records.increment".into(),
            id: counter.clone(),
            fields: Fields::new().with("counter", counter.as_str()).with("by", *by).with("value", *value),
        },
    })
}

/// The value as a field has it; what is neither text, whole number nor truth value is its JSON.
pub(crate) fn plain(value: &Value) -> service::Value {
    match value {
        Value::String(text) => service::Value::from(text.as_str()),
        Value::Bool(flag) => service::Value::Bool(*flag),
        other => {
            other.as_i64().map_or_else(|| service::Value::from(other.to_string()), service::Value::Number)
        }
    }
}

fn number(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}
