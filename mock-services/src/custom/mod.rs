//! Your own service, declared in a YAML file: its routes, the fields of its requests, which operations make
//! or change something, and which reads show it. `services/tickets.yaml` is an example that uses all of the
//! format.
//!
//! Each operation has a `route` and one of `effect` (it makes an item), `changes` (it changes an item that
//! another operation made; the route has `{id}`) and `reads` (it shows one item where the route has `{id}`,
//! and otherwise a list). `fields` says where the fields of a request stand: `body.a.b`, `query.x`, `path.x`,
//! `header.X`. Texts hold `${name}`, which alone stands for the whole value, of any kind. It knows nothing of
//! sockets, faults or keys.

mod decide;
mod declared;
mod draft;
mod failure;
mod fields;
mod input;
mod items;
mod read;
mod resolve;
mod route;
mod template;

use std::borrow::Cow;

use crate::endpoints;
use crate::idempotency::{Idempotency, Profile};
use crate::service::{
    Answer, Context, Decision, EffectFacts, Fields, Operation, Recognized, Request, Service,
};
use crate::yaml::{Node, Problems, Source};
pub use declared::DeclaredService;
use failure::Failure;
use input::{Body, Place};
use items::to_fields;
pub use items::{Change, Items};
use route::{Found, Route};

/// The service file that hapax ships: a help desk. It uses all of the format.
pub const TICKETS: &str = include_str!("../../services/tickets.yaml");

/// A service that was read from a file.
#[derive(Debug, Clone)]
pub struct Custom {
    name: String,
    about: Option<String>,
    profile: Profile,
    /// Where its requests carry the idempotency key.
    key: Place,
    operations: Vec<Operation>,
    rules: Vec<Rule>,
    errors: Option<Node>,
}

/// How one operation works. The rules stand in the order of [`Service::operations`].
#[derive(Debug, Clone)]
struct Rule {
    route: Route,
    fields: Vec<(String, Place)>,
    required: Vec<String>,
    deed: Deed,
    status: u16,
    body: Option<Node>,
}

/// What an operation does. `maker` is the operation that made the items in question.
#[derive(Debug, Clone)]
enum Deed {
    Make(Make),
    Change { maker: usize, set: Vec<(String, Node)>, unless: Fields },
    Get { maker: usize },
    List { maker: usize, filter: Vec<String> },
}

/// How an operation makes items.
#[derive(Debug, Clone)]
struct Make {
    /// How their ids begin; UUIDs where there is none.
    prefix: Option<String>,
    /// The field that holds a list, for each element of which one item is made.
    each: Option<String>,
    /// What they hold beside the fields of the request.
    set: Vec<(String, Node)>,
    /// How answers show them; all that they hold where there is none.
    shows: Option<Node>,
}

/// A request that the service understood.
#[derive(Debug)]
pub struct Call {
    rule: usize,
    /// The fields that the request has, in the order of their declaration.
    values: Vec<(String, Node)>,
    /// What a list is narrowed to.
    filter: Vec<(String, String)>,
}

impl Custom {
    /// Reads and checks a service. All that is wrong is told at once.
    pub fn from_source(file: &Source) -> Result<Self, Problems> {
        read::read(file)
    }

    /// What it is for, in a sentence.
    #[must_use]
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    fn refuse(&self, status: u16, message: impl Into<String>) -> Answer {
        Failure { status, message: message.into() }.answer(self.errors.as_ref())
    }

    fn find(&self, request: &Request) -> Result<(usize, Vec<String>), Answer> {
        let segments = request.segments();
        match route::find(self.rules.iter().map(|rule| &rule.route), request.method(), &segments) {
            Found::Route(rule) => Ok((rule, segments)),
            Found::OtherMethods(methods) => Err(self
                .refuse(405, "this method is not allowed here")
                .with_header("Allow", methods.join(", "))),
            Found::Nothing => Err(self.nowhere(request)),
        }
    }

    fn nowhere(&self, request: &Request) -> Answer {
        let said = endpoints::no_such_endpoint(
            &self.name,
            "what its file declares",
            request.method(),
            request.path(),
        );
        self.refuse(404, said)
    }

    fn values(
        &self,
        rule: &Rule,
        request: &Request,
        segments: &[String],
    ) -> Result<Vec<(String, Node)>, Answer> {
        let body = if rule.fields.iter().any(|(_, place)| place.is_in_body()) {
            Body::read(request)
        } else {
            Ok(Body::Empty)
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
        if let Deed::Make(Make { each: Some(each), .. }) = &rule.deed
            && values.iter().any(|(name, value)| name == each && template::elements(value).is_empty())
        {
            return Err(self.refuse(422, format!("{each} must not be empty")));
        }
        Ok(values)
    }
}

impl Service for Custom {
    type State = Items;
    type Effect = Change;
    type Call = Call;

    fn name(&self) -> &str {
        &self.name
    }

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn idempotency(&self) -> Idempotency {
        Idempotency::new(self.profile)
    }

    fn key_header(&self) -> &str {
        self.key.header().unwrap_or_default()
    }

    fn key_of<'r>(&self, request: &'r Request) -> Option<Cow<'r, str>> {
        match &self.key {
            Place::Header(name) => request.header_value(name).map(Cow::Borrowed),
            place => place.key(request).map(Cow::Owned),
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
        let filter: Vec<(String, String)> = match &rule.deed {
            Deed::List { filter, .. } => filter
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

    fn decide(&self, state: &Items, call: &Call, context: &Context) -> Decision<Change> {
        self.decision(state, call, context)
    }

    fn apply(&self, state: &mut Items, effect: &Change) {
        state.apply(effect);
    }

    fn describe(&self, effect: &Change) -> Option<EffectFacts> {
        Some(effect.facts(self.operations[effect.operation()].name.clone()))
    }

    fn failure(&self, status: u16, _request: &Request, _context: &Context) -> Answer {
        Failure::of(status).answer(self.errors.as_ref())
    }

    fn no_endpoint(&self, request: &Request, _context: &Context) -> Option<Answer> {
        let found =
            route::find(self.rules.iter().map(|rule| &rule.route), request.method(), &request.segments());
        matches!(found, Found::Nothing).then(|| self.nowhere(request))
    }

    fn unauthorized(&self, _request: &Request, _context: &Context) -> Answer {
        Failure::of(401).answer(self.errors.as_ref()).with_header("WWW-Authenticate", "Bearer")
    }

    fn add_standard_headers(&self, answer: &mut Answer, _request: &Request, context: &Context) {
        answer.set_header("X-Request-Id", context.ids.uuid("request"));
    }
}

#[cfg(test)]
mod tests;
