//! The payment service: Stripe's REST API as its clients use it, with charges, intents, refunds, customers,
//! subscriptions, payment methods, products and prices. It knows neither faults nor idempotency keys; the engine handles those.

mod allowed;
mod answers;
mod calls;
mod cards;
mod configure;
mod description;
mod earlier_charges;
mod effect_fields;
mod effects;
mod errors;
mod expandable;
mod expiry;
mod failures;
mod field_kinds;
mod form;
mod list;
mod metadata;
mod money;
mod objects;
mod operations;
mod options;
mod params;
mod products;
mod reference;
mod route;
mod search;
mod sender;
mod source;
mod standard_headers;
mod state;
mod test_cards;
#[cfg(test)]
mod tests;
mod tools;

pub use calls::PaymentCall;
pub(crate) use description::description;
pub use effects::PaymentEffect;
pub use options::{Customers, EarlierCharge, PaymentOptions};
pub use state::PaymentState;

use calls::CallContext;
use errors::PaymentError;

use std::sync::Arc;

use crate::idempotency::{Idempotency, KeyError, Profile};
use crate::service::{
    Accepted, Afterwards, Answer, Context, Decision, EffectFacts, Operation, Recognized, Refusal, Request,
    Service, ServiceEvent,
};

/// The payment service.
#[derive(Debug)]
pub struct Payment {
    options: PaymentOptions,
    operations: Vec<Operation>,
}

impl Payment {
    /// A payment service with these options.
    #[must_use]
    pub fn new(options: PaymentOptions) -> Self {
        Payment { options, operations: operations::all() }
    }
}

impl Default for Payment {
    fn default() -> Self {
        Payment::new(PaymentOptions::default())
    }
}

impl Service for Payment {
    type State = PaymentState;
    type Effect = PaymentEffect;
    type Call = PaymentCall;

    fn name(&self) -> &str {
        "payment"
    }

    fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn recognize(&self, request: &Request, context: &Context) -> Result<Recognized<PaymentCall>, Answer> {
        let routed = route::route(request).map_err(|problem| problem.answer(context))?;
        Ok(Recognized {
            operation: routed.operation as usize,
            fields: routed.fields,
            call: PaymentCall {
                operation: routed.operation,
                call: routed.call,
                account: request.header_value("stripe-account").filter(|id| !id.is_empty()).map(Arc::from),
            },
        })
    }

    fn at_start(&self) -> (Vec<PaymentEffect>, Afterwards<PaymentEffect>) {
        (earlier_charges::charges(&self.options).into_iter().map(PaymentEffect::new).collect(), Vec::new())
    }

    fn decide(&self, state: &PaymentState, call: &PaymentCall, context: &Context) -> Decision<PaymentEffect> {
        let on_account = |change| PaymentEffect { change, account: call.account.clone() };
        match call.call.decide(&CallContext { state, options: &self.options, request: context }) {
            Ok(outcome) => Decision::Accept(Accepted {
                operation: call.actual_operation(&outcome).map(|operation| operation as usize),
                effects: outcome.changes.into_iter().map(on_account).collect(),
                afterwards: Vec::new(),
                answer: outcome.answer,
            }),
            Err(mut problem) => {
                let traces = problem.take_changes_to_commit().into_iter().map(on_account).collect();
                Decision::Refuse(Refusal {
                    traces,
                    begun: problem.was_executed(),
                    answer: problem.answer(context),
                })
            }
        }
    }

    fn apply(&self, state: &mut PaymentState, effect: &PaymentEffect) {
        effect.change.apply(state);
    }

    fn describe(&self, effect: &PaymentEffect) -> Option<EffectFacts> {
        effect.change.describe().map(|facts| effect.on_account(facts))
    }

    fn asked_effects(&self, effect: &PaymentEffect) -> Vec<EffectFacts> {
        effect.change.asked().into_iter().map(|facts| effect.on_account(facts)).collect()
    }

    fn left_behind(&self, state: &PaymentState, effect: &PaymentEffect) -> Option<EffectFacts> {
        effect.change.left_behind(state).map(|facts| effect.on_account(facts))
    }

    fn events(&self, state: &PaymentState) -> Vec<ServiceEvent> {
        sender::events(state)
    }

    fn failure(&self, status: u16, _request: &Request, context: &Context) -> Answer {
        failures::failure(status, context)
    }

    fn no_endpoint(&self, request: &Request, context: &Context) -> Option<Answer> {
        route::unknown_path(request).map(|problem| problem.answer(context))
    }

    fn unauthorized(&self, request: &Request, context: &Context) -> Answer {
        failures::unauthorized(request, context)
    }

    fn add_standard_headers(&self, answer: &mut Answer, request: &Request, context: &Context) {
        standard_headers::add_standard_headers(answer, request, context, &self.options.api_version);
    }

    fn mark_kept(&self, answer: &mut Answer, context: &Context) {
        // A page of the gateway has no idempotency headers.
        if answer.header("content-type") != Some("text/html") {
            answer.set_header("Original-Request", errors::request_id(context));
        }
    }

    fn key_error(&self, error: &KeyError<'_>, context: &Context) -> Option<Answer> {
        let problem = PaymentError::new(error.status, error.kind.to_owned(), error.message.clone());
        (error.profile == Profile::Stripe.as_str()).then(|| match error.code {
            Some(code) => problem.code(code.to_owned()).answer(context),
            None => problem.answer(context),
        })
    }

    fn idempotency(&self) -> Idempotency {
        Idempotency::new(Profile::Stripe)
    }

    fn key_prefix(&self) -> &'static str {
        "sk_test_"
    }
}
