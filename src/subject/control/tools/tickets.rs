//! Tickets: the shipped service that a YAML file declares.

use serde_json::{Map, Value, json};

use super::{Observation, Tool, ToolError, members, only, read, required, rows, text, word};
use crate::scenario::Step;
use crate::subject::control::wire::{Content, ToolRequest, Wire, escaped};

pub(super) const TOOL: Tool = Tool {
    service: "tickets",
    facts: |wire, step, _| facts(wire, step),
    write: |step, facts, _| write(step, facts),
    observe,
};

/// The ticket to answer or close.
fn facts(wire: &Wire<'_>, step: &Step) -> Result<Value, ToolError> {
    if !matches!(step.operation.as_str(), "tickets.answer" | "tickets.close") {
        return Ok(Value::Null);
    }
    if let Some(id) = text(step, "id").or_else(|| text(step, "ticket")) {
        return Ok(json!({ "id": id }));
    }
    let found = tickets(wire, step)?.into_iter().find(|ticket| is_this(ticket, step));
    let found = found.ok_or_else(|| ToolError::Impossible("no matching ticket".to_owned()))?;
    Ok(json!({ "id": word(&found, "id") }))
}

fn write(step: &Step, facts: &Value) -> Result<ToolRequest, ToolError> {
    let body = |names: &[&str]| {
        let given =
            names.iter().filter_map(|name| Some(((*name).to_owned(), super::json(step.with.get(name)?))));
        Content::Json(Value::Object(given.collect::<Map<_, _>>()))
    };
    let id = escaped(word(facts, "id"));
    Ok(match step.operation.as_str() {
        "tickets.open" => {
            ToolRequest::new("tickets", "POST", "/tickets", body(&["customer", "subject", "text", "order"]))
        }
        "tickets.answer" => {
            ToolRequest::new("tickets", "POST", format!("/tickets/{id}/answers"), body(&["text"]))
        }
        "tickets.close" => ToolRequest::new("tickets", "POST", format!("/tickets/{id}/close"), body(&[])),
        "tickets.notify" => {
            let content =
                json!({"subject": required(step, "subject")?, "recipients": members(step, recipients(step))});
            ToolRequest::new("tickets", "POST", "/notices", Content::Json(content))
        }
        "tickets.list" => ToolRequest::new("tickets", "GET", "/tickets", Content::Nothing),
        _ => return Err(super::unknown(step)),
    })
}

fn observe(wire: &Wire<'_>, step: &Step, facts: &Value) -> Result<Observation, ToolError> {
    let is_there = match step.operation.as_str() {
        "tickets.open" => tickets(wire, step)?.iter().any(|ticket| is_this(ticket, step)),
        "tickets.answer" => ticket(wire, facts)?
            .is_some_and(|ticket| text(step, "text").as_deref() == Some(word(&ticket, "last_answer"))),
        "tickets.close" => ticket(wire, facts)?.is_some_and(|ticket| word(&ticket, "state") == "closed"),
        "tickets.notify" => {
            let path = format!("/notices?subject={}", escaped(&required(step, "subject")?));
            return Ok(notified(step, &rows(read(wire, "tickets", &path)?, "data")));
        }
        "tickets.list" => true,
        _ => return Err(super::unknown(step)),
    };
    Ok(if is_there { Observation::Done } else { Observation::Absent })
}

fn notified(step: &Step, notices: &[Value]) -> Observation {
    let name = recipients(step);
    let all = members(step, name);
    let has = |recipient: &String| notices.iter().any(|notice| word(notice, "recipient") == recipient);
    let rest: Vec<String> = all.iter().filter(|recipient| !has(recipient)).cloned().collect();
    match rest.len() {
        0 => Observation::Done,
        missing if missing == all.len() => Observation::Absent,
        _ => Observation::Partly(only(step, name, rest)),
    }
}

/// The name under which a step has its recipients.
fn recipients(step: &Step) -> &'static str {
    if step.with.get("recipients").is_some() { "recipients" } else { "recipient" }
}

fn tickets(wire: &Wire<'_>, step: &Step) -> Result<Vec<Value>, ToolError> {
    let filters: Vec<String> = ["customer", "order"]
        .iter()
        .filter_map(|name| Some(format!("{name}={}", escaped(&text(step, name)?))))
        .collect();
    Ok(rows(read(wire, "tickets", &format!("/tickets?{}", filters.join("&")))?, "data"))
}

fn ticket(wire: &Wire<'_>, facts: &Value) -> Result<Option<Value>, ToolError> {
    read(wire, "tickets", &format!("/tickets/{}", escaped(word(facts, "id"))))
}

fn is_this(ticket: &Value, step: &Step) -> bool {
    ["customer", "order", "subject"]
        .iter()
        .all(|name| text(step, name).is_none_or(|wanted| word(ticket, name) == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mock_services::service::Fields;

    #[test]
    fn who_has_not_been_told_is_left_over() {
        let everyone = vec!["ann".to_owned(), "bob".to_owned()];
        let with = Fields::new().with("recipients", everyone).with("subject", "Late");
        let step = Step { operation: "tickets.notify".to_owned(), with };
        let ann = json!({"recipient": "ann"});
        assert_eq!(notified(&step, &[]), Observation::Absent);
        assert_eq!(
            notified(&step, std::slice::from_ref(&ann)),
            Observation::Partly(only(&step, "recipients", vec!["bob".to_owned()]))
        );
        assert_eq!(notified(&step, &[ann, json!({"recipient": "bob"})]), Observation::Done);
    }
}
