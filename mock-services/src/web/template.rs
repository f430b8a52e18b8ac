//! Templates in declared answers. A text that is only `{body.amount}` takes the value itself, of any type; within a
//! longer text the value is inserted as text. Braces with anything else in them stay as they are.

use jiff::Timestamp;
use serde_json::Value;
use yaml_reader::{Node, NodeKind, Reader, listed, shown};

use super::content::text;
use super::request::ParsedRequest;
use crate::service::Context;

/// The names beside the values of the body.
const NAMES: [&str; 6] = ["id", "now", "method", "host", "path", "query"];

/// What the names of a template stand for.
pub(super) struct Values<'a> {
    pub(super) request: &'a ParsedRequest,
    pub(super) id: &'a str,
    pub(super) context: &'a Context,
}

impl Values<'_> {
    fn get(&self, name: &str) -> Value {
        let request = self.request;
        match name {
            "id" => Value::from(self.id),
            "now" => {
                let now = self.context.now;
                Value::from(Timestamp::from_second(now.as_second()).unwrap_or(now).to_string())
            }
            "method" => Value::from(request.method.as_str()),
            "host" => Value::from(request.host.as_str()),
            "path" => Value::from(request.path.as_str()),
            "query" => request.fields.get("query").map(ToString::to_string).unwrap_or_default().into(),
            "body" => request.content.clone(),
            _ => {
                let Some(path) = name.strip_prefix("body.") else { return Value::Null };
                let inner = path.split('.').try_fold(&request.content, |value, part| match value {
                    Value::Array(items) => items.get(part.parse::<usize>().ok()?),
                    other => other.get(part),
                });
                inner.cloned().unwrap_or_default()
            }
        }
    }

    /// The value with its names replaced.
    pub(super) fn fill(&self, template: &Value) -> Value {
        match template {
            Value::String(template) => match parts(template).as_slice() {
                [AnswerPart::Name(name)] => self.get(name),
                _ => Value::from(self.fill_text(template)),
            },
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(entries) => {
                Value::Object(entries.iter().map(|(name, value)| (name.clone(), self.fill(value))).collect())
            }
            other => other.clone(),
        }
    }

    /// The text with its names replaced; a name without a value becomes empty.
    pub(super) fn fill_text(&self, template: &str) -> String {
        parts(template).iter().fold(String::new(), |mut out, part| {
            match part {
                AnswerPart::Text(text) => out.push_str(text),
                AnswerPart::Name(name) => match self.get(name) {
                    Value::Null => {}
                    value => out.push_str(&text(&value)),
                },
            }
            out
        })
    }
}

/// A part of a template.
#[derive(Debug, PartialEq, Eq)]
enum AnswerPart<'a> {
    Text(&'a str),
    Name(&'a str),
}

fn parts(template: &str) -> Vec<AnswerPart<'_>> {
    let mut parts = Vec::new();
    let (mut text_from, mut at) = (0, 0);
    while let Some(open) = template[at..].find('{').map(|found| at + found) {
        let Some(close) = template[open..].find('}').map(|found| open + found) else { break };
        let name = &template[open + 1..close];
        if is_name(name) {
            if text_from < open {
                parts.push(AnswerPart::Text(&template[text_from..open]));
            }
            parts.push(AnswerPart::Name(name));
            (text_from, at) = (close + 1, close + 1);
        } else {
            at = open + 1;
        }
    }
    if text_from < template.len() {
        parts.push(AnswerPart::Text(&template[text_from..]));
    }
    parts
}

/// Whether braces with this text in them are a name, known or not.
fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(is_letter)
}

/// Reports every name in a template that means nothing.
pub(super) fn check(reader: &Reader, node: &Node) {
    match &node.kind {
        NodeKind::Text(text) => {
            for part in parts(text) {
                if let AnswerPart::Name(name) = part
                    && !(NAMES.contains(&name) || name == "body" || name.starts_with("body."))
                {
                    let help = format!("it can be {}, `body` or `body.NAME`", listed(NAMES));
                    let message = format!("`{{{}}}` is not defined in an answer", shown(name));
                    reader.report_with_help(node.span, message, help);
                }
            }
        }
        NodeKind::List(items) => items.iter().for_each(|item| check(reader, item)),
        NodeKind::Map(entries) => entries.iter().for_each(|(_, value)| check(reader, value)),
        _ => {}
    }
}
