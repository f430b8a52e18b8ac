//! Each call in a file of its own: how it is read from parameters, and what it comes to in a state.

pub(crate) mod charge;
pub(crate) mod customer;
pub(crate) mod expand;
pub(crate) mod intent;
pub(crate) mod intent_steps;
pub(crate) mod items;
pub(crate) mod method;
pub(crate) mod read;
pub(crate) mod refund;
pub(crate) mod search;
pub(crate) mod subscription;
pub(crate) mod terms;
pub(crate) mod token;
pub(crate) mod unsubscribe;

use std::sync::Arc;

use super::effects::Change;
use super::errors::Refused;
use super::objects::PaymentMethod;
use super::operations::Op;
use super::options::PaymentOptions;
use super::source::Instrument;
use super::state::PaymentState;
use crate::service::{Answer, Context};

/// A request that was understood.
#[derive(Debug)]
pub struct PaymentCall {
    pub(super) operation: Op,
    pub(super) call: Box<dyn Call>,
}

impl PaymentCall {
    /// What it turned out to be where it moves no money, though such requests do: what is confirmed may only
    /// be held, what is given back may only have been held, and a subscription may have been as it is asked
    /// for. Such a request uses up no fault that is meant for the others.
    pub(super) fn turned_out(&self, outcome: &Outcome) -> Option<Op> {
        match (self.operation, outcome.changes.as_slice()) {
            (Op::Charge, [Change::ChargeSaved(_), ..]) => Some(Op::Hold),
            (Op::Charge, [Change::IntentSaved(_), ..])
            | (Op::Subscribe, [Change::SubscriptionSaved(_), ..])
            | (Op::Refund, [Change::Released(_), ..]) => Some(Op::Intent),
            (Op::Intent, [Change::IntentSaved(_), Change::Relabelled(_)])
            | (Op::Upgrade, [Change::SubscriptionSaved(_), ..]) => Some(Op::Relabel),
            (Op::Upgrade, [Change::Amended(..), ..]) => Some(Op::Amend),
            (Op::Upgrade, []) => Some(Op::NoChange),
            _ => None,
        }
    }
}

/// What a call can do: say what it would change and answer.
pub(crate) trait Call: std::fmt::Debug + Send + Sync {
    /// What it comes to in this world.
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused>;
}

/// All that a call may look at.
#[derive(Clone, Copy)]
pub(crate) struct World<'a> {
    pub(crate) state: &'a PaymentState,
    pub(crate) options: &'a PaymentOptions,
    pub(crate) context: &'a Context,
}

impl World<'_> {
    /// The time in seconds.
    pub(crate) fn now(&self) -> i64 {
        self.context.now.as_second()
    }

    /// What a request pays with, as it is in this world.
    pub(crate) fn look_up(&self, instrument: &Instrument) -> Result<Instrument, Refused> {
        instrument.looked_up(self.state, self.context.now)
    }

    /// The payment method that a request names, made where there is none with its id.
    pub(crate) fn method(
        &self,
        named: &Instrument,
        customer: Option<&str>,
    ) -> Result<Arc<PaymentMethod>, Refused> {
        let named = self.look_up(named)?;
        let (id, card) = (named.id(&self.context.ids, "pm_1"), named.card);
        let known = self.state.methods.get(&id).cloned();
        Ok(known.unwrap_or_else(|| {
            let made = PaymentMethod::new(id, card, self.now());
            Arc::new(match customer {
                Some(customer) => made.of_customer(customer),
                None => made,
            })
        }))
    }

    /// An id with its prefix.
    pub(crate) fn id(&self, prefix: &str, length: usize) -> String {
        self.context.ids.alphanumeric(prefix, length)
    }
}

/// An answer and what is committed with it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    pub(crate) changes: Vec<Change>,
}

impl Outcome {
    /// An answer that changes nothing.
    pub(crate) fn read(answer: Answer) -> Self {
        Outcome { answer, changes: Vec::new() }
    }
}

/// Sets what a request sets or unsets, and leaves what it does not name.
fn set(slot: &mut Option<String>, asked: &Option<Option<String>>) {
    if let Some(value) = asked {
        slot.clone_from(value);
    }
}
