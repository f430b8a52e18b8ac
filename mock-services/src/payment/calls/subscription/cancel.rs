//! `DELETE /v1/subscriptions/{id}`.

use std::sync::Arc;

use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::calls::expand::{Expand, Expands, Fresh};
use crate::payment::calls::{ApiCall, CallContext, CallOutcome};
use crate::payment::effect_fields;
use crate::payment::effects::PaymentChange;
use crate::payment::errors::{Refused, not_found};
use crate::payment::objects::Subscription;
use crate::payment::params::Params;
use crate::service::Fields;

/// A subscription to cancel at once.
#[derive(Debug)]
pub(crate) struct CancelSubscription {
    id: String,
    /// Unusual settlements of the cancellation: an immediate invoice, a prorated credit.
    settled: Vec<&'static str>,
    expand: Expand,
}

impl CancelSubscription {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::UNSUBSCRIBE, allowed::COMMON])?;
        fields.set("subscription", id.as_str());
        let mut settled = Vec::new();
        for name in ["invoice_now", "prorate"] {
            if params.boolean(name)? == Some(true) {
                settled.push(name);
            }
        }
        Ok(CancelSubscription { id, settled, expand: Expand::read::<Subscription>(params)? })
    }
}

impl ApiCall for CancelSubscription {
    fn decide(&self, context: &CallContext<'_>) -> Result<CallOutcome, Refused> {
        let old =
            context.state.subscriptions.get(&self.id).ok_or_else(|| not_found("subscription", &self.id))?;
        let settled = self.settled.iter().fold(Fields::new(), |fields, name| fields.with(*name, true));
        let change =
            end_subscription(old, settled, context).ok_or_else(|| not_found("subscription", &self.id))?;
        let (PaymentChange::Unsubscribed(subscription, _) | PaymentChange::SubscriptionSaved(subscription)) =
            &change
        else {
            return Err(not_found("subscription", &self.id));
        };
        let answer =
            answers::created(Arc::clone(subscription).expanded(&self.expand, context, &Fresh::default()));
        Ok(CallOutcome { answer, changes: vec![change] })
    }
}

/// The end of a subscription, unless it has already ended.
pub(crate) fn end_subscription(
    old: &Subscription,
    settled: Fields,
    context: &CallContext<'_>,
) -> Option<PaymentChange> {
    if old.status == "canceled" {
        return None;
    }
    let subscription = Arc::new(Subscription {
        status: "canceled",
        canceled_at: Some(context.now()),
        cancellation_reason: Some("cancellation_requested"),
        cancel_at_period_end: false,
        ..Subscription::clone(old)
    });
    // A subscription that was never paid ends without an effect.
    if old.status == "incomplete" {
        return Some(PaymentChange::SubscriptionSaved(subscription));
    }
    let mut fields = effect_fields::subscription(&subscription, &old.metadata);
    for (name, value) in settled.iter() {
        fields.set(name, value.clone());
    }
    Some(PaymentChange::Unsubscribed(subscription, Arc::new(fields)))
}
