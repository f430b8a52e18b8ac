//! The services of a case: their options, and services that a file declares.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use mock_services::catalog::{self, ConfiguredService, ServiceDescription, read_served_hosts};
use mock_services::custom::DeclaredService;
use mock_services::idempotency::{IDEMPOTENCY, ReadFile, read_idempotency};
use yaml_reader::shape::{Count, Field, MapShape, Rule, Shape, object, optional, required};
use yaml_reader::{Key, Map, Node, NodeKind, Problem, Problems, Reader, listed, nearest, shown};

use serde_json::{Value, json};

use super::ServiceSetup;
use super::files::Folder;
use super::known::KnownServices;
use crate::domain::{APPROVALS, EVENTS, MCP};

/// The maximum number of services of a scenario.
const MAX_SERVICES: usize = 50;

/// What every service can have, beside its own options.
static SETUP: MapShape<2> =
    MapShape::new([optional("idempotency", IDEMPOTENCY), optional("hosts", Shape::TEXTS)]);

/// The schema of `services`: the shipped services with their options; services of the user name their file.
pub(super) fn services_schema() -> Value {
    let name = Shape::Ref("name").schema(true);
    let set_up = |options: &[Field]| object(&[SETUP.fields(), options].concat(), Rule::None, true);
    let shipped = |service: &Arc<ServiceDescription>| {
        let schema = json!({ "anyOf": [set_up(service.options), { "type": "null" }, name] });
        (service.name.clone(), schema)
    };
    let properties: serde_json::Map<String, Value> = catalog::services().iter().map(shipped).collect();
    let own = json!({ "anyOf": [set_up(&[required("file", Shape::Text)]), name] });
    let services = json!({ "type": "object", "properties": properties, "additionalProperties": own });
    json!({ "anyOf": [services, name] })
}

/// The service that answers for any host, if there is one.
#[cfg(feature = "mcp")]
pub(crate) fn any_host_service() -> Option<&'static str> {
    catalog::services().iter().find(|service| service.any_host).map(|service| service.name.as_str())
}

/// The services that the subject itself must use, such as a language model. Subjects that do not use them skip the
/// scenario, because they could pass without being tested.
pub(super) const REQUIRES: Shape = Shape::OneOf(&[SERVICE, Shape::List(&SERVICE, Count::SOME)]);
const SERVICE: Shape = Shape::Words(|| requirable().collect());

/// Reads `requires`: the name of a service, or a list of names.
pub(super) fn read_requires(reader: &Reader, services: &[ServiceSetup], node: &Node) -> Vec<String> {
    let nodes = match &node.kind {
        NodeKind::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    if nodes.is_empty() {
        let help = "list the services that the subject must use, or remove `requires`";
        reader.report_with_help(node.span, "this list is empty", help);
    }
    let mut names: Vec<String> = Vec::new();
    for node in nodes {
        let Some(name) = reader.text(node) else { continue };
        if !requirable().any(|known| known == name) {
            let help = format!("it can be {}; a service of the steps is always used", listed(requirable()));
            reader.report_with_help(node.span, format!("`{}` cannot be required", shown(name)), help);
        } else if ![APPROVALS, EVENTS, MCP].contains(&name)
            && !services.iter().any(|setup| setup.name == name)
        {
            let help = format!("add `{name}: {{}}` to `services`, or remove it here");
            reader.report_with_help(node.span, format!("the scenario has no service `{name}`"), help);
        } else if !names.iter().any(|have| have == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// What a scenario can require of a subject: a service that some use, that it asks for approvals, that it receives
/// events, or that it gets the services as MCP tools.
fn requirable() -> impl Iterator<Item = &'static str> + Clone {
    optional_services().chain([APPROVALS, EVENTS, MCP])
}

/// The services that some subjects use and others do not.
fn optional_services() -> impl Iterator<Item = &'static str> + Clone {
    catalog::services().iter().filter(|service| service.can_be_added).map(|service| service.name.as_str())
}

/// A service file that was read, or its problems.
type ReadService = Result<DeclaredService, Problems>;

/// The services that files beside a scenario declare, each read once.
#[derive(Debug)]
pub(super) struct DeclaredServices<'a> {
    folder: &'a Folder,
    read: RefCell<HashMap<String, ReadService>>,
}

impl<'a> DeclaredServices<'a> {
    pub(super) fn new(folder: &'a Folder) -> Self {
        DeclaredServices { folder, read: RefCell::default() }
    }

    /// The service in the file that a value names. The problems of the file are added to those of the
    /// scenario.
    fn get(&self, reader: &Reader, node: &Node) -> Option<DeclaredService> {
        let path = reader.text(node)?;
        if let Some(found) = self.read.borrow().get(path) {
            return self.service_or_problems(reader, found);
        }
        let read = match self.folder.read(path) {
            Ok(source) => DeclaredService::from_source(&source),
            Err(error) => {
                let help = "the path is relative to the folder of the scenario";
                let message = format!("cannot read `{}`: {error}", shown(path));
                Err(Problem::new(reader.file(), node.span, message).with_help(help).into())
            }
        };
        let found = self.service_or_problems(reader, &read);
        self.read.borrow_mut().insert(path.to_owned(), read);
        found
    }

    fn service_or_problems(&self, reader: &Reader, found: &ReadService) -> Option<DeclaredService> {
        match found {
            Ok(found) => Some(found.clone()),
            Err(problems) => {
                problems.iter().for_each(|problem| reader.add(problem.clone()));
                None
            }
        }
    }
}

/// Reads `services`: those of the case, in the order of the file, and all that the scenario can name.
pub(super) fn read_services(
    reader: &Reader,
    node: Option<&Node>,
    declared: &DeclaredServices<'_>,
) -> (Vec<ServiceSetup>, KnownServices) {
    let mut known = KnownServices::default();
    let entries = node.and_then(|node| reader.entries(node)).unwrap_or_default();
    let mut setups = Vec::new();
    if entries.len() > MAX_SERVICES
        && let Some(node) = node
    {
        reader.report(node.span, format!("{} services; the maximum is {MAX_SERVICES}", entries.len()));
        return (setups, known);
    }
    for (key, node) in entries {
        setups.extend(read_service(reader, key, node, declared, &mut known));
    }
    check_hosts(reader, entries, &setups);
    check_operations(reader, entries, &known);
    (setups, known)
}

/// Reports keys of options that name operations which no service has.
fn check_operations(reader: &Reader, entries: &[(Key, Node)], known: &KnownServices) {
    for (service, node) in entries {
        let description = catalog::built_in().iter().find(|built_in| built_in.name == service.name);
        for option in description.map(|description| description.options).unwrap_or_default() {
            if let Shape::MapOf(Shape::Ref("operation_name"), ..) = option.shape
                && let Some(NodeKind::Map(values)) = node.get(option.name).map(|values| &values.kind)
            {
                for (key, _) in values {
                    known.named(reader, &key.name, key.span);
                }
            }
        }
    }
}

/// Reports hosts that belong to two services.
fn check_hosts(reader: &Reader, entries: &[(Key, Node)], setups: &[ServiceSetup]) {
    let mut owners: Vec<(&str, &str)> = Vec::new();
    for setup in setups {
        let real = catalog::find(&setup.name).map(|service| service.hosts).unwrap_or_default();
        owners.extend(real.iter().map(|real| (real.host, setup.name.as_str())));
    }
    for setup in setups {
        let Some((key, node)) = entries.iter().find(|(key, _)| key.name == setup.name) else { continue };
        let listed = node.get("hosts").and_then(|hosts| reader.list(hosts)).unwrap_or_default();
        for host in setup.hosts() {
            let Some((_, owner)) = owners.iter().find(|(other, _)| *other == host.as_str()) else {
                owners.push((host.as_str(), &setup.name));
                continue;
            };
            if *owner == setup.name {
                continue;
            }
            let is_this =
                |item: &&Node| item.as_text().is_some_and(|text| text.eq_ignore_ascii_case(host.as_str()));
            let span = listed.iter().find(is_this).map_or(key.span, |item| item.span);
            let message =
                format!("the host `{}` belongs to the service `{owner}` already", shown(host.as_str()));
            reader.report_with_help(span, message, "a host belongs to one service; remove it here or there");
        }
    }
}

fn read_service(
    reader: &Reader,
    key: &Key,
    node: &Node,
    declared: &DeclaredServices<'_>,
    known: &mut KnownServices,
) -> Option<ServiceSetup> {
    let name = key.name.as_str();
    let empty = Node::new(NodeKind::Map(Vec::new()), node.span);
    // `payment:` without a value is the service with its defaults.
    let node = if node.kind == NodeKind::Null { &empty } else { node };
    let what = format!("the service `{}`", shown(name));
    let mut map = reader.map(node, &what)?;
    let shipped = catalog::find(name);
    if shipped.is_none() && !map.has("file") {
        let help = match nearest(name, catalog::names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                format!(
                    "it is one of {}, or your own with `file: {}.yaml`",
                    listed(catalog::names()),
                    shown(name)
                )
            }
        };
        reader.report_with_help(key.span, format!("there is no service `{}`", shown(name)), help);
        return None;
    }
    let [keys, hosts] = map.fields(&SETUP);
    let files = |path: &str| declared.folder.read(path);
    let idempotency = keys.and_then(|node| read_idempotency(reader, node, &files));
    let extra_hosts = hosts.map(|node| read_served_hosts(reader, node)).unwrap_or_default();
    let built_in = catalog::built_in().iter().find(|service| service.name == name);
    let service = match built_in {
        Some(built_in) => Some((built_in.configure)(reader, &mut map)),
        None => read_declared(reader, key, &mut map, declared, known),
    };
    map.finish();
    let setup = ServiceSetup { name: name.to_owned(), service: service?, idempotency, extra_hosts };
    if let Some(node) = keys {
        check_key_place(reader, node, &setup);
    }
    Some(setup)
}

/// Reports a place of the key that requests of the service do not have.
fn check_key_place(reader: &Reader, node: &Node, setup: &ServiceSetup) {
    let place = setup.idempotency.as_ref().and_then(|rules| rules.place());
    let problem = place.and_then(|place| setup.description()?.key_place_problem(place));
    if let Some((message, help)) = problem {
        reader.report_with_help(node.get("key").unwrap_or(node).span, message, help);
    }
}

/// The service of the file that `file` names; without one, the service of this name that hapax ships.
fn read_declared(
    reader: &Reader,
    key: &Key,
    map: &mut Map<'_, '_>,
    declared: &DeclaredServices<'_>,
    known: &mut KnownServices,
) -> Option<Arc<dyn ConfiguredService>> {
    let Some(file) = map.optional("file") else {
        return catalog::find(&key.name).map(|service| service.unconfigured());
    };
    let service = declared.get(reader, file)?;
    if service.name() != key.name {
        let source = service.source();
        let (message, help) = if source.is_withheld() {
            let message =
                format!("`{}` declares another service than `{}`", shown(source.name()), shown(&key.name));
            (message, "write the name of the service in the file".to_owned())
        } else {
            let message = format!(
                "`{}` declares the service `{}`, not `{}`",
                shown(source.name()),
                service.name(),
                shown(&key.name)
            );
            (message, format!("write `{}:` here", service.name()))
        };
        reader.report_with_help(key.span, message, help);
        return None;
    }
    known.add(service.description());
    Some(Arc::new(service))
}

/// Reads the options of a shipped service outside of a scenario.
pub(crate) fn read_shipped_service(
    reader: &Reader,
    description: &ServiceDescription,
    node: &Node,
    files: ReadFile<'_>,
) -> Option<ServiceSetup> {
    let empty = Node::new(NodeKind::Map(Vec::new()), node.span);
    let node = if node.kind == NodeKind::Null { &empty } else { node };
    let what = format!("the service `{}`", description.name);
    let mut map = reader.map(node, &what)?;
    let keys = map.optional("idempotency");
    let idempotency = keys.and_then(|node| read_idempotency(reader, node, files));
    let service = (description.configure)(reader, &mut map);
    map.finish();
    let setup =
        ServiceSetup { name: description.name.clone(), service, idempotency, extra_hosts: Vec::new() };
    if let Some(node) = keys {
        check_key_place(reader, node, &setup);
    }
    Some(setup)
}

/// A service with its defaults, which the scenario uses without listing it.
pub(crate) fn default_setup(name: &str) -> Option<ServiceSetup> {
    let service = catalog::find(name)?.unconfigured();
    Some(ServiceSetup { name: name.to_owned(), service, idempotency: None, extra_hosts: Vec::new() })
}
