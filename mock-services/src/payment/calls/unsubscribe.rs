//! `DELETE /v1/subscriptions/{id}`.

use std::sync::Arc;

use super::expand::{Expand, Expands, Fresh};
use super::{Call, Outcome, World};
use crate::payment::allowed;
use crate::payment::answers;
use crate::payment::effects::Change;
use crate::payment::errors::{Refused, not_found};
use crate::payment::objects::Subscription;
use crate::payment::params::Params;
use crate::service::Fields;

/// A subscription that is to end at once.
#[derive(Debug)]
pub(crate) struct Unsubscribe {
    id: String,
    expand: Expand,
}

impl Unsubscribe {
    /// Reads the parameters.
    pub(crate) fn read(id: String, params: &Params<'_>, fields: &mut Fields) -> Result<Self, Refused> {
        params.check(&[allowed::UNSUBSCRIBE, allowed::COMMON])?;
        fields.set("subscription", id.as_str());
        Ok(Unsubscribe { id, expand: Expand::of::<Subscription>(params)? })
    }
}

impl Call for Unsubscribe {
    fn decide(&self, world: &World<'_>) -> Result<Outcome, Refused> {
        let old = world.state.subscriptions.get(&self.id).filter(|old| old.status != "canceled");
        let old = old.ok_or_else(|| not_found("subscription", &self.id))?;
        let subscription = Arc::new(Subscription {
            status: "canceled",
            canceled_at: Some(world.now()),
            cancellation_reason: Some("cancellation_requested"),
            cancel_at_period_end: false,
            ..Subscription::clone(old)
        });
        let answer = answers::made(Arc::clone(&subscription).expanded(&self.expand, world, &Fresh::default()));
        // One that was never paid ends without having begun.
        let change = match old.status {
            "incomplete" => Change::SubscriptionSaved(subscription),
            _ => Change::Unsubscribed(subscription),
        };
        Ok(Outcome { answer, changes: vec![change] })
    }
}
