//! Parses requests: paths, parameters and bodies. It reads no state.

use serde_json::Value;

use super::condition::Conditions;
use super::number::first_inexact;
use super::problem;
use super::state::field_value;
use crate::endpoints;
use crate::service::{Answer, Fields, Operation, Request};

/// The maximum length of a key, in bytes.
const MAX_KEY_BYTES: usize = 256;
/// The maximum length of a value, in bytes of JSON.
const MAX_VALUE_BYTES: usize = 256 * 1024;
/// The default and the maximum number of entries in a list.
const LIST_LIMITS: (usize, usize) = (100, 1000);

/// The rule for `by`, as the error states it.
const BY_RULE: &str = "It must be a whole number from -9223372036854775808 to 9223372036854775807 but 0.";

const PUT: usize = 0;
const DELETE: usize = 1;
const INCREMENT: usize = 2;
const GET: usize = 3;
const LIST: usize = 4;
const COUNTER: usize = 5;

/// The action that a request asks for.
#[derive(Debug)]
pub(crate) enum RecordsAction {
    Put { key: String, value: Value, conditions: Conditions },
    Delete { key: String, conditions: Conditions },
    Increment { counter: String, by: i64 },
    Get { key: String, conditions: Conditions },
    List(KeyRange),
    Counter { counter: String },
    Counters(KeyRange),
}

/// The part of a list that a request asks for.
#[derive(Debug)]
pub(crate) struct KeyRange {
    pub(crate) prefix: String,
    pub(crate) after: String,
    pub(crate) limit: usize,
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::write("records.put", &["key", "value"], &["key", "value"]),
        Operation::write("records.delete", &["key"], &["key"]),
        Operation::write("records.increment", &["counter", "by"], &["counter", "by"]),
        Operation::read("records.get", &["key"]),
        Operation::read("records.list", &["prefix"]),
        Operation::read("records.counter", &["counter"]),
    ]
}

/// The operation, the fields of the request, and the action.
pub(crate) fn route(
    request: &Request,
    require_if_match: bool,
) -> Result<(usize, Fields, RecordsAction), Answer> {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let of = |key: &str| Fields::new().with("key", key);
    Ok(match (request.method(), segments.as_slice()) {
        ("GET", ["records"]) => {
            let range = range(request)?;
            let prefix = Some(range.prefix.as_str()).filter(|prefix| !prefix.is_empty());
            (LIST, Fields::new().with_some("prefix", prefix), RecordsAction::List(range))
        }
        ("GET", ["records", name]) => {
            let key = key(name)?;
            (GET, of(&key), RecordsAction::Get { key, conditions: Conditions::read(request)? })
        }
        ("PUT", ["records", name]) => {
            let key = key(name)?;
            let conditions = conditions(request, require_if_match)?;
            let value = value(request)?;
            (PUT, of(&key).with("value", field_value(&value)), RecordsAction::Put { key, value, conditions })
        }
        ("DELETE", ["records", name]) => {
            let key = key(name)?;
            (
                DELETE,
                of(&key),
                RecordsAction::Delete { key, conditions: conditions(request, require_if_match)? },
            )
        }
        ("GET", ["counters"]) => (COUNTER, Fields::new(), RecordsAction::Counters(range(request)?)),
        ("GET", ["counters", name]) => {
            let counter = key(name)?;
            (COUNTER, Fields::new().with("counter", counter.as_str()), RecordsAction::Counter { counter })
        }
        ("POST", ["counters", name, "increment"]) => {
            let (counter, by) = (key(name)?, by(request)?);
            (
                INCREMENT,
                Fields::new().with("counter", counter.as_str()).with("by", by),
                RecordsAction::Increment { counter, by },
            )
        }
        (_, ["records"] | ["counters"] | ["counters", _]) => return Err(problem::method_not_allowed("GET")),
        (_, ["records", _]) => return Err(problem::method_not_allowed("DELETE, GET, PUT")),
        (_, ["counters", _, "increment"]) => return Err(problem::method_not_allowed("POST")),
        _ => return Err(no_endpoint(request)),
    })
}

/// The refusal of a request for a path that the store does not have.
pub(crate) fn unknown_path(request: &Request) -> Option<Answer> {
    let segments = request.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let is_known = matches!(
        segments.as_slice(),
        ["records" | "counters"] | ["records" | "counters", _] | ["counters", _, "increment"]
    );
    (!is_known).then(|| no_endpoint(request))
}

fn no_endpoint(request: &Request) -> Answer {
    problem::not_found(&endpoints::no_such_endpoint(
        "records",
        "an API of its own",
        request.method(),
        request.path(),
    ))
}

fn key(name: &str) -> Result<String, Answer> {
    // U+FFFD stands for bytes that were not UTF-8.
    let foreign = |c: char| c == '/' || c == char::REPLACEMENT_CHARACTER || c.is_control();
    if name.len() > MAX_KEY_BYTES || name.contains(foreign) {
        return Err(problem::bad_parameter(
            "key",
            "It must be printable UTF-8 of 1 to 256 bytes without a slash.",
        ));
    }
    Ok(name.to_owned())
}

fn conditions(request: &Request, required: bool) -> Result<Conditions, Answer> {
    let conditions = Conditions::read(request)?;
    if required && conditions.is_empty() {
        return Err(problem::precondition_required());
    }
    Ok(conditions)
}

fn value(request: &Request) -> Result<Value, Answer> {
    let Value::Object(mut members) = json(request)? else {
        return Err(problem::malformed("The body is not a JSON object."));
    };
    let Some(value) = members.remove("value") else {
        return Err(problem::invalid("value", "It is required."));
    };
    if let Some(number) = std::str::from_utf8(request.bytes()).ok().and_then(first_inexact) {
        return Err(problem::inexact(number));
    }
    if value.to_string().len() > MAX_VALUE_BYTES {
        return Err(problem::too_large());
    }
    Ok(value)
}

/// The amount that a counter is increased by; 1 by default.
fn by(request: &Request) -> Result<i64, Answer> {
    if request.bytes().is_empty() {
        return Ok(1);
    }
    let Value::Object(members) = json(request)? else {
        return Err(problem::malformed("The body is not a JSON object."));
    };
    match members.get("by") {
        None => Ok(1),
        Some(by) => by.as_i64().filter(|by| *by != 0).ok_or_else(|| problem::invalid("by", BY_RULE)),
    }
}

fn json(request: &Request) -> Result<Value, Answer> {
    serde_json::from_slice(request.bytes()).map_err(|_| problem::malformed("The body is not JSON."))
}

fn range(request: &Request) -> Result<KeyRange, Answer> {
    let text = |name| request.query_value(name).unwrap_or_default();
    let limit = match request.query_value("limit").map(|limit| limit.parse::<usize>()) {
        None => LIST_LIMITS.0,
        Some(Ok(limit)) if (1..=LIST_LIMITS.1).contains(&limit) => limit,
        Some(_) => return Err(problem::bad_parameter("limit", "It must be a whole number from 1 to 1000.")),
    };
    Ok(KeyRange { prefix: text("prefix"), after: text("after"), limit })
}
