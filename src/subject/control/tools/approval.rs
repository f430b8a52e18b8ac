//! Approvals: a question is asked with one request, and all questions can be listed.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::{Observation, Tool, ToolError, read, required, rows, text, word};
use crate::domain::{Decision, Question};
use crate::scenario::Step;
use crate::subject::control::environment::Environment;
use crate::subject::control::wire::{Content, ToolRequest, Wire};

/// How long a control waits for an answer, and how often it reads at most: services can count requests.
const PATIENCE: Duration = Duration::from_secs(10);
const MAX_READS: u32 = 12;
/// The service and its write.
const SERVICE: &str = "approval";
const REQUEST: &str = "approval.request";

pub(super) const TOOL: Tool = Tool {
    service: SERVICE,
    facts: |_, _, _| Ok(Value::Null),
    write: |step, _, _| write(step),
    observe: |wire, step, _| observe(wire, step),
};

/// Whether the trial has a service that can be asked.
pub(in crate::subject::control) fn is_there(environment: &Environment) -> bool {
    environment.service(SERVICE).is_some()
}

/// The step that asks a question.
pub(in crate::subject::control) fn asking(question: &Question) -> Step {
    let with = question.fields.clone().with("operation", question.operation.as_str());
    Step { operation: REQUEST.to_owned(), with }
}

/// Waits for the answer to the question that a step asked; `None` if there is none.
pub(in crate::subject::control) fn answer(wire: &Wire<'_>, asking: &Step) -> Option<Decision> {
    let began = Instant::now();
    for _ in 0..MAX_READS {
        if began.elapsed() >= PATIENCE {
            return None;
        }
        let Ok(list) = read(wire, SERVICE, "/approvals") else { continue };
        let Some(asked) = rows(list, "approvals").into_iter().rfind(|question| is_this(question, asking))
        else {
            continue;
        };
        let shown = |question: &Value| word(question, "status").parse().ok();
        if let Some(decision) = shown(&asked) {
            return Some(decision);
        }
        let path = format!("/approvals/{}?wait={}s", word(&asked, "id"), PATIENCE.as_secs());
        let Ok(Some(question)) = read(wire, SERVICE, &path) else { continue };
        if let Some(decision) = shown(&question) {
            return Some(decision);
        }
    }
    None
}

fn write(step: &Step) -> Result<ToolRequest, ToolError> {
    if step.operation != REQUEST {
        return Err(super::unknown(step));
    }
    let fields = step.with.iter().filter(|(name, _)| *name != "operation");
    let fields: Map<String, Value> =
        fields.map(|(name, value)| (name.to_owned(), super::json(value))).collect();
    let body = json!({ "operation": required(step, "operation")?, "fields": fields });
    Ok(ToolRequest::new(SERVICE, "POST", "/approvals", Content::Json(body)))
}

fn observe(wire: &Wire<'_>, step: &Step) -> Result<Observation, ToolError> {
    let asked = rows(read(wire, SERVICE, "/approvals")?, "approvals");
    let is_there = asked.iter().any(|question| is_this(question, step));
    Ok(if is_there { Observation::Done } else { Observation::Absent })
}

fn is_this(question: &Value, step: &Step) -> bool {
    let fields = question.get("fields").unwrap_or(&Value::Null);
    let has = |name: &str| {
        let found = if name == "operation" { question.get(name) } else { fields.get(name) };
        let found = found.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        found == text(step, name)
    };
    word(question, "status") != "canceled" && step.with.iter().all(|(name, _)| has(name))
}
