//! Reads a service file: the top level here, each operation in `draft`, and references between operations in
//! `resolve`.

mod draft;
mod fields;
mod resolve;

use serde_json::{Value, json};
use yaml_reader::shape::{Count, MapShape, Shape, optional, required};
use yaml_reader::{Key, Node, Problems, Reader, Source, listed, parse, shown};

use crate::built_in::built_in;
use crate::custom::input::FieldPlace;
use crate::custom::route::is_name;
use crate::custom::{Custom, failure, template};
use crate::description::read_served_hosts;
use crate::idempotency::{
    IDEMPOTENCY, IDEMPOTENCY_DEFINITION, Idempotency, KeyPlace, Profile, no_key_there, read_idempotency,
};
use crate::service::{Operation, OperationKind};
use draft::{OPERATION, OperationDraft};

/// Names that a declared service cannot have, in addition to those of the built-in services: its environment
/// variables would be confused with others of hapax.
const RESERVED: [&str; 2] = ["smtp", "mcp"];

/// The maximum number of operations of a service; each is compared with all others.
const MAX_OPERATIONS: usize = 200;

/// A service file.
static SERVICE: MapShape<8> = MapShape::new([
    required("service", Shape::Pattern("^[a-z][a-z0-9_]*$"))
        .about("The name of the service, as scenarios use it."),
    optional("about", Shape::Text).about("What the service is, in one sentence."),
    optional("idempotency", IDEMPOTENCY).about("How it treats idempotency keys, if a scenario does not say."),
    optional("key", Shape::Sentence).about("Where a request has its key: a header, body.nonce or query.x."),
    required(
        "operations",
        Shape::MapOf(&Shape::Pattern("^[A-Za-z0-9_-]+$"), &Shape::Ref("operation"), Count(1, MAX_OPERATIONS)),
    )
    .about("The operations by name."),
    optional("errors", ERRORS.shape())
        .about("The form of errors. It can name ${status}, ${code} and ${message}."),
    optional("hosts", Shape::TEXTS)
        .about("The real hosts that it stands for in sealed runs; `*` stands for any characters."),
    optional("events", Shape::List(&Shape::Pattern("^[A-Za-z0-9_-]+$"), Count(1, MAX_OPERATIONS)))
        .about("The operations whose events it sends to receivers, in scenarios with `events`."),
]);
static ERRORS: MapShape<1> = MapShape::new([required("body", Shape::Any)]);

/// The JSON Schema of service files (draft 2020-12), for editors. Rules that need more than one value (which names are
/// fields, which operations a read shows) are left to the reader.
#[must_use]
pub fn service_schema() -> Value {
    let mut operation = OPERATION.shape().schema(false);
    operation["dependentRequired"] =
        json!({ "each": ["effect"], "shows": ["effect"], "unless": ["changes"], "filter": ["reads"] });
    let place = json!({
        "description": "A place in a request: body.name, query.name, path.name or header.Name.",
        "type": "string",
        "pattern": "^(body|query|path|header)\\..+",
    });
    let about = "A service of your own: its operations, and the effects that they have.";
    let definitions = json!({
        "operation": operation,
        "place": place,
        "duration": Shape::Pattern("^[0-9]").schema(false),
        "idempotency": IDEMPOTENCY_DEFINITION.schema(false),
    });
    SERVICE.document("hapax service", about, definitions, false)
}

pub(super) fn read(file: &Source) -> Result<Custom, Problems> {
    let tree = parse(file)?;
    let reader = Reader::new(file);
    let custom = read_service(&reader, &tree);
    reader.finish(custom)
}

fn read_service(reader: &Reader, tree: &Node) -> Option<Custom> {
    let [name, about, profile, key, operations, errors, hosts, events] =
        reader.fields(tree, "a service", &SERVICE)?;
    let name = name.and_then(|node| read_name(reader, node));
    let about = about.and_then(|node| reader.text(node)).map(str::to_owned);
    let no_files = |_: &str| Err("the file of a service names no other file".to_owned());
    let idempotency = profile.and_then(|node| read_idempotency(reader, node, &no_files));
    let idempotency = idempotency.unwrap_or_else(|| Idempotency::new(Profile::None));
    let (key_node, key) = (key, key.map(|node| read_key(reader, node)));
    let operations = operations.and_then(|node| read_operations(reader, node));
    let errors = errors.and_then(|node| read_errors(reader, node)).cloned();
    let hosts = hosts.map(|node| read_served_hosts(reader, node)).unwrap_or_default();

    let entries = operations.unwrap_or_default();
    let drafts: Vec<OperationDraft<'_>> =
        entries.iter().filter_map(|(key, node)| OperationDraft::read(reader, key, node)).collect();
    let all: Vec<&str> = entries.iter().map(|(key, _)| key.name.as_str()).collect();
    let name = name.unwrap_or_default();
    let (operations, rules) =
        resolve::resolve(reader, &drafts, &all, &name).into_iter().unzip::<Operation, _, Vec<_>, Vec<_>>();
    let says_place = profile.is_some_and(|node| node.get("key").is_some());
    if let Some(node) = key_node.filter(|_| says_place) {
        let help = "remove it here: `idempotency` says where the key is";
        reader.report_with_help(node.span, "the place of the key is said twice", help);
    }
    let key = match key {
        Some(key) => Some(key?),
        None => None,
    };
    let sends = events.map(|node| read_events(reader, node, &operations)).unwrap_or_default();
    let custom = Custom { name, about, idempotency, key, operations, rules, errors, hosts, sends };
    let no_body = "no request of this service has a body, so there is no key in it";
    let help = "put it in a header or in the query: header.Idempotency-Key, query.key";
    let in_rules = matches!(custom.idempotency.place(), Some(KeyPlace::Body(_)));
    let in_body = matches!(custom.key, Some(FieldPlace::RequestBody(_)));
    for node in
        [key_node.filter(|_| in_body), profile.filter(|_| in_rules && says_place)].into_iter().flatten()
    {
        if !custom.has_bodies() {
            reader.report_with_help(node.span, no_body, help);
        }
    }
    Some(custom)
}

/// The full names of the operations whose events are sent.
fn read_events(reader: &Reader, node: &Node, operations: &[Operation]) -> Vec<String> {
    let items = reader.list(node).unwrap_or_default();
    if items.is_empty() {
        let help = "list the operations whose events it sends, or remove `events`";
        reader.report_with_help(node.span, "this list is empty", help);
    }
    let writes = || operations.iter().filter(|operation| operation.kind == OperationKind::Write);
    let short = |operation: &Operation| operation.name.split('.').next_back().unwrap_or_default().to_owned();
    let mut names = Vec::new();
    for item in items {
        let Some(name) = reader.text(item) else { continue };
        match writes().find(|operation| short(operation) == name) {
            Some(operation) => names.push(operation.name.to_string()),
            None => {
                let known = writes().map(short).collect::<Vec<_>>();
                let help = format!("it can be {}", listed(known.iter().map(String::as_str)));
                reader.report_with_help(
                    item.span,
                    format!("no operation `{}` changes anything", shown(name)),
                    help,
                );
            }
        }
    }
    names
}

fn read_name(reader: &Reader, node: &Node) -> Option<String> {
    let name = reader.text(node)?;
    let taken = built_in().iter().map(|service| service.name.as_str()).chain(RESERVED);
    if taken.clone().any(|other| other == name) {
        let help = format!("choose a name other than {}", listed(taken));
        reader.report_with_help(node.span, format!("the name `{name}` is taken"), help);
        return None;
    }
    if !is_name(name)
        || !name.starts_with(|first: char| first.is_ascii_lowercase())
        || name.contains(|c: char| c.is_ascii_uppercase())
    {
        let help = "a name consists of lowercase letters, digits and underscores and begins with a letter";
        reader.report_with_help(
            node.span,
            format!("`{}` cannot be the name of a service", shown(name)),
            help,
        );
        return None;
    }
    Some(name.to_owned())
}

/// Where the key is: the name of a header, `body.nonce` or `query.x`.
fn read_key(reader: &Reader, node: &Node) -> Option<FieldPlace> {
    let text = reader.text(node)?;
    let (place, is_header) = match text.split_once('.') {
        Some(("header", name)) => (Some(FieldPlace::Header(name.to_owned())), true),
        Some(("body" | "query", _)) => (FieldPlace::read(text), false),
        Some(_) => (None, false),
        None => (Some(FieldPlace::Header(text.to_owned())), true),
    };
    let is_name = |place: &FieldPlace| {
        place.header().is_none_or(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        })
    };
    let place = place.filter(is_name);
    if place.is_none() {
        let (what, help) = if is_header {
            (
                "the name of a header",
                "a header's name consists of letters, digits and dashes: Idempotency-Key",
            )
        } else {
            (
                "the place of the key",
                "write the name of a header (Idempotency-Key), a field of the body (body.nonce) \
                 or of the query (query.x)",
            )
        };
        reader.report_with_help(node.span, format!("`{}` cannot be {what}", shown(text)), help);
    }
    let as_key = match place.as_ref()? {
        FieldPlace::Header(name) => Some(KeyPlace::Header(name.clone())),
        FieldPlace::Query(name) => Some(KeyPlace::Query(name.clone())),
        FieldPlace::RequestBody(_) | FieldPlace::Path(_) => None,
    };
    if let Some((message, help)) = as_key.as_ref().and_then(no_key_there) {
        reader.report_with_help(node.span, message, help);
        return None;
    }
    place
}

fn read_operations<'n>(reader: &Reader, node: &'n Node) -> Option<&'n [(Key, Node)]> {
    let entries = reader.entries(node)?;
    if entries.is_empty() {
        reader.report(node.span, "a service needs at least one operation");
    }
    if entries.len() > MAX_OPERATIONS {
        reader.report(
            node.span,
            format!("there are {} operations here, and at most {MAX_OPERATIONS} are read", entries.len()),
        );
        return None;
    }
    Some(entries)
}

fn read_errors<'n>(reader: &Reader, node: &'n Node) -> Option<&'n Node> {
    let [body] = reader.fields(node, "`errors`", &ERRORS)?;
    template::check(reader, body?, &failure::ERROR_NAMES);
    body
}

#[cfg(test)]
mod tests;
