//! An effect that is expected more than once needs a field that identifies it. Otherwise any mixture of
//! effects adds up to the number: an agent that mails 25 people twice would pass where 50 people get one mail
//! each.

use mock_services::service::{Fields, Operation, Value};
use yaml_reader::{Key, Node, NodeKind, Span, listed, write_flow};

use super::MAX_INTENTS;
use crate::scenario::known::KnownServices;

/// Fields that describe an effect and do not identify it.
pub(crate) const DESCRIPTIVE_FIELDS: [&str; 12] = [
    "amount",
    "currency",
    "description",
    "subject",
    "text",
    "version",
    "value",
    "quantity",
    "price",
    "by",
    "reason",
    "sha",
];

/// The problem of an intent that is expected more than once without a field that identifies it; `None` where
/// there is no problem.
pub(crate) fn unidentified(
    known: &KnownServices,
    effect: &str,
    is_named: impl Fn(&str) -> bool,
    times: u32,
) -> Option<String> {
    let identifying = identifying_fields(known, effect);
    if times < 2 || identifying.is_empty() || identifying.iter().any(|name| is_named(name)) {
        return None;
    }
    let names = listed(identifying.iter().copied());
    let one_of = if identifying.len() == 1 { names } else { format!("one of {names}") };
    Some(format!("{effect} is expected {times} times, and no field identifies which: add {one_of}"))
}

/// A suggestion how to write such an intent.
pub(crate) fn suggested_form(
    known: &KnownServices,
    effect: &str,
    which: &Fields,
    like: &Fields,
    times: u32,
) -> String {
    let field = identifying_fields(known, effect).first().copied().unwrap_or_default();
    let entry_form = with_each(effect, field, which, like);
    format!(
        "write one entry for all of them: `{entry_form}`; for a numbered list, `each: {{ {field}: \"{}\" }}`",
        range(field, times)
    )
}

/// The fields that identify an effect of this name; empty where the service generates them all.
fn identifying_fields<'k>(known: &'k KnownServices, effect: &str) -> Vec<&'k str> {
    let Some(operation) = known.find(effect) else { return Vec::new() };
    let identity =
        |operation: &'k Operation| operation.identity.iter().map(AsRef::as_ref).filter(|name| *name != "id");
    let names: Vec<&str> = identity(operation).filter(|name| !DESCRIPTIVE_FIELDS.contains(name)).collect();
    let mut names = if names.is_empty() { identity(operation).collect() } else { names };
    // The id of a subscription is not known in advance, but its customer is.
    if !names.is_empty() && operation.has_field("customer") && !names.contains(&"customer") {
        names.push("customer");
    }
    // Ids that the service generates are not known when a scenario is written.
    names.sort_by_key(|name| matches!(*name, "charge" | "subscription"));
    names
}

fn with_each(effect: &str, field: &str, which: &Fields, like: &Fields) -> String {
    let text = |text: &str| NodeKind::Text(text.to_owned());
    let examples = match field {
        "to" => ["ann@example.com", "bob@example.com"],
        "order" => ["ord_1001", "ord_1002"],
        "customer" => ["cus_42", "cus_43"],
        _ => ["first", "second"],
    };
    let values = NodeKind::List(examples.map(|value| Node::new(text(value), Span::default())).into());
    let fields: Vec<(Key, Node)> =
        which.iter().chain(like.iter()).map(|(name, value)| entry(name, kind(value))).collect();
    let mut entries =
        vec![entry("effect", text(effect)), entry("each", NodeKind::Map(vec![entry(field, values)]))];
    if !fields.is_empty() {
        entries.push(entry("with", NodeKind::Map(fields)));
    }
    write_flow(&Node::new(NodeKind::Map(entries), Span::default()))
}

fn range(field: &str, times: u32) -> String {
    let last = usize::try_from(times).unwrap_or(MAX_INTENTS).min(MAX_INTENTS);
    match field {
        "to" => format!("user{{1..{last}}}@example.com"),
        "order" => format!("ord_{{1..{last}}}"),
        "customer" => format!("cus_{{1..{last}}}"),
        _ => format!("{field}-{{1..{last}}}"),
    }
}

fn entry(name: &str, kind: NodeKind) -> (Key, Node) {
    (Key { name: name.to_owned(), span: Span::default() }, Node::new(kind, Span::default()))
}

fn kind(value: &Value) -> NodeKind {
    match value {
        Value::Bool(value) => NodeKind::Bool(*value),
        Value::Number(value) => NodeKind::Integer(*value),
        Value::Text(value) => NodeKind::Text(value.to_string()),
        Value::List(values) => NodeKind::List(
            values.iter().map(|value| Node::new(NodeKind::Text(value.clone()), Span::default())).collect(),
        ),
    }
}
