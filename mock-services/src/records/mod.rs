//! The record store: values under keys, each with a version that `If-Match` can require, and counters. It
//! knows nothing about faults, idempotency keys or clocks; the engine handles those.

mod condition;
mod decide;
mod description;
mod number;
mod problem;
mod route;
mod state;
#[cfg(test)]
mod tests;
mod tools;
mod views;

use serde::Serialize;
use serde_json::Value;

use crate::service::{
    Afterwards, Answer, Context, Decision, EffectFacts, Operation, Recognized, Request, Service,
};
pub(crate) use description::description;
use route::RecordsAction;
use state::RecordChange;

/// The initial state and the settings of a record store.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RecordsOptions {
    /// The records that exist before the first request, each at version 1.
    pub initial: Vec<(String, Value)>,
    /// The counters that exist before the first request, and their values.
    pub counters: Vec<(String, i64)>,
    /// Whether a change must name the version it changes; otherwise the response is 428.
    pub require_if_match: bool,
}

/// A record store.
#[derive(Debug)]
pub struct Records {
    options: RecordsOptions,
    operations: Vec<Operation>,
}

/// A request that the record store understood.
#[derive(Debug)]
pub struct Call(RecordsAction);

/// One change of the record store's state.
#[derive(Debug, Clone)]
pub struct Effect(RecordChange);

impl Records {
    /// A record store with these options.
    #[must_use]
    pub fn new(options: RecordsOptions) -> Self {
        Records { options, operations: route::operations() }
    }
}

impl Default for Records {
    fn default() -> Self {
        Records::new(RecordsOptions::default())
    }
}

impl Service for Records {
    type State = state::State;
    type Effect = Effect;
    type Call = Call;

    fn name(&self) -> &str {
        "records"
    }

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn recognize(&self, request: &Request, _context: &Context) -> Result<Recognized<Call>, Answer> {
        let (operation, fields, action) = route::route(request, self.options.require_if_match)?;
        Ok(Recognized { operation, fields, call: Call(action) })
    }

    fn at_start(&self) -> (Vec<Effect>, Afterwards<Effect>) {
        let records = self.options.initial.iter();
        let records =
            records.map(|(key, value)| RecordChange::Known { key: key.clone(), value: value.clone() });
        let counters = self.options.counters.iter();
        let counters = counters
            .map(|(counter, value)| RecordChange::Counted { counter: counter.clone(), value: *value });
        (records.chain(counters).map(Effect).collect(), Vec::new())
    }

    fn decide(&self, state: &Self::State, call: &Call, context: &Context) -> Decision<Effect> {
        match decide::decide(state, &call.0, context) {
            decide::RecordsDecision::Read(answer) => Decision::read(answer),
            decide::RecordsDecision::Change(answer, change) => Decision::accept(answer, vec![Effect(change)]),
            decide::RecordsDecision::Refuse(answer) => Decision::refuse(answer),
        }
    }

    fn object(&self, call: &Call) -> Option<String> {
        match &call.0 {
            RecordsAction::Put { key, .. }
            | RecordsAction::Delete { key, .. }
            | RecordsAction::Get { key, .. } => Some(format!("record {key}")),
            RecordsAction::Increment { counter, .. } | RecordsAction::Counter { counter } => {
                Some(format!("counter {counter}"))
            }
            RecordsAction::List(_) | RecordsAction::Counters(_) => None,
        }
    }

    fn apply(&self, state: &mut Self::State, effect: &Effect) {
        state.commit(&effect.0);
    }

    fn describe(&self, effect: &Effect) -> Option<EffectFacts> {
        state::facts_of(&effect.0)
    }

    fn failure(&self, status: u16, _request: &Request, _context: &Context) -> Answer {
        problem::failure(status)
    }

    fn no_endpoint(&self, request: &Request, _context: &Context) -> Option<Answer> {
        route::unknown_path(request)
    }

    fn unauthorized(&self, _request: &Request, _context: &Context) -> Answer {
        problem::unauthorized()
    }

    fn add_standard_headers(&self, answer: &mut Answer, _request: &Request, context: &Context) {
        answer.set_header("Cache-Control", "no-cache");
        answer.set_header("X-Request-Id", context.ids.uuid("request"));
    }

    fn key_prefix(&self) -> &'static str {
        "rk_"
    }
}
