//! The changes that can be committed, how they change the state, and what the ledger records.

use std::sync::Arc;

use super::effect_fields;
use super::metadata::Metadata;
use super::objects::{
    Charge, Customer, Expandable, Intent, PaymentEvent, PaymentMethod, Price, Product, Refund, Subscription,
    Token,
};
use super::state::PaymentState;
use crate::service::{EffectFacts, Fields};

/// One committed change.
#[derive(Debug, Clone)]
pub struct PaymentEffect {
    pub(super) change: PaymentChange,
    /// The connected account that the request was made for (`Stripe-Account`).
    pub(super) account: Option<Arc<str>>,
}

impl PaymentEffect {
    /// A change on the account of the key.
    pub(super) fn new(change: PaymentChange) -> Self {
        PaymentEffect { change, account: None }
    }

    /// The facts with the account on which it happened.
    pub(super) fn on_account(&self, mut facts: EffectFacts) -> EffectFacts {
        if let Some(account) = &self.account {
            facts.fields.set("account", &**account);
        }
        facts
    }
}

/// The kinds of changes.
#[derive(Debug, Clone)]
pub(crate) enum PaymentChange {
    /// Money was captured, at once or from an authorization.
    Charged(Arc<Charge>),
    /// Money was authorized, a charge failed, or its metadata changed.
    ChargeSaved(Arc<Charge>),
    /// An intent was created or changed.
    IntentSaved(Arc<Intent>),
    /// Money was refunded.
    Refunded(Arc<RefundedCharge>),
    /// An authorization was released; no money had moved.
    Released(Arc<RefundedCharge>),
    /// The metadata of a refund changed.
    RefundSaved(Arc<Refund>),
    /// A customer was created.
    CustomerCreated(Arc<Customer>),
    /// A customer that a request created changed, or only notes on a customer changed.
    CustomerSaved(Arc<Customer>),
    /// What a customer owes, receives or sees changed.
    CustomerChanged(Arc<Customer>, Arc<Fields>),
    /// A customer was deleted.
    CustomerDeleted(Arc<Customer>),
    /// A subscription started.
    Subscribed(Arc<Subscription>, Arc<Fields>),
    /// The items of a subscription changed.
    Upgraded(Arc<Subscription>, Arc<Fields>),
    /// The terms of a subscription changed: a trial, an end, a discount.
    Amended(Arc<Subscription>, Arc<Fields>),
    /// A subscription ended.
    Unsubscribed(Arc<Subscription>, Arc<Fields>),
    /// A subscription is not paid yet, or its metadata changed.
    SubscriptionSaved(Arc<Subscription>),
    /// A payment method was attached to a customer.
    MethodAttached(Arc<PaymentMethod>),
    /// A payment method was detached from this customer.
    MethodDetached(Arc<PaymentMethod>, Arc<str>),
    /// A payment method was created or changed.
    MethodSaved(Arc<PaymentMethod>),
    /// A token was created.
    TokenSaved(Arc<Token>),
    /// The token with this id was used.
    TokenUsed(String),
    /// A product was created.
    ProductCreated(Arc<Product>),
    /// A product that existed before the first request changed, as its buyers see it.
    ProductChanged(Arc<Product>, Arc<Fields>),
    /// A product was deleted.
    ProductDeleted(Arc<Product>),
    /// A product that a request created changed, or only notes on a product changed.
    ProductSaved(Arc<Product>),
    /// A price was created.
    PriceCreated(Arc<Price>),
    /// A price that existed before the first request changed.
    PriceChanged(Arc<Price>, Arc<Fields>),
    /// A price that a request created changed, or only notes on a price changed.
    PriceSaved(Arc<Price>),
    /// The labels of an existing object changed. Another change stores the object itself.
    Relabeled(Arc<EffectFields>),
}

/// The ledger's fields of a change.
#[derive(Debug, Clone)]
pub(crate) struct EffectFields {
    /// The id of the changed object.
    pub(crate) id: String,
    /// The fields of the effect.
    pub(crate) fields: Fields,
}

/// A refund with the labels and the customer of its charge.
#[derive(Debug, Clone)]
pub(crate) struct RefundedCharge {
    /// The refund.
    pub(crate) refund: Arc<Refund>,
    /// The labels of the charge: they identify what was refunded, whatever the refund's own labels are.
    pub(crate) labels: Metadata,
    /// The customer of the charge.
    pub(crate) customer: Option<String>,
    /// What else the request asks for, by field.
    pub(crate) noticed: Fields,
}

impl PaymentChange {
    /// Commits it, and keeps its event.
    pub(crate) fn apply(&self, state: &mut PaymentState) {
        let had_succeeded = PaymentEvent::had_succeeded(self, state);
        self.apply_object(state);
        if let Some(event) = PaymentEvent::of(self, state, had_succeeded) {
            state.events.put(Arc::new(event));
        }
    }

    fn apply_object(&self, state: &mut PaymentState) {
        match self {
            PaymentChange::Charged(charge) | PaymentChange::ChargeSaved(charge) => {
                if !charge.paid {
                    state.store_card(
                        &charge.payment_method,
                        charge.payment_method_details.card,
                        charge.created,
                        charge.customer(),
                    );
                }
                state.charges.put(Arc::clone(charge));
            }
            PaymentChange::IntentSaved(intent) => {
                if let Some(method) = &intent.method {
                    state.store_method(method);
                }
                state.intents.put(Arc::clone(intent));
            }
            PaymentChange::Refunded(back) | PaymentChange::Released(back) => {
                state.charges.change(back.refund.charge.id(), |charge| charge.refund(back.refund.amount));
                state.refunds.put(Arc::clone(&back.refund));
            }
            PaymentChange::RefundSaved(refund) => state.refunds.put(Arc::clone(refund)),
            PaymentChange::CustomerCreated(customer)
            | PaymentChange::CustomerSaved(customer)
            | PaymentChange::CustomerChanged(customer, _)
            | PaymentChange::CustomerDeleted(customer) => {
                for (id, card) in &customer.cards {
                    state.store_card(id, *card, customer.created, Some(&customer.id));
                }
                state.customers.put(Arc::clone(customer));
            }
            PaymentChange::Subscribed(subscription, _)
            | PaymentChange::Upgraded(subscription, _)
            | PaymentChange::Amended(subscription, _)
            | PaymentChange::Unsubscribed(subscription, _)
            | PaymentChange::SubscriptionSaved(subscription) => {
                if let Some(method) = &subscription.default_payment_method {
                    state.store_method(method);
                }
                state.subscriptions.put(Arc::clone(subscription));
            }
            PaymentChange::MethodAttached(method)
            | PaymentChange::MethodDetached(method, _)
            | PaymentChange::MethodSaved(method) => {
                state.methods.put(Arc::clone(method));
            }
            PaymentChange::TokenSaved(token) => state.tokens.put(Arc::clone(token)),
            PaymentChange::TokenUsed(id) => state.tokens.change(id, |token| token.used = true),
            PaymentChange::ProductCreated(product)
            | PaymentChange::ProductChanged(product, _)
            | PaymentChange::ProductDeleted(product)
            | PaymentChange::ProductSaved(product) => state.products.put(Arc::clone(product)),
            PaymentChange::PriceCreated(price)
            | PaymentChange::PriceChanged(price, _)
            | PaymentChange::PriceSaved(price) => state.prices.put(Arc::clone(price)),
            PaymentChange::Relabeled(_) => {}
        }
    }

    /// The ledger's facts.
    pub(crate) fn describe(&self) -> Option<EffectFacts> {
        let copied = |fields: &Arc<Fields>| Fields::clone(fields);
        let (effect, id, fields) = match self {
            PaymentChange::Charged(charge) => {
                ("payment.charge", &charge.id, charged(charge, charge.amount_captured))
            }
            PaymentChange::Refunded(back) => ("payment.refund", &back.refund.id, refunded(back)),
            PaymentChange::CustomerChanged(customer, fields) => {
                ("payment.customer", &customer.id, copied(fields))
            }
            PaymentChange::CustomerCreated(customer) => {
                ("payment.new-customer", &customer.id, effect_fields::new_customer(customer))
            }
            PaymentChange::MethodAttached(method) => {
                ("payment.method", &method.id, effect_fields::attached_method(method))
            }
            PaymentChange::MethodDetached(method, customer) => (
                "payment.detached-method",
                &method.id,
                Fields::new().with("payment_method", method.id.as_str()).with("customer", &**customer),
            ),
            PaymentChange::ProductDeleted(product) => (
                "payment.delete-product",
                &product.id,
                Fields::new().with("product", product.id.as_str()).with("name", product.name.as_str()),
            ),
            PaymentChange::CustomerDeleted(customer) => (
                "payment.delete-customer",
                &customer.id,
                Fields::new().with("customer", customer.id.as_str()),
            ),
            PaymentChange::Subscribed(subscription, fields) => {
                ("payment.subscribe", &subscription.id, copied(fields))
            }
            PaymentChange::Upgraded(subscription, fields) => {
                ("payment.upgrade", &subscription.id, copied(fields))
            }
            PaymentChange::Amended(subscription, fields) => {
                ("payment.amend", &subscription.id, copied(fields))
            }
            PaymentChange::Unsubscribed(subscription, fields) => {
                ("payment.unsubscribe", &subscription.id, copied(fields))
            }
            PaymentChange::Relabeled(relabelled) => {
                ("payment.relabel", &relabelled.id, relabelled.fields.clone())
            }
            PaymentChange::ProductCreated(product) => {
                ("payment.product", &product.id, effect_fields::new_product(product))
            }
            PaymentChange::ProductChanged(product, fields) => {
                ("payment.update-product", &product.id, copied(fields))
            }
            PaymentChange::PriceCreated(price) => {
                ("payment.price", &price.id, effect_fields::new_price(price))
            }
            PaymentChange::PriceChanged(price, fields) => ("payment.update-price", &price.id, copied(fields)),
            PaymentChange::ChargeSaved(_)
            | PaymentChange::IntentSaved(_)
            | PaymentChange::Released(_)
            | PaymentChange::RefundSaved(_)
            | PaymentChange::CustomerSaved(_)
            | PaymentChange::SubscriptionSaved(_)
            | PaymentChange::MethodSaved(_)
            | PaymentChange::ProductSaved(_)
            | PaymentChange::PriceSaved(_)
            | PaymentChange::TokenSaved(_)
            | PaymentChange::TokenUsed(_) => return None,
        };
        Some(EffectFacts { effect: effect.into(), id: id.clone(), fields })
    }

    /// The effects that a request asks for with this change. An intent and a hold ask for a charge, although
    /// only a capture is one.
    pub(crate) fn asked(&self) -> Vec<EffectFacts> {
        let (id, fields) = match self {
            PaymentChange::IntentSaved(intent) => (&intent.id, drafted(intent)),
            PaymentChange::ChargeSaved(charge) if charge.paid && !charge.captured => {
                (&charge.id, charged(charge, charge.amount))
            }
            described => return described.describe().into_iter().collect(),
        };
        let facts = |effect: &'static str| EffectFacts {
            effect: effect.into(),
            id: id.clone(),
            fields: fields.clone(),
        };
        ["payment.charge", "payment.hold"].map(facts).into()
    }

    /// The ledger's facts, at the end of a trial, of money that was authorized and not captured, and of charges
    /// that were declined: the payer sees both.
    pub(crate) fn left_behind(&self, state: &PaymentState) -> Option<EffectFacts> {
        let PaymentChange::ChargeSaved(charge) = self else { return None };
        let charge = state.charges.get(&charge.id).filter(|charge| !charge.captured)?;
        let effect = match (charge.paid, charge.refunded) {
            (false, _) => "payment.declined",
            (true, true) => "payment.released-hold",
            (true, false) => "payment.hold",
        };
        Some(EffectFacts {
            effect: effect.into(),
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
        .with_some("transfer_destination", charge.receiving_account.as_deref())
        .with_some("authorized", (charge.amount != amount).then_some(charge.amount))
        .with_some("statement_descriptor", charge.statement_descriptor.as_deref())
        .with_some("statement_descriptor_suffix", charge.statement_descriptor_suffix.as_deref())
        .with_some("card", charge.payment_method_details.card.unusual_name());
    for (name, value) in charge.noticed.iter().flat_map(|noticed| noticed.iter()) {
        fields.set(name, value.clone());
    }
    charge.metadata.describe(&mut fields);
    fields
}

/// The fields of the charge that an intent would make.
fn drafted(intent: &Intent) -> Fields {
    let mut fields = Fields::new()
        .with("amount", intent.amount)
        .with("currency", intent.currency)
        .with_some("customer", intent.customer.as_ref().map(Expandable::id))
        .with_some("description", intent.description.as_deref())
        .with("payment_intent", intent.id.as_str());
    intent.metadata.describe(&mut fields);
    fields
}

fn refunded(back: &RefundedCharge) -> Fields {
    let refund = &back.refund;
    let mut fields = Fields::new()
        .with("charge", refund.charge.id())
        .with_some("payment_intent", refund.payment_intent())
        .with("amount", refund.amount)
        .with("currency", refund.currency)
        .with_some("reason", refund.reason)
        .with_some("customer", back.customer.as_deref());
    for (name, value) in back.noticed.iter() {
        fields.set(name, value.clone());
    }
    back.labels.describe_with_own(&refund.metadata, &mut fields);
    fields
}
