//! What a request changes, and its answer.

use serde_json::{Map, Value, json};

use super::answers::DeclaredAnswer;
use super::content::text;
use super::request::ParsedRequest;
use super::state::{WebChange, WebItems, split};
use super::template::Values;
use super::unique::{UniqueField, conflict};
use super::{DELETE, Effect, GET, PATCH, POST, QUERY, error};
use crate::service::{Answer, Context, Decision, percent_decoded};

/// Decides a request. A declared answer replaces what the service would answer itself.
pub(super) fn decide(
    items: &WebItems,
    request: &ParsedRequest,
    declared: Option<&DeclaredAnswer>,
    unique: &[UniqueField],
    context: &Context,
) -> Decision<Effect> {
    let change = match request.operation {
        GET | QUERY => None,
        _ => Some(change(items, request, context)),
    };
    if let Some(taken) = change.as_ref().and_then(|change| conflict(unique, items, change)) {
        return Decision::refuse(taken);
    }
    let id = change.as_ref().map_or_else(|| context.ids.uuid("item"), |change| change.id.clone());
    let own = match &change {
        Some(change) => written(request, change),
        None if declared.is_some() => Answer::json(200, &json!({})),
        None => read(items, request),
    };
    let answer = match declared {
        Some(declared) => declared.answer(own, &Values { request, id: &id, context }),
        None => own,
    };
    match change {
        _ if answer.status >= 400 => Decision::refuse(answer),
        Some(change) => Decision::accept(answer, vec![Effect(change)]),
        None => Decision::read(answer),
    }
}

fn change(items: &WebItems, request: &ParsedRequest, context: &Context) -> WebChange {
    let ParsedRequest { operation, host, path, content, fields, .. } = request;
    let (_, last) = split(path);
    let (id, path, value) = if *operation == POST {
        let id = own_id(content).unwrap_or_else(|| Value::from(context.ids.uuid("item")));
        let name = text(&id);
        let path = if path == "/" { format!("/{name}") } else { format!("{path}/{name}") };
        (name, path, Some(with_id(id, content)))
    } else {
        let name = percent_decoded(last);
        let id = own_id(content).unwrap_or_else(|| Value::from(name.as_str()));
        let value = match (*operation, items.get(host, path)) {
            (DELETE, _) => None,
            (PATCH, Some(before)) => Some(merged(before, content)),
            _ => Some(with_id(id, content)),
        };
        (name, path.clone(), value)
    };
    WebChange { operation: *operation, id, fields: fields.clone(), host: host.clone(), path, value }
}

/// The answer to a write: what it made, or what it deleted.
fn written(request: &ParsedRequest, change: &WebChange) -> Answer {
    if let Some(Value::Object(fields)) = &request.mutation {
        let made = fields
            .iter()
            .map(|(name, arguments)| (name.clone(), with_id(Value::from(change.id.as_str()), arguments)));
        return Answer::json(200, &json!({ "data": made.collect::<Map<String, Value>>() }));
    }
    let status = if request.operation == POST { 201 } else { 200 };
    match &change.value {
        Some(value) => Answer::json(status, value),
        None => Answer::json(status, &json!({ "id": change.id, "deleted": true })),
    }
}

/// The answer to a read: what was made at its path, or a list of what was made below it.
fn read(items: &WebItems, request: &ParsedRequest) -> Answer {
    let ParsedRequest { host, path, query, .. } = request;
    if let Some(value) = items.get(host, path) {
        return Answer::json(200, value);
    }
    let (parent, last) = split(path);
    if !items.is_collection(host, path) && (items.is_collection(host, parent) || is_id(last)) {
        return error(404, "nothing was made at this path");
    }
    let all: Vec<&Value> = items.below(host, path).collect();
    let is_field = |name: &str| all.iter().any(|value| value.get(name).is_some());
    let filters: Vec<&(String, String)> = query.iter().filter(|(name, _)| is_field(name)).collect();
    let is_wanted = |value: &&&Value| {
        filters.iter().all(|(name, wanted)| value.get(name).is_some_and(|have| text(have) == *wanted))
    };
    let data: Vec<&&Value> = all.iter().filter(is_wanted).collect();
    Answer::json(200, &json!({ "data": data, "total": data.len() }))
}

/// Whether the last part of a path looks like the id of one thing: it has a digit and is not a version as `v2`.
fn is_id(part: &str) -> bool {
    let is_version =
        part.strip_prefix('v').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    part.contains(|character: char| character.is_ascii_digit()) && !is_version
}

/// The id that the client chose.
fn own_id(content: &Value) -> Option<Value> {
    let id = content.get("id")?;
    let is_usable = match id {
        Value::String(text) => !text.is_empty() && !text.contains('/'),
        Value::Number(_) => true,
        _ => false,
    };
    is_usable.then(|| id.clone())
}

/// The fields of the body with an id; a body that is not an object is under `data`.
fn with_id(id: Value, content: &Value) -> Value {
    let mut all = match content {
        Value::Object(entries) => entries.clone(),
        Value::Null => Map::new(),
        other => Map::from_iter([("data".to_owned(), other.clone())]),
    };
    all.insert("id".to_owned(), id);
    Value::Object(all)
}

/// The value after a merge patch (RFC 7396): `null` removes a field.
fn merged(before: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else {
        return if patch.is_null() { before.clone() } else { patch.clone() };
    };
    let mut all = before.as_object().cloned().unwrap_or_default();
    for (name, change) in changes {
        if change.is_null() {
            all.remove(name);
        } else {
            let have = all.get(name).cloned().unwrap_or_default();
            let value = if change.is_object() { merged(&have, change) } else { change.clone() };
            all.insert(name.clone(), value);
        }
    }
    Value::Object(all)
}
