use super::*;
use crate::service::Request;

fn keyed(key: &str, path: &str, body: &str) -> Keyed {
    let request =
        Request::new("POST", path).header("content-type", "application/x-www-form-urlencoded").body(body);
    Keyed { key: key.into(), endpoint: format!("POST {path}").into(), fingerprint: fingerprint(&request, []) }
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
