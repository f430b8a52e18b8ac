//! Any API: a step names the host, the path, the values of the body (`body.order`) and the condition of the write.

use serde_json::{Map, Value};

use super::{Observation, Tool, ToolError, required, text};
use crate::scenario::Step;
use crate::subject::control::answer::{Reply, ReplyClass};
use crate::subject::control::wire::{Content, ToolRequest, Wire};

pub(super) const TOOL: Tool = Tool {
    service: "web",
    facts: |_, _, _| Ok(Value::Null),
    write: |step, _, _| write(step),
    observe: |wire, step, _| observe(wire, step),
};

fn write(step: &Step) -> Result<ToolRequest, ToolError> {
    let method = match step.operation.as_str() {
        "web.post" => "POST",
        "web.put" => "PUT",
        "web.patch" => "PATCH",
        "web.delete" => "DELETE",
        "web.get" | "web.query" => "GET",
        _ => return Err(super::unknown(step)),
    };
    let body = body(step);
    let content = if body.is_null() { Content::Nothing } else { Content::Json(body) };
    let request = request(step, method, &required(step, "path")?, content);
    Ok(match text(step, "if_none_match") {
        Some(condition) => request.header("If-None-Match", condition),
        None => request,
    })
}

fn observe(wire: &Wire<'_>, step: &Step) -> Result<Observation, ToolError> {
    let reply = wire.send(&request(step, "GET", &required(step, "path")?, Content::Nothing));
    let found = match reply {
        Reply { class: ReplyClass::Done, body, .. } => body,
        Reply { status: Some(404), .. } => Value::Null,
        _ => return Err(ToolError::Unanswered),
    };
    let wanted = body(step);
    let is_there = match step.operation.as_str() {
        "web.post" => {
            let rows = found.get("data").and_then(Value::as_array);
            rows.into_iter().flatten().any(|row| has(row, &wanted))
        }
        "web.put" | "web.patch" => has(&found, &wanted),
        "web.delete" => found.is_null(),
        _ => true,
    };
    Ok(if is_there { Observation::Done } else { Observation::Absent })
}

/// A request to the host of the step. The service is on this machine, and the header says which host is meant.
fn request(step: &Step, method: &'static str, path: &str, content: Content) -> ToolRequest {
    let request = ToolRequest::new("web", method, path, content);
    match text(step, "host") {
        Some(host) => request.header("Host", host),
        None => request,
    }
}

/// The body that the step describes: `body.a.b` is a value of it. `Null` if the step has none.
fn body(step: &Step) -> Value {
    let mut all = Value::Null;
    for (name, value) in step.with.iter() {
        let Some(path) = name.strip_prefix("body.") else { continue };
        let mut place = &mut all;
        for part in path.split('.') {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            place = &mut place[part];
        }
        *place = super::json(value);
    }
    all
}

/// Whether a value has everything that is wanted.
fn has(value: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::Null => !value.is_null(),
        Value::Object(entries) => entries.iter().all(|(name, wanted)| has(&value[name.as_str()], wanted)),
        plain => value == plain,
    }
}

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_step_names_the_host_the_path_and_the_values_of_the_body() {
        let with = Fields::new()
            .with("host", "api.example.com")
            .with("path", "/v1/orders")
            .with("body.order.id", "ord_1")
            .with("body.amount", 5)
            .with("if_none_match", "*");
        let step = Step { operation: "web.post".to_owned(), with };
        let request = write(&step).unwrap();
        assert_eq!((request.method, request.path.as_str()), ("POST", "/v1/orders"));
        let headers = [("Host", "api.example.com".to_owned()), ("If-None-Match", "*".to_owned())];
        assert_eq!(request.headers, headers);
        assert_eq!(request.content, Content::Json(json!({ "order": { "id": "ord_1" }, "amount": 5 })));
    }

    #[test]
    fn a_value_that_has_more_than_is_wanted_has_it() {
        let wanted = json!({ "order": { "id": "ord_1" } });
        assert!(has(&json!({ "id": "x", "order": { "id": "ord_1", "size": 5 } }), &wanted));
        assert!(!has(&json!({ "order": { "id": "ord_2" } }), &wanted));
        assert!(!has(&Value::Null, &Value::Null));
    }
}
