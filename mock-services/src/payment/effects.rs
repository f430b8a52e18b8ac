//! What can be committed, how it changes the state, and what the ledger says of it.

use std::sync::Arc;

use super::objects::{Charge, Customer, Intent, Item, Refund, Subscription};
use super::state::PaymentState;
use crate::service::{EffectFacts, Fields};

/// One committed change.
#[derive(Debug, Clone)]
pub struct PaymentEffect(pub(super) Change);

/// What a change is.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// Money was taken: at once, or of what was held.
    Charged(Arc<Charge>),
    /// Money is held, a charge failed, or its papers changed.
    ChargeSaved(Arc<Charge>),
    /// An intent was made or changed.
    IntentSaved(Arc<Intent>),
    /// Money went back.
    Refunded(Arc<GivenBack>),
    /// What was held was let go; no money had moved.
    Released(Arc<GivenBack>),
    /// The papers of a refund changed.
    RefundSaved(Arc<Refund>),
    /// A customer was made, changed or deleted.
    CustomerSaved(Arc<Customer>),
    /// A subscription began.
    Subscribed(Arc<Subscription>),
    /// A subscription costs something else now: this item says what.
    Upgraded(Arc<Subscription>, Box<Item>),
    /// A subscription ended.
    Unsubscribed(Arc<Subscription>),
    /// A subscription is not paid yet, or its papers changed.
    SubscriptionSaved(Arc<Subscription>),
}

/// A refund and whose it was.
#[derive(Debug, Clone)]
pub(crate) struct GivenBack {
    /// The refund.
    pub(crate) refund: Arc<Refund>,
    /// The order of the charge.
    pub(crate) order: Option<String>,
    /// The customer of the charge.
    pub(crate) customer: Option<String>,
}

impl Change {
    /// Commits it.
    pub(crate) fn apply(&self, state: &mut PaymentState) {
        match self {
            Change::Charged(charge) | Change::ChargeSaved(charge) => {
                if !charge.paid {
                    state.know(&charge.payment_method, charge.payment_method_details.card, charge.created, charge.customer());
                }
                state.charges.put(Arc::clone(charge));
            }
            Change::IntentSaved(intent) => {
                if let Some(method) = &intent.method {
                    state.methods.put(Arc::clone(method));
                }
                state.intents.put(Arc::clone(intent));
            }
            Change::Refunded(back) | Change::Released(back) => {
                state.charges.change(back.refund.charge.id(), |charge| charge.refund(back.refund.amount));
                state.refunds.put(Arc::clone(&back.refund));
            }
            Change::RefundSaved(refund) => state.refunds.put(Arc::clone(refund)),
            Change::CustomerSaved(customer) => {
                for (id, card) in &customer.cards {
                    state.know(id, *card, customer.created, Some(&customer.id));
                }
                state.customers.put(Arc::clone(customer));
            }
            Change::Subscribed(subscription)
            | Change::Upgraded(subscription, _)
            | Change::Unsubscribed(subscription)
            | Change::SubscriptionSaved(subscription) => {
                if let Some(method) = &subscription.default_payment_method {
                    state.methods.put(Arc::clone(method));
                }
                state.subscriptions.put(Arc::clone(subscription));
            }
        }
    }

    /// What the ledger says of it.
    pub(crate) fn describe(&self) -> Option<EffectFacts> {
        let (effect, id, fields) = match self {
            Change::Charged(charge) => ("payment.charge", &charge.id, charged(charge)),
            Change::Refunded(back) => ("payment.refund", &back.refund.id, refunded(back)),
            Change::Subscribed(subscription) => {
                ("payment.subscribe", &subscription.id, subscribed(subscription, subscription.items.first()))
            }
            Change::Upgraded(subscription, item) => ("payment.upgrade", &subscription.id, subscribed(subscription, Some(item))),
            Change::Unsubscribed(subscription) => {
                ("payment.unsubscribe", &subscription.id, subscribed(subscription, subscription.items.first()))
            }
            Change::ChargeSaved(_)
            | Change::IntentSaved(_)
            | Change::Released(_)
            | Change::RefundSaved(_)
            | Change::CustomerSaved(_)
            | Change::SubscriptionSaved(_) => return None,
        };
        Some(EffectFacts { effect: effect.into(), id: id.clone(), fields })
    }
}

fn charged(charge: &Charge) -> Fields {
    let mut fields = Fields::new()
        .with("amount", charge.amount_captured)
        .with("currency", charge.currency)
        .with_some("customer", charge.customer())
        .with_some("description", charge.description.as_deref())
        .with("charge", charge.id.as_str())
        .with_some("payment_intent", charge.payment_intent());
    charge.metadata.describe(&mut fields);
    fields
}

fn refunded(back: &GivenBack) -> Fields {
    let refund = &back.refund;
    let mut fields = Fields::new()
        .with("charge", refund.charge.id())
        .with_some("payment_intent", refund.payment_intent())
        .with("amount", refund.amount)
        .with("currency", refund.currency)
        .with_some("reason", refund.reason)
        .with_some("customer", back.customer.as_deref())
        .with_some("order", back.order.as_deref());
    refund.metadata.describe(&mut fields);
    if let Some(customer) = refund.metadata.get("customer") {
        fields.set("customer", customer);
    }
    fields
}

fn subscribed(subscription: &Subscription, item: Option<&Item>) -> Fields {
    let mut fields = Fields::new()
        .with("customer", subscription.customer.id())
        .with_some("price", item.map(|item| item.price.as_str()))
        .with_some("quantity", item.map(|item| item.quantity))
        .with("subscription", subscription.id.as_str());
    subscription.metadata.describe(&mut fields);
    fields
}
