//! The idempotency keys that a service has seen, and what it does when one comes again. Faults do not concern
//! this: the store keeps what the service decided, not what a caller saw.

mod fingerprint;
mod refusals;

use std::sync::Arc;

use jiff::Timestamp;

use crate::idempotency::{Idempotency, Profile};
use crate::index::Index;
use crate::service::{After, Answer};
pub(super) use fingerprint::{Fingerprint, fingerprint};
pub(super) use refusals::KeyRefusal;

/// The key of a request as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SentKey<'a> {
    /// The key itself, without the quotes that the IETF draft puts around it.
    pub(super) key: &'a str,
    /// Whether it was in quotes.
    pub(super) quoted: bool,
}

impl<'a> SentKey<'a> {
    pub(super) fn new(value: &'a str, profile: Profile) -> Self {
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
pub(super) enum KeyLookup<Effect> {
    /// The request is new: it has no key, or one that was not used yet.
    New,
    /// The service refuses because of the key.
    Refused(KeyRefusal),
    /// It was answered before; `refused` where that answer was a true refusal.
    Replay { answer: Arc<Answer>, refused: bool },
    /// Only a part of it was committed; this is the rest.
    Rest { effects: Vec<Effect>, answer: Arc<Answer> },
}

/// The keys that were used.
#[derive(Debug)]
pub(super) struct KeyStore<Effect> {
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
    /// The key was released.
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

/// A key with the request that it came with.
#[derive(Debug, Clone)]
pub(super) struct Keyed {
    pub(super) key: Arc<str>,
    pub(super) endpoint: Arc<str>,
    pub(super) fingerprint: Fingerprint,
}

/// The two measures of the age of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Age {
    pub(super) now: Timestamp,
    pub(super) requests: u64,
}

impl<Effect: Clone> KeyStore<Effect> {
    pub(super) fn new(rules: Idempotency) -> Self {
        KeyStore { rules, records: Vec::new(), by_key: Index::default() }
    }

    pub(super) fn profile(&self) -> Profile {
        self.rules.profile
    }

    /// How the service treats a write with this key, or without one.
    pub(super) fn lookup(&self, keyed: Option<&Keyed>, age: Age) -> KeyLookup<Effect> {
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
        // Counting characters is only needed for long keys: there are at most as many as bytes.
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

    pub(super) fn in_flight(&mut self, keyed: &Keyed, age: Age) {
        self.put(keyed, age, KeyState::InFlight);
    }

    pub(super) fn answered(&mut self, keyed: &Keyed, age: Age, answer: Answer, refused: bool) {
        self.put(keyed, age, KeyState::Answered { answer: Arc::new(answer), refused });
    }

    pub(super) fn partly(&mut self, keyed: &Keyed, age: Age, rest: Vec<Effect>, answer: Answer) {
        self.put(keyed, age, KeyState::Partly { rest, answer: Arc::new(answer) });
    }

    /// The key can be used for a new request.
    pub(super) fn forget(&mut self, keyed: &Keyed) {
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

    /// Whether the key is in use. Its lifetime begins with the answer.
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
