//! Records and counters as responses show them.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::state::Record;

/// A record.
#[derive(Debug, Serialize)]
pub(crate) struct RecordView<'a> {
    key: &'a str,
    value: &'a Value,
    version: u64,
    updated_at: String,
}

/// A list of records; `next` is the `after` of the next page.
#[derive(Debug, Serialize)]
pub(crate) struct RecordList<'a> {
    pub(crate) records: Vec<RecordView<'a>>,
    pub(crate) next: Option<&'a str>,
}

/// A counter.
#[derive(Debug, Serialize)]
pub(crate) struct CounterView<'a> {
    pub(crate) counter: &'a str,
    pub(crate) value: i64,
}

/// A list of counters; `next` is the `after` of the next page.
#[derive(Debug, Serialize)]
pub(crate) struct CounterList<'a> {
    pub(crate) counters: Vec<CounterView<'a>>,
    pub(crate) next: Option<&'a str>,
}

pub(crate) fn record_view<'a>(key: &'a str, record: &'a Record) -> RecordView<'a> {
    let written =
        Timestamp::from_millisecond(record.updated_at.as_millisecond()).unwrap_or(record.updated_at);
    RecordView { key, value: &record.value, version: record.version, updated_at: written.to_string() }
}
