//! The idempotency keys that a service has seen, and what it does when one comes again. Faults do not concern
//! this: the store keeps what the service decided, not what a caller saw.

mod fingerprint;
mod place;
mod refusals;

use std::sync::Arc;

use jiff::Timestamp;

use crate::idempotency::{
    ConcurrencyRule, ExpiryRule, Idempotency, KeyPlace, KeyRules, KeyScope, Lifetime, MismatchRule,
    ReplayRule, StorageRule,
};
use crate::index::Index;
use crate::service::{After, Answer, Fields, Request, Service};
use fingerprint::{Fingerprint, fingerprint};
pub(super) use place::sent_key;
pub(super) use refusals::{KeyRefusal, made_id, mark_replayed};

/// The key of a request as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SentKey<'a> {
    /// The key itself, without the quotes that the IETF draft puts around it.
    pub(super) key: &'a str,
    /// Whether it was in quotes.
    pub(super) quoted: bool,
}

impl<'a> SentKey<'a> {
    pub(super) fn new(value: &'a str, rules: &KeyRules) -> Self {
        let inner =
            value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|_| value.len() >= 2);
        match inner {
            Some(key) if rules.quoted => SentKey { key, quoted: true },
            _ => SentKey { key: value, quoted: false },
        }
    }
}

/// What the store has under a key.
#[derive(Debug)]
pub(super) enum KeyLookup<Effect> {
    /// The request is new: it has no key, or one that was not used yet.
    New,
    /// The service refuses because of the key; `id` is that of what the first request made.
    Refused { why: KeyRefusal, id: String },
    /// It was answered before; `refused` if that answer was a true refusal.
    Replay { answer: Arc<Answer>, refused: bool },
    /// Only a part of it was committed; this is the rest.
    Rest { effects: Vec<Effect>, answer: Arc<Answer> },
}

/// The keys that were used.
#[derive(Debug, Clone)]
pub(super) struct KeyStore<Effect> {
    records: Vec<KeyRecord<Effect>>,
    by_slot: Index,
}

#[derive(Debug, Clone)]
struct KeyRecord<Effect> {
    slot: Arc<str>,
    endpoint: Arc<str>,
    fingerprint: Fingerprint,
    at: Timestamp,
    at_request: u64,
    what: KeyState<Effect>,
}

#[derive(Debug, Clone)]
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
    pub(super) rules: Idempotency,
    pub(super) key: Arc<str>,
    /// The key with everything that makes it another one: its scope, and the fields that belong to it.
    pub(super) slot: Arc<str>,
    pub(super) endpoint: Arc<str>,
    pub(super) fingerprint: Fingerprint,
}

impl Keyed {
    /// The key of a write; `None` if it has none.
    pub(super) fn of<S: Service>(
        service: &S,
        rules: &Idempotency,
        request: &Request,
        fields: &Fields,
        operation: usize,
    ) -> Option<Self> {
        let how = rules.rules();
        if how.with.as_ref().is_some_and(|(at, value)| place::value(at, request).as_ref() != Some(value)) {
            return None;
        }
        let endpoint = place::endpoint(request);
        let mut print = None;
        let mut fingerprint =
            || *print.get_or_insert_with(|| fingerprint(request, service.parameter_headers(operation)));
        let key: Arc<str> = match &how.key {
            Some(KeyPlace::Content) => fingerprint().to_string().into(),
            _ => {
                let value = place::sent_key(service, request, rules)?;
                SentKey::new(&value, how).key.into()
            }
        };
        let host = service.key_scope(request);
        let is_plain = host.is_none()
            && how.scope == KeyScope::Account
            && how.identity.is_empty()
            && how.mismatch != MismatchRule::Execute;
        let slot = if is_plain {
            Arc::clone(&key)
        } else {
            let mut parts = vec![key.to_string(), host.unwrap_or_default()];
            if how.scope == KeyScope::Endpoint {
                parts.push(endpoint.to_string());
            }
            let value = |name: &String| fields.get(name).or_else(|| fields.get(&format!("body.{name}")));
            parts.extend(
                how.identity.iter().map(|name| value(name).map_or_else(String::new, ToString::to_string)),
            );
            if how.mismatch == MismatchRule::Execute {
                parts.push(fingerprint().to_string());
            }
            // With its length, no part can be taken for a piece of another.
            parts.iter().map(|part| format!("{}:{part}", part.len())).collect::<String>().into()
        };
        Some(Keyed { rules: rules.clone(), key, slot, endpoint, fingerprint: fingerprint() })
    }
}

/// The two measures of the age of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Age {
    pub(super) now: Timestamp,
    pub(super) requests: u64,
}

impl<Effect: Clone> KeyStore<Effect> {
    pub(super) fn new() -> Self {
        KeyStore { records: Vec::new(), by_slot: Index::default() }
    }

    /// How the service treats a write with this key, or without one. `is_closed` says whether the object of an
    /// answer is shown as closed, or is gone.
    pub(super) fn lookup(
        &self,
        rules: &Idempotency,
        keyed: Option<&Keyed>,
        age: Age,
        is_closed: impl Fn(&Answer) -> bool,
    ) -> KeyLookup<Effect> {
        let rules = rules.rules();
        let Some(place) = &rules.key else { return KeyLookup::New };
        let refused = |why: KeyRefusal| KeyLookup::Refused { why, id: String::new() };
        let Some(keyed) = keyed else {
            return if rules.required { refused(KeyRefusal::Missing) } else { KeyLookup::New };
        };
        if *place != KeyPlace::Content && !has_length(&keyed.key, rules.min, rules.max) {
            return refused(KeyRefusal::Length);
        }
        let Some(record) = self.index(&keyed.slot).map(|index| &self.records[index]) else {
            return KeyLookup::New;
        };
        let is_over = is_over(rules, record, age) || is_ended(rules, record, is_closed);
        match record.what {
            KeyState::Nothing => return KeyLookup::New,
            KeyState::InFlight => {}
            KeyState::Answered { .. } | KeyState::Partly { .. } if !is_over => {}
            _ if rules.after == ExpiryRule::Refuse => return refused(KeyRefusal::Ended),
            _ => return KeyLookup::New,
        }
        let id = || match &record.what {
            KeyState::Answered { answer, .. } | KeyState::Partly { answer, .. } => {
                made_id(answer).unwrap_or_default()
            }
            KeyState::Nothing | KeyState::InFlight => String::new(),
        };
        if rules.mismatch == MismatchRule::Refuse {
            if record.endpoint != keyed.endpoint {
                let why = KeyRefusal::OtherEndpoint { first: record.endpoint.to_string() };
                return KeyLookup::Refused { why, id: id() };
            }
            if record.fingerprint != keyed.fingerprint {
                return KeyLookup::Refused { why: KeyRefusal::OtherPayload, id: id() };
            }
        }
        match &record.what {
            KeyState::Nothing => KeyLookup::New,
            KeyState::InFlight if rules.concurrent == ConcurrencyRule::Fail => refused(KeyRefusal::Failed),
            KeyState::InFlight => refused(KeyRefusal::InFlight),
            KeyState::Answered { .. } if rules.replay == ReplayRule::Refuse => {
                KeyLookup::Refused { why: KeyRefusal::Used { first: record.endpoint.to_string() }, id: id() }
            }
            KeyState::Answered { answer, refused } => {
                KeyLookup::Replay { answer: Arc::clone(answer), refused: *refused }
            }
            KeyState::Partly { rest, answer } => {
                KeyLookup::Rest { effects: rest.clone(), answer: Arc::clone(answer) }
            }
        }
    }

    /// Whether a request with this key runs, and another one waits for it.
    pub(super) fn waits(&self, keyed: &Keyed) -> bool {
        keyed.rules.rules().concurrent == ConcurrencyRule::Wait && self.is_in_flight(keyed)
    }

    pub(super) fn in_flight(&mut self, keyed: &Keyed, age: Age) {
        self.put(keyed, age, KeyState::InFlight);
    }

    /// Stores an answer, if the rules store it.
    pub(super) fn answered(&mut self, keyed: &Keyed, age: Age, answer: Answer, refused: bool) {
        let rules = keyed.rules.rules();
        let is_kept = (rules.stores != StorageRule::Success || answer.status < 400)
            && rules.budget.is_none_or(|budget| self.stored(keyed, age) < budget);
        let what = if is_kept {
            KeyState::Answered { answer: Arc::new(answer), refused }
        } else {
            KeyState::Nothing
        };
        self.put(keyed, age, what);
    }

    pub(super) fn partly(&mut self, keyed: &Keyed, age: Age, rest: Vec<Effect>, answer: Answer) {
        self.put(keyed, age, KeyState::Partly { rest, answer: Arc::new(answer) });
    }

    /// The key can be used for a new request.
    pub(super) fn forget(&mut self, keyed: &Keyed) {
        if let Some(index) = self.index(&keyed.slot) {
            self.records[index].what = KeyState::Nothing;
        }
    }

    /// Whether what is stored under the key was stored then, and not by a later request.
    pub(super) fn is_stored_at(&self, keyed: &Keyed, requests: u64) -> bool {
        self.index(&keyed.slot).is_some_and(|index| self.records[index].at_request == requests)
    }

    /// Whether a request with this key runs.
    pub(super) fn is_in_flight(&self, keyed: &Keyed) -> bool {
        self.index(&keyed.slot).is_some_and(|index| matches!(self.records[index].what, KeyState::InFlight))
    }

    /// Writes what is stored, the same for stores that hold the same.
    pub(super) fn write_digest(&self, out: &mut impl std::fmt::Write) -> std::fmt::Result {
        let mut records: Vec<&KeyRecord<Effect>> = self.records.iter().collect();
        records.sort_unstable_by(|one, other| one.slot.cmp(&other.slot));
        for KeyRecord { slot, endpoint, fingerprint, at, at_request, what } in records {
            write!(out, "{slot:?}{endpoint:?}{fingerprint}{at}{at_request}")?;
            match what {
                KeyState::Nothing => out.write_str("nothing")?,
                KeyState::InFlight => out.write_str("in flight")?,
                KeyState::Answered { answer, refused } => write!(out, "{answer:?}{refused}")?,
                // What remains of a list follows from how much of it was committed.
                KeyState::Partly { rest, answer } => write!(out, "{answer:?}{}", rest.len())?,
            }
        }
        Ok(())
    }

    /// How many other answers are stored.
    fn stored(&self, keyed: &Keyed, age: Age) -> usize {
        let rules = keyed.rules.rules();
        let is_stored = |record: &&KeyRecord<Effect>| {
            record.slot != keyed.slot
                && matches!(record.what, KeyState::Answered { .. } | KeyState::Partly { .. })
                && !is_over(rules, record, age)
        };
        self.records.iter().filter(is_stored).count()
    }

    fn put(&mut self, keyed: &Keyed, age: Age, what: KeyState<Effect>) {
        if keyed.rules.takes_keys() {
            let record = KeyRecord {
                slot: Arc::clone(&keyed.slot),
                endpoint: Arc::clone(&keyed.endpoint),
                fingerprint: keyed.fingerprint,
                at: age.now,
                at_request: age.requests,
                what,
            };
            match self.index(&keyed.slot) {
                Some(index) => self.records[index] = record,
                None => {
                    self.records.push(record);
                    let KeyStore { records, by_slot } = self;
                    by_slot.add(records.len() - 1, |index| &records[index].slot);
                }
            }
        }
    }

    fn index(&self, slot: &str) -> Option<usize> {
        self.by_slot.find(slot, |index| &self.records[index].slot)
    }
}

/// Whether a key has an allowed number of characters.
fn has_length(key: &str, min: usize, max: usize) -> bool {
    // Counting characters is only needed for long keys: there are at most as many as bytes.
    let is_long = key.len() > max && key.chars().count() > max;
    !is_long && !key.is_empty() && (key.len() >= min && (min == 1 || key.chars().count() >= min))
}

/// Whether the time of a key, which begins with its answer, is over.
fn is_over<Effect>(rules: &KeyRules, record: &KeyRecord<Effect>, age: Age) -> bool {
    match rules.lifetime {
        Lifetime::For(After::Requests(requests)) => {
            age.requests.saturating_sub(record.at_request) > u64::from(requests)
        }
        Lifetime::For(After::Time(time)) => {
            age.now.duration_since(record.at).unsigned_abs() >= time && age.now >= record.at
        }
        Lifetime::For(After::Settled) | Lifetime::WhileOpen(_) => false,
    }
}

/// Whether a key that is kept while its object is open has ended with it.
fn is_ended<Effect>(
    rules: &KeyRules,
    record: &KeyRecord<Effect>,
    is_closed: impl Fn(&Answer) -> bool,
) -> bool {
    match (&record.what, rules.lifetime) {
        (KeyState::Answered { answer, .. }, Lifetime::WhileOpen(_)) => is_closed(answer),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idempotency::Profile;
    use crate::payment::Payment;
    use crate::service::Context;
    use crate::service::IdSource;

    /// A store with its rules.
    struct RuledStore {
        rules: Idempotency,
        store: KeyStore<u8>,
    }

    impl RuledStore {
        fn lookup(&self, keyed: Option<&Keyed>, age: Age) -> KeyLookup<u8> {
            self.store.lookup(&self.rules, keyed, age, |_| false)
        }

        fn answered(&mut self, keyed: &Keyed, age: Age, answer: Answer, refused: bool) {
            let keyed = Keyed { rules: self.rules.clone(), ..keyed.clone() };
            self.store.answered(&keyed, age, answer, refused);
        }
    }

    fn rules(yaml: &str) -> Idempotency {
        let source = yaml_reader::Source::new("keys", yaml);
        let reader = yaml_reader::Reader::new(&source);
        let files = |_: &str| Err(String::new());
        let node = yaml_reader::parse(&source).unwrap();
        crate::idempotency::read_idempotency(&reader, &node, &files).unwrap()
    }

    fn keyed_with(rules: &Idempotency, key: &str, path: &str, body: &str) -> Keyed {
        let request = Request::new("POST", path)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("Idempotency-Key", key)
            .body(body);
        let fields = Fields::new().with("amount", body);
        Keyed::of(&Payment::default(), rules, &request, &fields, 0).unwrap()
    }

    fn keyed(key: &str, path: &str, body: &str) -> Keyed {
        keyed_with(&Idempotency::new(Profile::Stripe), key, path, body)
    }

    fn age(second: i64, requests: u64) -> Age {
        Age { now: Timestamp::from_second(second).unwrap(), requests }
    }

    fn store(profile: Profile) -> RuledStore {
        RuledStore { rules: Idempotency::new(profile), store: KeyStore::new() }
    }

    fn store_with(yaml: &str) -> RuledStore {
        RuledStore { rules: rules(yaml), store: KeyStore::new() }
    }

    fn refusal(found: KeyLookup<u8>) -> KeyRefusal {
        match found {
            KeyLookup::Refused { why, .. } => why,
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
        store.store.in_flight(&first, age(0, 1));
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

        let mut by_requests = store_with("{profile: stripe, lifetime: {requests: 2}}");
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
        assert_eq!(
            SentKey::new("\"abc\"", Profile::Ietf.idempotency().rules()),
            SentKey { key: "abc", quoted: true }
        );
        assert_eq!(
            SentKey::new("abc", Profile::Ietf.idempotency().rules()),
            SentKey { key: "abc", quoted: false }
        );
        assert_eq!(
            SentKey::new("\"abc\"", Profile::Stripe.idempotency().rules()),
            SentKey { key: "\"abc\"", quoted: false }
        );
        assert_eq!(
            SentKey::new("\"", Profile::Ietf.idempotency().rules()),
            SentKey { key: "\"", quoted: false }
        );
    }

    #[test]
    fn each_profile_refuses_with_its_own_status() {
        let status = |refusal: KeyRefusal, profile: Profile| {
            refusal.answer(profile.idempotency(), ("k", "POST /x", ""), |_| None).unwrap().status
        };
        let statuses = |profile: Profile| {
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
        let answer = KeyRefusal::InFlight
            .answer(Profile::Resend.idempotency(), ("k", "POST /emails", ""), |_| None)
            .unwrap();
        let body = String::from_utf8(answer.body).unwrap();
        assert!(
            body.starts_with(r#"{"statusCode":409,"message":"Same idempotency key"#)
                && body.contains(r#","name":"concurrent"#),
            "{body}"
        );
    }

    #[test]
    fn every_other_body_gets_what_the_profile_says() {
        let second = |yaml: &str| {
            let mut store = store_with(yaml);
            let of = |body: &str| keyed_with(&store.rules, "k", "/v1/charges", body);
            let (first, other) = (of("a=1"), of("a=2"));
            store.answered(&first, age(0, 1), Answer::empty(201), false);
            store.lookup(Some(&other), age(0, 2))
        };
        assert_eq!(refusal(second("stripe")), KeyRefusal::OtherPayload);
        assert!(matches!(second("qonto"), KeyLookup::Replay { .. }), "the second order is lost");
        assert!(matches!(second("{extends: stripe, mismatch: execute}"), KeyLookup::New));
        assert!(matches!(second("{extends: stripe, identity: [amount]}"), KeyLookup::New), "another amount");
        assert!(matches!(
            second("{extends: stripe, identity: [customer], mismatch: replay}"),
            KeyLookup::Replay { .. }
        ));
        assert_eq!(
            refusal(second("mangopay")),
            KeyRefusal::Length,
            "a key of one character is too short for this one"
        );
        assert!(matches!(second("{key: content}"), KeyLookup::New));
    }

    #[test]
    fn a_repeated_request_is_refused_where_the_profile_does_not_replay() {
        let mut store = store_with("{extends: netsuite}");
        let first = keyed_with(&store.rules, "k", "/jobs", "a=1");
        let made = Answer::json(201, &serde_json::json!({ "id": "job_1" }));
        store.answered(&first, age(0, 1), made, false);
        let KeyLookup::Refused { why, id } = store.lookup(Some(&first), age(0, 2)) else { panic!("refused") };
        assert_eq!((&why, id.as_str()), (&KeyRefusal::Used { first: "POST /jobs".to_owned() }, "job_1"));
        let answer = why.answer(&store.rules, ("k", "POST /jobs", &id), |_| None).unwrap();
        assert_eq!((answer.status, answer.header("location")), (400, Some("/jobs/job_1")));
    }

    #[test]
    fn only_a_success_is_stored_where_the_profile_says_so() {
        for (yaml, is_stored) in [("checkout", false), ("stripe", true), ("xero", true)] {
            let mut store = store_with(yaml);
            let first = keyed_with(&store.rules, "k", "/x", "");
            store.answered(&first, age(0, 1), Answer::empty(500), false);
            let again = store.lookup(Some(&first), age(0, 2));
            assert_eq!(matches!(again, KeyLookup::Replay { .. }), is_stored, "{yaml}");
        }
    }

    #[test]
    fn a_spent_budget_stores_nothing_more_until_a_key_is_old() {
        let mut store = store_with("{extends: monday, budget: 1, lifetime: {requests: 5}}");
        let of = |key: &str| keyed_with(&store.rules, key, "/x", "");
        let (one, two) = (of("one"), of("two"));
        store.answered(&one, age(0, 1), Answer::empty(200), false);
        store.answered(&two, age(0, 2), Answer::empty(200), false);
        assert!(matches!(store.lookup(Some(&one), age(0, 3)), KeyLookup::Replay { .. }));
        assert!(matches!(store.lookup(Some(&two), age(0, 3)), KeyLookup::New), "it was not stored");
        store.answered(&one, age(0, 4), Answer::empty(200), false);
        assert!(matches!(store.lookup(Some(&one), age(0, 5)), KeyLookup::Replay { .. }), "its own place");
        store.answered(&two, age(0, 20), Answer::empty(200), false);
        assert!(matches!(store.lookup(Some(&two), age(0, 21)), KeyLookup::Replay { .. }));
    }

    #[test]
    fn an_old_key_is_new_again_or_refused() {
        let after = |yaml: &str| {
            let mut store = store_with(yaml);
            let first = keyed_with(&store.rules, "k", "/x", "");
            store.answered(&first, age(0, 1), Answer::empty(200), false);
            store.lookup(Some(&first), age(0, 9))
        };
        assert!(matches!(after("{extends: stripe, lifetime: {requests: 2}}"), KeyLookup::New));
        let refused = after("{extends: stripe, lifetime: {requests: 2}, after: refuse}");
        assert_eq!(refusal(refused), KeyRefusal::Ended);
        assert!(matches!(after("increase"), KeyLookup::Replay { .. }), "kept for ever");
    }

    #[test]
    fn a_key_is_kept_while_its_object_is_open() {
        let mut store = store_with("{extends: stripe, replay: refuse, lifetime: while-open}");
        let first = keyed_with(&store.rules, "k", "/x", "");
        store.answered(&first, age(0, 1), Answer::empty(200), false);
        let of =
            |closed: bool| store.store.lookup(&store.rules, Some(&first), age(1_000_000, 99), |_| closed);
        assert!(matches!(of(false), KeyLookup::Refused { why: KeyRefusal::Used { .. }, .. }));
        assert!(matches!(of(true), KeyLookup::New));
    }

    #[test]
    fn keys_of_one_endpoint_are_not_those_of_another_where_the_profile_says_so() {
        for (yaml, expected) in [("telnyx", true), ("stripe", false)] {
            let mut store = store_with(yaml);
            let of = |path: &str| keyed_with(&store.rules, "k", path, "");
            let (here, there) = (of("/x"), of("/y"));
            store.answered(&here, age(0, 1), Answer::empty(200), false);
            let found = store.lookup(Some(&there), age(0, 2));
            assert_eq!(matches!(found, KeyLookup::New), expected, "{yaml}");
        }
    }

    #[test]
    fn a_line_break_in_a_key_does_not_make_it_the_key_of_something_else() {
        let rules = rules("{key: body.nonce, identity: [order, amount]}");
        let slot = |nonce: &str, order: &str, amount: &str| {
            let body = serde_json::json!({ "nonce": nonce }).to_string();
            let request = Request::new("POST", "/x").header("content-type", "application/json").body(body);
            let fields = Fields::new().with("order", order).with("amount", amount);
            Keyed::of(&Payment::default(), &rules, &request, &fields, 0).unwrap().slot
        };
        assert_eq!(slot("k", "a", "b"), slot("k", "a", "b"));
        assert_ne!(slot("k\norder a", "b", "c"), slot("k", "a\norder b", "c"));
        assert_ne!(slot("k", "a\n1", "2"), slot("k", "a", "1\n2"));
        assert_ne!(slot("k", "a", ""), slot("k", "", "a"));
    }

    #[test]
    fn the_marker_of_a_replay_can_have_the_key() {
        let context =
            Context { now: Timestamp::from_second(5).unwrap(), ids: IdSource::new(1, "x").ids(1, 1, 0) };
        for (profile, header, value) in [
            (Profile::Adyen, "idempotency-key", "k"),
            (Profile::Worldline, "x-gcs-idempotence-request-timestamp", "5000"),
        ] {
            let mut answer = Answer::empty(200);
            mark_replayed(&mut answer, profile.idempotency(), "k", &context);
            assert_eq!(answer.header(header), Some(value));
        }
    }
}
