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
            Some(key) if profile.rules().takes_quotes => SentKey { key, quoted: true },
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
    /// It was answered before; `refused` if that answer was a true refusal.
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
        let longest = profile.rules().longest_key;
        // Counting characters is only needed for long keys: there are at most as many as bytes.
        let is_long = keyed.key.len() > longest && keyed.key.chars().count() > longest;
        if keyed.key.is_empty() || is_long {
            return KeyLookup::Refused(KeyRefusal::Length);
        }
        let Some(record) = self
            .index(&keyed.key)
            .map(|index| &self.records[index])
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
        if let Some(index) = self.index(&keyed.key) {
            self.records[index].what = KeyState::Nothing;
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
            match self.index(&keyed.key) {
                Some(index) => self.records[index] = record,
                None => {
                    self.records.push(record);
                    let KeyStore { records, by_key, .. } = self;
                    by_key.add(records.len() - 1, |index| &records[index].key);
                }
            }
        }
    }

    fn index(&self, key: &str) -> Option<usize> {
        self.by_key.find(key, |index| &self.records[index].key)
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
mod tests {
    use super::*;
    use crate::service::Request;

    fn keyed(key: &str, path: &str, body: &str) -> Keyed {
        let request =
            Request::new("POST", path).header("content-type", "application/x-www-form-urlencoded").body(body);
        Keyed {
            key: key.into(),
            endpoint: format!("POST {path}").into(),
            fingerprint: fingerprint(&request, []),
        }
    }

    fn age(second: i64, requests: u64) -> Age {
        Age { now: Timestamp::from_second(second).unwrap(), requests }
    }

    fn store(profile: Profile) -> KeyStore<u8> {
        KeyStore::new(Idempotency::new(profile))
    }

    fn refusal(found: KeyLookup<u8>) -> KeyRefusal {
        match found {
            KeyLookup::Refused(refusal) => refusal,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_stored_answer_is_replayed_only_for_the_same_request() {
        let mut store = store(Profile::Stripe);
        let first = keyed("k", "/v1/charges", "a=1");
        assert!(matches!(store.lookup(Some(&first), age(0, 1)), KeyLookup::New));
        store.answered(&first, age(0, 1), Answer::empty(200), false);
        assert!(matches!(store.lookup(Some(&first), age(1, 2)), KeyLookup::Replay { refused: false, .. }));
        assert_eq!(
            refusal(store.lookup(Some(&keyed("k", "/v1/charges", "a=2")), age(1, 2))),
            KeyRefusal::OtherPayload
        );
        let elsewhere = store.lookup(Some(&keyed("k", "/v1/refunds", "a=1")), age(1, 2));
        assert_eq!(refusal(elsewhere), KeyRefusal::OtherEndpoint { first: "POST /v1/charges".to_owned() });
        assert!(matches!(store.lookup(Some(&keyed("k2", "/v1/charges", "a=1")), age(1, 2)), KeyLookup::New));
    }

    #[test]
    fn a_key_in_flight_conflicts_at_any_age_until_it_is_answered() {
        let mut store = store(Profile::Stripe);
        let first = keyed("k", "/v1/charges", "a=1");
        store.in_flight(&first, age(0, 1));
        assert_eq!(refusal(store.lookup(Some(&first), age(1_000_000, 99))), KeyRefusal::InFlight);
        store.answered(&first, age(5, 3), Answer::empty(200), false);
        assert!(matches!(store.lookup(Some(&first), age(6, 4)), KeyLookup::Replay { .. }));
    }

    #[test]
    fn a_key_is_pruned_after_its_time_or_its_number_of_requests() {
        let first = keyed("k", "/x", "");
        let mut by_time = store(Profile::Stripe);
        by_time.answered(&first, age(0, 1), Answer::empty(200), false);
        assert!(matches!(by_time.lookup(Some(&first), age(86_399, 2)), KeyLookup::Replay { .. }));
        assert!(matches!(by_time.lookup(Some(&first), age(86_400, 2)), KeyLookup::New));

        let mut by_requests =
            KeyStore::<u8>::new(Idempotency { profile: Profile::Stripe, lifetime: After::Requests(2) });
        by_requests.answered(&first, age(0, 1), Answer::empty(200), false);
        assert!(matches!(by_requests.lookup(Some(&first), age(0, 3)), KeyLookup::Replay { .. }));
        assert!(matches!(by_requests.lookup(Some(&first), age(0, 4)), KeyLookup::New));
    }

    #[test]
    fn some_profiles_want_a_key_and_one_ignores_it() {
        assert_eq!(refusal(store(Profile::Ietf).lookup(None, age(0, 1))), KeyRefusal::Missing);
        assert_eq!(refusal(store(Profile::Acp).lookup(None, age(0, 1))), KeyRefusal::Missing);
        assert!(matches!(store(Profile::Stripe).lookup(None, age(0, 1)), KeyLookup::New));
        let mut none = store(Profile::None);
        let first = keyed("k", "/x", "");
        none.answered(&first, age(0, 1), Answer::empty(200), false);
        assert!(matches!(none.lookup(Some(&first), age(0, 2)), KeyLookup::New));
    }

    #[test]
    fn a_key_may_not_be_empty_or_longer_than_the_profile_allows() {
        let long = "k".repeat(256);
        assert_eq!(
            refusal(store(Profile::Stripe).lookup(Some(&keyed(&long, "/x", "")), age(0, 1))),
            KeyRefusal::Length
        );
        assert!(matches!(
            store(Profile::Resend).lookup(Some(&keyed(&long, "/x", "")), age(0, 1)),
            KeyLookup::New
        ));
        assert_eq!(
            refusal(store(Profile::Ietf).lookup(Some(&keyed("", "/x", "")), age(0, 1))),
            KeyRefusal::Length
        );
    }

    #[test]
    fn the_ietf_key_is_taken_with_and_without_quotes() {
        assert_eq!(SentKey::new("\"abc\"", Profile::Ietf), SentKey { key: "abc", quoted: true });
        assert_eq!(SentKey::new("abc", Profile::Ietf), SentKey { key: "abc", quoted: false });
        assert_eq!(SentKey::new("\"abc\"", Profile::Stripe), SentKey { key: "\"abc\"", quoted: false });
        assert_eq!(SentKey::new("\"", Profile::Ietf), SentKey { key: "\"", quoted: false });
    }

    #[test]
    fn each_profile_refuses_with_its_own_status() {
        let status = |refusal: KeyRefusal, profile| refusal.answer(profile, "k", "POST /x", |_| None).status;
        let statuses = |profile| {
            [KeyRefusal::Missing, KeyRefusal::InFlight, KeyRefusal::OtherPayload]
                .map(|refusal| status(refusal, profile))
        };
        assert_eq!(statuses(Profile::Stripe), [400, 409, 400]);
        assert_eq!(statuses(Profile::Ietf), [400, 409, 422]);
        assert_eq!(statuses(Profile::Acp), [400, 409, 422]);
        assert_eq!(statuses(Profile::Resend), [400, 409, 409]);
    }

    #[test]
    fn resend_orders_the_members_of_a_refusal_as_in_its_other_errors() {
        let answer = KeyRefusal::InFlight.answer(Profile::Resend, "k", "POST /emails", |_| None);
        let body = String::from_utf8(answer.body).unwrap();
        assert!(
            body.starts_with(r#"{"statusCode":409,"message":"Same idempotency key"#)
                && body.contains(r#","name":"concurrent"#),
            "{body}"
        );
    }
}
