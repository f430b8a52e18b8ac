//! `DELETE /v1/subscriptions/{id}`.

use std::sync::Arc;

use super::expand::{Expand, Expands, Fresh};
use super::{Call, Outcome, World};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::described;
use crate::payment::effects::Change;
use crate::payment::errors::{Refused, not_found};
use crate::payment::objects::Subscription;
use crate::payment::params::Params;
use crate::service::Fields;

/// A subscription that is to end at once.
#[derive(Debug)]
pub(crate) struct Unsubscribe {
    id: String,
    /// What is settled with it and usually is not: an invoice now, a part of the price given back.
    settled: Vec<&'static str>,
    expand: Expand,
}

impl Unsubscribe {
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
        Ok(Unsubscribe { id, settled, expand: Expand::of::<Subscription>(params)? })
    }
}

impl Call for Unsubscribe {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let old =
            world.state.subscriptions.get(&self.id).ok_or_else(|| not_found("subscription", &self.id))?;
        let settled = self.settled.iter().fold(Fields::new(), |fields, name| fields.with(*name, true));
        let change = ended(old, settled, world).ok_or_else(|| not_found("subscription", &self.id))?;
        let (Change::Unsubscribed(subscription, _) | Change::SubscriptionSaved(subscription)) = &change
        else {
            return Err(not_found("subscription", &self.id));
        };
        let answer = answers::made(Arc::clone(subscription).expanded(&self.expand, world, &Fresh::default()));
        Ok(Outcome { answer, changes: vec![change] })
    }
}

/// The end of a subscription, unless it has ended.
pub(crate) fn ended(old: &Subscription, settled: Fields, world: &World<'_>) -> Option<Change> {
    if old.status == "canceled" {
        return None;
    }
    let subscription = Arc::new(Subscription {
        status: "canceled",
        canceled_at: Some(world.now()),
        cancellation_reason: Some("cancellation_requested"),
        cancel_at_period_end: false,
        ..Subscription::clone(old)
    });
    // One that was never paid ends without having begun.
    if old.status == "incomplete" {
        return Some(Change::SubscriptionSaved(subscription));
    }
    let mut fields = described::subscription(&subscription, &old.metadata);
    for (name, value) in settled.iter() {
        fields.set(name, value.clone());
    }
    Some(Change::Unsubscribed(subscription, Arc::new(fields)))
}
