//! What a request to the store comes to.

use super::condition::Conditions;
use super::problem;
use super::route::{Span, What};
use super::state::{Change, Record, State, behind};
use super::views::{CounterList, CounterView, RecordList, record_view};
use crate::service::{Answer, Context};

/// What a request comes to: a store makes at most one change for each.
#[derive(Debug)]
pub(crate) enum Verdict {
    Read(Answer),
    Change(Answer, Change),
    Refuse(Answer),
}

pub(crate) fn decide(state: &State, what: &What, context: &Context) -> Verdict {
    match what {
        What::Put { key, value, conditions } => {
            let record =
                Record { value: value.clone(), version: state.next_version(key), updated_at: context.now };
            put(state, key, record, conditions)
        }
        What::Delete { key, conditions } => delete(state, key, conditions),
        What::Get { key, conditions } => get(state, key, conditions),
        What::List(span) => Verdict::Read(list(state, span)),
        What::Increment { counter, by } => increment(state, counter, *by),
        What::Counter { counter } => {
            let value = state.counters.get(counter).copied().unwrap_or_default();
            Verdict::Read(Answer::json(200, &CounterView { counter, value }))
        }
        What::Counters(span) => Verdict::Read(counters(state, span)),
    }
}

fn put(state: &State, key: &str, record: Record, conditions: &Conditions) -> Verdict {
    let previous = state.record(key).map(|record| record.version);
    if !conditions.allow(previous) {
        return Verdict::Refuse(problem::precondition_failed(previous));
    }
    let status = if previous.is_some() { 200 } else { 201 };
    let answer = tagged(Answer::json(status, &record_view(key, &record)), record.version);
    Verdict::Change(answer, Change::Put { key: key.to_owned(), record, previous })
}

fn delete(state: &State, key: &str, conditions: &Conditions) -> Verdict {
    let current = state.record(key).map(|record| record.version);
    if !conditions.allow(current) {
        return Verdict::Refuse(problem::precondition_failed(current));
    }
    match current {
        Some(version) => {
            Verdict::Change(Answer::empty(204), Change::Deleted { key: key.to_owned(), version })
        }
        None => Verdict::Refuse(no_record()),
    }
}

fn get(state: &State, key: &str, conditions: &Conditions) -> Verdict {
    let Some(record) = state.record(key) else { return Verdict::Refuse(no_record()) };
    let answer = if conditions.names_as_known(Some(record.version)) {
        Answer::empty(304)
    } else {
        Answer::json(200, &record_view(key, record))
    };
    Verdict::Read(tagged(answer, record.version))
}

fn list(state: &State, span: &Span) -> Answer {
    let mut found = state.records(&span.prefix, &span.after);
    let page: Vec<_> = found.by_ref().take(span.limit).collect();
    let next = found.next().and(page.last()).map(|(key, _)| *key);
    Answer::json(
        200,
        &RecordList { records: page.iter().map(|(key, record)| record_view(key, record)).collect(), next },
    )
}

fn counters(state: &State, span: &Span) -> Answer {
    let mut found = behind(&state.counters, &span.prefix, &span.after);
    let counters: Vec<_> = found
        .by_ref()
        .take(span.limit)
        .map(|(counter, value)| CounterView { counter, value: *value })
        .collect();
    let next = found.next().and(counters.last()).map(|last| last.counter);
    Answer::json(200, &CounterList { counters, next })
}

fn increment(state: &State, counter: &str, by: i64) -> Verdict {
    let value = state.counters.get(counter).copied().unwrap_or_default();
    let Some(value) = value.checked_add(by) else {
        return Verdict::Refuse(problem::invalid("by", "The counter cannot be moved that far."));
    };
    let answer = Answer::json(200, &CounterView { counter, value });
    Verdict::Change(answer, Change::Moved { counter: counter.to_owned(), by, value })
}

fn tagged(answer: Answer, version: u64) -> Answer {
    answer.with_header("ETag", format!("\"{version}\""))
}

fn no_record() -> Answer {
    problem::not_found("There is no record with this key.")
}
