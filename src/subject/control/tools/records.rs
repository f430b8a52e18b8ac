//! The record store: values with versions, and counters.

use serde_json::{Value, json};

use super::{Manner, Seen, Tool, Trouble, read, required, text};
use crate::scenario::Step;
use crate::subject::control::wire::{Ask, Content, Wire, escaped};

pub(super) const TOOL: Tool = Tool { service: "records", facts, write, look };

/// What stood there before the first attempt. Without it, a counter tells nothing, and `add` does not know
/// what to add to.
fn facts(wire: &Wire<'_>, step: &Step, manner: Manner) -> Result<Value, Trouble> {
    let careful = manner == Manner::Conditional;
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

fn write(step: &Step, facts: &Value, manner: Manner) -> Result<Ask, Trouble> {
    match step.operation.as_str() {
        "records.put" => {
            let ask = Ask::new(
                "records",
                "PUT",
                record_path(step)?,
                Content::Json(json!({"value": wanted(step, facts)?})),
            );
            Ok(match (manner, facts.get("version").and_then(Value::as_u64)) {
                (Manner::Plain, _) => ask,
                (Manner::Conditional, Some(version)) => ask.header("If-Match", format!("\"{version}\"")),
                (Manner::Conditional, None) => ask.header("If-None-Match", "*"),
            })
        }
        "records.delete" => Ok(Ask::new("records", "DELETE", record_path(step)?, Content::Nothing)),
        "records.increment" => {
            let path = format!("{}/increment", counter_path(step)?);
            Ok(Ask::new("records", "POST", path, Content::Json(json!({"by": by(step, "by")}))))
        }
        "records.get" => Ok(Ask::new("records", "GET", record_path(step)?, Content::Nothing)),
        "records.counter" => Ok(Ask::new("records", "GET", counter_path(step)?, Content::Nothing)),
        _ => Err(super::unknown(step)),
    }
}

fn look(wire: &Wire<'_>, step: &Step, facts: &Value) -> Result<Seen, Trouble> {
    match step.operation.as_str() {
        "records.put" => {
            let record = read(wire, "records", &record_path(step)?)?.unwrap_or_default();
            Ok(put_seen(&record, &wanted(step, facts)?, facts))
        }
        "records.delete" => {
            let record = read(wire, "records", &record_path(step)?)?;
            Ok(if record.is_some() { Seen::Absent } else { Seen::Done })
        }
        "records.increment" => {
            let Some(before) = facts.get("value").and_then(Value::as_i64) else { return Ok(Seen::Unclear) };
            let counter = read(wire, "records", &counter_path(step)?)?.unwrap_or_default();
            Ok(counter_seen(
                counter.get("value").and_then(Value::as_i64).unwrap_or_default(),
                before,
                by(step, "by"),
            ))
        }
        "records.get" | "records.counter" => Ok(Seen::Done),
        _ => Err(super::unknown(step)),
    }
}

/// What a record tells. Where its version was known before, only the version after that one can be this
/// write.
fn put_seen(record: &Value, wanted: &Value, facts: &Value) -> Seen {
    let version = |of: &Value| of.get("version").and_then(Value::as_u64);
    let is_wanted = record.get("value") == Some(wanted);
    if facts.get("version").is_none() {
        return if is_wanted { Seen::Done } else { Seen::Absent };
    }
    let (before, now) = (version(facts), version(record));
    match (is_wanted && now != before, now) {
        (true, _) => Seen::Done,
        (false, now) if now == before => Seen::Absent,
        // Somebody else's write took the place of this one, which can no longer be made on what it was built
        // on.
        (false, Some(now)) if now == before.unwrap_or(0) + 1 => Seen::Absent,
        (false, _) => Seen::Unclear,
    }
}

/// What a counter tells that stood at `before`: others may have moved it too.
fn counter_seen(now: i64, before: i64, by: i64) -> Seen {
    match now {
        now if now == before => Seen::Absent,
        now if Some(now) == before.checked_add(by) => Seen::Done,
        _ => Seen::Unclear,
    }
}

/// The value that is to stand there afterwards.
fn wanted(step: &Step, facts: &Value) -> Result<Value, Trouble> {
    if step.with.get("add").is_some() {
        let before = facts.get("value").and_then(Value::as_i64).unwrap_or_default();
        return Ok(before.saturating_add(by(step, "add")).into());
    }
    let value = step.with.get("value");
    value
        .map(super::json)
        .ok_or_else(|| Trouble::Impossible("records.put needs the field `value` or `add`".to_owned()))
}

fn by(step: &Step, name: &str) -> i64 {
    text(step, name).and_then(|by| by.parse().ok()).unwrap_or(1)
}

fn record_path(step: &Step) -> Result<String, Trouble> {
    Ok(format!("/records/{}", escaped(&required(step, "key")?)))
}

fn counter_path(step: &Step) -> Result<String, Trouble> {
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
    fn a_sum_is_built_on_what_was_read_and_may_insist_on_it() {
        let facts = json!({"version": 3, "value": 10});
        let plain = write(&add(2), &facts, Manner::Plain).unwrap();
        assert_eq!((plain.content.clone(), plain.headers.len()), (Content::Json(json!({"value": 12})), 0));
        assert_eq!(
            write(&add(2), &facts, Manner::Conditional).unwrap().headers,
            [("If-Match", "\"3\"".to_owned())]
        );
        let first = write(&add(2), &json!({"version": null, "value": null}), Manner::Conditional).unwrap();
        assert_eq!(
            (first.content, first.headers),
            (Content::Json(json!({"value": 2})), vec![("If-None-Match", "*".to_owned())])
        );
    }

    #[test]
    fn only_a_version_that_was_not_there_before_can_be_this_write() {
        let facts = json!({"version": 3, "value": 10});
        let seen = |version: u64, value: i64| {
            put_seen(&json!({"version": version, "value": value}), &json!(12), &facts)
        };
        assert_eq!([seen(3, 10), seen(3, 12), seen(4, 12)], [Seen::Absent, Seen::Absent, Seen::Done]);
        assert_eq!([seen(4, 11), seen(5, 20)], [Seen::Absent, Seen::Unclear]);
        assert_eq!(put_seen(&Value::Null, &json!(1), &json!({"version": null})), Seen::Absent);
        assert_eq!(put_seen(&json!({"version": 1, "value": 1}), &json!(1), &Value::Null), Seen::Done);
    }

    #[test]
    fn a_counter_that_others_moved_tells_nothing() {
        assert_eq!(
            [counter_seen(5, 5, 2), counter_seen(7, 5, 2), counter_seen(9, 5, 2)],
            [Seen::Absent, Seen::Done, Seen::Unclear]
        );
    }
}
