//! How each operation is asked for, and how one looks whether it has happened. A tool decides nothing: what
//! to do with what is seen is the policy's affair.

mod deploy;
mod email;
mod payment;
mod records;
#[cfg(test)]
mod shipping;
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

/// How a control uses one service.
struct Tool {
    /// The name of the service.
    service: &'static str,
    /// What has to be read before a write can be made: the charge that is refunded, the version that is
    /// changed.
    facts: fn(&Wire<'_>, &Step, Manner) -> Result<Value, Trouble>,
    /// The request that does it.
    write: fn(&Step, &Value, Manner) -> Result<Ask, Trouble>,
    /// Looks whether it has happened.
    look: fn(&Wire<'_>, &Step, &Value) -> Result<Seen, Trouble>,
}

/// The tools. A new one is added here.
const TOOLS: [Tool; 5] = [payment::TOOL, email::TOOL, deploy::TOOL, records::TOOL, tickets::TOOL];

/// What has to be read before a write can be made.
pub(super) fn facts(wire: &Wire<'_>, step: &Step, manner: Manner) -> Result<Value, Trouble> {
    (tool(step)?.facts)(wire, step, manner)
}

/// The request that does it.
pub(super) fn write(step: &Step, facts: &Value, manner: Manner) -> Result<Ask, Trouble> {
    (tool(step)?.write)(step, facts, manner)
}

/// Looks whether it has happened.
pub(super) fn look(wire: &Wire<'_>, step: &Step, facts: &Value) -> Result<Seen, Trouble> {
    (tool(step)?.look)(wire, step, facts)
}

/// The tool for the service of a step.
fn tool(step: &Step) -> Result<&'static Tool, Trouble> {
    let service = step.operation.split_once('.').map_or("", |(service, _)| service);
    TOOLS.iter().find(|tool| tool.service == service).ok_or_else(|| unknown(step))
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

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;

    use super::*;
    use crate::subject::control::wire::Content;

    #[test]
    fn every_shipped_service_has_a_tool() {
        let tools: Vec<&str> = TOOLS.iter().map(|tool| tool.service).collect();
        assert_eq!(tools, mock_services::catalog::names().collect::<Vec<_>>());
    }

    /// The tool of `docs/adding-a-service.md`.
    #[test]
    fn the_tool_of_the_example_asks_for_a_label() {
        let with = Fields::new().with("order", "ord_1").with("country", "de");
        let step = Step { operation: "shipping.buy".to_owned(), with };
        assert_eq!(shipping::TOOL.service, "shipping");
        let ask = (shipping::TOOL.write)(&step, &Value::Null, Manner::Plain).unwrap();
        assert_eq!((ask.method, ask.path.as_str()), ("POST", "/labels"));
        let expected = serde_json::json!({ "order": "ord_1", "country": "de" });
        assert_eq!(ask.content, Content::Json(expected));
    }
}
