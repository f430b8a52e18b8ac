//! What a service sends to the receivers of its events when something commits: the event, its headers with a signature
//! that is made for each copy at its own time, and the schedule by which the real sender delivers again.

mod declared;
pub(crate) mod ecdsa;
mod given;
mod schedule;
mod slack;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

pub use declared::DECLARED;
pub use given::{JOB_SCHEDULER, QUEUE};
pub use schedule::Schedule;
pub use slack::SLACK;

use crate::service::{Fields, ServiceEvent, generate_key};

/// How a service sends its events.
#[derive(Debug, Clone, Copy)]
pub struct EventSender {
    /// The name that reports use for it: `Stripe`.
    pub name: &'static str,
    /// The variable in which a receiver gets the secret of its signatures; empty if it signs nothing.
    pub secret_variable: &'static str,
    /// A secret, made from random letters and digits; another one each time where a key pair is needed.
    pub secret: fn(random: &str) -> String,
    /// What a receiver gets to verify signatures, made from the secret; the secret itself for most senders.
    pub shown_secret: fn(secret: &str) -> String,
    /// The schedule by which it delivers again.
    pub schedule: Schedule,
    /// The headers of one copy, without the content type.
    pub headers: fn(&SentCopy<'_>) -> Vec<(&'static str, String)>,
    /// The header with the time that it signs; empty if it signs none.
    pub time_header: &'static str,
    /// Whether a copy has a signature of this sender.
    pub is_genuine: fn(&EventSender, &ReceivedCopy<'_>) -> bool,
}

/// One copy of an event, as a receiver gets it.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedCopy<'e> {
    /// The headers, with names in lower case.
    pub headers: &'e [(String, String)],
    /// The body.
    pub body: &'e str,
    /// What the receiver has to verify signatures.
    pub shown_secret: &'e str,
}

impl ReceivedCopy<'_> {
    /// A header by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }
}

/// One copy of an event, as it is signed.
#[derive(Debug, Clone, Copy)]
pub struct SentCopy<'e> {
    /// The event.
    pub event: &'e ServiceEvent,
    /// The secret of the signatures.
    pub secret: &'e str,
    /// When it is sent, in seconds since 1970.
    pub at: i64,
    /// How often the event was sent before.
    pub earlier: u32,
    /// Why it is sent again.
    pub again: Option<SentAgain>,
}

/// Why an event is sent again, as some senders tell the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentAgain {
    /// There was no answer in time.
    Timeout,
    /// The answer was not a 2xx.
    Error,
}

impl EventSender {
    /// A secret for a trial.
    #[must_use]
    pub fn secret_of(&self, seed: u64) -> String {
        (self.secret)(&generate_key(seed, self.secret_variable, 0, ""))
    }

    /// Whether it signs anything.
    #[must_use]
    pub const fn signs(&self) -> bool {
        !self.secret_variable.is_empty()
    }

    /// Whether it signs the time at which it sends.
    #[must_use]
    pub const fn signs_time(&self) -> bool {
        !self.time_header.is_empty()
    }

    /// The time that it signed, in seconds since 1970.
    #[must_use]
    pub fn signed_at(&self, copy: &ReceivedCopy<'_>) -> Option<i64> {
        let header = copy.header(&self.time_header.to_lowercase())?;
        header.split(',').find_map(|part| part.strip_prefix("t=").unwrap_or(part).parse().ok())
    }

    /// All headers of one copy.
    #[must_use]
    pub fn all_headers(&self, copy: &SentCopy<'_>) -> Vec<(String, String)> {
        let own = (self.headers)(copy).into_iter().map(|(name, value)| (name.to_owned(), value));
        [("Content-Type".to_owned(), "application/json".to_owned())].into_iter().chain(own).collect()
    }
}

/// Whether the sender would make the same signature, at a time that the headers name. For senders whose receivers know
/// the secret itself.
pub(crate) fn has_same_signature(sender: &EventSender, copy: &ReceivedCopy<'_>) -> bool {
    let (effect, kind, fields) = (String::new(), String::new(), Fields::new());
    let id = copy.header("svix-id").unwrap_or_default().to_owned();
    let event = ServiceEvent { effect, fields, id, kind, body: copy.body.to_owned(), sender: sender.name };
    let parts = copy.headers.iter().flat_map(|(_, value)| value.split(|c: char| !c.is_ascii_digit()));
    let mut times = parts.filter_map(|part| part.parse().ok()).chain([0]);
    times.any(|at: i64| {
        let made = SentCopy { event: &event, secret: copy.shown_secret, at, earlier: 0, again: None };
        let made = (sender.headers)(&made);
        let mut signatures =
            made.iter().filter(|(name, _)| name.to_lowercase().contains("signature")).peekable();
        signatures.peek().is_some()
            && signatures.all(|(name, made)| copy.header(&name.to_lowercase()) == Some(made.as_str()))
    })
}

/// The HMAC with SHA-256 of these parts.
pub(crate) fn hmac_sha256(secret: &[u8], parts: &[&str]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, secret));
    parts.iter().for_each(|part| context.update(part.as_bytes()));
    let mut tag = [0; 32];
    tag.copy_from_slice(context.sign().as_ref());
    tag
}

/// The headers of Svix, which signs for several services: the secret is `whsec_` and a key in base64.
pub(crate) fn svix_headers(copy: &SentCopy<'_>) -> Vec<(&'static str, String)> {
    let key = STANDARD.decode(copy.secret.trim_start_matches("whsec_")).unwrap_or_default();
    let (id, at) = (&copy.event.id, copy.at.to_string());
    let signature = hmac_sha256(&key, &[id, ".", &at, ".", &copy.event.body]);
    vec![
        ("svix-id", id.clone()),
        ("svix-timestamp", at),
        ("svix-signature", format!("v1,{}", STANDARD.encode(signature))),
    ]
}

/// A secret of Svix.
pub(crate) fn svix_secret(random: &str) -> String {
    format!("whsec_{}", STANDARD.encode(&random.as_bytes()[..random.len().min(24)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> ServiceEvent {
        let (id, kind) = ("msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned(), "test".to_owned());
        let body = "{\"test\": 2432232314}".to_owned();
        ServiceEvent {
            effect: "email.send".to_owned(),
            fields: Fields::new(),
            id,
            kind,
            body,
            sender: "Resend",
        }
    }

    #[test]
    fn a_signature_of_svix_is_that_of_its_documentation() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let event = event();
        let copy = SentCopy { event: &event, secret, at: 1_614_265_330, earlier: 0, again: None };
        let headers = svix_headers(&copy);
        assert_eq!(headers[2].1, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn the_signed_time_is_found_in_the_header_of_each_sender() {
        let event = event();
        let at = 1_614_265_330;
        let senders = crate::catalog::services().iter().flat_map(|service| service.senders);
        for sender in senders.chain(&[SLACK, DECLARED, QUEUE, JOB_SCHEDULER]) {
            let secret = &sender.secret_of(7);
            let headers =
                sender.all_headers(&SentCopy { event: &event, secret, at, earlier: 0, again: None });
            let headers: Vec<(String, String)> =
                headers.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect();
            let copy = ReceivedCopy { headers: &headers, body: &event.body, shown_secret: secret };
            assert_eq!(sender.signed_at(&copy), sender.signs_time().then_some(at), "{}", sender.name);
        }
    }

    #[test]
    fn a_secret_depends_on_the_seed_and_is_one_that_svix_decodes() {
        let [one, other] = [1, 2].map(|seed| svix_secret(&generate_key(seed, "X", 0, "")));
        assert_ne!(one, other);
        assert_eq!(STANDARD.decode(one.trim_start_matches("whsec_")).unwrap().len(), 24);
    }
}
