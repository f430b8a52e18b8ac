//! The five profiles, each on a record store and on a deploy service, which have no keys of their own.

use mock_services::idempotency::{Idempotency, Profile};
use mock_services::ledger::Event;

use crate::kit::client::Transcript;
use crate::kit::ledger::{events, refused};
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, all_services_with_keys};
use crate::kit::write::{WriteCase, put};

/// The request, one with other contents, and one to another endpoint.
async fn requests_of(services: &TestServices, op: WriteCase) -> [TestRequest; 3] {
    let request = op.request(services, 1).await;
    match op {
        WriteCase::Put => [request, put("stock", 2), put("other", 1)],
        _ => {
            let other = TestRequest { body: request.body.replace("v2", "v3"), ..request.clone() };
            let elsewhere =
                TestRequest { target: "/repos/acme/other/deployments".to_owned(), ..request.clone() };
            [request, other, elsewhere]
        }
    }
}

async fn services_with_profile(profile: Profile, faults: &[&str]) -> TestServices {
    TestServices::start(all_services_with_keys(Idempotency::new(profile)), faults).await.unwrap()
}

/// The text that distinguishes the refusals of a profile.
fn word(profile: Profile, seen: &Transcript) -> String {
    seen.at(match profile {
        Profile::Stripe | Profile::None => "/error/type",
        Profile::Ietf => "/title",
        Profile::Acp => "/code",
        Profile::Resend => "/name",
        other => panic!("{other}"),
    })
}

#[tokio::test]
async fn a_missing_key_is_refused_when_the_profile_requires_one() {
    for op in [WriteCase::Put, WriteCase::Github] {
        for (profile, refusal) in [
            (Profile::Stripe, None),
            (Profile::Ietf, Some("Idempotency-Key is missing")),
            (Profile::Acp, Some("idempotency_key_required")),
            (Profile::Resend, None),
            (Profile::None, None),
        ] {
            let services = services_with_profile(profile, &[]).await;
            let [request, ..] = requests_of(&services, op).await;
            let seen = services.send(op.facts().service, &request).await;
            match refusal {
                Some(expected) => {
                    assert_eq!((seen.status(), word(profile, &seen).as_str()), (Some(400), expected));
                    assert_eq!((services.count(), refused(services.ledger())), (0, vec![400]));
                }
                None => assert_eq!((seen.status(), services.count()), (Some(201), 1), "{profile:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_key_with_another_request_gets_the_error_of_the_profile() {
    for op in [WriteCase::Put, WriteCase::Github] {
        for (profile, status, expected) in [
            (Profile::Stripe, 400, "idempotency_error"),
            (Profile::Ietf, 422, "Idempotency-Key is already used"),
            (Profile::Acp, 422, "idempotency_conflict"),
            (Profile::Resend, 409, "invalid_idempotent_request"),
        ] {
            let services = services_with_profile(profile, &[]).await;
            let [request, other, elsewhere] = requests_of(&services, op).await;
            services.send(op.facts().service, &request.key("k1")).await;
            let is_refused = |seen: &Transcript| {
                let found = (seen.status(), word(profile, seen));
                assert_eq!(found, (Some(status), expected.to_owned()), "{profile:?}");
            };
            is_refused(&services.send(op.facts().service, &other.key("k1")).await);
            let there = services.send(op.facts().service, &elsewhere.key("k1")).await;
            if profile == Profile::Acp {
                // Each endpoint has its own keys.
                assert!(there.status().is_some_and(|status| status < 300), "{}", there.text());
                assert_eq!(services.count(), 2);
                continue;
            }
            is_refused(&there);
            assert_eq!(services.count(), 1);
        }
        let services = services_with_profile(Profile::None, &[]).await;
        for request in requests_of(&services, op).await {
            assert!(
                services
                    .send(op.facts().service, &request.key("k1"))
                    .await
                    .status()
                    .is_some_and(|status| status < 300)
            );
        }
        assert_eq!(services.count(), 3, "without a profile a key means nothing");
    }
}

#[tokio::test]
async fn a_key_in_progress_gets_the_error_of_the_profile() {
    for op in [WriteCase::Put, WriteCase::Github] {
        let line = format!("{} commit=later reply=drop", op.facts().name);
        for (profile, expected) in [
            (Profile::Stripe, "idempotency_error"),
            (Profile::Ietf, "A request is outstanding for this Idempotency-Key"),
            (Profile::Acp, "idempotency_in_flight"),
            (Profile::Resend, "concurrent_idempotent_requests"),
        ] {
            let services = services_with_profile(profile, &[&line]).await;
            let [request, ..] = requests_of(&services, op).await;
            services.send(op.facts().service, &request.clone().key("k1")).await;
            let seen = services.send(op.facts().service, &request.key("k1")).await;
            assert_eq!((seen.status(), word(profile, &seen).as_str()), (Some(409), expected), "{profile:?}");
            services.settle().await;
            assert_eq!(services.count(), 1);
        }
    }
}

#[tokio::test]
async fn a_repeated_key_gets_the_first_response() {
    for op in [WriteCase::Put, WriteCase::Github] {
        for (profile, effects, header) in [
            (Profile::Stripe, 1, Some("true")),
            (Profile::Ietf, 1, None),
            (Profile::Acp, 1, Some("true")),
            (Profile::Resend, 1, None),
            (Profile::None, 2, None),
        ] {
            let services = services_with_profile(profile, &[]).await;
            let [request, ..] = requests_of(&services, op).await;
            let first = services.send(op.facts().service, &request.clone().key("k1")).await;
            let again = services.send(op.facts().service, &request.key("k1")).await;
            assert_eq!(services.count(), effects, "{profile:?}");
            assert_eq!(first.body() == again.body(), effects == 1, "{profile:?}");
            assert_eq!(again.header("idempotent-replayed").as_deref(), header, "{profile:?}");
        }
    }
}

#[tokio::test]
async fn an_ietf_key_is_the_same_with_and_without_quotes() {
    let services = services_with_profile(Profile::Ietf, &[]).await;
    services.send("records", &put("a", 1).key("\"k1\"")).await;
    services.send("records", &put("a", 1).key("k1")).await;
    assert_eq!(services.count(), 1);
    let of = |event: &Event| match event {
        Event::Received(it) => {
            Some((it.key.as_deref().map(str::to_owned), it.client.get("key-form").map(ToString::to_string)))
        }
        _ => None,
    };
    let forms: Vec<_> = events(services.ledger()).iter().filter_map(of).collect();
    let noted = |form: &str| (Some("k1".to_owned()), Some(form.to_owned()));
    assert_eq!(forms, [noted("quoted"), noted("bare")]);
}
