//! The services of a case: which there are, how each is set up, and those that a file declares.

use std::cell::RefCell;
use std::collections::HashMap;

use mock_services::custom::{Custom, TICKETS};
use mock_services::idempotency::{Idempotency, Profile};
use mock_services::service::Service;
use mock_services::yaml::{Key, Kind, Map, Node, Problem, Problems, Reader, Source, listed, nearest, shown};

use super::after::read_after;
use super::files::Folder;
use super::known::{Known, KnownService, SHIPPED};
use super::setup::{read_deploy, read_email, read_payment, read_records};
use super::{ServiceKind, ServiceSetup};

/// How many services a scenario can have.
const MOST: usize = 50;

/// A service file that was read, or what is wrong with it.
type Declared = Result<(Source, Custom), Problems>;

/// The services that files beside a scenario declare, each read once.
#[derive(Debug)]
pub(super) struct Customs<'a> {
    folder: &'a Folder,
    read: RefCell<HashMap<String, Declared>>,
}

impl<'a> Customs<'a> {
    pub(super) fn new(folder: &'a Folder) -> Self {
        Customs { folder, read: RefCell::default() }
    }

    /// The service in the file that a value names. What is wrong with the file is reported as if it stood in
    /// the scenario.
    fn get(&self, reader: &Reader, node: &Node) -> Option<(Source, Custom)> {
        let path = reader.text(node)?;
        if let Some(found) = self.read.borrow().get(path) {
            return self.told(reader, found);
        }
        let read = match self.folder.read(path) {
            Ok(source) => Custom::from_source(&source).map(|custom| (source, custom)),
            Err(error) => {
                let help = "the path begins at the folder in which the scenario stands";
                let message = format!("cannot read `{}`: {error}", shown(path));
                Err(Problem::new(reader.file(), node.span, message).with_help(help).into())
            }
        };
        let found = self.told(reader, &read);
        self.read.borrow_mut().insert(path.to_owned(), read);
        found
    }

    fn told(&self, reader: &Reader, found: &Declared) -> Option<(Source, Custom)> {
        match found {
            Ok(found) => Some(found.clone()),
            Err(problems) => {
                problems.iter().for_each(|problem| reader.add(problem.clone()));
                None
            }
        }
    }
}

/// Reads `services`: those that are set up, in the order of the file, and all that a scenario can name now.
pub(super) fn read_services(
    reader: &Reader,
    node: Option<&Node>,
    customs: &Customs<'_>,
) -> (Vec<ServiceSetup>, Known) {
    let mut known = Known::default();
    let entries = node.and_then(|node| reader.entries(node)).unwrap_or_default();
    let mut setups = Vec::new();
    if entries.len() > MOST
        && let Some(node) = node
    {
        reader.report(
            node.span,
            format!("there are {} services here, and at most {MOST} are read", entries.len()),
        );
        return (setups, known);
    }
    for (key, node) in entries {
        setups.extend(read_service(reader, key, node, customs, &mut known));
    }
    (setups, known)
}

fn read_service(
    reader: &Reader,
    key: &Key,
    node: &Node,
    customs: &Customs<'_>,
    known: &mut Known,
) -> Option<ServiceSetup> {
    let name = key.name.as_str();
    let empty = Node::new(Kind::Map(Vec::new()), node.span);
    // `payment:` with nothing behind it is the service as it is.
    let node = if node.kind == Kind::Null { &empty } else { node };
    let what = format!("the service `{}`", shown(name));
    let mut map = reader.map(node, &what)?;
    let own_file = map.has("file");
    if !SHIPPED.contains(&name) && !own_file {
        let help = match nearest(name, SHIPPED) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                format!("it is one of {}, or your own with `file: {}.yaml`", listed(SHIPPED), shown(name))
            }
        };
        reader.report_with_help(key.span, format!("there is no service `{}`", shown(name)), help);
        return None;
    }
    let idempotency = map.optional("idempotency").and_then(|node| read_idempotency(reader, node));
    let kind = match name {
        "payment" => Some(ServiceKind::Payment(read_payment(reader, &mut map))),
        "email" => Some(ServiceKind::Email(read_email(reader, &mut map))),
        "deploy" => Some(ServiceKind::Deploy(read_deploy(reader, &mut map))),
        "records" => Some(ServiceKind::Records(read_records(reader, &mut map))),
        _ => read_custom(reader, key, &mut map, customs, known),
    };
    map.finish();
    Some(ServiceSetup { name: name.to_owned(), kind: kind?, idempotency })
}

fn read_custom(
    reader: &Reader,
    key: &Key,
    map: &mut Map<'_, '_>,
    customs: &Customs<'_>,
    known: &mut Known,
) -> Option<ServiceKind> {
    let Some(file) = map.optional("file") else { return Some(ServiceKind::Custom(tickets())) };
    let (source, custom) = customs.get(reader, file)?;
    if custom.name() != key.name {
        let (message, help) = if source.is_withheld() {
            let message =
                format!("`{}` declares another service than `{}`", shown(source.name()), shown(&key.name));
            (message, "write the name that the file gives its service".to_owned())
        } else {
            let message = format!(
                "`{}` declares the service `{}`, not `{}`",
                shown(source.name()),
                custom.name(),
                shown(&key.name)
            );
            (message, format!("write `{}:` here", custom.name()))
        };
        reader.report_with_help(key.span, message, help);
        return None;
    }
    known.add(KnownService::custom(&custom, &source));
    Some(ServiceKind::Custom(source))
}

fn tickets() -> Source {
    Source::new("tickets.yaml", TICKETS)
}

/// A service that the scenario uses without setting it up.
pub(super) fn default_setup(name: &str) -> Option<ServiceSetup> {
    let kind = match name {
        "payment" => ServiceKind::Payment(Default::default()),
        "email" => ServiceKind::Email(Default::default()),
        "deploy" => ServiceKind::Deploy(Default::default()),
        "records" => ServiceKind::Records(Default::default()),
        "tickets" => ServiceKind::Custom(tickets()),
        _ => return None,
    };
    Some(ServiceSetup { name: name.to_owned(), kind, idempotency: None })
}

fn read_idempotency(reader: &Reader, node: &Node) -> Option<Idempotency> {
    let words = Profile::ALL.map(|profile| (profile.name(), profile));
    if !matches!(node.kind, Kind::Map(_)) {
        return reader.one_of(node, &words).map(Idempotency::new);
    }
    let mut map = reader.map(node, "`idempotency`")?;
    let (profile, lifetime) = (map.required("profile"), map.optional("lifetime"));
    map.finish();
    let lifetime = lifetime.map(|node| read_after(reader, node));
    let rules = Idempotency::new(reader.one_of(profile?, &words)?);
    match lifetime {
        Some(lifetime) => Some(Idempotency { lifetime: lifetime?, ..rules }),
        None => Some(rules),
    }
}
