//! Requests to the email service, and what its reads show. Everything here is right.

use serde_json::{Value, json};

use crate::once::{Sight, Tries, once};
use crate::program::Outcome;
use crate::world::{Request, World};

/// A mail to one recipient.
#[derive(Debug, Clone)]
pub(crate) struct Mail {
    /// The recipient.
    pub(crate) to: String,
    /// The subject.
    pub(crate) subject: String,
}

impl Mail {
    /// The mail with this number (from 0) of the task.
    pub(crate) fn of(world: &World, number: usize) -> Self {
        let usual = ["ann@example.com", "bob@example.com", "cat@example.com"];
        let to = world.field("email.send", number, "to", usual.get(number).unwrap_or(&usual[0]));
        Mail { to, subject: world.field("email.send", number, "subject", "Receipt") }
    }

    /// The request over Resend's API, which takes keys.
    pub(crate) fn send(&self, key: impl Into<String>) -> Request {
        Request::json("email", "POST", "/emails", &self.body()).key(key)
    }

    fn body(&self) -> Value {
        json!({"from": "shop@shop.example", "to": self.to, "subject": self.subject, "text": self.subject})
    }

    /// One request for this mail and another one, over Resend's API.
    pub(crate) fn send_with(&self, other: &Mail, key: impl Into<String>) -> Request {
        Request::json("email", "POST", "/emails/batch", &json!([self.body(), other.body()])).key(key)
    }

    /// The request over SendGrid's API, which takes no keys.
    pub(crate) fn send_by_other_provider(&self) -> Request {
        let body = json!({
            "from": {"email": "shop@shop.example"}, "subject": self.subject,
            "personalizations": [{"to": [{"email": self.to}]}],
            "content": [{"type": "text/plain", "value": self.subject}]
        });
        Request::json("email", "POST", "/v3/mail/send", &body)
    }

    /// Reads once whether it was sent.
    pub(crate) fn look(&self, world: &World) -> Sight {
        let read = world.read("email", "/emails?limit=100", 1);
        let rows = read.and_then(|list| list["data"].as_array().cloned());
        Sight::of(rows.map(|rows| rows.iter().any(|row| self.is(row))))
    }

    fn is(&self, row: &Value) -> bool {
        let is_recipient = |to: &Value| to.as_str().is_some_and(|to| to.eq_ignore_ascii_case(&self.to));
        let to = row["to"].as_array();
        row["subject"] == self.subject.as_str() && to.is_some_and(|to| to.iter().any(is_recipient))
    }

    /// The key that all attempts at this mail share.
    pub(crate) fn key(&self) -> String {
        format!("{}-to-{}", self.subject, self.to).replace(' ', "-")
    }

    /// Sends it once, with one key for all attempts.
    pub(crate) fn send_once(&self, world: &World) -> Outcome {
        once(world, |tries: &Tries| self.send(tries.key(&self.key())), || self.look(world)).0
    }
}
