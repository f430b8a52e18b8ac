//! What a service does when a key comes again: the profiles of real services, and the store of keys. Faults
//! do not concern it: the store keeps what the service decided, not what a caller saw.

mod fingerprint;
mod refusals;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::index::Index;
use crate::service::{After, Answer};
pub(crate) use fingerprint::{Fingerprint, fingerprint};
pub use refusals::KeyError;
pub(crate) use refusals::KeyRefusal;

/// How a service treats idempotency keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Stripe's API v1: answers are kept and replayed, failures included.
    Stripe,
    /// The IETF draft: the key is required on writes; problem documents.
    Ietf,
    /// The Agentic Commerce Protocol: the key is required on writes.
    Acp,
    /// Resend: kept for a day.
    Resend,
    /// The key is ignored.
    None,
}

impl Profile {
    /// All profiles, by name.
    pub const ALL: [Profile; 5] =
        [Profile::Stripe, Profile::Ietf, Profile::Acp, Profile::Resend, Profile::None];

    /// Its name in scenarios and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Stripe => "stripe",
            Profile::Ietf => "ietf",
            Profile::Acp => "acp",
            Profile::Resend => "resend",
            Profile::None => "none",
        }
    }

    /// The profile of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Profile::ALL.into_iter().find(|profile| profile.name() == name)
    }

    const fn requires_key(self) -> bool {
        matches!(self, Profile::Ietf | Profile::Acp)
    }

    /// Whether a replayed answer says that it is one.
    pub(crate) const fn marks_replays(self) -> bool {
        matches!(self, Profile::Stripe | Profile::Acp)
    }

    const fn longest_key(self) -> usize {
        match self {
            Profile::Resend => 256,
            _ => 255,
        }
    }
}

/// How keys are treated, and how long they are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idempotency {
    /// Whose rules.
    pub profile: Profile,
    /// When a key may be used for a new request again.
    pub lifetime: After,
}

impl Idempotency {
    /// The profile with its own lifetime: a day.
    #[must_use]
    pub const fn new(profile: Profile) -> Self {
        Idempotency { profile, lifetime: After::Time(Duration::from_secs(24 * 60 * 60)) }
    }
}

/// The key of a request as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentKey<'a> {
    /// The key itself, without the quotes that the IETF draft puts around it.
    pub(crate) key: &'a str,
    /// Whether it was in quotes.
    pub(crate) quoted: bool,
}

impl<'a> SentKey<'a> {
    pub(crate) fn new(value: &'a str, profile: Profile) -> Self {
        let inner =
            value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|_| value.len() >= 2);
        match inner {
            Some(key) if profile == Profile::Ietf => SentKey { key, quoted: true },
            _ => SentKey { key: value, quoted: false },
        }
    }
}

/// What the store has under a key.
#[derive(Debug)]
pub(crate) enum KeyLookup<Effect> {
    /// The request is new: it has no key, or one that was not used yet.
    New,
    /// The service refuses because of the key.
    Refused(KeyRefusal),
    /// It was answered before; `refused` where that answer was a true refusal.
    Replay { answer: Arc<Answer>, refused: bool },
    /// Only a part of it was done: this is the rest.
    Rest { effects: Vec<Effect>, answer: Arc<Answer> },
}

/// The keys that were used.
#[derive(Debug)]
pub(crate) struct KeyStore<Effect> {
    rules: Idempotency,
    records: Vec<KeyRecord<Effect>>,
    by_key: Index,
}

#[derive(Debug)]
struct KeyRecord<Effect> {
    key: Arc<str>,
    endpoint: Arc<str>,
    fingerprint: Fingerprint,
    at: Timestamp,
    at_request: u64,
    what: KeyState<Effect>,
}

#[derive(Debug)]
enum KeyState<Effect> {
    /// It was taken back.
    Nothing,
    InFlight,
    Answered {
        answer: Arc<Answer>,
        refused: bool,
    },
    Partly {
        rest: Vec<Effect>,
        answer: Arc<Answer>,
    },
}

/// The request that a key came with, as far as the store cares.
#[derive(Debug, Clone)]
pub(crate) struct Keyed {
    pub(crate) key: Arc<str>,
    pub(crate) endpoint: Arc<str>,
    pub(crate) fingerprint: Fingerprint,
}

/// The time, in both of the ways in which a key can grow old.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Age {
    pub(crate) now: Timestamp,
    pub(crate) requests: u64,
}

impl<Effect: Clone> KeyStore<Effect> {
    pub(crate) fn new(rules: Idempotency) -> Self {
        KeyStore { rules, records: Vec::new(), by_key: Index::default() }
    }

    pub(crate) fn profile(&self) -> Profile {
        self.rules.profile
    }

    /// What a write with this key, or without one, is to this service.
    pub(crate) fn lookup(&self, keyed: Option<&Keyed>, age: Age) -> KeyLookup<Effect> {
        let profile = self.rules.profile;
        if profile == Profile::None {
            return KeyLookup::New;
        }
        let Some(keyed) = keyed else {
            return if profile.requires_key() {
                KeyLookup::Refused(KeyRefusal::Missing)
            } else {
                KeyLookup::New
            };
        };
        // There are no more characters than bytes.
        let is_long =
            keyed.key.len() > profile.longest_key() && keyed.key.chars().count() > profile.longest_key();
        if keyed.key.is_empty() || is_long {
            return KeyLookup::Refused(KeyRefusal::Length);
        }
        let Some(record) = self
            .place(&keyed.key)
            .map(|place| &self.records[place])
            .filter(|record| self.counts(record, age))
        else {
            return KeyLookup::New;
        };
        if record.endpoint != keyed.endpoint {
            return KeyLookup::Refused(KeyRefusal::OtherEndpoint { first: record.endpoint.to_string() });
        }
        if record.fingerprint != keyed.fingerprint {
            return KeyLookup::Refused(KeyRefusal::OtherPayload);
        }
        match &record.what {
            KeyState::Nothing => KeyLookup::New,
            KeyState::InFlight => KeyLookup::Refused(KeyRefusal::InFlight),
            KeyState::Answered { answer, refused } => {
                KeyLookup::Replay { answer: Arc::clone(answer), refused: *refused }
            }
            KeyState::Partly { rest, answer } => {
                KeyLookup::Rest { effects: rest.clone(), answer: Arc::clone(answer) }
            }
        }
    }

    pub(crate) fn in_flight(&mut self, keyed: &Keyed, age: Age) {
        self.put(keyed, age, KeyState::InFlight);
    }

    pub(crate) fn answered(&mut self, keyed: &Keyed, age: Age, answer: Answer, refused: bool) {
        self.put(keyed, age, KeyState::Answered { answer: Arc::new(answer), refused });
    }

    pub(crate) fn partly(&mut self, keyed: &Keyed, age: Age, rest: Vec<Effect>, answer: Answer) {
        self.put(keyed, age, KeyState::Partly { rest, answer: Arc::new(answer) });
    }

    /// The key can be used for a new request.
    pub(crate) fn forget(&mut self, keyed: &Keyed) {
        if let Some(place) = self.place(&keyed.key) {
            self.records[place].what = KeyState::Nothing;
        }
    }

    fn put(&mut self, keyed: &Keyed, age: Age, what: KeyState<Effect>) {
        if self.rules.profile != Profile::None {
            let record = KeyRecord {
                key: Arc::clone(&keyed.key),
                endpoint: Arc::clone(&keyed.endpoint),
                fingerprint: keyed.fingerprint,
                at: age.now,
                at_request: age.requests,
                what,
            };
            match self.place(&keyed.key) {
                Some(place) => self.records[place] = record,
                None => {
                    self.records.push(record);
                    let KeyStore { records, by_key, .. } = self;
                    by_key.add(records.len() - 1, |place| &records[place].key);
                }
            }
        }
    }

    fn place(&self, key: &str) -> Option<usize> {
        self.by_key.find(key, |place| &self.records[place].key)
    }

    /// Whether the key is in use: its lifetime begins with the answer, and not while its request is in
    /// flight.
    fn counts(&self, record: &KeyRecord<Effect>, age: Age) -> bool {
        let is_old = || match self.rules.lifetime {
            After::Requests(requests) => age.requests.saturating_sub(record.at_request) > u64::from(requests),
            After::Time(time) => {
                age.now.duration_since(record.at).unsigned_abs() >= time && age.now >= record.at
            }
            After::Settled => false,
        };
        match record.what {
            KeyState::Nothing => false,
            KeyState::InFlight => true,
            KeyState::Answered { .. } | KeyState::Partly { .. } => !is_old(),
        }
    }
}

#[cfg(test)]
mod tests;
