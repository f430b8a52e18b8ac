//! The calls of the API, one file for each group: how each is read from parameters, and what it decides.

pub(crate) mod charge;
pub(crate) mod customer;
pub(crate) mod expand;
pub(crate) mod intent;
pub(crate) mod method;
pub(crate) mod price;
pub(crate) mod product;
pub(crate) mod read;
pub(crate) mod refund;
pub(crate) mod search;
pub(crate) mod subscription;
pub(crate) mod token;

use std::sync::Arc;

use super::effects::PaymentChange;
use super::errors::Refused;
use super::objects::PaymentMethod;
use super::operations::PaymentOperation;
use super::options::PaymentOptions;
use super::source::Instrument;
use super::state::PaymentState;
use crate::service::{Answer, Context};

/// A request that the service understood.
#[derive(Debug)]
pub struct PaymentCall {
    pub(super) operation: PaymentOperation,
    pub(super) call: Box<dyn ApiCall>,
    /// The connected account that the request is for.
    pub(super) account: Option<Arc<str>>,
}

impl PaymentCall {
    /// The actual operation of a request that moves no money although its kind usually does: a confirmation
    /// may only authorize, a refund may only release an authorization, and a subscription may already be as
    /// requested. Such a request does not use up a fault on the usual operation.
    pub(super) fn actual_operation(&self, outcome: &CallOutcome) -> Option<PaymentOperation> {
        match (self.operation, outcome.changes.as_slice()) {
            (PaymentOperation::Charge, [PaymentChange::ChargeSaved(_), ..]) => Some(PaymentOperation::Hold),
            (PaymentOperation::Charge, [PaymentChange::IntentSaved(_), ..])
            | (PaymentOperation::Subscribe, [PaymentChange::SubscriptionSaved(_), ..])
            | (PaymentOperation::Refund, [PaymentChange::Released(_), ..]) => Some(PaymentOperation::Intent),
            (PaymentOperation::Intent, [PaymentChange::IntentSaved(_), PaymentChange::Relabeled(_)])
            | (PaymentOperation::Upgrade, [PaymentChange::SubscriptionSaved(_), ..]) => {
                Some(PaymentOperation::Relabel)
            }
            (PaymentOperation::Upgrade, [PaymentChange::Amended(..), ..]) => Some(PaymentOperation::Amend),
            (PaymentOperation::Upgrade, []) => Some(PaymentOperation::NoChange),
            _ => None,
        }
    }
}

/// A call: it decides its changes and its response.
pub(crate) trait ApiCall: std::fmt::Debug + Send + Sync {
    /// Decides the call in this state.
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused>;
}

/// Everything that a call can read.
#[derive(Clone, Copy)]
pub(crate) struct CallContext<'a> {
    pub(crate) state: &'a PaymentState,
    pub(crate) options: &'a PaymentOptions,
    /// The time and the ids of the request.
    pub(crate) request: &'a Context,
}

impl CallContext<'_> {
    /// The time in seconds.
    pub(crate) fn now(&self) -> i64 {
        self.request.now.as_second()
    }

    /// The payment instrument of a request, as the state knows it.
    pub(crate) fn look_up(&self, instrument: &Instrument) -> Result<Instrument, Refused> {
        instrument.looked_up(self.state, self.request.now)
    }

    /// The payment method of a request, created when its id is unknown.
    pub(crate) fn method(
        &self,
        instrument: &Instrument,
        customer: Option<&str>,
    ) -> Result<Arc<PaymentMethod>, Refused> {
        let instrument = self.look_up(instrument)?;
        let (id, card) = (instrument.id(&self.request.ids, "pm_1"), instrument.card);
        let known = self.state.methods.get(&id).cloned();
        Ok(known.unwrap_or_else(|| {
            let method = PaymentMethod::new(id, card, self.now());
            Arc::new(match customer {
                Some(customer) => method.of_customer(customer),
                None => method,
            })
        }))
    }

    /// A new id with this prefix.
    pub(crate) fn id(&self, prefix: &str, length: usize) -> String {
        self.request.ids.alphanumeric(prefix, length)
    }
}

/// A response and the changes that are committed with it.
#[derive(Debug)]
pub(crate) struct CallOutcome {
    pub(crate) answer: Answer,
    pub(crate) changes: Vec<PaymentChange>,
}

impl CallOutcome {
    /// A response without changes.
    pub(crate) fn read(answer: Answer) -> Self {
        CallOutcome { answer, changes: Vec::new() }
    }
}

/// Sets or clears a value that the request names, and keeps it otherwise.
fn set(slot: &mut Option<String>, requested: &Option<Option<String>>) {
    if let Some(value) = requested {
        slot.clone_from(value);
    }
}
