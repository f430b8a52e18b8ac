//! Answers that a scenario declares, by method, host, path and values of the body.

use serde::Serialize;
use serde_json::Value;
use yaml_reader::shape::{MapShape, Shape, optional};
use yaml_reader::{Node, NodeKind, Reader, shown};

use super::template::{Values, check};
use crate::description::is_match;
use crate::service::Answer;

/// The methods that an answer can be declared for.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
pub(super) static ANSWER: MapShape<8> = MapShape::new([
    optional("method", Shape::Words(|| METHODS.to_vec())),
    optional("host", Shape::Text),
    optional("path", Shape::Text),
    optional("where", Shape::ANY_MAP),
    optional("status", Shape::Integer(200, 599)),
    optional("headers", Shape::ANY_MAP),
    optional("body", Shape::Any),
    optional("read", Shape::Flag),
]);
/// Headers that belong to the wire.
const RESERVED_HEADERS: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

/// A declared answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DeclaredAnswer {
    /// The method; `None` for all.
    pub method: Option<String>,
    /// The host, where `*` stands for any characters; `None` for all.
    pub host: Option<String>,
    /// The path without the query, where `*` stands for any characters; `None` for all.
    pub path: Option<String>,
    /// Values that the body must have, each with its path in the body: `order.kind`. In a text, `*` stands for any
    /// characters.
    pub conditions: Vec<(String, Value)>,
    /// The status; `None` for the one that the service would answer with. With a status from 400 on the request has
    /// no effect.
    pub status: Option<u16>,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// The body: a text as it is, and anything else as JSON. `None` for the body that the service would answer with.
    pub body: Option<Value>,
    /// Whether the request has no effect, although its method can have one: a search, a token, a GraphQL query.
    pub read: bool,
}

/// The place of the first answer that is declared for a request.
pub(super) fn find(
    answers: &[DeclaredAnswer],
    method: &str,
    host: &str,
    path: &str,
    content: &Value,
) -> Option<usize> {
    let is_one =
        |pattern: &Option<String>, text: &str| pattern.as_ref().is_none_or(|pattern| is_match(pattern, text));
    answers.iter().position(|answer| {
        let is_method = answer.method.as_ref().is_none_or(|own| own == method);
        // A request to an address of this machine does not say which host it means.
        let is_host = host.is_empty() || is_one(&answer.host, host);
        let is_content = answer.conditions.iter().all(|(name, wanted)| has_value(content, name, wanted));
        is_method && is_host && is_one(&answer.path, path) && is_content
    })
}

/// Whether a body has a value at a path. A form has only texts.
fn has_value(content: &Value, path: &str, wanted: &Value) -> bool {
    let found = path.split('.').try_fold(content, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    });
    match (found, wanted) {
        (None, _) => false,
        (Some(Value::String(text)), Value::String(pattern)) => is_match(pattern, text),
        (Some(Value::String(text)), wanted) => is_match(&wanted.to_string(), text),
        (Some(found), Value::String(pattern)) => is_match(pattern, &found.to_string()),
        (Some(found), wanted) => found == wanted,
    }
}

impl DeclaredAnswer {
    /// The answer, where `own` is what the service would answer itself.
    pub(super) fn answer(&self, own: Answer, values: &Values<'_>) -> Answer {
        let status = self.status.unwrap_or(own.status);
        let mut answer = match self.body.as_ref().map(|body| values.fill(body)) {
            _ if status == 204 || status == 304 => Answer::empty(status),
            None => {
                let mut own = own;
                own.status = status;
                own
            }
            Some(Value::String(text)) => Answer::text(status, "text/plain; charset=utf-8", text),
            Some(body) => Answer::json(status, &body),
        };
        for (name, value) in &self.headers {
            answer.set_header(name.clone(), values.fill_text(value));
        }
        answer
    }
}

/// Reads the list of declared answers; problems are reported to the reader.
pub(super) fn read_answers(reader: &Reader, node: &Node) -> Vec<DeclaredAnswer> {
    reader.list(node).unwrap_or_default().iter().filter_map(|node| read_answer(reader, node)).collect()
}

fn read_answer(reader: &Reader, node: &Node) -> Option<DeclaredAnswer> {
    let [method, host, path, conditions, status, headers, body, read] =
        reader.fields(node, "an answer", &ANSWER)?;
    let methods = METHODS.map(|method| (method, method));
    let path_text = path.and_then(|node| reader.text(node));
    let host_text = host.and_then(|node| reader.text(node));
    if let (Some(node), Some(path)) = (path, path_text.filter(|path| !path.starts_with(['/', '*']))) {
        let help = "write the path with its first slash, and the host under `host`: /v1/orders/*";
        reader.report_with_help(node.span, format!("`{}` is not a path", shown(path)), help);
    }
    if let (Some(node), Some(path)) = (path, path_text.filter(|path| path.contains('?'))) {
        let help = "remove the query: answers are declared for paths";
        reader.report_with_help(node.span, format!("`{}` has a query", shown(path)), help);
    }
    if let (Some(node), Some(host)) = (host, host_text.filter(|host| host.contains(['/', ':']))) {
        let help = "write the name alone: api.example.com, *.example.com";
        reader.report_with_help(node.span, format!("`{}` is not a host", shown(host)), help);
    }
    body.iter().for_each(|body| check(reader, body));
    Some(DeclaredAnswer {
        method: method.and_then(|node| reader.one_of(node, &methods)).map(str::to_owned),
        host: host_text.map(str::to_ascii_lowercase),
        path: path_text.map(|path| if path == "/" { path } else { path.trim_end_matches('/') }.to_owned()),
        conditions: conditions.map(|node| read_conditions(reader, node)).unwrap_or_default(),
        status: status.and_then(|node| reader.integer(node, 200..=599)),
        headers: headers.map(|node| read_headers(reader, node)).unwrap_or_default(),
        body: body.map(|node| serde_json::to_value(node).unwrap_or_default()),
        read: read.and_then(|node| reader.boolean(node)).unwrap_or_default(),
    })
}

fn read_conditions(reader: &Reader, node: &Node) -> Vec<(String, Value)> {
    let mut conditions = Vec::new();
    for (key, node) in reader.entries(node).unwrap_or_default() {
        if matches!(node.kind, NodeKind::Map(_) | NodeKind::List(_)) {
            let help = "write the path of one value: customer.id: cus_42";
            reader.report_with_help(node.span, "expected a plain value", help);
            continue;
        }
        // `body.` stands before names of the body wherever a scenario names them.
        let name = key.name.strip_prefix("body.").unwrap_or(&key.name).to_owned();
        conditions.push((name, serde_json::to_value(node).unwrap_or_default()));
    }
    conditions
}

fn read_headers(reader: &Reader, node: &Node) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for (key, node) in reader.entries(node).unwrap_or_default() {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let name = key.name.as_str();
        if name.is_empty()
            || !name.bytes().all(is_name)
            || RESERVED_HEADERS.iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
        {
            let help = "a name consists of letters, digits and dashes, and the length is set by hapax";
            reader.report_with_help(key.span, format!("`{}` cannot be declared", shown(name)), help);
            continue;
        }
        let value = match &node.kind {
            NodeKind::Integer(number) => Some(number.to_string()),
            _ => reader.text(node).map(str::to_owned),
        };
        check(reader, node);
        if let Some(value) = value.filter(|value| !value.contains(char::is_control)) {
            headers.push((name.to_owned(), value));
        }
    }
    headers
}
