//! The laws of idempotency keys, for every profile and for any sequence of requests, keys, bodies and lost replies.

use std::collections::{BTreeMap, BTreeSet};

use mock_services::idempotency::{Idempotency, Profile, profiles_json};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::kit::client::Transcript;
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, all_services_with_keys};

/// One request: the index of its key, that of its amount, and what becomes of its reply.
#[derive(Debug, Clone, Copy)]
struct Sent {
    key: usize,
    amount: usize,
    reply: &'static str,
}

const KEYS: [&str; 2] = ["aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb"];
const REPLIES: [&str; 5] = ["ok", "drop", "garble", "{status: 503}", "{status: 429}"];

fn sent() -> impl Strategy<Value = Sent> {
    (0..KEYS.len(), 0..2usize, prop::sample::select(&REPLIES[..])).prop_map(|(key, amount, reply)| Sent {
        key,
        amount,
        reply,
    })
}

/// What the file of a profile says.
fn facts(profile: Profile) -> Value {
    let all = profiles_json();
    let facts = all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    facts.into_iter().find(|facts| facts["name"] == profile.as_str()).unwrap()
}

/// A request with its key wherever a profile can have it.
fn request(facts: &Value, sent: Sent) -> TestRequest {
    let key = KEYS[sent.key];
    let amount = [10, 20][sent.amount];
    let mut body = json!({ "order": "ord_1", "amount": amount, "enforce_nonce": true });
    match facts["key"].as_str() {
        Some("id") => body["id"] = key.into(),
        // The content is the key: another key is another content.
        Some("content") => body["note"] = key.into(),
        _ => {}
    }
    TestRequest::json("POST", "/v1/orders", &body).key(key).header("If-None-Match", "*")
}

/// Requests with the same one of these are one to the provider.
fn slot(facts: &Value, sent: Sent) -> (usize, Option<usize>) {
    let identity = facts["identity"].as_array().unwrap();
    let by_amount = facts["key"] == "content"
        || facts["mismatch"] == "execute"
        || identity.iter().any(|field| field == "amount");
    (sent.key, by_amount.then_some(sent.amount))
}

/// Sends the requests, with the faults of their replies or without any fault, and then each of them once more.
async fn run(services: &TestServices, facts: &Value, all: &[Sent], with_faults: bool) -> Vec<Transcript> {
    services.mock.clear_faults();
    services.mock.reset("law").await;
    let mut seen = Vec::new();
    for one in all {
        services.mock.clear_faults();
        if with_faults {
            services.arm(&format!("web.post#1 commit=now reply={} optional", one.reply));
        }
        seen.push(services.send("web", &request(facts, *one)).await);
    }
    services.mock.clear_faults();
    for one in all {
        seen.push(services.send("web", &request(facts, *one)).await);
    }
    seen
}

fn is_success(seen: &Transcript) -> bool {
    seen.status().is_some_and(|status| status < 300)
}

fn check(
    runtime: &Runtime,
    services: &TestServices,
    profile: Profile,
    all: &[Sent],
) -> Result<(), TestCaseError> {
    let facts = facts(profile);
    // A message over SMTP has its key elsewhere; over HTTP the profile ignores keys.
    let takes_keys = facts["key"].is_string() && !facts["key"].as_str().unwrap().starts_with("mime.");
    let plain = runtime.block_on(run(services, &facts, all, false));
    let seen = runtime.block_on(run(services, &facts, all, true));

    // A key never executes twice within its lifetime.
    let mut first_bodies = BTreeMap::new();
    let slots: BTreeSet<_> = all.iter().map(|one| slot(&facts, *one)).collect();
    let expected = if takes_keys { slots.len() } else { 2 * all.len() };
    prop_assert_eq!(services.count(), expected, "{}", profile);

    // There is no success without an effect or its replay.
    let ids: BTreeSet<String> = services.effects().into_iter().map(|effect| effect.id.to_string()).collect();
    let (under_faults, afterwards) = seen.split_at(all.len());
    for one in afterwards.iter().filter(|one| is_success(one)) {
        prop_assert!(ids.contains(&one.at("/id")), "{}: {}", profile, one.text());
    }
    for (one, sent) in under_faults.iter().zip(all).filter(|(_, sent)| sent.reply == "ok") {
        prop_assert!(!is_success(one) || ids.contains(&one.at("/id")), "{}: {:?}", profile, sent);
    }

    // The same request with the same key gets the same answer.
    if takes_keys && facts["replay"] == "first" {
        for (one, sent) in afterwards.iter().zip(all).filter(|(one, _)| is_success(one)) {
            let body = first_bodies.entry((sent.key, sent.amount)).or_insert_with(|| one.body().to_vec());
            prop_assert_eq!(&*body, one.body(), "{}", profile);
        }
    }

    // What the store answers does not depend on what became of the replies before.
    if takes_keys {
        for ((one, other), sent) in afterwards.iter().zip(&plain[all.len()..]).zip(all) {
            prop_assert_eq!(one.status(), other.status(), "{}: {:?}", profile, sent);
            prop_assert_eq!(one.body(), other.body(), "{}: {:?}", profile, sent);
        }
    }
    Ok(())
}

#[test]
fn every_profile_obeys_the_laws_of_keys() {
    let runtime = Runtime::new().unwrap();
    for profile in Profile::ALL {
        let builder = all_services_with_keys(Idempotency::new(profile));
        let services = runtime.block_on(TestServices::start(builder, &[])).unwrap();
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases: 12,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let laws =
            runner.run(&prop::collection::vec(sent(), 1..6), |all| check(&runtime, &services, profile, &all));
        laws.unwrap_or_else(|error| panic!("{profile}: {error}"));
    }
}
