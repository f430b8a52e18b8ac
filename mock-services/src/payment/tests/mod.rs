//! Requests as clients send them, decided and committed as the engine does it, without an engine.

mod arbitrary;
mod cards;
mod charges;
mod customers;
mod declines;
mod expand;
mod intents;
mod methods;
mod reads;
mod refunds;
mod refusals;
mod subscriptions;

use serde_json::Value;

use super::{Payment, PaymentEffect, PaymentOptions, PaymentState};
use crate::service::{Answer, Context, Decision, EffectFacts, Fields, Ids, Request, Service};

/// The service with a state, driven one request at a time.
struct Desk {
    payment: Payment,
    state: PaymentState,
    requests: u64,
    /// Everything that was decided, in order.
    committed: Vec<PaymentEffect>,
}

/// What became of a request.
#[derive(Debug)]
struct Reply {
    status: u16,
    body: Value,
    /// Only for requests that were recognised.
    operation: Option<String>,
    fields: Fields,
    effects: Vec<EffectFacts>,
    /// Whether a refusal came after the call had begun.
    begun: bool,
}

impl Desk {
    fn new() -> Self {
        Desk::with(PaymentOptions::default())
    }

    fn with(options: PaymentOptions) -> Self {
        Desk {
            payment: Payment::new(options),
            state: PaymentState::default(),
            requests: 0,
            committed: Vec::new(),
        }
    }

    fn post(&mut self, path: &str, body: &str) -> Reply {
        self.send(
            &Request::new("POST", path)
                .header("Content-Type", "application/x-www-form-urlencoded")
                .body(body),
            true,
        )
    }

    fn get(&mut self, target: &str) -> Reply {
        self.send(&Request::new("GET", target), true)
    }

    fn delete(&mut self, target: &str) -> Reply {
        self.send(&Request::new("DELETE", target), true)
    }

    /// What is left in force, by name and id.
    fn left(&self) -> Vec<(String, String)> {
        let left = self.committed.iter().filter_map(|effect| self.payment.left_behind(&self.state, effect));
        let mut left: Vec<_> = left.map(|facts| (facts.effect.into_owned(), facts.id)).collect();
        left.dedup();
        left
    }

    /// Sends a request and, unless it is to be lost, commits what it decides.
    fn send(&mut self, request: &Request, commit: bool) -> Reply {
        self.requests += 1;
        let now =
            jiff::Timestamp::from_second(1_800_000_000 + i64::try_from(self.requests).unwrap()).unwrap();
        let context = Context { now, ids: Ids::new(7, "payment", 1, self.requests, 0) };
        let recognised = match self.payment.recognize(request, &context) {
            Ok(recognised) => recognised,
            Err(answer) => return Reply::new(&answer),
        };
        let operation = &self.payment.operations()[recognised.operation];
        for (name, _) in recognised.fields.iter() {
            assert!(operation.has_field(name), "{} does not list {name}", operation.name);
        }
        let mut reply = match self.payment.decide(&self.state, &recognised.call, &context) {
            Decision::Refuse(refusal) => {
                for trace in &refusal.traces {
                    assert_eq!(self.payment.describe(trace), None, "a refusal has no effect");
                    self.payment.apply(&mut self.state, trace);
                }
                Reply { begun: refusal.begun, ..Reply::new(&refusal.answer) }
            }
            Decision::Accept(accepted) => {
                assert!(accepted.afterwards.is_empty());
                if commit {
                    accepted.effects.iter().for_each(|effect| self.payment.apply(&mut self.state, effect));
                }
                let effects =
                    accepted.effects.iter().filter_map(|effect| self.payment.describe(effect)).collect();
                self.committed.extend(accepted.effects);
                let operation = accepted
                    .operation
                    .map(|place| self.payment.operations()[place].name.clone().into_owned());
                Reply { effects, operation, ..Reply::new(&accepted.answer) }
            }
        };
        reply.operation = reply.operation.or(Some(operation.name.clone().into_owned()));
        reply.fields = recognised.fields;
        reply
    }
}

impl Reply {
    fn new(answer: &Answer) -> Self {
        let body = serde_json::from_slice(&answer.clone().written().body).unwrap();
        Reply {
            status: answer.status,
            body,
            operation: None,
            fields: Fields::new(),
            effects: Vec::new(),
            begun: false,
        }
    }

    fn ok(self) -> Self {
        assert_eq!(self.status, 200, "{:#}", self.body);
        self
    }

    /// The id of the object that was answered.
    fn id(&self) -> String {
        self.body["id"].as_str().unwrap_or_else(|| panic!("{:#}", self.body)).to_owned()
    }

    /// The name and the fields of the one effect.
    fn effect(&self) -> (&str, &Fields) {
        match &self.effects[..] {
            [effect] => (&effect.effect, &effect.fields),
            other => panic!("not one effect: {other:?}"),
        }
    }

    /// Asserts a refusal with this status and code.
    fn refused(&self, status: u16, code: Option<&str>) {
        assert_eq!((self.status, self.body["error"]["code"].as_str()), (status, code), "{:#}", self.body);
        assert!(self.body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()));
        assert!(self.effects.is_empty());
    }
}
