//! An effect that is due more than once must say which one: otherwise any mixture of effects adds up to the
//! number, and an agent that mails 25 people twice passes where 50 people are to get one mail.

use mock_services::service::{Fields, Operation, Value};
use mock_services::yaml::{Key, Kind, Node, Span, listed, write_flow};

use super::MOST;
use crate::scenario::known::Known;

/// Fields that say what an effect is like, not which one is meant.
pub(crate) const LIKE: [&str; 12] = [
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

/// What is wrong with an intent that is due more than once and does not say of which thing; `None` where one
/// of the fields that tell the effects apart is named.
pub(crate) fn unnamed(
    known: &Known,
    effect: &str,
    is_named: impl Fn(&str) -> bool,
    times: u32,
) -> Option<String> {
    let telling = telling(known, effect);
    if times < 2 || telling.is_empty() || telling.iter().any(|name| is_named(name)) {
        return None;
    }
    let names = listed(telling.iter().copied());
    let one_of = if telling.len() == 1 { names } else { format!("one of {names}") };
    Some(format!("{times} of {effect} are due, and nothing says which: name {one_of}"))
}

/// How such an intent is written.
pub(crate) fn right_form(known: &Known, effect: &str, which: &Fields, like: &Fields, times: u32) -> String {
    let field = telling(known, effect).first().copied().unwrap_or_default();
    let entry_form = with_each(effect, field, which, like);
    format!(
        "write one entry for all of them: `{entry_form}`; a numbered list is `each: {{ {field}: \"{}\" }}`",
        range(field, times)
    )
}

/// The fields that tell effects of this name apart; none where the service itself makes them up.
fn telling<'k>(known: &'k Known, effect: &str) -> Vec<&'k str> {
    let Some(operation) = known.find(effect) else { return Vec::new() };
    let identity =
        |operation: &'k Operation| operation.identity.iter().map(AsRef::as_ref).filter(|name| *name != "id");
    let names: Vec<&str> = identity(operation).filter(|name| !LIKE.contains(name)).collect();
    let mut names = if names.is_empty() { identity(operation).collect() } else { names };
    // A subscription's id is not known beforehand; whose it is, is.
    if !names.is_empty() && operation.has_field("customer") && !names.contains(&"customer") {
        names.push("customer");
    }
    // Ids that the service gives are not known when a scenario is written.
    names.sort_by_key(|name| matches!(*name, "charge" | "subscription"));
    names
}

fn with_each(effect: &str, field: &str, which: &Fields, like: &Fields) -> String {
    let text = |text: &str| Kind::Text(text.to_owned());
    let examples = match field {
        "to" => ["ann@example.com", "bob@example.com"],
        "order" => ["ord_1001", "ord_1002"],
        "customer" => ["cus_42", "cus_43"],
        _ => ["first", "second"],
    };
    let values = Kind::List(examples.map(|value| Node::new(text(value), Span::default())).into());
    let fields: Vec<(Key, Node)> =
        which.iter().chain(like.iter()).map(|(name, value)| entry(name, kind(value))).collect();
    let mut entries =
        vec![entry("effect", text(effect)), entry("each", Kind::Map(vec![entry(field, values)]))];
    if !fields.is_empty() {
        entries.push(entry("with", Kind::Map(fields)));
    }
    write_flow(&Node::new(Kind::Map(entries), Span::default()))
}

fn range(field: &str, times: u32) -> String {
    let most = usize::try_from(times).unwrap_or(MOST).min(MOST);
    match field {
        "to" => format!("user{{1..{most}}}@example.com"),
        "order" => format!("ord_{{1..{most}}}"),
        "customer" => format!("cus_{{1..{most}}}"),
        _ => format!("{field}-{{1..{most}}}"),
    }
}

fn entry(name: &str, kind: Kind) -> (Key, Node) {
    (Key { name: name.to_owned(), span: Span::default() }, Node::new(kind, Span::default()))
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Bool(value) => Kind::Bool(*value),
        Value::Number(value) => Kind::Integer(*value),
        Value::Text(value) => Kind::Text(value.to_string()),
        Value::List(values) => Kind::List(
            values.iter().map(|value| Node::new(Kind::Text(value.clone()), Span::default())).collect(),
        ),
    }
}
