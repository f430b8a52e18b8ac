//! What can be committed, how it changes the state, and what the ledger says of it.

use std::sync::Arc;

use super::metadata::Metadata;
use super::objects::{Charge, Customer, Intent, PaymentMethod, Refund, Subscription, Token};
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
    /// A customer was made, or its papers changed.
    CustomerSaved(Arc<Customer>),
    /// A customer owes, gets or sees something else now.
    CustomerChanged(Arc<Customer>, Arc<Fields>),
    /// A customer was deleted.
    CustomerDeleted(Arc<Customer>),
    /// A subscription began.
    Subscribed(Arc<Subscription>, Arc<Fields>),
    /// A subscription has other items now.
    Upgraded(Arc<Subscription>, Arc<Fields>),
    /// A subscription has the same items on other terms: a trial, an end, a discount.
    Amended(Arc<Subscription>, Arc<Fields>),
    /// A subscription ended.
    Unsubscribed(Arc<Subscription>, Arc<Fields>),
    /// A subscription is not paid yet, or its papers changed.
    SubscriptionSaved(Arc<Subscription>),
    /// A payment method was made, changed, attached or detached.
    MethodSaved(Arc<PaymentMethod>),
    /// A token was made.
    TokenSaved(Arc<Token>),
    /// The token with this id was used.
    TokenUsed(String),
    /// The labels of something that happened say something else now. What has them is saved by another
    /// change.
    Relabelled(Arc<Described>),
}

/// What the ledger says of a change.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    /// The id of what changed.
    pub(crate) id: String,
    /// What was done.
    pub(crate) fields: Fields,
}

/// A refund and whose it was.
#[derive(Debug, Clone)]
pub(crate) struct GivenBack {
    /// The refund.
    pub(crate) refund: Arc<Refund>,
    /// The labels of the charge: they say what was given back, whatever stands on the refund.
    pub(crate) labels: Metadata,
    /// The customer of the charge.
    pub(crate) customer: Option<String>,
}

impl Change {
    /// Commits it.
    pub(crate) fn apply(&self, state: &mut PaymentState) {
        match self {
            Change::Charged(charge) | Change::ChargeSaved(charge) => {
                if !charge.paid {
                    state.know(
                        &charge.payment_method,
                        charge.payment_method_details.card,
                        charge.created,
                        charge.customer(),
                    );
                }
                state.charges.put(Arc::clone(charge));
            }
            Change::IntentSaved(intent) => {
                if let Some(method) = &intent.method {
                    state.know_method(method);
                }
                state.intents.put(Arc::clone(intent));
            }
            Change::Refunded(back) | Change::Released(back) => {
                state.charges.change(back.refund.charge.id(), |charge| charge.refund(back.refund.amount));
                state.refunds.put(Arc::clone(&back.refund));
            }
            Change::RefundSaved(refund) => state.refunds.put(Arc::clone(refund)),
            Change::CustomerSaved(customer)
            | Change::CustomerChanged(customer, _)
            | Change::CustomerDeleted(customer) => {
                for (id, card) in &customer.cards {
                    state.know(id, *card, customer.created, Some(&customer.id));
                }
                state.customers.put(Arc::clone(customer));
            }
            Change::Subscribed(subscription, _)
            | Change::Upgraded(subscription, _)
            | Change::Amended(subscription, _)
            | Change::Unsubscribed(subscription, _)
            | Change::SubscriptionSaved(subscription) => {
                if let Some(method) = &subscription.default_payment_method {
                    state.know_method(method);
                }
                state.subscriptions.put(Arc::clone(subscription));
            }
            Change::MethodSaved(method) => state.methods.put(Arc::clone(method)),
            Change::TokenSaved(token) => state.tokens.put(Arc::clone(token)),
            Change::TokenUsed(id) => state.tokens.change(id, |token| token.used = true),
            Change::Relabelled(_) => {}
        }
    }

    /// What the ledger says of it.
    pub(crate) fn describe(&self) -> Option<EffectFacts> {
        let copied = |fields: &Arc<Fields>| Fields::clone(fields);
        let (effect, id, fields) = match self {
            Change::Charged(charge) => {
                ("payment.charge", &charge.id, charged(charge, charge.amount_captured))
            }
            Change::Refunded(back) => ("payment.refund", &back.refund.id, refunded(back)),
            Change::CustomerChanged(customer, fields) => ("payment.customer", &customer.id, copied(fields)),
            Change::CustomerDeleted(customer) => (
                "payment.delete-customer",
                &customer.id,
                Fields::new().with("customer", customer.id.as_str()),
            ),
            Change::Subscribed(subscription, fields) => {
                ("payment.subscribe", &subscription.id, copied(fields))
            }
            Change::Upgraded(subscription, fields) => ("payment.upgrade", &subscription.id, copied(fields)),
            Change::Amended(subscription, fields) => ("payment.amend", &subscription.id, copied(fields)),
            Change::Unsubscribed(subscription, fields) => {
                ("payment.unsubscribe", &subscription.id, copied(fields))
            }
            Change::Relabelled(relabelled) => ("payment.relabel", &relabelled.id, relabelled.fields.clone()),
            Change::ChargeSaved(_)
            | Change::IntentSaved(_)
            | Change::Released(_)
            | Change::RefundSaved(_)
            | Change::CustomerSaved(_)
            | Change::SubscriptionSaved(_)
            | Change::MethodSaved(_)
            | Change::TokenSaved(_)
            | Change::TokenUsed(_) => return None,
        };
        Some(EffectFacts { effect: effect.into(), id: id.clone(), fields })
    }

    /// What the ledger says at the end of money that is still held, neither taken nor let go.
    pub(crate) fn left_behind(&self, state: &PaymentState) -> Option<EffectFacts> {
        let Change::ChargeSaved(charge) = self else { return None };
        let charge = state
            .charges
            .get(&charge.id)
            .filter(|charge| charge.paid && !charge.captured && !charge.refunded)?;
        Some(EffectFacts {
            effect: "payment.hold".into(),
            id: charge.id.clone(),
            fields: charged(charge, charge.amount),
        })
    }
}

fn charged(charge: &Charge, amount: i64) -> Fields {
    let mut fields = Fields::new()
        .with("amount", amount)
        .with("currency", charge.currency)
        .with_some("customer", charge.customer())
        .with_some("description", charge.description.as_deref())
        .with("charge", charge.id.as_str())
        .with_some("payment_intent", charge.payment_intent())
        .with_some("application_fee_amount", charge.application_fee_amount)
        .with_some("on_behalf_of", charge.on_behalf_of.as_deref())
        .with_some("transfer_destination", charge.paid_to.as_deref());
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
        .with_some("customer", back.customer.as_deref());
    back.labels.describe_with_own(&refund.metadata, &mut fields);
    fields
}
