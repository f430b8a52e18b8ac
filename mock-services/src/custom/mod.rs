//! A service declared in a YAML file: its routes, the fields of its requests, which operations create or
//! change items, and which reads return them. `services/tickets.yaml` is an example that uses the whole
//! format.
//!
//! Each operation has a `route` and one of `effect` (it creates an item), `changes` (it changes an item that
//! another operation created; the route has `{id}`) and `reads` (it returns one item when the route has
//! `{id}`, and otherwise a list). `fields` says where a request has its fields: `body.a.b`, `query.x`,
//! `path.x`, `header.X`. Strings contain `${name}`; a string that is only `${name}` takes the value itself,
//! of any type. The module knows nothing about sockets, faults or idempotency keys.

mod decide;
mod declared;
mod failure;
mod input;
mod items;
mod read;
mod route;
mod sender;
mod template;
mod tools;

use std::borrow::Cow;

use crate::description::{EndpointDescription, ServedHost};
use crate::endpoints;
use crate::idempotency::Idempotency;
use crate::service::{
    Answer, Context, Decision, EffectFacts, Fields, Operation, Recognized, Request, Service, ServiceEvent,
};
pub use declared::DeclaredService;
use failure::CustomError;
use input::{FieldPlace, RequestBody};
use items::to_fields;
pub use items::{ItemChange, Items};
pub use read::service_schema;
use route::{Route, RouteMatch};
use yaml_reader::{Node, Problems, Source};

/// The service file that hapax ships: a help desk. It uses the whole format.
pub const TICKETS: &str = include_str!("../../services/tickets.yaml");

/// The header with the key if the file does not say where it is.
const KEY_HEADER: &str = "Idempotency-Key";

/// A service that was read from a file.
#[derive(Debug, Clone)]
pub struct Custom {
    name: String,
    about: Option<String>,
    idempotency: Idempotency,
    /// Where its requests carry the idempotency key, if its file says that.
    key: Option<FieldPlace>,
    operations: Vec<Operation>,
    rules: Vec<OperationRule>,
    errors: Option<Node>,
    /// The hosts that it answers for in runs in which clients call real hosts.
    hosts: Vec<ServedHost>,
    /// The operations whose events it sends.
    sends: Vec<String>,
}

impl Custom {
    /// Whether its requests have bodies: one of its fields is in one.
    fn has_bodies(&self) -> bool {
        let in_body = |(_, place): &(String, FieldPlace)| matches!(place, FieldPlace::RequestBody(_));
        self.rules.iter().any(|rule| rule.fields.iter().any(in_body))
    }
}

/// How one operation works, in the order of [`Service::operations`].
#[derive(Debug, Clone)]
struct OperationRule {
    route: Route,
    fields: Vec<(String, FieldPlace)>,
    required: Vec<String>,
    action: OperationAction,
    status: u16,
    body: Option<Node>,
}

/// What an operation does. `creator` is the operation that creates the items concerned.
#[derive(Debug, Clone)]
enum OperationAction {
    Create(CreateItems),
    Change { creator: usize, set: Vec<(String, Node)>, unless: Fields },
    Get { creator: usize },
    List { creator: usize, filter: Vec<String> },
}

/// How an operation creates items.
#[derive(Debug, Clone)]
struct CreateItems {
    /// The prefix of their ids; without one, ids are UUIDs.
    prefix: Option<String>,
    /// The field that holds a list: one item is created for each element.
    each: Option<String>,
    /// What they hold in addition to the fields of the request.
    set: Vec<(String, Node)>,
    /// How responses show them; without a template, all their fields.
    shows: Option<Node>,
}

/// A request that the service understood.
#[derive(Debug)]
pub struct Call {
    rule: usize,
    /// The fields that the request has, in the order of their declaration.
    values: Vec<(String, Node)>,
    /// The values that a list is filtered by.
    filter: Vec<(String, String)>,
}

impl Custom {
    /// Reads and checks a service file. The error lists every problem in it.
    pub fn from_source(file: &Source) -> Result<Self, Problems> {
        read::read(file)
    }

    /// Its description, in one sentence.
    #[must_use]
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// Its endpoints, for its reference.
    fn endpoints(&self) -> Vec<EndpointDescription> {
        let one = |(operation, rule): (&Operation, &OperationRule)| {
            let filters = match &rule.action {
                OperationAction::List { filter, .. } => filter.as_slice(),
                _ => &[],
            };
            let names = rule.fields.iter().map(|(name, _)| name).chain(filters);
            let names: Vec<&str> = names.map(String::as_str).collect();
            EndpointDescription::new(
                rule.route.method,
                &rule.route.template(),
                &[&*operation.name],
                &[&names],
            )
        };
        self.operations.iter().zip(&self.rules).map(one).collect()
    }

    fn refuse(&self, status: u16, message: impl Into<String>) -> Answer {
        CustomError { status, message: message.into() }.answer(self.errors.as_ref())
    }

    fn find(&self, request: &Request) -> Result<(usize, Vec<String>), Answer> {
        let segments = request.segments();
        match route::find(self.rules.iter().map(|rule| &rule.route), request.method(), &segments) {
            RouteMatch::Route(rule) => Ok((rule, segments)),
            RouteMatch::OtherMethods(methods) => Err(self
                .refuse(405, "this method is not allowed here")
                .with_header("Allow", methods.join(", "))),
            RouteMatch::NoRoute => Err(self.unknown_path(request)),
        }
    }

    fn unknown_path(&self, request: &Request) -> Answer {
        let message = endpoints::no_such_endpoint(
            &self.name,
            "what its file declares",
            request.method(),
            request.path(),
        );
        self.refuse(404, message)
    }

    fn values(
        &self,
        rule: &OperationRule,
        request: &Request,
        segments: &[String],
    ) -> Result<Vec<(String, Node)>, Answer> {
        let body = if rule.fields.iter().any(|(_, place)| place.is_in_body()) {
            RequestBody::read(request)
        } else {
            Ok(RequestBody::Empty)
        };
        let body = body.map_err(|message| self.refuse(400, message))?;
        let mut values = Vec::new();
        for (name, place) in &rule.fields {
            match place.value(request, &body, &rule.route, segments) {
                Some(value) => values.push((name.clone(), value)),
                None if rule.required.contains(name) => {
                    return Err(self.refuse(422, format!("{name} is required")));
                }
                None => {}
            }
        }
        if let OperationAction::Create(CreateItems { each: Some(each), .. }) = &rule.action
            && values.iter().any(|(name, value)| name == each && template::elements(value).is_empty())
        {
            return Err(self.refuse(422, format!("{each} must not be empty")));
        }
        Ok(values)
    }
}

impl Service for Custom {
    type State = Items;
    type Effect = ItemChange;
    type Call = Call;

    fn name(&self) -> &str {
        &self.name
    }

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn idempotency(&self) -> Idempotency {
        self.idempotency.clone()
    }

    fn key_header(&self) -> &str {
        self.key.as_ref().map_or(KEY_HEADER, |place| place.header().unwrap_or_default())
    }

    fn has_own_key_place(&self) -> bool {
        self.key.is_some()
    }

    fn key_of<'r>(&self, request: &'r Request) -> Option<Cow<'r, str>> {
        match &self.key {
            None => request.header_value(KEY_HEADER).map(Cow::Borrowed),
            Some(FieldPlace::Header(name)) => request.header_value(name).map(Cow::Borrowed),
            Some(place) => place.key(request).map(Cow::Owned),
        }
    }

    fn parameter_headers(&self, operation: usize) -> Vec<&str> {
        let fields = self.rules.get(operation).into_iter().flat_map(|rule| &rule.fields);
        fields.filter_map(|(_, place)| place.header()).collect()
    }

    fn recognize(&self, request: &Request, _context: &Context) -> Result<Recognized<Call>, Answer> {
        let (index, segments) = self.find(request)?;
        let rule = &self.rules[index];
        let values = self.values(rule, request, &segments)?;
        let filter: Vec<(String, String)> = match &rule.action {
            OperationAction::List { filter, .. } => filter
                .iter()
                .filter_map(|name| request.query_value(name).map(|value| (name.clone(), value)))
                .collect(),
            _ => Vec::new(),
        };
        let mut fields = to_fields(&values);
        for (name, value) in &filter {
            fields.set(name.clone(), value.as_str());
        }
        Ok(Recognized { operation: index, fields, call: Call { rule: index, values, filter } })
    }

    fn decide(&self, state: &Items, call: &Call, context: &Context) -> Decision<ItemChange> {
        self.decision(state, call, context)
    }

    fn apply(&self, state: &mut Items, effect: &ItemChange) {
        state.apply(effect);
        if self.sends.iter().any(|name| *name == self.operations[effect.operation()].name) {
            state.send(effect);
        }
    }

    fn events(&self, state: &Items) -> Vec<ServiceEvent> {
        sender::events(self, state)
    }

    fn describe(&self, effect: &ItemChange) -> Option<EffectFacts> {
        Some(effect.facts(self.operations[effect.operation()].name.clone()))
    }

    fn failure(&self, status: u16, _request: &Request, _context: &Context) -> Answer {
        CustomError::from_status(status).answer(self.errors.as_ref())
    }

    fn no_endpoint(&self, request: &Request, _context: &Context) -> Option<Answer> {
        let found =
            route::find(self.rules.iter().map(|rule| &rule.route), request.method(), &request.segments());
        matches!(found, RouteMatch::NoRoute).then(|| self.unknown_path(request))
    }

    fn unauthorized(&self, _request: &Request, _context: &Context) -> Answer {
        CustomError::from_status(401).answer(self.errors.as_ref()).with_header("WWW-Authenticate", "Bearer")
    }

    fn add_standard_headers(&self, answer: &mut Answer, _request: &Request, context: &Context) {
        answer.set_header("X-Request-Id", context.ids.uuid("request"));
    }
}

#[cfg(test)]
mod tests;
