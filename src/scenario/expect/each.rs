//! `each` of an expected effect: one intent for every value of a field. The values are a list, or a template
//! with a range: `"user{1..50}@example.com"`.

use mock_services::service::Value;
use mock_services::yaml::{Key, Kind, Node, Reader, Span, shown};

use super::{MOST, check_carried};
use crate::scenario::addresses::value_in_lower_case;

/// A field, and the value that each intent has for it.
#[derive(Debug)]
pub(super) struct Each {
    pub(super) field: String,
    pub(super) values: Vec<Value>,
}

const FORM: &str = "write a list, `each: { to: [ann@example.com, bob@example.com] }`, or a range, `each: { to: \"user{1..50}@example.com\" }`";

/// Reads `each`. `carried` are the fields of the effect, `taken` those that `where` names already.
pub(super) fn read_each(
    reader: &Reader,
    effect: &str,
    carried: &[String],
    taken: Option<&Node>,
    node: &Node,
) -> Option<Each> {
    let (key, values) = match reader.entries(node)? {
        [(key, values)] => (key, values),
        entries => {
            let message = format!("`each` names one field, and here are {}", entries.len());
            reader.report_with_help(
                node.span,
                message,
                format!("{FORM}; put the other fields into `where` or `with`"),
            );
            return None;
        }
    };
    let before = reader.count();
    check_carried(reader, effect, carried, key);
    if taken.is_some_and(|taken| taken.get(&key.name).is_some()) {
        let message = format!("`each` and `where` both name `{}`", shown(&key.name));
        reader.report_with_help(key.span, message, "leave it out of `where`");
    }
    let values = read_values(reader, effect, key, values)?;
    (reader.count() == before).then(|| Each { field: key.name.clone(), values })
}

fn read_values(reader: &Reader, effect: &str, key: &Key, node: &Node) -> Option<Vec<Value>> {
    let items = match &node.kind {
        Kind::List(items) => items.as_slice(),
        Kind::Text(text) if text.contains("..") => std::slice::from_ref(node),
        _ => {
            let message = format!("expected the values of `{}`, found {}", shown(&key.name), node.describe());
            reader.report_with_help(node.span, message, FORM);
            return None;
        }
    };
    let mut values: Vec<Value> = Vec::new();
    for item in items {
        for value in expanded(reader, item)? {
            let value = value_in_lower_case(effect, &key.name, value);
            if values.iter().any(|have| have.meets(&value)) {
                let message = format!("`{}` stands here twice", shown(&value.to_string()));
                reader.report_with_help(
                    item.span,
                    message,
                    "leave one out; `times: 2` makes every value due twice",
                );
                return None;
            }
            values.push(value);
        }
        if values.len() > MOST {
            reader.report_with_help(
                node.span,
                format!("these are more than {MOST} values"),
                "shorten the list, or write several scenarios",
            );
            return None;
        }
    }
    if values.is_empty() {
        reader.report_with_help(node.span, "`each` has no values, so nothing is due", FORM);
        return None;
    }
    Some(values)
}

/// The values that one item stands for: itself, or one for each number of its range.
fn expanded(reader: &Reader, node: &Node) -> Option<Vec<Value>> {
    let text = match &node.kind {
        Kind::Integer(number) => return Some(vec![Value::Number(*number)]),
        Kind::Text(text) => text,
        _ => return reader.unexpected(node, "a text or a whole number"),
    };
    match template(text) {
        Template::Plain => Some(vec![Value::Text(text.as_str().into())]),
        Template::Range { before, first, last, width, after } => Some(
            (first..=last)
                .map(|number| Value::Text(format!("{before}{number:0width$}{after}").into()))
                .collect(),
        ),
        Template::Malformed(why) => {
            report(reader, node.span, text, why);
            None
        }
    }
}

fn report(reader: &Reader, span: Span, text: &str, why: &str) {
    reader.report_with_help(
        span,
        format!("the range in `{}` cannot be read: {why}", shown(text)),
        "write it as `user{1..50}@example.com`",
    );
}

/// A text that may hold a range.
enum Template<'t> {
    Plain,
    Range { before: &'t str, first: usize, last: usize, width: usize, after: &'t str },
    Malformed(&'static str),
}

fn template(text: &str) -> Template<'_> {
    let range = |from: usize| {
        let open = from + text[from..].find('{')?;
        let close = open + text[open..].find('}')?;
        text[open + 1..close].contains("..").then_some((open, close))
    };
    let Some((open, close)) = range(0) else { return Template::Plain };
    if range(close).is_some() {
        return Template::Malformed("there are two ranges");
    }
    let Some((first, last)) = text[open + 1..close].split_once("..") else { return Template::Plain };
    let is_number = |digits: &str| {
        !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(first) || !is_number(last) {
        return Template::Malformed("it is not two numbers");
    }
    // `{01..50}` counts 01, 02, …: as wide as the first number is written.
    let width = if first.starts_with('0') { first.len() } else { 0 };
    match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) if first > last => {
            Template::Malformed("its first number is greater than its last")
        }
        (Ok(first), Ok(last)) if last - first >= MOST => Template::Malformed("it has too many numbers"),
        (Ok(first), Ok(last)) => {
            Template::Range { before: &text[..open], first, last, width, after: &text[close + 1..] }
        }
        _ => Template::Malformed("it is not two numbers"),
    }
}
