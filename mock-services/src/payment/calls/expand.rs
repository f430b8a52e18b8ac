//! `expand[]`: an object in place of its id, where the caller asked for it and it is at hand.

use std::sync::Arc;

use super::World;
use crate::payment::objects::{Charge, Customer, Expandable, Intent, Refund, Subscription};

/// What is to be expanded, as the caller wrote it: `latest_charge`, or `data.latest_charge` in a list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expand(Vec<String>);

impl From<Vec<String>> for Expand {
    fn from(paths: Vec<String>) -> Self {
        Expand(paths)
    }
}

impl Expand {
    /// Whether this key is to be expanded.
    pub(crate) fn wants(&self, key: &str) -> bool {
        self.0.iter().any(|path| path.strip_prefix("data.").unwrap_or(path).split('.').next() == Some(key))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An object whose references can be expanded.
pub(crate) trait Expands: Sized {
    /// The object with what was asked for; `fresh` is what this very call made.
    fn expanded(self: Arc<Self>, expand: &Expand, world: &World<'_>, fresh: &Fresh) -> Arc<Self>;
}

/// Objects that a call made and that are not in the state yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fresh {
    pub(crate) charge: Option<Arc<Charge>>,
}

impl Fresh {
    fn charge(&self, id: &str, world: &World<'_>) -> Option<Arc<Charge>> {
        self.charge.clone().filter(|charge| charge.id == id).or_else(|| world.state.charges.get(id).cloned())
    }
}

fn customer(slot: &mut Expandable<Customer>, world: &World<'_>) {
    if let Some(customer) = world.state.customer(world.options, slot.id()) {
        *slot = Expandable::Whole(customer);
    }
}

fn intent(slot: &mut Expandable<Intent>, world: &World<'_>) {
    if let Some(intent) = world.state.intents.get(slot.id()) {
        *slot = Expandable::Whole(Arc::clone(intent));
    }
}

impl Expands for Charge {
    fn expanded(mut self: Arc<Self>, expand: &Expand, world: &World<'_>, _fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            let charge = Arc::make_mut(&mut self);
            if let Some(slot) = charge.customer.as_mut().filter(|_| expand.wants("customer")) {
                customer(slot, world);
            }
            if let Some(slot) = charge.payment_intent.as_mut().filter(|_| expand.wants("payment_intent")) {
                intent(slot, world);
            }
        }
        self
    }
}

impl Expands for Intent {
    fn expanded(mut self: Arc<Self>, expand: &Expand, world: &World<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            let intent = Arc::make_mut(&mut self);
            if let Some(slot) = intent.customer.as_mut().filter(|_| expand.wants("customer")) {
                customer(slot, world);
            }
            if let Some(slot) = intent.latest_charge.as_mut().filter(|_| expand.wants("latest_charge"))
                && let Some(charge) = fresh.charge(slot.id(), world)
            {
                *slot = Expandable::Whole(charge);
            }
        }
        self
    }
}

impl Expands for Refund {
    fn expanded(mut self: Arc<Self>, expand: &Expand, world: &World<'_>, fresh: &Fresh) -> Arc<Self> {
        if !expand.is_empty() {
            let refund = Arc::make_mut(&mut self);
            if let Some(charge) = fresh.charge(refund.charge.id(), world).filter(|_| expand.wants("charge")) {
                refund.charge = Expandable::Whole(charge);
            }
            if let Some(slot) = refund.payment_intent.as_mut().filter(|_| expand.wants("payment_intent")) {
                intent(slot, world);
            }
        }
        self
    }
}

impl Expands for Subscription {
    fn expanded(mut self: Arc<Self>, expand: &Expand, world: &World<'_>, _fresh: &Fresh) -> Arc<Self> {
        if expand.wants("customer") {
            customer(&mut Arc::make_mut(&mut self).customer, world);
        }
        self
    }
}

impl Expands for Customer {
    fn expanded(self: Arc<Self>, _expand: &Expand, _world: &World<'_>, _fresh: &Fresh) -> Arc<Self> {
        self
    }
}
