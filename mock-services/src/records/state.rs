//! The state of a record store, how each change is committed, and what the ledger records.

use std::collections::BTreeMap;
use std::ops::Bound;

use jiff::Timestamp;
use serde_json::Value;

use crate::service::{self, EffectFacts, Fields};

/// The write time of the initial records: the first second of 2025.
const INITIAL_RECORD_TIME: Timestamp = Timestamp::constant(1_735_689_600, 0);

/// The state of a record store.
#[derive(Debug, Clone, Default)]
pub struct State {
    slots: BTreeMap<String, Slot>,
    pub(crate) counters: BTreeMap<String, i64>,
}

/// The entry of a key. It outlives its record, so that a version is never reused.
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
pub(crate) enum RecordChange {
    /// An initial record.
    Known { key: String, value: Value },
    /// An initial counter.
    Counted { counter: String, value: i64 },
    /// A record was written; `previous` is the version that it replaces.
    Put { key: String, record: Record, previous: Option<u64> },
    /// A record was deleted.
    Deleted { key: String, version: u64 },
    /// A counter was increased to `value`.
    Incremented { counter: String, by: i64, value: i64 },
}

impl State {
    pub(crate) fn record(&self, key: &str) -> Option<&Record> {
        self.slots.get(key).and_then(|slot| slot.record.as_ref())
    }

    /// The next version of the record under this key.
    pub(crate) fn next_version(&self, key: &str) -> u64 {
        self.slots.get(key).map_or(1, |slot| slot.version + 1)
    }

    /// The records whose key begins with `prefix` and sorts after `after`, by key.
    pub(crate) fn records<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Record)> {
        entries_after(&self.slots, prefix, after).filter_map(|(key, slot)| Some((key, slot.record.as_ref()?)))
    }

    pub(crate) fn commit(&mut self, change: &RecordChange) {
        match change {
            RecordChange::Known { key, value } => {
                self.put(key, Record { value: value.clone(), version: 1, updated_at: INITIAL_RECORD_TIME })
            }
            RecordChange::Put { key, record, .. } => self.put(key, record.clone()),
            RecordChange::Deleted { key, .. } => {
                if let Some(slot) = self.slots.get_mut(key) {
                    slot.record = None;
                }
            }
            RecordChange::Counted { counter, value } => {
                self.counters.insert(counter.clone(), *value);
            }
            RecordChange::Incremented { counter, by, .. } => {
                let value = self.counters.entry(counter.clone()).or_default();
                *value = value.saturating_add(*by);
            }
        }
    }

    fn put(&mut self, key: &str, record: Record) {
        self.slots.insert(key.to_owned(), Slot { version: record.version, record: Some(record) });
    }
}

/// The entries whose key begins with `prefix` and sorts after `after`, found without visiting the others.
pub(crate) fn entries_after<'a, Entry>(
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

/// The ledger's facts of a change; initial records and counters have none.
pub(crate) fn facts_of(change: &RecordChange) -> Option<EffectFacts> {
    Some(match change {
        RecordChange::Known { .. } | RecordChange::Counted { .. } => return None,
        RecordChange::Put { key, record, previous } => EffectFacts {
            effect: "records.put".into(),
            id: key.clone(),
            fields: Fields::new()
                .with("key", key.as_str())
                .with("value", field_value(&record.value))
                .with("version", number(record.version))
                .with_some("previous_version", previous.map(number)),
        },
        RecordChange::Deleted { key, version } => EffectFacts {
            effect: "records.delete".into(),
            id: key.clone(),
            fields: Fields::new().with("key", key.as_str()).with("version", number(*version)),
        },
        RecordChange::Incremented { counter, by, value } => EffectFacts {
            effect: "records.increment".into(),
            id: counter.clone(),
            fields: Fields::new().with("counter", counter.as_str()).with("by", *by).with("value", *value),
        },
    })
}

/// The value as a field; anything but a string, an integer and a boolean is its JSON.
pub(crate) fn field_value(value: &Value) -> service::Value {
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
