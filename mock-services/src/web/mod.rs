//! Any API: every host, every path, JSON, form and other bodies. Each `POST`, `PUT`, `PATCH` and `DELETE` has an
//! effect, and a `GET` shows what was made at its path. A scenario can declare other answers. The service knows
//! nothing about faults, clocks or sockets, and treats idempotency keys only as the engine does.

mod answers;
mod content;
mod decide;
mod description;
mod graphql;
mod request;
mod state;
mod template;
#[cfg(test)]
mod tests;
mod unique;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::json;

use crate::idempotency::{Idempotency, Profile};
use crate::service::{Answer, Context, Decision, EffectFacts, Operation, Recognized, Request, Service};
pub use answers::DeclaredAnswer;
pub(crate) use description::description;
use request::ParsedRequest;
use state::{WebChange, WebItems};
pub use unique::UniqueField;

/// The indexes of the operations in [`Service::operations`].
const POST: usize = 0;
const PUT: usize = 1;
const PATCH: usize = 2;
const DELETE: usize = 3;
const GET: usize = 4;
const QUERY: usize = 5;

/// The fields of requests and effects. `path` is without the query and without a slash at its end; `query` is
/// sorted, and `query.a` one value of it; `body` is the whole body, and `body.a.b` one value of it; `if_none_match` is the
/// header of that name, with which a write only creates.
const FIELDS: &[&str] = &["host", "path", "query", "query.*", "if_none_match", "body", "body.*"];
/// The fields that identify an effect, beside its method.
const IDENTITY: &[&str] = &["host", "path", "query", "body"];

/// Headers that carry an idempotency key.
const KEY_HEADERS: [&str; 9] = [
    "idempotency-key",
    "x-idempotency-key",
    "idempotence-key",
    "x-idempotence-key",
    "idempotency-token",
    "x-idempotency-token",
    "i-twilio-idempotency-token",
    "paypal-request-id",
    "repeatability-request-id",
];

/// The options of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WebOptions {
    /// Names of fields, in bodies at any depth and in queries, that are not part of the identity of an effect: a
    /// request id, a time.
    pub ignore: Vec<String>,
    /// The declared answers; the first that matches a request is used.
    pub answers: Vec<DeclaredAnswer>,
    /// The fields that no two things may share.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unique: Vec<UniqueField>,
}

/// A service for any API.
#[derive(Debug)]
pub struct Web {
    options: WebOptions,
    operations: Vec<Operation>,
}

/// A request that was understood.
#[derive(Debug)]
pub struct Call(ParsedRequest);

/// One change of the state.
#[derive(Debug, Clone)]
pub struct Effect(WebChange);

/// What was made at each path of each host.
#[derive(Debug, Clone, Default)]
pub struct State(WebItems);

impl Web {
    /// A service for any API with these options.
    #[must_use]
    pub fn new(options: WebOptions) -> Self {
        let write = |name: &'static str| Operation::write(name, FIELDS, IDENTITY);
        let operations = vec![
            write("web.post"),
            write("web.put"),
            write("web.patch"),
            write("web.delete"),
            Operation::read("web.get", &["host", "path", "query", "query.*"]),
            Operation::read("web.query", FIELDS),
        ];
        Web { options, operations }
    }
}

impl Default for Web {
    fn default() -> Self {
        Web::new(WebOptions::default())
    }
}

impl Service for Web {
    type State = State;
    type Effect = Effect;
    type Call = Call;

    fn name(&self) -> &str {
        "web"
    }

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn recognize(&self, request: &Request, _context: &Context) -> Result<Recognized<Call>, Answer> {
        let parsed = ParsedRequest::read(request, &self.options)?;
        let (operation, fields) = (parsed.operation, parsed.fields.clone());
        Ok(Recognized { operation, fields, call: Call(parsed) })
    }

    fn decide(&self, state: &State, call: &Call, context: &Context) -> Decision<Effect> {
        let declared = self.declared_answer(call).and_then(|place| self.options.answers.get(place));
        decide::decide(&state.0, &call.0, declared, &self.options.unique, context)
    }

    fn declared_answer(&self, call: &Call) -> Option<usize> {
        call.0.answer
    }

    fn apply(&self, state: &mut State, effect: &Effect) {
        state.0.apply(&effect.0);
    }

    fn describe(&self, effect: &Effect) -> Option<EffectFacts> {
        let WebChange { operation, id, fields, .. } = &effect.0;
        let effect = self.operations.get(*operation)?.name.clone();
        Some(EffectFacts { effect, id: id.clone(), fields: fields.clone() })
    }

    fn failure(&self, status: u16, _request: &Request, _context: &Context) -> Answer {
        error(status, "the service failed")
    }

    fn unauthorized(&self, _request: &Request, _context: &Context) -> Answer {
        error(401, "the API key is missing or wrong")
    }

    fn add_standard_headers(&self, answer: &mut Answer, _request: &Request, context: &Context) {
        answer.set_header("X-Request-Id", context.ids.uuid("request"));
    }

    fn key_prefix(&self) -> &'static str {
        "web_"
    }

    fn requires_key(&self) -> bool {
        false
    }

    /// A host whose provider is known has the keys of that provider.
    fn idempotency_of(&self, request: &Request) -> Option<Idempotency> {
        let host = request::host(request);
        Profile::of_host(&host).map(|profile| profile.of_provider().clone())
    }

    fn key_scope(&self, request: &Request) -> Option<String> {
        let host = request::host(request);
        (!host.is_empty()).then_some(host)
    }

    fn key_of<'r>(&self, request: &'r Request) -> Option<Cow<'r, str>> {
        let in_header = KEY_HEADERS.iter().find_map(|name| request.header_value(name));
        in_header.map(Cow::Borrowed).or_else(|| content::key_in_body(request).map(Cow::Owned))
    }
}

/// An error in a plain form.
fn error(status: u16, message: &str) -> Answer {
    Answer::json(status, &json!({ "error": { "status": status, "message": message } }))
}
