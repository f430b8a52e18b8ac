//! `POST /v1/subscriptions` and `POST /v1/subscriptions/{id}`.

use std::sync::Arc;

use super::charge::decline;
use super::expand::{Expand, Expands, Fresh};
use super::items::{self, Asked};
use super::terms::{self, AUTOMATICALLY};
use super::{Call, Outcome, World, set};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::described::{self, Labels, differs};
use crate::payment::effects::Change;
use crate::payment::errors::{Problem, Refused, missing, no_such, not_found};
use crate::payment::metadata::MetadataChange;
use crate::payment::money::Currency;
use crate::payment::objects::{Expandable, Subscription};
use crate::payment::params::{self, Params};
use crate::payment::source::{self, Instrument, declined};
use crate::service::Fields;

const DAY: i64 = 24 * 60 * 60;
/// How long a trial can be, in days.
const LONGEST_TRIAL: i64 = 730;
const BEHAVIORS: &[&str] =
    &["allow_incomplete", "default_incomplete", "error_if_incomplete", "pending_if_incomplete"];
const COLLECTION: &[&str] = &[AUTOMATICALLY, "send_invoice"];

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
    cancel_at: Option<i64>,
    currency: &'static str,
    description: Option<String>,
    terms: terms::Asked,
    trial: Option<Trial>,
    metadata: MetadataChange,
    expand: Expand,
}

#[derive(Debug, Clone, Copy)]
enum Trial {
    Days(i64),
    Until(i64),
    /// None, or no longer.
    Over,
}

impl Trial {
    /// When it ends, for a subscription that begins now or has begun.
    fn end(self, now: i64) -> Result<Option<i64>, Refused> {
        let end = match self {
            Trial::Over => return Ok(None),
            Trial::Days(days) => now.saturating_add(days.saturating_mul(DAY)),
            Trial::Until(end) => end,
        };
        let problem = |message: &'static str| Err(Box::new(Problem::invalid(message).param("trial_end")));
        match end.saturating_sub(now) {
            ..=0 => problem("Invalid timestamp: trial_end must be an integer Unix timestamp in the future."),
            seconds if seconds > LONGEST_TRIAL * DAY => {
                problem("Invalid timestamp: trial_end cannot be more than 730 days from now.")
            }
            _ => Ok(Some(end)),
        }
    }
}

impl Create {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        let known = [allowed::SUBSCRIPTION, allowed::SUBSCRIPTION_CREATE, allowed::COMMON];
        params.check_done(&known, allowed::SUBSCRIPTION_LACKING, "POST /v1/subscriptions")?;
        let customer = params.required("customer")?.to_owned();
        let items = items::read(params)?;
        if items.is_empty() {
            return Err(missing("items"));
        }
        let method = params.text("default_payment_method")?;
        let call = Create {
            customer,
            terms: terms::Asked::read(params, &items),
            items,
            method: method.map(|id| source::method(id, "default_payment_method")).transpose()?,
            behavior: params.choice("payment_behavior", BEHAVIORS)?.unwrap_or("allow_incomplete"),
            collection_method: params.choice("collection_method", COLLECTION)?.unwrap_or(AUTOMATICALLY),
            days_until_due: params.integer("days_until_due")?,
            cancel_at_period_end: params.boolean("cancel_at_period_end")?.unwrap_or(false),
            cancel_at: params.integer("cancel_at")?,
            currency: params
                .text("currency")?
                .map(Currency::read)
                .transpose()?
                .map_or("usd", |currency| currency.code),
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
        if matches!(self.trial, Some(Trial::Days(_) | Trial::Until(_))) {
            return Ok("trialing");
        }
        if self.collection_method == "send_invoice" {
            return Ok("active");
        }
        if self.behavior == "default_incomplete" {
            return Ok("incomplete");
        }
        let own =
            self.method.as_ref().map(|method| world.look_up(method)).transpose()?.map(|method| method.card);
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
        if !(1..=LONGEST_TRIAL).contains(&days) {
            let message = "The trial period must be between 1 and 730 days.";
            return Err(Box::new(Problem::invalid(message).param("trial_period_days")));
        }
        return Ok(Some(Trial::Days(days)));
    }
    match params.text("trial_end")? {
        None => Ok(None),
        Some("now") => Ok(Some(Trial::Over)),
        Some(text) => params::integer(text, "trial_end").map(|time| Some(Trial::Until(time))),
    }
}

impl Call for Create {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let status = self.status(world)?;
        let now = world.now();
        let subscription = Arc::new(Subscription {
            id: world.id("sub_1", 23),
            cancel_at: self.cancel_at,
            cancel_at_period_end: self.cancel_at_period_end,
            canceled_at: self.cancel_at_period_end.then_some(now),
            cancellation_reason: self.cancel_at_period_end.then_some("cancellation_requested"),
            collection_method: self.collection_method,
            created: now,
            currency: self.currency,
            customer: Expandable::of(&self.customer),
            days_until_due: self.days_until_due,
            default_payment_method: self
                .method
                .as_ref()
                .map(|method| world.method(method, Some(&self.customer)))
                .transpose()?,
            description: self.description.clone(),
            items: items::over(&[], &self.items, world)?,
            latest_invoice: world.id("in_1", 23),
            metadata: self.metadata.fresh(),
            period_start: now,
            status,
            terms: self.terms.over(&[]),
            trial_end: self.trial.map(|trial| trial.end(now)).transpose()?.flatten(),
        });
        let answer =
            answers::made(Arc::clone(&subscription).expanded(&self.expand, world, &Fresh::default()));
        // Nothing is paid for and nothing is owed as long as it is incomplete.
        let change = match status {
            "incomplete" => Change::SubscriptionSaved(subscription),
            _ => {
                let mut fields = described::subscription(&subscription, &subscription.metadata);
                self.terms.describe_new(&subscription, &mut fields);
                Change::Subscribed(subscription, Arc::new(fields))
            }
        };
        Ok(Outcome { answer, changes: vec![change] })
    }
}

/// A change of a subscription: other items, other terms, or its papers alone.
#[derive(Debug)]
pub(crate) struct Update {
    id: String,
    items: Vec<Asked>,
    method: Option<Instrument>,
    cancel_at_period_end: Option<bool>,
    /// `Some(None)` where it is unset.
    cancel_at: Option<Option<i64>>,
    collection_method: Option<&'static str>,
    terms: terms::Asked,
    trial: Option<Trial>,
    description: Option<Option<String>>,
    metadata: MetadataChange,
    expand: Expand,
}

impl Update {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        const ENDPOINT: &str = "POST /v1/subscriptions/{id}";
        params.check_done(
            &[allowed::SUBSCRIPTION, allowed::COMMON],
            allowed::SUBSCRIPTION_LACKING,
            ENDPOINT,
        )?;
        let method = params.text("default_payment_method")?;
        let items = items::read(params)?;
        let cancel_at = params.clearable("cancel_at")?;
        let call = Update {
            terms: terms::Asked::read(params, &items),
            items,
            cancel_at: cancel_at
                .map(|at| at.map(|text| params::integer(&text, "cancel_at")).transpose())
                .transpose()?,
            collection_method: params.choice("collection_method", COLLECTION)?,
            trial: trial(params)?,
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
        self.items.is_empty()
            && self.method.is_none()
            && self.cancel_at_period_end.is_none()
            && self.cancel_at.is_none()
            && self.collection_method.is_none()
            && self.trial.is_none()
            && self.terms.is_empty()
            && self.description.is_none()
    }

    /// The subscription as it is afterwards.
    fn over(&self, old: &Subscription, world: &World<'_>) -> Result<Subscription, Refused> {
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
        subscription.cancel_at = self.cancel_at.unwrap_or(old.cancel_at);
        subscription.collection_method = self.collection_method.unwrap_or(old.collection_method);
        subscription.terms = self.terms.over(&old.terms);
        if let Some(trial) = self.trial {
            subscription.trial_end = trial.end(world.now())?;
            subscription.status = match (subscription.trial_end, old.status) {
                (Some(_), _) => "trialing",
                (None, "trialing") => "active",
                (None, status) => status,
            };
        }
        set(&mut subscription.description, &self.description);
        subscription.metadata = self.metadata.over(&old.metadata)?;
        Ok(subscription)
    }
}

/// What a change of a subscription's papers says of it that was not said before.
fn relabelled(old: &Subscription, new: &Subscription) -> Option<Change> {
    let labels = Labels {
        object: "subscription",
        id: &old.id,
        customer: Some(old.customer.id()),
        old: &old.metadata,
        new: &new.metadata,
        seen: differs("description", old.description.as_ref(), new.description.as_ref())
            .into_iter()
            .collect(),
    };
    labels.relabelled()
}

impl Call for Update {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let old =
            world.state.subscriptions.get(&self.id).ok_or_else(|| not_found("subscription", &self.id))?;
        if old.status == "canceled" && !self.is_about_papers() {
            let message = "A canceled subscription can only update its cancellation_details and metadata.";
            return Err(Box::new(Problem::invalid(message).begun()));
        }
        let subscription = Arc::new(self.over(old, world)?);
        let answer =
            answers::made(Arc::clone(&subscription).expanded(&self.expand, world, &Fresh::default()));
        let mut fields = described::subscription(&subscription, &old.metadata);
        let has_other_terms = self.terms.describe_change(old, &subscription, &mut fields);
        let has_other_papers =
            old.metadata != subscription.metadata || old.description != subscription.description;
        let relabelled = relabelled(old, &subscription);
        let change = if old.items != subscription.items {
            Some(Change::Upgraded(subscription, Arc::new(fields)))
        } else if has_other_terms {
            Some(Change::Amended(subscription, Arc::new(fields)))
        } else {
            has_other_papers.then_some(Change::SubscriptionSaved(subscription))
        };
        Ok(Outcome { answer, changes: change.into_iter().chain(relabelled).collect() })
    }
}
