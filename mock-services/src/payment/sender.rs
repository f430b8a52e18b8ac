//! How Stripe sends its events: signed with the secret of the webhook endpoint.

use super::effects::PaymentChange;
use super::objects::{Object, PaymentEvent};
use super::state::PaymentState;
use crate::sender::{EventSender, Schedule, SentCopy, has_same_signature, hmac_sha256};
use crate::service::ServiceEvent;

pub(super) const SENDER: EventSender = EventSender {
    name: "Stripe",
    secret_variable: "STRIPE_WEBHOOK_SECRET",
    secret: |random| format!("whsec_{random}"),
    shown_secret: str::to_owned,
    schedule: Schedule::Stripe,
    headers,
    time_header: "Stripe-Signature",
    is_genuine: has_same_signature,
};

/// The effects that it sends events of.
pub(super) const SENT: &[&str] = &[
    "payment.charge",
    "payment.refund",
    "payment.subscribe",
    "payment.upgrade",
    "payment.amend",
    "payment.unsubscribe",
];

fn headers(copy: &SentCopy<'_>) -> Vec<(&'static str, String)> {
    let at = copy.at.to_string();
    let signature = hmac_sha256(copy.secret.as_bytes(), &[&at, ".", &copy.event.body]);
    vec![
        ("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)".to_owned()),
        ("Stripe-Signature", format!("t={at},v1={}", hex::encode(signature))),
    ]
}

/// The events of a state, oldest first.
pub(super) fn events(state: &PaymentState) -> Vec<ServiceEvent> {
    let sent = |event: &PaymentEvent| {
        let facts = match &event.change {
            // The money of an intent is that of its charge.
            PaymentChange::IntentSaved(intent) => {
                let mut charges = state.charges.rows().iter().rev();
                let charge = charges.find(|charge| charge.payment_intent() == Some(intent.id.as_str()))?;
                PaymentChange::Charged(std::sync::Arc::clone(charge)).describe()?
            }
            change => change.describe()?,
        };
        Some(ServiceEvent {
            effect: facts.effect.into_owned(),
            fields: facts.fields,
            id: event.id().to_owned(),
            kind: event.kind.to_owned(),
            sender: SENDER.name,
            // Plain data written into memory cannot fail.
            body: serde_json::to_string_pretty(event).unwrap_or_default(),
        })
    };
    state.events.rows().iter().filter_map(|event| sent(event)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Fields;

    #[test]
    fn a_signature_has_the_time_and_the_hmac_of_time_and_body() {
        let (id, kind, body) = ("evt_1".to_owned(), "charge.succeeded".to_owned(), "{}".to_owned());
        let (effect, fields, sender) = (String::new(), Fields::new(), SENDER.name);
        let event = ServiceEvent { effect, fields, id, kind, body, sender };
        let copy = SentCopy { event: &event, secret: "whsec_x", at: 12, earlier: 0, again: None };
        // printf '12.{}' | openssl dgst -sha256 -hmac whsec_x
        let expected = hex::encode(hmac_sha256(b"whsec_x", &["12.{}"]));
        assert_eq!(headers(&copy)[1].1, format!("t=12,v1={expected}"));
    }
}
