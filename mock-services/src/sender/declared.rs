//! The sender of a service that a user declares: signed with the time, like Stripe's.

use super::{EventSender, Schedule, SentCopy, has_same_signature, hmac_sha256};

/// A service that a user declares.
pub const DECLARED: EventSender = EventSender {
    name: "the service",
    secret_variable: "HAPAX_WEBHOOK_SECRET",
    secret: |random| format!("whsec_{random}"),
    shown_secret: str::to_owned,
    schedule: Schedule::Svix,
    headers,
    time_header: "Webhook-Signature",
    is_genuine: has_same_signature,
};

fn headers(copy: &SentCopy<'_>) -> Vec<(&'static str, String)> {
    let at = copy.at.to_string();
    let signature = hmac_sha256(copy.secret.as_bytes(), &[&at, ".", &copy.event.body]);
    vec![
        ("Webhook-Id", copy.event.id.clone()),
        ("Webhook-Signature", format!("t={at},v1={}", hex::encode(signature))),
    ]
}
