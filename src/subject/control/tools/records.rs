//! The record store: values with versions, and counters.

use serde_json::{Value, json};

use super::{Observation, Tool, ToolError, WriteMode, read, required, text};
use crate::scenario::Step;
use crate::subject::control::wire::{Content, ToolRequest, Wire, escaped};

pub(super) const TOOL: Tool = Tool { service: "records", facts, write, observe };

/// What stood there before the first attempt. Without it, a counter tells nothing, and `add` does not know
/// what to add to.
fn facts(wire: &Wire<'_>, step: &Step, mode: WriteMode) -> Result<Value, ToolError> {
    let careful = mode == WriteMode::Conditional;
    match step.operation.as_str() {
        "records.put" if careful || step.with.get("add").is_some() => {
            let record = read(wire, "records", &record_path(step)?)?.unwrap_or_default();
            Ok(json!({"version": record.get("version"), "value": record.get("value")}))
        }
        "records.increment" if careful => {
            let counter = read(wire, "records", &counter_path(step)?)?.unwrap_or_default();
            Ok(json!({"value": counter.get("value").and_then(Value::as_i64).unwrap_or_default()}))
        }
        _ => Ok(Value::Null),
    }
}

fn write(step: &Step, facts: &Value, mode: WriteMode) -> Result<ToolRequest, ToolError> {
    match step.operation.as_str() {
        "records.put" => {
            let request = ToolRequest::new(
                "records",
                "PUT",
                record_path(step)?,
                Content::Json(json!({"value": wanted(step, facts)?})),
            );
            Ok(match (mode, facts.get("version").and_then(Value::as_u64)) {
                (WriteMode::Plain, _) => request,
                (WriteMode::Conditional, Some(version)) => {
                    request.header("If-Match", format!("\"{version}\""))
                }
                (WriteMode::Conditional, None) => request.header("If-None-Match", "*"),
            })
        }
        "records.delete" => Ok(ToolRequest::new("records", "DELETE", record_path(step)?, Content::Nothing)),
        "records.increment" => {
            let path = format!("{}/increment", counter_path(step)?);
            Ok(ToolRequest::new("records", "POST", path, Content::Json(json!({"by": by(step, "by")}))))
        }
        "records.get" => Ok(ToolRequest::new("records", "GET", record_path(step)?, Content::Nothing)),
        "records.counter" => Ok(ToolRequest::new("records", "GET", counter_path(step)?, Content::Nothing)),
        _ => Err(super::unknown(step)),
    }
}

fn observe(wire: &Wire<'_>, step: &Step, facts: &Value) -> Result<Observation, ToolError> {
    match step.operation.as_str() {
        "records.put" => {
            let record = read(wire, "records", &record_path(step)?)?.unwrap_or_default();
            Ok(put_observation(&record, &wanted(step, facts)?, facts))
        }
        "records.delete" => {
            let record = read(wire, "records", &record_path(step)?)?;
            Ok(if record.is_some() { Observation::Absent } else { Observation::Done })
        }
        "records.increment" => {
            let Some(before) = facts.get("value").and_then(Value::as_i64) else {
                return Ok(Observation::Unclear);
            };
            let counter = read(wire, "records", &counter_path(step)?)?.unwrap_or_default();
            Ok(counter_observation(
                counter.get("value").and_then(Value::as_i64).unwrap_or_default(),
                before,
                by(step, "by"),
            ))
        }
        "records.get" | "records.counter" => Ok(Observation::Done),
        _ => Err(super::unknown(step)),
    }
}

/// The observation from a record. If the version before was read, only the next version can be this write.
fn put_observation(record: &Value, wanted: &Value, facts: &Value) -> Observation {
    let version = |of: &Value| of.get("version").and_then(Value::as_u64);
    let is_wanted = record.get("value") == Some(wanted);
    if facts.get("version").is_none() {
        return if is_wanted { Observation::Done } else { Observation::Absent };
    }
    let (before, now) = (version(facts), version(record));
    match (is_wanted && now != before, now) {
        (true, _) => Observation::Done,
        (false, now) if now == before => Observation::Absent,
        // Another write came first, so this one can no longer succeed on the version that it was based on.
        (false, Some(now)) if now == before.unwrap_or(0) + 1 => Observation::Absent,
        (false, _) => Observation::Unclear,
    }
}

/// The observation from a counter that was at `before`; other callers can have changed it, too.
fn counter_observation(now: i64, before: i64, by: i64) -> Observation {
    match now {
        now if now == before => Observation::Absent,
        now if Some(now) == before.checked_add(by) => Observation::Done,
        _ => Observation::Unclear,
    }
}

/// The value that the step writes.
fn wanted(step: &Step, facts: &Value) -> Result<Value, ToolError> {
    if step.with.get("add").is_some() {
        let before = facts.get("value").and_then(Value::as_i64).unwrap_or_default();
        return Ok(before.saturating_add(by(step, "add")).into());
    }
    let value = step.with.get("value");
    value
        .map(super::json)
        .ok_or_else(|| ToolError::Impossible("records.put needs the field `value` or `add`".to_owned()))
}

fn by(step: &Step, name: &str) -> i64 {
    text(step, name).and_then(|by| by.parse().ok()).unwrap_or(1)
}

fn record_path(step: &Step) -> Result<String, ToolError> {
    Ok(format!("/records/{}", escaped(&required(step, "key")?)))
}

fn counter_path(step: &Step) -> Result<String, ToolError> {
    Ok(format!("/counters/{}", escaped(&required(step, "counter")?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mock_services::service::Fields;

    fn add(by: i64) -> Step {
        Step { operation: "records.put".to_owned(), with: Fields::new().with("key", "stock").with("add", by) }
    }

    #[test]
    fn a_sum_is_based_on_what_was_read_and_can_be_conditional() {
        let facts = json!({"version": 3, "value": 10});
        let plain = write(&add(2), &facts, WriteMode::Plain).unwrap();
        assert_eq!((plain.content.clone(), plain.headers.len()), (Content::Json(json!({"value": 12})), 0));
        assert_eq!(
            write(&add(2), &facts, WriteMode::Conditional).unwrap().headers,
            [("If-Match", "\"3\"".to_owned())]
        );
        let first = write(&add(2), &json!({"version": null, "value": null}), WriteMode::Conditional).unwrap();
        assert_eq!(
            (first.content, first.headers),
            (Content::Json(json!({"value": 2})), vec![("If-None-Match", "*".to_owned())])
        );
    }

    #[test]
    fn only_a_new_version_can_be_this_write() {
        let facts = json!({"version": 3, "value": 10});
        let observation = |version: u64, value: i64| {
            put_observation(&json!({"version": version, "value": value}), &json!(12), &facts)
        };
        assert_eq!(
            [observation(3, 10), observation(3, 12), observation(4, 12)],
            [Observation::Absent, Observation::Absent, Observation::Done]
        );
        assert_eq!([observation(4, 11), observation(5, 20)], [Observation::Absent, Observation::Unclear]);
        assert_eq!(put_observation(&Value::Null, &json!(1), &json!({"version": null})), Observation::Absent);
        assert_eq!(
            put_observation(&json!({"version": 1, "value": 1}), &json!(1), &Value::Null),
            Observation::Done
        );
    }

    #[test]
    fn a_counter_that_others_changed_is_unclear() {
        assert_eq!(
            [counter_observation(5, 5, 2), counter_observation(7, 5, 2), counter_observation(9, 5, 2)],
            [Observation::Absent, Observation::Done, Observation::Unclear]
        );
    }
}
