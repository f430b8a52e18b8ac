//! The requests for each operation, and the reads that verify it. A tool decides nothing: the policy decides
//! what to do with an observation.

pub(super) mod approval;
mod deploy;
mod email;
mod payment;
mod products;
mod records;
#[cfg(test)]
mod shipping;
mod tickets;
mod web;

use mock_services::service::Value as Field;
use serde_json::Value;

use super::answer::ReplyClass;
use super::wire::{ToolRequest, Wire};
use crate::scenario::Step;

/// How a write is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteMode {
    /// Without a condition.
    Plain,
    /// Only if the version is the one that was read, where the service supports it.
    Conditional,
}

/// The observed state of an intent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Observation {
    /// The effect exists.
    Done,
    /// The effect exists too many times; these steps undo the surplus.
    Surplus(Vec<Step>),
    /// It has started and continues by itself.
    InProgress,
    /// The service has accepted it, but it has not happened.
    Accepted,
    /// It has failed permanently.
    Failed,
    /// A part of it exists; this is the rest.
    Partly(Box<Step>),
    /// The effect does not exist.
    Absent,
    /// The state that was read does not show it.
    Unclear,
}

/// Why a tool failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolError {
    /// The service did not reply.
    Unanswered,
    /// The step cannot be executed: why.
    Impossible(String),
}

/// How a control uses one service.
struct Tool {
    /// The name of the service.
    service: &'static str,
    /// What has to be read before a write can be made: the charge that is refunded, the version that is
    /// changed.
    facts: fn(&Wire<'_>, &Step, WriteMode) -> Result<Value, ToolError>,
    /// The request for a step.
    write: fn(&Step, &Value, WriteMode) -> Result<ToolRequest, ToolError>,
    /// Reads whether a step has happened.
    observe: fn(&Wire<'_>, &Step, &Value) -> Result<Observation, ToolError>,
}

/// The tools. A new one is added here.
const TOOLS: [Tool; 7] =
    [payment::TOOL, email::TOOL, deploy::TOOL, records::TOOL, web::TOOL, approval::TOOL, tickets::TOOL];

/// Where the body of an event of a service has the id of the object that the event is about.
pub(super) const EVENT_OBJECTS: [&str; 5] =
    ["/data/object/id", "/data/email_id", "/deployment/id", "/data/id", "/0/sg_message_id"];

/// What has to be read before a write can be made.
pub(super) fn facts(wire: &Wire<'_>, step: &Step, mode: WriteMode) -> Result<Value, ToolError> {
    (tool(step)?.facts)(wire, step, mode)
}

/// The request for a step.
pub(super) fn write(step: &Step, facts: &Value, mode: WriteMode) -> Result<ToolRequest, ToolError> {
    (tool(step)?.write)(step, facts, mode)
}

/// Reads whether a step has happened.
pub(super) fn observe(wire: &Wire<'_>, step: &Step, facts: &Value) -> Result<Observation, ToolError> {
    (tool(step)?.observe)(wire, step, facts)
}

/// Whether the object of an event has changed since the event was made; each tool asks its own service.
pub(super) fn is_stale_event(wire: &Wire<'_>, event: &Value) -> bool {
    payment::is_stale_event(wire, event)
}

/// Whether there is a tool for the service of a step.
pub(super) fn is_supported(step: &Step) -> bool {
    tool(step).is_ok()
}

/// The step that undoes a step, if there is one.
pub(super) fn undo(step: &Step) -> Option<Step> {
    payment::undo(step)
}

/// The tool for the service of a step.
fn tool(step: &Step) -> Result<&'static Tool, ToolError> {
    let service = step.operation.split_once('.').map_or("", |(service, _)| service);
    TOOLS.iter().find(|tool| tool.service == service).ok_or_else(|| unknown(step))
}

fn unknown(step: &Step) -> ToolError {
    ToolError::Impossible(format!("controls do not support {}", step.operation))
}

/// A field as text.
fn text(step: &Step, name: &str) -> Option<String> {
    step.with.get(name).map(ToString::to_string)
}

/// A required field as text.
fn required(step: &Step, name: &str) -> Result<String, ToolError> {
    text(step, name)
        .ok_or_else(|| ToolError::Impossible(format!("{} needs the field `{name}`", step.operation)))
}

/// A field with one or several values.
fn members(step: &Step, name: &str) -> Vec<String> {
    match step.with.get(name) {
        None => Vec::new(),
        Some(Field::List(members)) => members.clone(),
        Some(single) => vec![single.to_string()],
    }
}

/// The same step for only these members.
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

/// Reads an object; `None` when it does not exist.
fn read(wire: &Wire<'_>, service: &str, path: &str) -> Result<Option<Value>, ToolError> {
    let reply = wire.get(service, path);
    match (reply.class, reply.status) {
        (ReplyClass::Done, _) => Ok(Some(reply.body)),
        (_, Some(404)) => Ok(None),
        _ => Err(ToolError::Unanswered),
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
    fn every_shipped_service_with_effects_that_a_task_can_ask_for_has_a_tool() {
        let tools: Vec<&str> = TOOLS.iter().map(|tool| tool.service).collect();
        let services = mock_services::catalog::services().iter();
        let services = services.filter(|service| {
            service.effects.iter().any(|effect| !effect.is_cost || effect.approval.is_some())
        });
        assert_eq!(tools, services.map(|service| service.name.as_str()).collect::<Vec<_>>());
    }

    /// The tool of `docs/adding-a-service.md`.
    #[test]
    fn the_tool_of_the_example_asks_for_a_label() {
        let with = Fields::new().with("order", "ord_1").with("country", "de");
        let step = Step { operation: "shipping.buy".to_owned(), with };
        assert_eq!(shipping::TOOL.service, "shipping");
        let request = (shipping::TOOL.write)(&step, &Value::Null, WriteMode::Plain).unwrap();
        assert_eq!((request.method, request.path.as_str()), ("POST", "/labels"));
        let expected = serde_json::json!({ "order": "ord_1", "country": "de" });
        assert_eq!(request.content, Content::Json(expected));
    }
}
