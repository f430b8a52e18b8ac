//! Requests as clients send them, decided and committed without an engine.

mod arbitrary;
mod cards;
mod charges;
mod customers;
mod declines;
mod expand;
mod intents;
mod methods;
mod products;
mod reads;
mod refunds;
mod refusals;
mod subscriptions;

use serde_json::Value;

use super::{Payment, PaymentEffect, PaymentOptions, PaymentState};
use crate::service::{Answer, Context, Decision, EffectFacts, Fields, Ids, Request, Service};

/// The service with a state, driven one request at a time.
struct PaymentHarness {
    payment: Payment,
    state: PaymentState,
    requests: u64,
    /// All decisions, in order.
    committed: Vec<PaymentEffect>,
}

/// The result of a request.
#[derive(Debug)]
struct TestReply {
    status: u16,
    body: Value,
    /// Only for recognized requests.
    operation: Option<String>,
    fields: Fields,
    effects: Vec<EffectFacts>,
    /// Whether a refusal came during execution.
    executed: bool,
}

impl PaymentHarness {
    fn new() -> Self {
        PaymentHarness::with(PaymentOptions::default())
    }

    fn with(options: PaymentOptions) -> Self {
        PaymentHarness {
            payment: Payment::new(options),
            state: PaymentState::default(),
            requests: 0,
            committed: Vec::new(),
        }
    }

    fn post(&mut self, path: &str, body: &str) -> TestReply {
        self.send(
            &Request::new("POST", path)
                .header("Content-Type", "application/x-www-form-urlencoded")
                .body(body),
            true,
        )
    }

    fn get(&mut self, target: &str) -> TestReply {
        self.send(&Request::new("GET", target), true)
    }

    fn delete(&mut self, target: &str) -> TestReply {
        self.send(&Request::new("DELETE", target), true)
    }

    /// The remaining authorizations, by name and id.
    fn remaining_authorizations(&self) -> Vec<(String, String)> {
        let remaining_authorizations =
            self.committed.iter().filter_map(|effect| self.payment.left_behind(&self.state, effect));
        let mut remaining_authorizations: Vec<_> =
            remaining_authorizations.map(|facts| (facts.effect.into_owned(), facts.id)).collect();
        remaining_authorizations.dedup();
        remaining_authorizations
    }

    /// Sends a request and, when `commit` is set, commits its effects.
    fn send(&mut self, request: &Request, commit: bool) -> TestReply {
        self.requests += 1;
        let now =
            jiff::Timestamp::from_second(1_800_000_000 + i64::try_from(self.requests).unwrap()).unwrap();
        let context = Context { now, ids: Ids::new(7, "payment", 1, self.requests, 0) };
        let recognized = match self.payment.recognize(request, &context) {
            Ok(recognized) => recognized,
            Err(answer) => return TestReply::new(&answer),
        };
        let operation = &self.payment.operations()[recognized.operation];
        for (name, _) in recognized.fields.iter() {
            assert!(operation.has_field(name), "{} does not list {name}", operation.name);
        }
        let mut reply = match self.payment.decide(&self.state, &recognized.call, &context) {
            Decision::Refuse(refusal) => {
                for trace in &refusal.traces {
                    assert_eq!(self.payment.describe(trace), None, "a refusal has no effect");
                    self.payment.apply(&mut self.state, trace);
                }
                TestReply { executed: refusal.begun, ..TestReply::new(&refusal.answer) }
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
                TestReply { effects, operation, ..TestReply::new(&accepted.answer) }
            }
        };
        reply.operation = reply.operation.or(Some(operation.name.clone().into_owned()));
        reply.fields = recognized.fields;
        reply
    }
}

impl TestReply {
    fn new(answer: &Answer) -> Self {
        let body = serde_json::from_slice(&answer.clone().written().body).unwrap();
        TestReply {
            status: answer.status,
            body,
            operation: None,
            fields: Fields::new(),
            effects: Vec::new(),
            executed: false,
        }
    }

    fn ok(self) -> Self {
        assert_eq!(self.status, 200, "{:#}", self.body);
        self
    }

    /// The id of the object in the response.
    fn id(&self) -> String {
        self.body["id"].as_str().unwrap_or_else(|| panic!("{:#}", self.body)).to_owned()
    }

    /// The name and the fields of the only effect.
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
