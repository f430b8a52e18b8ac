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
use crate::idempotency::Profile;
use crate::service::Operation;
use draft::{OPERATION, OperationDraft};

/// Names that a declared service cannot have, in addition to those of the built-in services: its environment
/// variables would be confused with others of hapax.
const RESERVED: [&str; 2] = ["smtp", "mcp"];

/// The maximum number of operations of a service; each is compared with all others.
const MAX_OPERATIONS: usize = 200;

/// A service file.
static SERVICE: MapShape<7> = MapShape::new([
    required("service", Shape::Pattern("^[a-z][a-z0-9_]*$"))
        .about("The name of the service, as scenarios use it."),
    optional("about", Shape::Text).about("What the service is, in one sentence."),
    optional("idempotency", Shape::Words(|| Profile::ALL.map(Profile::as_str).to_vec()))
        .about("How it treats idempotency keys, if a scenario does not say."),
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
    let definitions = json!({ "operation": operation, "place": place });
    SERVICE.document("hapax service", about, definitions, false)
}

pub(super) fn read(file: &Source) -> Result<Custom, Problems> {
    let tree = parse(file)?;
    let reader = Reader::new(file);
    let custom = read_service(&reader, &tree);
    reader.finish(custom)
}

fn read_service(reader: &Reader, tree: &Node) -> Option<Custom> {
    let [name, about, profile, key, operations, errors, hosts] =
        reader.fields(tree, "a service", &SERVICE)?;
    let name = name.and_then(|node| read_name(reader, node));
    let about = about.and_then(|node| reader.text(node)).map(str::to_owned);
    let profile = profile
        .and_then(|node| reader.one_of(node, &Profile::ALL.map(|profile| (profile.as_str(), profile))));
    let profile = profile.unwrap_or(Profile::None);
    let key = key.map_or_else(
        || Some(FieldPlace::Header("Idempotency-Key".to_owned())),
        |node| read_key(reader, node),
    );
    let operations = operations.and_then(|node| read_operations(reader, node));
    let errors = errors.and_then(|node| read_errors(reader, node)).cloned();
    let hosts = hosts.map(|node| read_served_hosts(reader, node)).unwrap_or_default();

    let entries = operations.unwrap_or_default();
    let drafts: Vec<OperationDraft<'_>> =
        entries.iter().filter_map(|(key, node)| OperationDraft::read(reader, key, node)).collect();
    let all: Vec<&str> = entries.iter().map(|(key, _)| key.name.as_str()).collect();
    let name = name.unwrap_or_default();
    let (operations, rules) =
        resolve::resolve(reader, &drafts, &all, &name).into_iter().unzip::<Operation, _, _, Vec<_>>();
    Some(Custom { name, about, profile, key: key?, operations, rules, errors, hosts })
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
