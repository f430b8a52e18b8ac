//! The record store: values under keys, each with a version that `If-Match` can ask for, and counters. It
//! knows nothing of faults, keys of idempotency or clocks; the engine around it does.

mod condition;
mod decide;
mod description;
mod number;
mod problem;
mod route;
mod state;
#[cfg(test)]
mod tests;
mod views;

use serde::Serialize;
use serde_json::Value;

use crate::service::{
    Afterwards, Answer, Context, Decision, EffectFacts, Operation, Recognized, Request, Service,
};
pub(crate) use description::description;
use route::What;
use state::Change;

/// What a record store starts with.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RecordsOptions {
    /// The records that are there before the first request, each at version 1.
    pub initial: Vec<(String, Value)>,
    /// The counters that are there before the first request, and where they stand.
    pub counters: Vec<(String, i64)>,
    /// Whether a change must say which version it is of: 428 where it does not.
    pub require_if_match: bool,
}

/// A record store.
#[derive(Debug)]
pub struct Records {
    options: RecordsOptions,
    operations: Vec<Operation>,
}

/// A request to the record store that was understood.
#[derive(Debug)]
pub struct Call(What);

/// One change of what the record store remembers.
#[derive(Debug, Clone)]
pub struct Effect(Change);

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
        let (operation, fields, what) = route::route(request, self.options.require_if_match)?;
        Ok(Recognized { operation, fields, call: Call(what) })
    }

    fn at_start(&self) -> (Vec<Effect>, Afterwards<Effect>) {
        let records = self.options.initial.iter();
        let records = records.map(|(key, value)| Change::Known { key: key.clone(), value: value.clone() });
        let counters = self.options.counters.iter();
        let counters =
            counters.map(|(counter, value)| Change::Counted { counter: counter.clone(), value: *value });
        (records.chain(counters).map(Effect).collect(), Vec::new())
    }

    fn decide(&self, state: &Self::State, call: &Call, context: &Context) -> Decision<Effect> {
        match decide::decide(state, &call.0, context) {
            decide::Verdict::Read(answer) => Decision::read(answer),
            decide::Verdict::Change(answer, change) => Decision::accept(answer, vec![Effect(change)]),
            decide::Verdict::Refuse(answer) => Decision::refuse(answer),
        }
    }

    fn apply(&self, state: &mut Self::State, effect: &Effect) {
        state.commit(&effect.0);
    }

    fn describe(&self, effect: &Effect) -> Option<EffectFacts> {
        state::described(&effect.0)
    }

    fn failure(&self, status: u16, _request: &Request, _context: &Context) -> Answer {
        problem::failure(status)
    }

    fn no_endpoint(&self, request: &Request, _context: &Context) -> Option<Answer> {
        route::nowhere(request)
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
