//! Decides a request to the record store.

use super::condition::Conditions;
use super::problem;
use super::route::{KeyRange, RecordsAction};
use super::state::{Record, RecordChange, State, entries_after};
use super::views::{CounterList, CounterView, RecordList, record_view};
use crate::service::{Answer, Context};

/// The decision on a request: at most one change.
#[derive(Debug)]
pub(crate) enum RecordsDecision {
    Read(Answer),
    Change(Answer, RecordChange),
    Refuse(Answer),
}

pub(crate) fn decide(state: &State, action: &RecordsAction, context: &Context) -> RecordsDecision {
    match action {
        RecordsAction::Put { key, value, conditions } => {
            let record =
                Record { value: value.clone(), version: state.next_version(key), updated_at: context.now };
            put(state, key, record, conditions)
        }
        RecordsAction::Delete { key, conditions } => delete(state, key, conditions),
        RecordsAction::Get { key, conditions } => get(state, key, conditions),
        RecordsAction::List(range) => RecordsDecision::Read(list(state, range)),
        RecordsAction::Increment { counter, by } => increment(state, counter, *by),
        RecordsAction::Counter { counter } => {
            let value = state.counters.get(counter).copied().unwrap_or_default();
            RecordsDecision::Read(Answer::json(200, &CounterView { counter, value }))
        }
        RecordsAction::Counters(range) => RecordsDecision::Read(counters(state, range)),
    }
}

fn put(state: &State, key: &str, record: Record, conditions: &Conditions) -> RecordsDecision {
    let previous = state.record(key).map(|record| record.version);
    if !conditions.allow(previous) {
        return RecordsDecision::Refuse(problem::precondition_failed(previous));
    }
    let status = if previous.is_some() { 200 } else { 201 };
    let answer = with_etag(Answer::json(status, &record_view(key, &record)), record.version);
    RecordsDecision::Change(answer, RecordChange::Put { key: key.to_owned(), record, previous })
}

fn delete(state: &State, key: &str, conditions: &Conditions) -> RecordsDecision {
    let current = state.record(key).map(|record| record.version);
    if !conditions.allow(current) {
        return RecordsDecision::Refuse(problem::precondition_failed(current));
    }
    match current {
        Some(version) => RecordsDecision::Change(
            Answer::empty(204),
            RecordChange::Deleted { key: key.to_owned(), version },
        ),
        None => RecordsDecision::Refuse(no_record()),
    }
}

fn get(state: &State, key: &str, conditions: &Conditions) -> RecordsDecision {
    let Some(record) = state.record(key) else { return RecordsDecision::Refuse(no_record()) };
    let answer = if conditions.excludes(Some(record.version)) {
        Answer::empty(304)
    } else {
        Answer::json(200, &record_view(key, record))
    };
    RecordsDecision::Read(with_etag(answer, record.version))
}

fn list(state: &State, range: &KeyRange) -> Answer {
    let mut found = state.records(&range.prefix, &range.after);
    let page: Vec<_> = found.by_ref().take(range.limit).collect();
    let next = found.next().and(page.last()).map(|(key, _)| *key);
    Answer::json(
        200,
        &RecordList { records: page.iter().map(|(key, record)| record_view(key, record)).collect(), next },
    )
}

fn counters(state: &State, range: &KeyRange) -> Answer {
    let mut found = entries_after(&state.counters, &range.prefix, &range.after);
    let counters: Vec<_> = found
        .by_ref()
        .take(range.limit)
        .map(|(counter, value)| CounterView { counter, value: *value })
        .collect();
    let next = found.next().and(counters.last()).map(|last| last.counter);
    Answer::json(200, &CounterList { counters, next })
}

fn increment(state: &State, counter: &str, by: i64) -> RecordsDecision {
    let value = state.counters.get(counter).copied().unwrap_or_default();
    let Some(value) = value.checked_add(by) else {
        return RecordsDecision::Refuse(problem::invalid("by", "The counter would overflow."));
    };
    let answer = Answer::json(200, &CounterView { counter, value });
    RecordsDecision::Change(answer, RecordChange::Incremented { counter: counter.to_owned(), by, value })
}

fn with_etag(answer: Answer, version: u64) -> Answer {
    answer.with_header("ETag", format!("\"{version}\""))
}

fn no_record() -> Answer {
    problem::not_found("There is no record with this key.")
}
