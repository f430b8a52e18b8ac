//! Reads `http` of a subject in `hapax.yaml`: the URL, the request and where the response has the claim.

use hyper::header::HeaderName;
use serde_json::Value;
use yaml_reader::shape::{Count, MapShape, Rule, Shape, optional, words_of};
use yaml_reader::{Key, Node, NodeKind, Reader, Span, listed, shown};

use super::values::read_outcomes;
use crate::scenario::ClaimedOutcome;
use crate::subject::HttpExchange;
use crate::subject::http::{
    AnswerClaim, BodyTemplate, ExchangeFormat, HttpMethod, RequestTemplate, StatusRange, Target,
};
use crate::subject::port;
use crate::subject::template::{StartValue, Template};

/// The URL of an agent that hapax starts, where the file has none.
const USUAL_URL: &str = "http://127.0.0.1:${port}/";
/// Headers that hapax sets itself.
const OWN_HEADERS: [&str; 4] = ["host", "connection", "content-length", "transfer-encoding"];
const EXAMPLE_BODY: &str = "{messages: [{role: user, content: \"${task}\"}]}";

/// The shape of `http`.
pub(super) const HTTP: Shape = Shape::OneOf(&[Shape::Text, HTTP_MAP.shape()]);
static HTTP_MAP: MapShape<4> = MapShape::new([
    optional("url", Shape::Text).about(
        "The URL at which the subject takes tasks; ${port} is a port that hapax chooses. With a `command`, \
         http://127.0.0.1:${port}/ is the default.",
    ),
    optional("request", Shape::OneOf(&[Shape::Sentence, Shape::MapOf(&Shape::Any, &Shape::Any, Count::SOME)])).about(
        "The request: its body as JSON, or a map of `method`, `path`, `headers` and `body`. ${task} stands for the \
         task.",
    ),
    optional("claim", ANSWER_CLAIM.shape()).about("Where the response has the claim."),
    optional("format", Shape::Words(|| words_of(&ExchangeFormat::WORDS)))
        .about("The shape of the request and the response."),
]);
static REQUEST: MapShape<4> = MapShape::new([
    optional("method", Shape::Words(|| words_of(&HttpMethod::WORDS))),
    optional("path", Shape::Text),
    optional("headers", Shape::TEXT_MAP),
    optional("body", Shape::Something),
]);
const OUTCOME: Shape = Shape::Words(|| ClaimedOutcome::FINAL.map(ClaimedOutcome::as_str).to_vec());
static ANSWER_CLAIM: MapShape<3> = MapShape::new([
    optional("pointer", Shape::Pattern("^/"))
        .about("A JSON pointer to the text of the answer; in a stream, to its part in each event."),
    optional("patterns", Shape::MapOf(&Shape::Any, &OUTCOME, Count::SOME))
        .about("Texts of answers, each with its outcome."),
    optional("status", Shape::MapOf(&Shape::Pattern("^([1-5]xx|[1-5][0-9][0-9])$"), &OUTCOME, Count::SOME))
        .about("Statuses, each with its outcome: {409: not-done, 5xx: unknown}."),
])
.needs(Rule::AnyOf(&["pointer", "patterns", "status"]));

/// The URL of an agent, its request and how its response is read. `is_started` is whether hapax starts it.
pub(super) fn read_http(reader: &Reader, node: &Node, is_started: bool) -> Option<(String, HttpExchange)> {
    if !matches!(node.kind, NodeKind::Map(_)) {
        return Some((read_url(reader, node, is_started)?, HttpExchange::default()));
    }
    let [url, request, claim, format] = reader.fields(node, "`http`", &HTTP_MAP)?;
    let before = reader.count();
    let format = match format {
        Some(node) => reader.one_of(node, &ExchangeFormat::WORDS),
        None => Some(ExchangeFormat::Plain),
    };
    if url.is_none() && !is_started {
        let help = "add the URL at which the agent runs (`url: http://127.0.0.1:8080/task`), or the command that \
                    starts it (`command`)";
        reader.report_with_help(node.place(), "`http` needs the key `url`", help);
    }
    let address = match url {
        Some(node) => read_url(reader, node, is_started),
        None => Some(USUAL_URL.to_owned()),
    };
    let has_path = address
        .as_deref()
        .is_some_and(|url| Target::parse(&port::filled(url, 1)).is_ok_and(|target| target.path != "/"));
    let request = match request {
        Some(node) => read_request(reader, node, has_path),
        None => Some(RequestTemplate::default()),
    };
    let claim = match claim {
        Some(node) => read_claim(reader, node, format == Some(ExchangeFormat::OpenAi)),
        None => Some(AnswerClaim::default()),
    };
    let exchange = HttpExchange { request: request?, format: format?, claim: claim? };
    address.filter(|_| reader.count() == before).map(|url| (url, exchange))
}

fn read_url(reader: &Reader, node: &Node, is_started: bool) -> Option<String> {
    let url = reader.text(node)?;
    if let Err(help) = Target::parse(&port::filled(url, 1)) {
        let message = format!("`{}` is not a URL that hapax supports", shown(url));
        reader.report_with_help(node.span, message, help);
        return None;
    }
    if url.contains(port::PLACEHOLDER) && !is_started {
        let help = "add the command that starts the agent (`command`), or write the port at which it listens";
        let message = "`${port}` needs a `command`: hapax chooses a port only for an agent that it starts";
        reader.report_with_help(node.span, message, help);
    }
    Some(url.to_owned())
}

/// The request: its body, or a map with one of the keys of a request.
fn read_request(reader: &Reader, node: &Node, has_path: bool) -> Option<RequestTemplate> {
    let before = reader.count();
    let is_own = |key: &&Key| REQUEST.fields().iter().any(|field| field.name == key.name);
    let keys: Vec<&Key> = match &node.kind {
        NodeKind::Map(entries) => entries.iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    };
    let own = keys.iter().copied().find(is_own);
    let other = keys.iter().copied().find(|key| !is_own(key));
    let request = match (own, other) {
        (Some(own), Some(other)) => {
            let (own, name) = (shown(&own.name), shown(&other.name));
            let help = format!(
                "`request` is the body, or it has {}: write the body below `body`",
                listed(REQUEST.fields().iter().map(|field| field.name))
            );
            reader.report_with_help(other.span, format!("`request` has both `{own}` and `{name}`"), help);
            return None;
        }
        (Some(_), None) => {
            let [method, path, headers, body] = reader.fields(node, "`request`", &REQUEST)?;
            let method =
                method.map_or(Some(HttpMethod::default()), |node| reader.one_of(node, &HttpMethod::WORDS));
            if let Some(body) = body.filter(|_| method == Some(HttpMethod::Get)) {
                let help = "remove `body` and write the task into the path: /run?task=${task}; or write another method";
                reader.report_with_help(body.span, "a GET request has no body", help);
            }
            RequestTemplate {
                method: method.unwrap_or_default(),
                path: path.and_then(|node| read_path(reader, node, has_path)),
                headers: headers.map(|node| read_headers(reader, node)).unwrap_or_default(),
                body: body.and_then(|node| read_body(reader, node)),
            }
        }
        (None, _) => RequestTemplate { body: read_body(reader, node), ..RequestTemplate::default() },
    };
    if reader.count() > before {
        return None;
    }
    let in_path = request.path.as_ref().is_some_and(|path| path.has(StartValue::Task));
    let in_body = match &request.body {
        Some(body) => body.has_task(),
        // The usual body has it.
        None => request.method != HttpMethod::Get,
    };
    if !in_path && !in_body {
        let help = format!("write `${{task}}` where the agent expects it, for example {EXAMPLE_BODY}");
        reader.report_with_help(node.place(), "`request` does not have the task", help);
        return None;
    }
    Some(request)
}

/// A map or a list, or a text with JSON.
fn read_body(reader: &Reader, node: &Node) -> Option<BodyTemplate> {
    let help = format!("write a map, for example {EXAMPLE_BODY}");
    match &node.kind {
        NodeKind::Map(_) | NodeKind::List(_) => template_of(reader, node),
        NodeKind::Text(text) => match serde_json::from_str::<Value>(text) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => {
                template_of(reader, &node_of(value, node.span))
            }
            Ok(_) => {
                let message = "the body of `request` is not an object and not a list";
                reader.report_with_help(node.span, message, help);
                None
            }
            Err(error) => {
                let message = format!("the body of `request` is not valid JSON: {error}");
                reader.report_with_help(node.span, message, help);
                None
            }
        },
        _ => {
            let message = format!("expected the body of a request, found {}", node.describe());
            reader.report_with_help(node.span, message, help);
            None
        }
    }
}

/// JSON of a text as a value of the file; each problem is at the text.
fn node_of(value: Value, span: Span) -> Node {
    let kind = match value {
        Value::Null => NodeKind::Null,
        Value::Bool(value) => NodeKind::Bool(value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => NodeKind::Integer(number),
            None => NodeKind::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => NodeKind::Text(text),
        Value::Array(items) => NodeKind::List(items.into_iter().map(|item| node_of(item, span)).collect()),
        Value::Object(members) => {
            let entry = |(name, value)| (Key { name, span }, node_of(value, span));
            NodeKind::Map(members.into_iter().map(entry).collect())
        }
    };
    Node::new(kind, span)
}

fn template_of(reader: &Reader, node: &Node) -> Option<BodyTemplate> {
    Some(match &node.kind {
        NodeKind::Text(text) => BodyTemplate::Text(read_template(reader, node.span, text)?),
        NodeKind::List(items) => {
            BodyTemplate::List(items.iter().filter_map(|item| template_of(reader, item)).collect())
        }
        NodeKind::Map(entries) => {
            for (key, _) in entries.iter().filter(|(key, _)| key.name.contains("${")) {
                let message = format!("the name `{}` has a placeholder", shown(&key.name));
                reader.report_with_help(key.span, message, "write placeholders in values only");
            }
            let entry = |(key, node): &(Key, Node)| Some((key.name.clone(), template_of(reader, node)?));
            BodyTemplate::Map(entries.iter().filter_map(entry).collect())
        }
        NodeKind::Null => BodyTemplate::Literal(Value::Null),
        NodeKind::Bool(value) => BodyTemplate::Literal((*value).into()),
        NodeKind::Integer(value) => BodyTemplate::Literal((*value).into()),
        NodeKind::Float(value) => BodyTemplate::Literal((*value).into()),
    })
}

fn read_template(reader: &Reader, span: Span, text: &str) -> Option<Template> {
    match Template::parse_request(text) {
        Ok(template) => Some(template),
        Err(error) => {
            reader.report_with_help(span, error.message, error.help);
            None
        }
    }
}

fn read_path(reader: &Reader, node: &Node, has_path: bool) -> Option<Template> {
    let text = reader.text(node)?;
    let template = read_template(reader, node.span, text)?;
    let filled = template.fill_request(&[], |_| Some("x".to_owned()));
    let problem = if has_path {
        Some(("the path is in `url` and in `request`", "write it in one of them"))
    } else if template.has_service() {
        Some(("a path cannot refer to a service", "write it in `headers` or in `body`"))
    } else if !text.starts_with('/') {
        Some(("a path begins with `/`", "write it without the host: /v1/run"))
    } else if filled.is_none_or(|path| Target::parse(&format!("http://agent{path}")).is_err()) {
        Some(("this is not a path of a URL", "write spaces and other special characters as %20"))
    } else {
        None
    };
    if let Some((message, help)) = problem {
        reader.report_with_help(node.span, message, help);
        return None;
    }
    Some(template)
}

fn read_headers(reader: &Reader, node: &Node) -> Vec<(String, Template)> {
    let mut headers: Vec<(String, Template)> = Vec::new();
    for (key, node) in reader.entries(node).unwrap_or_default() {
        let name = shown(&key.name);
        let is_listed = |name: &String| name.eq_ignore_ascii_case(&key.name);
        if HeaderName::try_from(&key.name).is_err() {
            let help = "write a name of letters, digits and `-`: X-Api-Key";
            reader.report_with_help(key.span, format!("`{name}` is not the name of a header"), help);
        } else if OWN_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(&key.name)) {
            reader.report_with_help(key.span, format!("hapax sets the header `{name}` itself"), "remove it");
        } else if headers.iter().any(|(name, _)| is_listed(name)) {
            reader.report_with_help(
                key.span,
                format!("the header `{name}` is set twice"),
                "remove one of them",
            );
        }
        let Some(text) = reader.text(node) else { continue };
        let Some(template) = read_template(reader, node.span, text) else { continue };
        if text.chars().any(|character| character.is_control() && character != '\t') {
            let message = format!("the header `{name}` has a line break or another control character");
            reader.report_with_help(node.span, message, "write its value on one line");
        } else if template.has(StartValue::Task) || template.has(StartValue::Steps) {
            let message = "a header cannot have the task, which can have line breaks";
            reader.report_with_help(node.span, message, "write it in `body` or in `path`");
        }
        headers.push((key.name.clone(), template));
    }
    headers
}

fn read_claim(reader: &Reader, node: &Node, has_format: bool) -> Option<AnswerClaim> {
    let before = reader.count();
    let [pointer, patterns, statuses] = reader.fields(node, "`claim`", &ANSWER_CLAIM)?;
    if pointer.is_none() && patterns.is_none() && statuses.is_none() {
        let help =
            "for example {pointer: /answer, patterns: {\"order placed\": done}}, or {status: {200: done}}";
        let message = "`claim` needs one of `pointer`, `patterns` and `status`";
        reader.report_with_help(node.place(), message, help);
    }
    let is_empty = |node: &&Node| matches!(&node.kind, NodeKind::Map(entries) if entries.is_empty());
    for (node, name) in [(patterns, "patterns"), (statuses, "status")] {
        if let Some(node) = node.filter(is_empty) {
            let help =
                "list what the agent answers: {patterns: {\"order placed\": done}}, {status: {200: done}}";
            reader.report_with_help(node.span, format!("`{name}` is empty"), help);
        }
    }
    if let Some(node) = pointer.filter(|_| has_format) {
        let help = "remove `pointer`, or `format` if the response has another shape";
        reader.report_with_help(node.span, "`format` says where the text of the answer is", help);
    }
    let claim = AnswerClaim {
        pointer: pointer.and_then(|node| read_pointer(reader, node)),
        patterns: patterns.and_then(|node| read_outcomes(reader, node)).unwrap_or_default(),
        statuses: statuses.map(|node| read_statuses(reader, node)).unwrap_or_default(),
    };
    (reader.count() == before).then_some(claim)
}

fn read_pointer(reader: &Reader, node: &Node) -> Option<String> {
    let pointer = reader.text(node)?;
    if !pointer.starts_with('/') {
        let message = format!("`{}` is not a JSON pointer", shown(pointer));
        reader.report_with_help(node.span, message, "begin with `/`: /choices/0/message/content");
        return None;
    }
    Some(pointer.to_owned())
}

fn read_statuses(reader: &Reader, node: &Node) -> Vec<(StatusRange, ClaimedOutcome)> {
    let (Some(entries), Some(outcomes)) = (reader.entries(node), read_outcomes(reader, node)) else {
        return Vec::new();
    };
    let mut statuses = Vec::new();
    for ((key, _), (text, outcome)) in entries.iter().zip(outcomes) {
        match StatusRange::parse(&text) {
            Some(range) => statuses.push((range, outcome)),
            None => {
                let message = format!("`{}` is not a status", shown(&text));
                reader.report_with_help(key.span, message, "write a status (409) or a class of them (5xx)");
            }
        }
    }
    statuses
}
