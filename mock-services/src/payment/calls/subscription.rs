//! `POST /v1/subscriptions` and `POST /v1/subscriptions/{id}`.

use std::sync::Arc;

use super::charge::decline;
use super::expand::{Expand, Expands, Fresh};
use super::items::{self, Asked};
use super::{Call, Outcome, World, set};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::effects::Change;
use crate::payment::errors::{Problem, Refused, missing, no_such, not_found};
use crate::payment::metadata::MetadataChange;
use crate::payment::money::Currency;
use crate::payment::objects::{Expandable, Subscription};
use crate::payment::params::{self, Params};
use crate::payment::source::{self, Instrument, declined};
use crate::service::Fields;

const DAY: i64 = 24 * 60 * 60;
const BEHAVIORS: &[&str] = &["allow_incomplete", "default_incomplete", "error_if_incomplete", "pending_if_incomplete"];
const COLLECTION: &[&str] = &["charge_automatically", "send_invoice"];

/// A subscription that is to begin.
#[derive(Debug)]
pub(crate) struct Create {
    customer: String,
    items: Vec<Asked>,
    method: Option<Instrument>,
    behavior: &'static str,
    collection_method: &'static str,
    days_until_due: Option<i64>,
    cancel_at_period_end: bool,
    currency: &'static str,
    description: Option<String>,
    trial: Option<Trial>,
    metadata: MetadataChange,
    expand: Expand,
}

#[derive(Debug, Clone, Copy)]
enum Trial {
    Days(i64),
    Until(i64),
}

impl Create {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::SUBSCRIPTION, allowed::COMMON])?;
        let customer = params.required("customer")?.to_owned();
        let items = items::read(params)?;
        if items.is_empty() {
            return Err(missing("items"));
        }
        let method = params.text("default_payment_method")?;
        let call = Create {
            customer,
            items,
            method: method.map(|id| source::method(id, "default_payment_method")).transpose()?,
            behavior: params.choice("payment_behavior", BEHAVIORS)?.unwrap_or("allow_incomplete"),
            collection_method: params.choice("collection_method", COLLECTION)?.unwrap_or("charge_automatically"),
            days_until_due: params.integer("days_until_due")?,
            cancel_at_period_end: params.boolean("cancel_at_period_end")?.unwrap_or(false),
            currency: params.text("currency")?.map(Currency::read).transpose()?.map_or("usd", |currency| currency.code),
            description: params.owned("description")?,
            trial: trial(params)?,
            metadata: MetadataChange::read(params)?,
            expand: Expand::of::<Subscription>(params)?,
        };
        fields.set("customer", call.customer.as_str());
        describe(&call.items, fields);
        if let Some(first) = call.items.first() {
            fields.set("quantity", first.quantity.unwrap_or(1));
        }
        call.metadata.describe(fields);
        Ok(call)
    }

    /// The status that the first payment leads to.
    fn status(&self, world: &World<'_>) -> Result<&'static str, Refused> {
        let wallet = world.state.wallet(world.options, &self.customer);
        let wallet = wallet.ok_or_else(|| no_such("customer", &self.customer, "customer"))?;
        if self.trial.is_some() {
            return Ok("trialing");
        }
        if self.collection_method == "send_invoice" {
            return Ok("active");
        }
        if self.behavior == "default_incomplete" {
            return Ok("incomplete");
        }
        let own = self.method.as_ref().map(|method| world.look_up(method)).transpose()?.map(|method| method.card);
        let Some(card) = own.or(wallet.card.map(|(_, card)| card)) else {
            let message = "This customer has no attached payment source or default payment method. Please consider adding a default \
                           payment method. For more information, visit https://stripe.com/docs/billing/subscriptions/\
                           payment-methods-setting#payment-method-priority.";
            return Err(Box::new(Problem::invalid(message).code("resource_missing").begun()));
        };
        match decline(card, Some(&self.customer), world) {
            None => Ok("active"),
            Some(reason) if self.behavior == "error_if_incomplete" => Err(Box::new(declined(reason))),
            Some(_) => Ok("incomplete"),
        }
    }
}

/// The fields that a request's first item has.
fn describe(items: &[Asked], fields: &mut Fields) {
    if let Some(item) = items.first() {
        if let Some(price) = &item.price {
            fields.set("price", price.as_str());
        }
        if let Some(quantity) = item.quantity {
            fields.set("quantity", quantity);
        }
    }
}

fn trial(params: &Params<'_>) -> Result<Option<Trial>, Refused> {
    if let Some(days) = params.integer("trial_period_days")? {
        if !(1..=730).contains(&days) {
            let message = "The trial period must be between 1 and 730 days.";
            return Err(Box::new(Problem::invalid(message).param("trial_period_days")));
        }
        return Ok(Some(Trial::Days(days)));
    }
    match params.text("trial_end")? {
        None | Some("now") => Ok(None),
        Some(text) => params::integer(text, "trial_end").map(|time| Some(Trial::Until(time))),
    }
}

impl Call for Create {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let status = self.status(world)?;
        let now = world.now();
        let subscription = Arc::new(Subscription {
            id: world.id("sub_1", 23),
            cancel_at_period_end: self.cancel_at_period_end,
            canceled_at: self.cancel_at_period_end.then_some(now),
            cancellation_reason: self.cancel_at_period_end.then_some("cancellation_requested"),
            collection_method: self.collection_method,
            created: now,
            currency: self.currency,
            customer: Expandable::of(&self.customer),
            days_until_due: self.days_until_due,
            default_payment_method: self.method.as_ref().map(|method| world.method(method, Some(&self.customer))).transpose()?,
            description: self.description.clone(),
            items: items::over(&[], &self.items, world)?,
            latest_invoice: world.id("in_1", 23),
            metadata: self.metadata.fresh(),
            period_start: now,
            status,
            trial_end: self.trial.map(|trial| match trial {
                Trial::Days(days) => now.saturating_add(days.saturating_mul(DAY)),
                Trial::Until(time) => time,
            }),
        });
        let answer = answers::made(Arc::clone(&subscription).expanded(&self.expand, world, &Fresh::default()));
        // Nothing is paid for and nothing is owed as long as it is incomplete.
        let change = match status {
            "incomplete" => Change::SubscriptionSaved(subscription),
            _ => Change::Subscribed(subscription),
        };
        Ok(Outcome { answer, changes: vec![change] })
    }
}

/// A change of a subscription: another price or quantity, or its papers alone.
#[derive(Debug)]
pub(crate) struct Update {
    id: String,
    items: Vec<Asked>,
    method: Option<Instrument>,
    cancel_at_period_end: Option<bool>,
    description: Option<Option<String>>,
    metadata: MetadataChange,
    expand: Expand,
}

impl Update {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::SUBSCRIPTION, allowed::COMMON])?;
        let method = params.text("default_payment_method")?;
        let call = Update {
            items: items::read(params)?,
            method: method.map(|id| source::method(id, "default_payment_method")).transpose()?,
            cancel_at_period_end: params.boolean("cancel_at_period_end")?,
            description: params.clearable("description")?,
            metadata: MetadataChange::read(params)?,
            expand: Expand::of::<Subscription>(params)?,
            id,
        };
        fields.set("subscription", call.id.as_str());
        describe(&call.items, fields);
        call.metadata.describe(fields);
        Ok(call)
    }

    fn is_about_papers(&self) -> bool {
        self.items.is_empty() && self.method.is_none() && self.cancel_at_period_end.is_none() && self.description.is_none()
    }
}

impl Call for Update {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let old = world.state.subscriptions.get(&self.id).ok_or_else(|| not_found("subscription", &self.id))?;
        if old.status == "canceled" && !self.is_about_papers() {
            let message = "A canceled subscription can only update its cancellation_details and metadata.";
            return Err(Box::new(Problem::invalid(message).begun()));
        }
        let mut subscription = Subscription::clone(old);
        subscription.items = items::over(&old.items, &self.items, world)?;
        if let Some(method) = &self.method {
            subscription.default_payment_method = Some(world.method(method, Some(old.customer.id()))?);
        }
        if let Some(at_end) = self.cancel_at_period_end.filter(|at_end| *at_end != old.cancel_at_period_end) {
            subscription.cancel_at_period_end = at_end;
            subscription.canceled_at = at_end.then(|| world.now());
            subscription.cancellation_reason = at_end.then_some("cancellation_requested");
        }
        set(&mut subscription.description, &self.description);
        subscription.metadata = self.metadata.over(&old.metadata)?;
        let subscription = Arc::new(subscription);
        let answer = answers::made(Arc::clone(&subscription).expanded(&self.expand, world, &Fresh::default()));
        let change = match items::changed(&old.items, &subscription.items) {
            Some(item) => Change::Upgraded(subscription, Box::new(item)),
            None => Change::SubscriptionSaved(subscription),
        };
        Ok(Outcome { answer, changes: vec![change] })
    }
}
