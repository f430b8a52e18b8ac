//! The shipping service: a label is bought with one request, and the labels of an order can be listed.

use serde_json::{Value, json};

use super::{Seen, Tool, Trouble, read, required, rows, word};
use crate::scenario::Step;
use crate::subject::control::wire::{Ask, Content, Wire, escaped};

pub(super) const TOOL: Tool = Tool {
    service: "shipping",
    facts: |_, _, _| Ok(Value::Null),
    write: |step, _, _| write(step),
    look: |wire, step, _| look(wire, step),
};

fn write(step: &Step) -> Result<Ask, Trouble> {
    let body = json!({ "order": required(step, "order")?, "country": required(step, "country")? });
    Ok(Ask::new("shipping", "POST", "/labels", Content::Json(body)))
}

fn look(wire: &Wire<'_>, step: &Step) -> Result<Seen, Trouble> {
    let order = required(step, "order")?;
    let labels = rows(read(wire, "shipping", &format!("/labels?order={}", escaped(&order)))?, "labels");
    let is_there = labels.iter().any(|label| word(label, "order") == order);
    Ok(if is_there { Seen::Done } else { Seen::Absent })
}
