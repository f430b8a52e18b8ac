//! An event: what Stripe sends to webhook endpoints when something changes, and keeps for reads.

use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::{Charge, Customer, Intent, IntentStatus, Object, Subscription};
use crate::payment::effects::PaymentChange;
use crate::payment::state::PaymentState;
use crate::service::Ids;

/// The version in which events are sent: that of the account, not of a request.
const API_VERSION: &str = "2026-10-28.endive";

/// An event.
#[derive(Debug, Clone)]
pub(crate) struct PaymentEvent {
    id: String,
    /// `charge.succeeded`.
    pub(crate) kind: &'static str,
    created: i64,
    object: EventObject,
    /// The change that it tells of.
    pub(crate) change: PaymentChange,
}

/// The object of an event, as it was then.
#[derive(Debug, Clone)]
enum EventObject {
    Charge(Arc<Charge>),
    Intent(Arc<Intent>),
    Customer(Arc<Customer>),
    Subscription(Arc<Subscription>),
}

impl Serialize for EventObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            EventObject::Charge(charge) => charge.as_ref().serialize(serializer),
            EventObject::Intent(intent) => intent.as_ref().serialize(serializer),
            EventObject::Customer(customer) => customer.as_ref().serialize(serializer),
            EventObject::Subscription(subscription) => subscription.as_ref().serialize(serializer),
        }
    }
}

impl PaymentEvent {
    /// The event of a change that was committed: `state` is the one after it. `had_succeeded` is whether the intent of
    /// the change had succeeded before.
    pub(crate) fn of(
        change: &PaymentChange,
        state: &PaymentState,
        had_succeeded: bool,
    ) -> Option<PaymentEvent> {
        let (kind, created, id, object) = match change {
            PaymentChange::Charged(charge) => {
                let object = EventObject::Charge(Arc::clone(charge));
                ("charge.succeeded", charge.created, charge.id.clone(), object)
            }
            PaymentChange::IntentSaved(intent)
                if intent.status == IntentStatus::Succeeded && !had_succeeded =>
            {
                let object = EventObject::Intent(Arc::clone(intent));
                ("payment_intent.succeeded", intent.created, intent.id.clone(), object)
            }
            PaymentChange::Refunded(back) => {
                let charge = state.charges.get(back.refund.charge.id())?;
                let object = EventObject::Charge(Arc::clone(charge));
                ("charge.refunded", back.refund.created, back.refund.id.clone(), object)
            }
            PaymentChange::CustomerCreated(customer) => {
                let object = EventObject::Customer(Arc::clone(customer));
                ("customer.created", customer.created, customer.id.clone(), object)
            }
            PaymentChange::Subscribed(subscription, _) => {
                let object = EventObject::Subscription(Arc::clone(subscription));
                ("customer.subscription.created", subscription.created, subscription.id.clone(), object)
            }
            PaymentChange::Upgraded(subscription, _) | PaymentChange::Amended(subscription, _) => {
                let object = EventObject::Subscription(Arc::clone(subscription));
                // Each further change of one subscription has an event of its own.
                let number = state.events.rows().len();
                let id = format!("{}-{number}", subscription.id);
                ("customer.subscription.updated", subscription.created, id, object)
            }
            PaymentChange::Unsubscribed(subscription, _) => {
                let object = EventObject::Subscription(Arc::clone(subscription));
                let at = subscription.canceled_at.unwrap_or(subscription.created);
                ("customer.subscription.deleted", at, subscription.id.clone(), object)
            }
            _ => return None,
        };
        let id = Ids::new(0, kind, 0, 0, 0).alphanumeric(&format!("evt_{id}"), 24);
        Some(PaymentEvent { id: shortened(&id), kind, created, object, change: change.clone() })
    }

    /// Whether an intent in this state has succeeded already.
    pub(crate) fn had_succeeded(change: &PaymentChange, state: &PaymentState) -> bool {
        let PaymentChange::IntentSaved(intent) = change else { return false };
        state.intents.get(&intent.id).is_some_and(|before| before.status == IntentStatus::Succeeded)
    }
}

/// The random letters at the end of an id, with the prefix of events.
fn shortened(id: &str) -> String {
    format!("evt_1{}", &id[id.len().saturating_sub(23)..])
}

impl Serialize for PaymentEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Data<'e> {
            object: &'e EventObject,
        }
        #[derive(Serialize)]
        struct Request {
            id: Option<&'static str>,
            idempotency_key: Option<&'static str>,
        }
        let mut event = serializer.serialize_struct("PaymentEvent", 9)?;
        event.serialize_field("id", &self.id)?;
        event.serialize_field("object", PaymentEvent::KIND)?;
        event.serialize_field("api_version", API_VERSION)?;
        event.serialize_field("created", &self.created)?;
        event.serialize_field("data", &Data { object: &self.object })?;
        event.serialize_field("livemode", &false)?;
        event.serialize_field("pending_webhooks", &1)?;
        event.serialize_field("request", &Request { id: None, idempotency_key: None })?;
        event.serialize_field("type", self.kind)?;
        event.end()
    }
}

impl Object for PaymentEvent {
    const KIND: &'static str = "event";
    const URL: &'static str = "/v1/events";

    fn id(&self) -> &str {
        &self.id
    }

    fn created(&self) -> i64 {
        self.created
    }
}
