//! Reads `each` of an expected effect: one intent for each value of a field. The values are a list, or a text
//! with a range: `"user{1..50}@example.com"`.

use mock_services::service::Value;
use yaml_reader::shape::{Count, Shape};
use yaml_reader::{Key, Node, NodeKind, Reader, Span, shown};

use super::{MAX_INTENTS, check_carried};
use crate::scenario::field_values::value_in_recorded_form;

/// One field and its values: a list, or a text with a range.
pub(super) const EACH: Shape = Shape::MapOf(&Shape::Any, &VALUES, Count(1, 1));
const VALUES: Shape = Shape::OneOf(&[
    Shape::List(&Shape::Types(&["string", "integer"]), Count(1, MAX_INTENTS)),
    Shape::Pattern("^[^{}]*\\{[0-9]{1,9}\\.\\.[0-9]{1,9}\\}"),
]);

/// A field and its values, one for each intent.
#[derive(Debug)]
pub(super) struct Each {
    pub(super) field: String,
    pub(super) values: Vec<Value>,
}

const FORM: &str = "write a list, `each: { to: [ann@example.com, bob@example.com] }`, or a range, \
                    `each: { to: \"user{1..50}@example.com\" }`";

/// Reads `each`. `carried` are the fields of the effect, `selector` is the `where` of the same entry.
pub(super) fn read_each(
    reader: &Reader,
    effect: &str,
    carried: &[String],
    selector: Option<&Node>,
    node: &Node,
) -> Option<Each> {
    let (key, values) = match reader.entries(node)? {
        [(key, values)] => (key, values),
        entries => {
            let message = format!("`each` needs exactly one field, found {}", entries.len());
            reader.report_with_help(
                node.span,
                message,
                format!("{FORM}; move the other fields to `where` or `with`"),
            );
            return None;
        }
    };
    let before = reader.count();
    check_carried(reader, effect, carried, key);
    if selector.is_some_and(|selector| selector.get(&key.name).is_some()) {
        let message = format!("`{}` is in both `each` and `where`", shown(&key.name));
        reader.report_with_help(key.span, message, "remove it from `where`");
    }
    let values = read_values(reader, effect, key, values)?;
    (reader.count() == before).then(|| Each { field: key.name.clone(), values })
}

fn read_values(reader: &Reader, effect: &str, key: &Key, node: &Node) -> Option<Vec<Value>> {
    let items = match &node.kind {
        NodeKind::List(items) => items.as_slice(),
        NodeKind::Text(text) if !matches!(parse_range(text), RangeText::Plain) => std::slice::from_ref(node),
        _ => {
            let message = format!("expected the values of `{}`, found {}", shown(&key.name), node.describe());
            reader.report_with_help(node.span, message, FORM);
            return None;
        }
    };
    let mut values: Vec<Value> = Vec::new();
    for item in items {
        for value in expanded(reader, item)? {
            let value = value_in_recorded_form(effect, &key.name, value);
            if values.iter().any(|have| have.meets(&value)) {
                let message = format!("`{}` is listed twice", shown(&value.to_string()));
                reader.report_with_help(
                    item.span,
                    message,
                    "remove one; `times: 2` expects each value twice",
                );
                return None;
            }
            values.push(value);
        }
        if values.len() > MAX_INTENTS {
            reader.report_with_help(
                node.span,
                format!("more than {MAX_INTENTS} values"),
                "shorten the list, or split the scenario",
            );
            return None;
        }
    }
    if values.is_empty() {
        reader.report_with_help(node.span, "`each` has no values, so nothing is expected", FORM);
        return None;
    }
    Some(values)
}

/// The values of one item: itself, or one for each number of its range.
fn expanded(reader: &Reader, node: &Node) -> Option<Vec<Value>> {
    let text = match &node.kind {
        NodeKind::Integer(number) => return Some(vec![Value::Number(*number)]),
        NodeKind::Text(text) => text,
        _ => return reader.unexpected(node, "a text or a whole number"),
    };
    match parse_range(text) {
        RangeText::Plain => Some(vec![Value::Text(text.as_str().into())]),
        RangeText::Range { before, first, last, width, after } => Some(
            (first..=last)
                .map(|number| Value::Text(format!("{before}{number:0width$}{after}").into()))
                .collect(),
        ),
        RangeText::Malformed(why) => {
            report(reader, node.span, text, why);
            None
        }
    }
}

fn report(reader: &Reader, span: Span, text: &str, why: &str) {
    reader.report_with_help(
        span,
        format!("invalid range in `{}`: {why}", shown(text)),
        "write it as `user{1..50}@example.com`",
    );
}

/// A text with or without a range.
enum RangeText<'t> {
    Plain,
    Range { before: &'t str, first: usize, last: usize, width: usize, after: &'t str },
    Malformed(&'static str),
}

fn parse_range(text: &str) -> RangeText<'_> {
    let range = |from: usize| {
        let open = from + text[from..].find('{')?;
        let close = open + text[open..].find('}')?;
        text[open + 1..close].contains("..").then_some((open, close))
    };
    let Some((open, close)) = range(0) else { return RangeText::Plain };
    if range(close).is_some() {
        return RangeText::Malformed("only one range is allowed");
    }
    let Some((first, last)) = text[open + 1..close].split_once("..") else { return RangeText::Plain };
    let is_number = |digits: &str| {
        !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(first) || !is_number(last) {
        return RangeText::Malformed("expected two numbers");
    }
    // `{01..50}` counts 01, 02, …: padded to the width of the first number.
    let width = if first.starts_with('0') { first.len() } else { 0 };
    match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) if first > last => {
            RangeText::Malformed("the first number is greater than the last")
        }
        (Ok(first), Ok(last)) if last - first >= MAX_INTENTS => {
            RangeText::Malformed("it has too many values")
        }
        (Ok(first), Ok(last)) => {
            RangeText::Range { before: &text[..open], first, last, width, after: &text[close + 1..] }
        }
        _ => RangeText::Malformed("expected two numbers"),
    }
}
