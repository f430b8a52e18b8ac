//! What a service is: a pure state machine that decides what a request would do and answer, and applies what
//! was decided. No service knows that faults exist, has a clock or touches a socket; the engine around it has
//! all three.

mod answer;
mod fields;
mod ids;
mod request;

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use crate::idempotency::{Idempotency, KeyError, Profile};

pub use answer::{Answer, Write};
pub use fields::{Fields, Value};
pub(crate) use ids::{IdSource, mix};
pub use ids::{Ids, mint};
pub use request::{Envelope, Request, base64_decoded, percent_decoded};

/// A mock service: routes, rules and answers over a state of its own.
pub trait Service: Send + Sync + 'static {
    /// All that the service remembers. It is the fold of [`Service::apply`] over what was committed, and
    /// nothing else.
    type State: Default + Send + 'static;
    /// One change of the state. Some count as effects ([`Service::describe`]), others are bookkeeping.
    type Effect: Clone + Send + Sync + 'static;
    /// A request that was understood.
    type Call: Send + Sync + 'static;

    /// The name under which scenarios and faults know it: `payment`.
    fn name(&self) -> &str;

    /// Everything it can do.
    fn operations(&self) -> &[Operation];

    /// Reads a request without looking at the state. An error is the true refusal: unknown path, wrong
    /// method, bad parameters.
    fn recognize(&self, request: &Request, context: &Context) -> Result<Recognized<Self::Call>, Answer>;

    /// What is there before the first request, and what happens by itself afterwards.
    fn at_start(&self) -> (Vec<Self::Effect>, Afterwards<Self::Effect>) {
        (Vec::new(), Vec::new())
    }

    /// What the call would change and answer in this state.
    fn decide(&self, state: &Self::State, call: &Self::Call, context: &Context) -> Decision<Self::Effect>;

    /// Commits one change.
    fn apply(&self, state: &mut Self::State, effect: &Self::Effect);

    /// What the ledger says of a change; `None` for bookkeeping that moves no money, delivers no mail and
    /// deploys nothing.
    fn describe(&self, effect: &Self::Effect) -> Option<EffectFacts>;

    /// What the ledger says at the end of a change that is still in force and that somebody should have
    /// ended: money that is held, a lock. `None` where the change was ended, or where it is meant to last.
    fn left_behind(&self, _state: &Self::State, _effect: &Self::Effect) -> Option<EffectFacts> {
        None
    }

    /// What the real service answers when it fails with this status. `request` tells over which of its APIs
    /// it was asked.
    fn failure(&self, status: u16, request: &Request, context: &Context) -> Answer;

    /// The answer to a request for a path that the service does not have, whatever its method and whoever
    /// asks: a client of something else that was pointed here. `None` where it has the path.
    fn no_endpoint(&self, _request: &Request, _context: &Context) -> Option<Answer> {
        None
    }

    /// The true answer to a request without a valid key.
    fn unauthorized(&self, request: &Request, context: &Context) -> Answer;

    /// Adds what the real service sends with every answer: its name, a request id, a version.
    fn add_standard_headers(&self, answer: &mut Answer, request: &Request, context: &Context);

    /// Adds to an answer that is kept under a key what only its replays say: to which request it was given
    /// first.
    fn mark_kept(&self, _answer: &mut Answer, _context: &Context) {}

    /// How its API keys begin.
    fn key_prefix(&self) -> &'static str {
        ""
    }

    /// How it treats keys where the scenario does not say.
    fn idempotency(&self) -> Idempotency {
        Idempotency::new(Profile::None)
    }

    /// Whether, left to its own ways, it looks at the key of this request: not every API of a service does.
    fn honours_key(&self, _request: &Request) -> bool {
        true
    }

    /// The header that carries the idempotency key; empty where it stands elsewhere.
    fn key_header(&self) -> &str {
        "idempotency-key"
    }

    /// The idempotency key of a request, as it was sent.
    fn key_of<'r>(&self, request: &'r Request) -> Option<Cow<'r, str>> {
        request.header_value(self.key_header()).map(Cow::Borrowed)
    }

    /// The headers in which requests of this operation have parameters: a key stands for their values, too.
    fn parameter_headers(&self, _operation: usize) -> Vec<&str> {
        Vec::new()
    }

    /// How it writes the refusal of a key, where it writes it like its own errors; `None` where the profile
    /// writes it.
    fn key_error(&self, _error: &KeyError, _context: &Context) -> Option<Answer> {
        None
    }

    /// What it is spoken to over; each has a port of its own.
    fn transports(&self) -> &'static [Transport] {
        &[Transport::Http]
    }
}

/// What a service is spoken to over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// HTTP.
    Http,
    /// SMTP: in plain text with STARTTLS, and over TLS on a second port.
    Smtp,
}

/// Something that a service can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its full name: `payment.charge`.
    pub name: Cow<'static, str>,
    /// Whether it can leave an effect.
    pub kind: Kind,
    /// Whether it works on a list, so that it can be done in part.
    pub list: bool,
    /// The fields of its requests that a fault's `where` can name. A name that ends in `.*` stands for all
    /// that begin so.
    pub fields: Vec<Cow<'static, str>>,
    /// The fields that identify its effect; none for a read or for bookkeeping.
    pub identity: Vec<Cow<'static, str>>,
}

/// Whether an operation can leave an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It changes nothing.
    Read,
    /// It can leave an effect.
    Write,
}

impl Operation {
    /// An operation that changes nothing.
    #[must_use]
    pub fn read(name: impl Into<Cow<'static, str>>, fields: &[&'static str]) -> Self {
        Operation {
            name: name.into(),
            kind: Kind::Read,
            list: false,
            fields: borrowed(fields),
            identity: Vec::new(),
        }
    }

    /// An operation that can leave an effect, which `identity` tells from others.
    #[must_use]
    pub fn write(
        name: impl Into<Cow<'static, str>>,
        fields: &[&'static str],
        identity: &[&'static str],
    ) -> Self {
        Operation {
            name: name.into(),
            kind: Kind::Write,
            list: false,
            fields: borrowed(fields),
            identity: borrowed(identity),
        }
    }

    /// The same, on a list.
    #[must_use]
    pub fn on_list(mut self) -> Self {
        self.list = true;
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
    /// Its place in [`Service::operations`].
    pub operation: usize,
    /// The fields that matter: those that faults and the ledger may name.
    pub fields: Fields,
    /// The call itself.
    pub call: Call,
}

/// All that a decision may know beside the state and the call.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// The time, as the engine's clock tells it.
    pub now: Timestamp,
    /// Where ids come from.
    pub ids: Ids,
}

/// What a call comes to.
#[derive(Debug)]
pub enum Decision<Effect> {
    /// The service refuses: its true 4xx, no effect, no attempt.
    Refuse(Refusal<Effect>),
    /// The service accepts.
    Accept(Accepted<Effect>),
}

/// A true refusal.
#[derive(Debug)]
pub struct Refusal<Effect> {
    /// What the caller is told.
    pub answer: Answer,
    /// What the service remembers of it: bookkeeping alone, such as a charge that failed. None of it is an
    /// effect.
    pub traces: Vec<Effect>,
    /// Whether the call had begun to execute, so that an idempotency key keeps this answer (a declined card).
    pub begun: bool,
}

/// An accepted call.
#[derive(Debug)]
pub struct Accepted<Effect> {
    /// The operation that it turned out to be, by its place, where the request alone did not tell: whether a
    /// confirmation takes the money or only holds it depends on what is confirmed.
    pub operation: Option<usize>,
    /// What it changes when it commits, in order.
    pub effects: Vec<Effect>,
    /// What follows by itself: a mail that is delivered a little later, the next step of a roll-out.
    pub afterwards: Afterwards<Effect>,
    /// What the caller is told.
    pub answer: Answer,
}

/// What happens by itself, and when.
pub type Afterwards<Effect> = Vec<(After, Effect)>;

/// When something that was put off happens; at the latest when the service settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum After {
    /// When so many more requests have come to this service: they still find it undone, the next finds it
    /// done.
    Requests(u32),
    /// By the clock.
    Time(Duration),
    /// Only when the service settles.
    Settled,
}

impl<Effect> Decision<Effect> {
    /// Accepted, with these changes.
    #[must_use]
    pub fn accept(answer: Answer, effects: Vec<Effect>) -> Self {
        Decision::Accept(Accepted { operation: None, effects, afterwards: Vec::new(), answer })
    }

    /// Accepted, and nothing changes: a read.
    #[must_use]
    pub fn read(answer: Answer) -> Self {
        Decision::accept(answer, Vec::new())
    }

    /// Refused before it began.
    #[must_use]
    pub fn refuse(answer: Answer) -> Self {
        Decision::Refuse(Refusal { answer, traces: Vec::new(), begun: false })
    }

    /// Refused after it had begun, as a declined card is.
    #[must_use]
    pub fn refuse_begun(answer: Answer) -> Self {
        Decision::Refuse(Refusal { answer, traces: Vec::new(), begun: true })
    }
}

/// What the ledger says of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectFacts {
    /// The effect's name, that of the operation which makes it: `payment.charge`.
    pub effect: Cow<'static, str>,
    /// The id that the service gave to what it made.
    pub id: String,
    /// What was done: amount, recipient, version, and whatever tells it from others.
    pub fields: Fields,
}
