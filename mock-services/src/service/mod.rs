//! The service trait and its types. A service is a pure state machine: it decides what a request would change
//! and answer, and applies what was decided. It has no faults, no clock and no socket; the engine around it
//! has all three.

mod answer;
mod fields;
mod ids;
mod request;

use std::borrow::Cow;
use std::fmt::Debug;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::idempotency::{Idempotency, KeyError, Profile};
use crate::word_enum;

pub use crate::after::After;
pub use answer::{Answer, WriteBody};
pub use fields::{Fields, Value};
pub(crate) use ids::{IdSource, mix};
pub use ids::{Ids, generate_key};
pub use request::{Envelope, Request, base64_decoded, percent_decoded};

/// A mock service: routes, rules and answers over a state of its own.
pub trait Service: Send + Sync + 'static {
    /// What the service remembers: the result of [`Service::apply`] for every committed change, in order. Two states
    /// with the same `Debug` text are the same.
    type State: Clone + Debug + Default + Send + 'static;
    /// One change of the state. Some count as effects, others only change the state; see
    /// [`Service::describe`].
    type Effect: Clone + Send + Sync + 'static;
    /// A request that was understood.
    type Call: Send + Sync + 'static;

    /// Its name in scenarios and faults: `payment`.
    fn name(&self) -> &str;

    /// Its operations.
    fn operations(&self) -> &[Operation];

    /// Parses a request without reading the state.
    ///
    /// # Errors
    /// The answer of the service to an invalid request: unknown path, wrong method, bad parameters.
    fn recognize(&self, request: &Request, context: &Context) -> Result<Recognized<Self::Call>, Answer>;

    /// The changes that are committed before the first request, and those that follow later without a
    /// request.
    fn at_start(&self) -> (Vec<Self::Effect>, Afterwards<Self::Effect>) {
        (Vec::new(), Vec::new())
    }

    /// How long a request waits for a change of the state before it is decided, as long as it finds this state: a
    /// read that waits for an answer.
    fn waits(&self, _state: &Self::State, _call: &Self::Call) -> Option<Duration> {
        None
    }

    /// Decides what the call would change and answer in this state.
    fn decide(&self, state: &Self::State, call: &Self::Call, context: &Context) -> Decision<Self::Effect>;

    /// The only object that the call reads or changes; `None` if there may be others. Calls about different objects do
    /// not affect each other.
    fn object(&self, _call: &Self::Call) -> Option<String> {
        None
    }

    /// Commits one change.
    fn apply(&self, state: &mut Self::State, effect: &Self::Effect);

    /// What the ledger records of a change; `None` for a change that is not an effect: it moves no money,
    /// delivers no mail and deploys nothing.
    fn describe(&self, effect: &Self::Effect) -> Option<EffectFacts>;

    /// The effects that a request asks for with this change, also where the change itself is not an effect: a
    /// mail that bounces is still a mail to that address. They decide whether faults apply to the request.
    fn asked_effects(&self, effect: &Self::Effect) -> Vec<EffectFacts> {
        self.describe(effect).into_iter().collect()
    }

    /// How much of the scenario's task a change carries. Faults wait for a request that carries it.
    fn task_share(&self, _effect: &Self::Effect) -> TaskShare {
        TaskShare::Full
    }

    /// What the ledger records at the end of a trial of a change that a caller should have ended: held money,
    /// a lock. `None` for a change that was ended, or that is permanent.
    fn left_behind(&self, _state: &Self::State, _effect: &Self::Effect) -> Option<EffectFacts> {
        None
    }

    /// What it has sent to the receivers of its events, oldest first.
    fn events(&self, _state: &Self::State) -> Vec<ServiceEvent> {
        Vec::new()
    }

    /// The answer of the real service when it fails with this status. Its form can depend on the API that
    /// `request` uses.
    fn failure(&self, status: u16, request: &Request, context: &Context) -> Answer;

    /// The answer to a request for a path that the service does not have, with any method and any key: the
    /// client was configured for another service. `None` if the service has the path.
    fn no_endpoint(&self, _request: &Request, _context: &Context) -> Option<Answer> {
        None
    }

    /// The answer to a request without a valid API key.
    fn unauthorized(&self, request: &Request, context: &Context) -> Answer;

    /// Adds the headers that the real service sends with every answer: its name, a request id, a version.
    fn add_standard_headers(&self, answer: &mut Answer, request: &Request, context: &Context);

    /// Where the body of this answer is cut for a fault that cuts it at `place`; `None` if it does not have
    /// the place. Only operations that generate have such answers.
    fn cut(&self, _answer: &Answer, _place: CutPlace) -> Option<usize> {
        None
    }

    /// Adds to an answer that is stored under a key what only its replays have, such as the id of the first
    /// request.
    fn mark_kept(&self, _answer: &mut Answer, _context: &Context) {}

    /// The prefix of its API keys.
    fn key_prefix(&self) -> &'static str {
        ""
    }

    /// The API key of a request. Most real APIs have it in `Authorization` or `x-api-key`.
    fn credential<'r>(&self, request: &'r Request) -> Option<Cow<'r, str>> {
        request.credential()
    }

    /// Whether a request must have an API key.
    fn requires_key(&self) -> bool {
        true
    }

    /// How it treats idempotency keys if the scenario does not say.
    fn idempotency(&self) -> Idempotency {
        Idempotency::new(Profile::None)
    }

    /// The place, from 0, of the answer that the scenario declares for a call.
    fn declared_answer(&self, _call: &Self::Call) -> Option<usize> {
        None
    }

    /// Whether it uses the key of this request if the scenario does not say: not every API of a service does.
    fn honors_key(&self, _request: &Request) -> bool {
        true
    }

    /// How it treats the key of this request if the scenario does not say and that depends on the request: on the
    /// provider of its host.
    fn idempotency_of(&self, _request: &Request) -> Option<Idempotency> {
        None
    }

    /// What keys of requests belong to, beside the account: the host. Keys of others are other keys.
    fn key_scope(&self, _request: &Request) -> Option<String> {
        None
    }

    /// The header that has the idempotency key; empty if the key is not in a header.
    fn key_header(&self) -> &str {
        "Idempotency-Key"
    }

    /// Whether its file says where requests have their key. No profile has it elsewhere then.
    fn has_own_key_place(&self) -> bool {
        false
    }

    /// The idempotency key of a request, as it was sent.
    fn key_of<'r>(&self, request: &'r Request) -> Option<Cow<'r, str>> {
        request.header_value(self.key_header()).map(Cow::Borrowed)
    }

    /// The headers in which requests of this operation have parameters. Two requests with the same key must
    /// agree in them.
    fn parameter_headers(&self, _operation: usize) -> Vec<&str> {
        Vec::new()
    }

    /// The refusal of an idempotency key in the form of the service's own errors; `None` for the form of the
    /// profile.
    fn key_error(&self, _error: &KeyError<'_>, _context: &Context) -> Option<Answer> {
        None
    }

    /// The protocols that it accepts; each has its own port.
    fn transports(&self) -> &'static [Transport] {
        &[Transport::Http]
    }
}

/// How much of the scenario's task a request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskShare {
    /// Nothing of it.
    None,
    /// It is about the task and cannot act on it: a question to a model without tools. It counts only for a
    /// caller that never sends a request with the full share.
    Part,
    /// All of it.
    #[default]
    Full,
}

impl TaskShare {
    /// Whether it is all of the task.
    #[must_use]
    pub fn is_full(&self) -> bool {
        *self == TaskShare::Full
    }
}

word_enum! {
    /// A place in an answer that a model generated.
    pub enum CutPlace {
        /// In the middle of its text.
        Word => "word",
        /// In the middle of the arguments of a tool call.
        Arguments => "arguments",
        /// Before the marker with which it ends.
        EndMarker => "end-marker",
    }
}

/// A protocol that a service accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// HTTP.
    Http,
    /// SMTP: in plain text with STARTTLS, and over TLS on a second port.
    Smtp,
}

/// An operation of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its full name: `payment.charge`.
    pub name: Cow<'static, str>,
    /// Whether it can have an effect.
    pub kind: OperationKind,
    /// Whether it works on a list, so that a part of it can be committed.
    pub list: bool,
    /// Whether its answer is generated by a model, so that it can be cut at a [`CutPlace`].
    pub generates: bool,
    /// The fields of its requests that a fault's `where` can name. A name that ends in `.*` includes all
    /// fields with that prefix.
    pub fields: Vec<Cow<'static, str>>,
    /// The fields that identify its effect; none if it has no effect.
    pub identity: Vec<Cow<'static, str>>,
}

/// Whether an operation can have an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// It changes nothing.
    Read,
    /// It can have an effect.
    Write,
}

impl Operation {
    /// An operation that changes nothing.
    #[must_use]
    pub fn read(name: impl Into<Cow<'static, str>>, fields: &[&'static str]) -> Self {
        Operation {
            name: name.into(),
            kind: OperationKind::Read,
            list: false,
            generates: false,
            fields: borrowed(fields),
            identity: Vec::new(),
        }
    }

    /// An operation that can have an effect, which the fields of `identity` identify.
    #[must_use]
    pub fn write(
        name: impl Into<Cow<'static, str>>,
        fields: &[&'static str],
        identity: &[&'static str],
    ) -> Self {
        Operation {
            name: name.into(),
            kind: OperationKind::Write,
            list: false,
            generates: false,
            fields: borrowed(fields),
            identity: borrowed(identity),
        }
    }

    /// The same operation on a list.
    #[must_use]
    pub fn on_list(mut self) -> Self {
        self.list = true;
        self
    }

    /// The same operation with an answer that a model generates.
    #[must_use]
    pub fn generating(mut self) -> Self {
        self.generates = true;
        self
    }

    /// Whether requests of this operation can have the field.
    #[must_use]
    pub fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|field| match field.strip_suffix('*') {
            Some(stem) => name.starts_with(stem),
            None => field == name,
        })
    }
}

fn borrowed(names: &[&'static str]) -> Vec<Cow<'static, str>> {
    names.iter().map(|name| Cow::Borrowed(*name)).collect()
}

/// A request that the service understood.
#[derive(Debug)]
pub struct Recognized<Call> {
    /// The index of its operation in [`Service::operations`].
    pub operation: usize,
    /// The fields that faults and the ledger can name.
    pub fields: Fields,
    /// The call itself.
    pub call: Call,
}

/// What a decision may use in addition to the state and the call.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// The time of the engine's clock.
    pub now: Timestamp,
    /// Where ids come from.
    pub ids: Ids,
}

/// The result of a call.
#[derive(Debug)]
pub enum Decision<Effect> {
    /// The service refuses the call with its own 4xx. The call has no effect and is not an attempt.
    Refuse(Refusal<Effect>),
    /// The service accepts.
    Accept(Accepted<Effect>),
}

/// A refused call.
#[derive(Debug)]
pub struct Refusal<Effect> {
    /// The answer to the caller.
    pub answer: Answer,
    /// The changes that the refusal makes, such as a failed charge. None of them is an effect.
    pub traces: Vec<Effect>,
    /// Whether the call had begun to execute, so that this answer is stored under the idempotency key: a
    /// declined card.
    pub begun: bool,
}

/// An accepted call.
#[derive(Debug)]
pub struct Accepted<Effect> {
    /// The index of the operation, if it depends on the state and not on the request: a confirmation takes
    /// the money or only holds it.
    pub operation: Option<usize>,
    /// The changes that it commits, in order.
    pub effects: Vec<Effect>,
    /// The changes that follow without a request: a mail that is delivered later, the next step of a rollout.
    pub afterwards: Afterwards<Effect>,
    /// The answer to the caller.
    pub answer: Answer,
}

impl<Effect> Accepted<Effect> {
    /// All changes, also those that follow without a request.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &Effect> {
        self.effects.iter().chain(self.afterwards.iter().map(|(_, effect)| effect))
    }
}

/// Changes that follow without a request, and when.
pub type Afterwards<Effect> = Vec<(After, Effect)>;

impl<Effect> Decision<Effect> {
    /// Accepts with these changes.
    #[must_use]
    pub fn accept(answer: Answer, effects: Vec<Effect>) -> Self {
        Decision::Accept(Accepted { operation: None, effects, afterwards: Vec::new(), answer })
    }

    /// Accepts without a change: a read.
    #[must_use]
    pub fn read(answer: Answer) -> Self {
        Decision::accept(answer, Vec::new())
    }

    /// Refuses before the call began to execute.
    #[must_use]
    pub fn refuse(answer: Answer) -> Self {
        Decision::Refuse(Refusal { answer, traces: Vec::new(), begun: false })
    }

    /// Refuses after the call began to execute: a declined card.
    #[must_use]
    pub fn refuse_begun(answer: Answer) -> Self {
        Decision::Refuse(Refusal { answer, traces: Vec::new(), begun: true })
    }
}

/// What the ledger records of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectFacts {
    /// The name of the effect, which is that of its operation: `payment.charge`.
    pub effect: Cow<'static, str>,
    /// The id that the service gave it.
    pub id: String,
    /// What was done: amount, recipient, version, and the fields of its identity.
    pub fields: Fields,
}

/// An event of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceEvent {
    /// The effect that it is about: `payment.charge`.
    pub effect: String,
    /// The fields of that effect, by which a scenario selects events.
    pub fields: Fields,
    /// Its id, the same in every copy: `evt_1…`.
    pub id: String,
    /// Its type: `charge.succeeded`.
    pub kind: String,
    /// Its body.
    pub body: String,
    /// The name of its sender, as in the description of the service: `Stripe`.
    pub sender: &'static str,
}
