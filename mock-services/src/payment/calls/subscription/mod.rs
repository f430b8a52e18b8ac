//! `POST /v1/subscriptions` and `POST /v1/subscriptions/{id}`.

pub(crate) mod cancel;
pub(crate) mod items;
pub(crate) mod terms;

use std::sync::Arc;

use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::calls::charge::decline;
use crate::payment::calls::expand::{Expand, Expands, Fresh};
use crate::payment::calls::{ApiCall, CallContext, CallOutcome, set};
use crate::payment::effect_fields::{self, LabelUpdate, differs};
use crate::payment::effects::PaymentChange;
use crate::payment::errors::{PaymentError, Refused, missing, no_such, not_found};
use crate::payment::metadata::MetadataChange;
use crate::payment::money::Currency;
use crate::payment::objects::{Expandable, Subscription};
use crate::payment::params::{self, Params};
use crate::payment::source::{self, Instrument, declined};
use crate::service::Fields;
use items::RequestedItem;
use terms::AUTOMATICALLY;

const DAY: i64 = 24 * 60 * 60;
/// The maximum length of a trial, in days.
const MAX_TRIAL_DAYS: i64 = 730;
const PAYMENT_BEHAVIORS: &[&str] =
    &["allow_incomplete", "default_incomplete", "error_if_incomplete", "pending_if_incomplete"];
const COLLECTION_METHODS: &[&str] = &[AUTOMATICALLY, "send_invoice"];

/// A subscription to create.
#[derive(Debug)]
pub(crate) struct CreateSubscription {
    customer: String,
    items: Vec<RequestedItem>,
    method: Option<Instrument>,
    behavior: &'static str,
    collection_method: &'static str,
    days_until_due: Option<i64>,
    cancel_at_period_end: bool,
    cancel_at: Option<i64>,
    currency: Option<&'static str>,
    description: Option<String>,
    terms: terms::RequestedTerms,
    trial: Option<TrialPeriod>,
    metadata: MetadataChange,
    expand: Expand,
}

#[derive(Debug, Clone, Copy)]
enum TrialPeriod {
    Days(i64),
    Until(i64),
    /// No trial, or the end of one.
    Over,
}

impl TrialPeriod {
    /// The end of the trial, for a new or an existing subscription.
    fn end(self, now: i64) -> Result<Option<i64>, Refused> {
        let end = match self {
            TrialPeriod::Over => return Ok(None),
            TrialPeriod::Days(days) => now.saturating_add(days.saturating_mul(DAY)),
            TrialPeriod::Until(end) => end,
        };
        let problem =
            |message: &'static str| Err(Box::new(PaymentError::invalid(message).param("trial_end")));
        match end.saturating_sub(now) {
            ..=0 => problem("Invalid timestamp: trial_end must be an integer Unix timestamp in the future."),
            seconds if seconds > MAX_TRIAL_DAYS * DAY => {
                problem("Invalid timestamp: trial_end cannot be more than 730 days from now.")
            }
            _ => Ok(Some(end)),
        }
    }
}

impl CreateSubscription {
    /// Reads the parameters.
    pub(crate) fn read(params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        let known = [allowed::SUBSCRIPTION, allowed::SUBSCRIPTION_CREATE, allowed::COMMON];
        params.check_supported(&known, allowed::SUBSCRIPTION_UNSUPPORTED, "POST /v1/subscriptions")?;
        let customer = params.required("customer")?.to_owned();
        let items = items::read(params)?;
        if items.is_empty() {
            return Err(missing("items"));
        }
        let method = params.text("default_payment_method")?;
        let call = CreateSubscription {
            customer,
            terms: terms::RequestedTerms::read(params, &items),
            items,
            method: method.map(|id| source::method(id, "default_payment_method")).transpose()?,
            behavior: params.choice("payment_behavior", PAYMENT_BEHAVIORS)?.unwrap_or("allow_incomplete"),
            collection_method: params
                .choice("collection_method", COLLECTION_METHODS)?
                .unwrap_or(AUTOMATICALLY),
            days_until_due: params.integer("days_until_due")?,
            cancel_at_period_end: params.boolean("cancel_at_period_end")?.unwrap_or(false),
            cancel_at: params.integer("cancel_at")?,
            currency: params.text("currency")?.map(Currency::read).transpose()?.map(|currency| currency.code),
            description: params.owned("description")?,
            trial: trial(params)?,
            metadata: MetadataChange::read(params)?,
            expand: Expand::read::<Subscription>(params)?,
        };
        fields.set("customer", call.customer.as_str());
        describe_first_item(&call.items, fields);
        if let Some(first) = call.items.first() {
            fields.set("quantity", first.quantity.unwrap_or(1));
        }
        call.metadata.describe(fields);
        Ok(call)
    }

    /// The status after the first payment.
    fn status(&self, context: &CallContext<'_>) -> Result<&'static str, Refused> {
        let wallet = context.state.wallet(context.options, &self.customer);
        let wallet = wallet.ok_or_else(|| no_such("customer", &self.customer, "customer"))?;
        if matches!(self.trial, Some(TrialPeriod::Days(_) | TrialPeriod::Until(_))) {
            return Ok("trialing");
        }
        if self.collection_method == "send_invoice" {
            return Ok("active");
        }
        if self.behavior == "default_incomplete" {
            return Ok("incomplete");
        }
        let own =
            self.method.as_ref().map(|method| context.look_up(method)).transpose()?.map(|method| method.card);
        let Some(card) = own.or(wallet.card.map(|(_, card)| card)) else {
            let message = "This customer has no attached payment source or default payment method. Please \
                           consider adding a default \
                           payment method. For more information, visit \
                           https://stripe.com/docs/billing/subscriptions/\
                           payment-methods-setting#payment-method-priority.";
            return Err(Box::new(PaymentError::invalid(message).code("resource_missing").executed()));
        };
        match decline(card, Some(&self.customer), context) {
            None => Ok("active"),
            Some(reason) if self.behavior == "error_if_incomplete" => Err(Box::new(declined(reason))),
            Some(_) => Ok("incomplete"),
        }
    }
}

/// The fields of the first item.
fn describe_first_item(items: &[RequestedItem], fields: &mut Fields) {
    if let Some(item) = items.first() {
        if let Some(price) = &item.price {
            fields.set("price", price.as_str());
        }
        if let Some(quantity) = item.quantity {
            fields.set("quantity", quantity);
        }
    }
}

fn trial(params: &Params<'_>) -> Result<Option<TrialPeriod>, Refused> {
    if let Some(days) = params.integer("trial_period_days")? {
        if !(1..=MAX_TRIAL_DAYS).contains(&days) {
            let message = "The trial period must be between 1 and 730 days.";
            return Err(Box::new(PaymentError::invalid(message).param("trial_period_days")));
        }
        return Ok(Some(TrialPeriod::Days(days)));
    }
    match params.text("trial_end")? {
        None => Ok(None),
        Some("now") => Ok(Some(TrialPeriod::Over)),
        Some(text) => params::integer(text, "trial_end").map(|time| Some(TrialPeriod::Until(time))),
    }
}

impl ApiCall for CreateSubscription {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let status = self.status(context)?;
        let now = context.now();
        let currency = items::currency(self.currency, &self.items, context);
        let subscription = Arc::new(Subscription {
            id: context.id("sub_1", 23),
            cancel_at: self.cancel_at,
            cancel_at_period_end: self.cancel_at_period_end,
            canceled_at: self.cancel_at_period_end.then_some(now),
            cancellation_reason: self.cancel_at_period_end.then_some("cancellation_requested"),
            collection_method: self.collection_method,
            created: now,
            currency,
            customer: Expandable::new(&self.customer),
            days_until_due: self.days_until_due,
            default_payment_method: self
                .method
                .as_ref()
                .map(|method| context.method(method, Some(&self.customer)))
                .transpose()?,
            description: self.description.clone(),
            items: items::items_after(&[], &self.items, currency, context)?,
            latest_invoice: context.id("in_1", 23),
            metadata: self.metadata.on_new_object(),
            period_start: now,
            status,
            terms: self.terms.applied_to(&[]),
            trial_end: self.trial.map(|trial| trial.end(now)).transpose()?.flatten(),
        });
        let answer =
            answers::created(Arc::clone(&subscription).expanded(&self.expand, context, &Fresh::default()));
        // An incomplete subscription is not paid and owes nothing.
        let change = match status {
            "incomplete" => PaymentChange::SubscriptionSaved(subscription),
            _ => {
                let mut fields = effect_fields::subscription(&subscription, &subscription.metadata);
                self.terms.describe_new(&subscription, &mut fields);
                PaymentChange::Subscribed(subscription, Arc::new(fields))
            }
        };
        Ok(CallOutcome { answer, changes: vec![change] })
    }
}

/// An update of a subscription: items, terms or metadata.
#[derive(Debug)]
pub(crate) struct UpdateSubscription {
    id: String,
    items: Vec<RequestedItem>,
    method: Option<Instrument>,
    cancel_at_period_end: Option<bool>,
    /// `Some(None)` clears it.
    cancel_at: Option<Option<i64>>,
    collection_method: Option<&'static str>,
    terms: terms::RequestedTerms,
    trial: Option<TrialPeriod>,
    description: Option<Option<String>>,
    metadata: MetadataChange,
    expand: Expand,
}

impl UpdateSubscription {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        const ENDPOINT: &str = "POST /v1/subscriptions/{id}";
        params.check_supported(
            &[allowed::SUBSCRIPTION, allowed::COMMON],
            allowed::SUBSCRIPTION_UNSUPPORTED,
            ENDPOINT,
        )?;
        let method = params.text("default_payment_method")?;
        let items = items::read(params)?;
        let cancel_at = params.clearable("cancel_at")?;
        let call = UpdateSubscription {
            terms: terms::RequestedTerms::read(params, &items),
            items,
            cancel_at: cancel_at
                .map(|at| at.map(|text| params::integer(&text, "cancel_at")).transpose())
                .transpose()?,
            collection_method: params.choice("collection_method", COLLECTION_METHODS)?,
            trial: trial(params)?,
            method: method.map(|id| source::method(id, "default_payment_method")).transpose()?,
            cancel_at_period_end: params.boolean("cancel_at_period_end")?,
            description: params.clearable("description")?,
            metadata: MetadataChange::read(params)?,
            expand: Expand::read::<Subscription>(params)?,
            id,
        };
        fields.set("subscription", call.id.as_str());
        describe_first_item(&call.items, fields);
        call.metadata.describe(fields);
        Ok(call)
    }

    fn changes_only_metadata(&self) -> bool {
        self.items.is_empty()
            && self.method.is_none()
            && self.cancel_at_period_end.is_none()
            && self.cancel_at.is_none()
            && self.collection_method.is_none()
            && self.trial.is_none()
            && self.terms.is_empty()
            && self.description.is_none()
    }

    /// The subscription after the update.
    fn applied_to(&self, old: &Subscription, context: &CallContext<'_>) -> Result<Subscription, Refused> {
        let mut subscription = Subscription::clone(old);
        subscription.items = items::items_after(&old.items, &self.items, old.currency, context)?;
        if let Some(method) = &self.method {
            subscription.default_payment_method = Some(context.method(method, Some(old.customer.id()))?);
        }
        if let Some(at_end) = self.cancel_at_period_end.filter(|at_end| *at_end != old.cancel_at_period_end) {
            subscription.cancel_at_period_end = at_end;
            subscription.canceled_at = at_end.then(|| context.now());
            subscription.cancellation_reason = at_end.then_some("cancellation_requested");
        }
        subscription.cancel_at = self.cancel_at.unwrap_or(old.cancel_at);
        subscription.collection_method = self.collection_method.unwrap_or(old.collection_method);
        subscription.terms = self.terms.applied_to(&old.terms);
        if let Some(trial) = self.trial {
            subscription.trial_end = trial.end(context.now())?;
            subscription.status = match (subscription.trial_end, old.status) {
                (Some(_), _) => "trialing",
                (None, "trialing") => "active",
                (None, status) => status,
            };
        }
        set(&mut subscription.description, &self.description);
        subscription.metadata = self.metadata.applied_to(&old.metadata)?;
        Ok(subscription)
    }
}

/// The change of a subscription's labels, if the update changes any.
fn label_change(old: &Subscription, new: &Subscription) -> Option<PaymentChange> {
    let labels = LabelUpdate {
        object: "subscription",
        id: &old.id,
        customer: Some(old.customer.id()),
        old: &old.metadata,
        new: &new.metadata,
        seen: differs("description", old.description.as_ref(), new.description.as_ref())
            .into_iter()
            .collect(),
    };
    labels.change()
}

impl ApiCall for UpdateSubscription {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let old =
            context.state.subscriptions.get(&self.id).ok_or_else(|| not_found("subscription", &self.id))?;
        if old.status == "canceled" && !self.changes_only_metadata() {
            let message = "A canceled subscription can only update its cancellation_details and metadata.";
            return Err(Box::new(PaymentError::invalid(message).executed()));
        }
        let subscription = Arc::new(self.applied_to(old, context)?);
        let answer =
            answers::created(Arc::clone(&subscription).expanded(&self.expand, context, &Fresh::default()));
        let mut fields = effect_fields::subscription(&subscription, &old.metadata);
        let has_other_terms = self.terms.describe_change(old, &subscription, &mut fields);
        let has_other_papers =
            old.metadata != subscription.metadata || old.description != subscription.description;
        let label_change = label_change(old, &subscription);
        let change = if old.items != subscription.items {
            Some(PaymentChange::Upgraded(subscription, Arc::new(fields)))
        } else if has_other_terms {
            Some(PaymentChange::Amended(subscription, Arc::new(fields)))
        } else {
            has_other_papers.then_some(PaymentChange::SubscriptionSaved(subscription))
        };
        Ok(CallOutcome { answer, changes: change.into_iter().chain(label_change).collect() })
    }
}
