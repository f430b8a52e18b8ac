//! The shipping service: a label is bought with one request, and the labels of an order can be listed.

use serde_json::{Value, json};

use super::{Observation, Tool, ToolError, read, required, rows, word};
use crate::scenario::Step;
use crate::subject::control::wire::{Content, ToolRequest, Wire, escaped};

pub(super) const TOOL: Tool = Tool {
    service: "shipping",
    facts: |_, _, _| Ok(Value::Null),
    write: |step, _, _| write(step),
    observe: |wire, step, _| observe(wire, step),
};

fn write(step: &Step) -> Result<ToolRequest, ToolError> {
    let body = json!({ "order": required(step, "order")?, "country": required(step, "country")? });
    Ok(ToolRequest::new("shipping", "POST", "/labels", Content::Json(body)))
}

fn observe(wire: &Wire<'_>, step: &Step) -> Result<Observation, ToolError> {
    let order = required(step, "order")?;
    let labels = rows(read(wire, "shipping", &format!("/labels?order={}", escaped(&order)))?, "labels");
    let is_there = labels.iter().any(|label| word(label, "order") == order);
    Ok(if is_there { Observation::Done } else { Observation::Absent })
}
