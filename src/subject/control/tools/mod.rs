//! How each operation is asked for, and how one looks whether it has happened. A tool decides nothing: what
//! to do with what is seen is the policy's affair.

mod deploy;
mod email;
mod payment;
mod records;
mod tickets;

use mock_services::service::Value as Field;
use serde_json::Value;

use super::answer::Class;
use super::wire::{Ask, Wire};
use crate::scenario::Step;

/// How a write is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// As it comes.
    Plain,
    /// Only on the version that was read before, where the service can be told so.
    Conditional,
}

/// What a look shows of an intent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Seen {
    /// It is there.
    Done,
    /// It is there more often than it should be; these steps would undo the surplus.
    Surplus(Vec<Step>),
    /// It has begun and goes on by itself.
    Underway,
    /// The service has taken it on; it has not happened.
    Accepted,
    /// It came to nothing for good.
    Failed,
    /// Some of it is there; this is the rest.
    Partly(Box<Step>),
    /// It is not there.
    Absent,
    /// What is read tells nothing about it.
    Unclear,
}

/// Why something could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The service did not say.
    Unanswered,
    /// What is asked for cannot be done.
    Impossible(String),
}

/// What has to be read before a write can be made: the charge that is refunded, the version that is changed.
pub(super) fn facts(wire: &Wire<'_>, step: &Step, manner: Manner) -> Result<Value, Trouble> {
    match service(step) {
        "payment" => payment::facts(wire, step),
        "records" => records::facts(wire, step, manner),
        "tickets" => tickets::facts(wire, step),
        "email" | "deploy" => Ok(Value::Null),
        _ => Err(unknown(step)),
    }
}

/// The request that does it.
pub(super) fn write(step: &Step, facts: &Value, manner: Manner) -> Result<Ask, Trouble> {
    match service(step) {
        "payment" => payment::write(step, facts),
        "email" => email::write(step),
        "deploy" => deploy::write(step),
        "records" => records::write(step, facts, manner),
        "tickets" => tickets::write(step, facts),
        _ => Err(unknown(step)),
    }
}

/// Looks whether it has happened.
pub(super) fn look(wire: &Wire<'_>, step: &Step, facts: &Value) -> Result<Seen, Trouble> {
    match service(step) {
        "payment" => payment::look(wire, step, facts),
        "email" => email::look(wire, step),
        "deploy" => deploy::look(wire, step),
        "records" => records::look(wire, step, facts),
        "tickets" => tickets::look(wire, step, facts),
        _ => Err(unknown(step)),
    }
}

fn service(step: &Step) -> &str {
    step.operation.split_once('.').map_or("", |(service, _)| service)
}

fn unknown(step: &Step) -> Trouble {
    Trouble::Impossible(format!("no control knows how to do {}", step.operation))
}

/// A field as text.
fn text(step: &Step, name: &str) -> Option<String> {
    step.with.get(name).map(ToString::to_string)
}

/// A field that must be there.
fn required(step: &Step, name: &str) -> Result<String, Trouble> {
    text(step, name)
        .ok_or_else(|| Trouble::Impossible(format!("{} needs the field `{name}`", step.operation)))
}

/// A field that names one or several.
fn members(step: &Step, name: &str) -> Vec<String> {
    match step.with.get(name) {
        None => Vec::new(),
        Some(Field::List(members)) => members.clone(),
        Some(single) => vec![single.to_string()],
    }
}

/// The same step for these members alone.
fn only(step: &Step, name: &'static str, members: Vec<String>) -> Box<Step> {
    let mut rest = step.clone();
    rest.with.set(name, members);
    Box::new(rest)
}

/// A field as JSON.
fn json(field: &Field) -> Value {
    match field {
        Field::Bool(flag) => Value::from(*flag),
        Field::Number(number) => Value::from(*number),
        Field::Text(text) => Value::from(text.as_str()),
        Field::List(members) => Value::from(members.clone()),
    }
}

/// Reads; nothing where there is no such thing.
fn read(wire: &Wire<'_>, service: &str, path: &str) -> Result<Option<Value>, Trouble> {
    let reply = wire.get(service, path);
    match (reply.class, reply.status) {
        (Class::Done, _) => Ok(Some(reply.body)),
        (_, Some(404)) => Ok(None),
        _ => Err(Trouble::Unanswered),
    }
}

/// The rows of a list.
fn rows(list: Option<Value>, name: &str) -> Vec<Value> {
    match list.map(|mut list| list.get_mut(name).map(Value::take)) {
        Some(Some(Value::Array(rows))) => rows,
        _ => Vec::new(),
    }
}

/// A member of an object as text.
fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
