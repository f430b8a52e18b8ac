//! Stripe's idempotency in detail.

use std::time::Duration;

use mock_services::idempotency::{Idempotency, Profile};
use mock_services::service::After;

use crate::kit::ledger::{received, refused};
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, all_services_with_keys};
use crate::kit::write::charge;

fn of_customer(customer: &str) -> TestRequest {
    TestRequest::form("/v1/charges", &format!("amount=500&currency=usd&customer={customer}"))
}

#[tokio::test]
async fn a_declined_card_is_stored_and_replayed_and_is_not_an_attempt() {
    let services = TestServices::with(&["payment.charge#every reply=drop"]).await;
    let customer =
        services.send("payment", &TestRequest::form("/v1/customers", "email=a@x.example")).await.at("/id");
    let first = services.send("payment", &of_customer(&customer).key("k1")).await;
    assert_eq!((first.status(), first.header("idempotent-replayed")), (Some(402), None));
    // The customer could pay now; the key replays the decline.
    services
        .send("payment", &TestRequest::form(format!("/v1/customers/{customer}"), "source=tok_visa"))
        .await;
    let again = services.send("payment", &of_customer(&customer).key("k1")).await;
    assert_eq!((again.status(), again.body()), (Some(402), first.body()));
    assert_eq!(again.header("idempotent-replayed").as_deref(), Some("true"));
    assert_eq!(
        (services.fired(), services.count(), refused(services.ledger())),
        (vec![0], 1, vec![402, 402]),
        "only the customer is new"
    );
    assert!(
        services.send("payment", &of_customer(&customer).key("k2")).await.bytes.is_empty(),
        "another key pays, and the fault fires"
    );
    assert_eq!((services.fired(), services.count()), (vec![1], 2));
}

#[tokio::test]
async fn a_declined_intent_is_stored_once_and_is_not_an_effect() {
    let services = TestServices::with(&["payment.charge#every reply=drop"]).await;
    let body = "amount=500&currency=usd&payment_method=pm_card_chargeDeclined&confirm=true";
    let first = services.send("payment", &TestRequest::form("/v1/payment_intents", body).key("k1")).await;
    let again = services.send("payment", &TestRequest::form("/v1/payment_intents", body).key("k1")).await;
    assert_eq!((first.status(), again.status(), again.body()), (Some(402), Some(402), first.body()));
    let intent = first.at("/error/payment_intent/id");
    let kept = services.send("payment", &TestRequest::get(format!("/v1/payment_intents/{intent}"))).await;
    assert_eq!((kept.status(), kept.at("/last_payment_error/code").as_str()), (Some(200), "card_declined"));
    let charges = services.send("payment", &TestRequest::get("/v1/charges")).await.json();
    assert_eq!(charges["data"].as_array().map(Vec::len), Some(1), "the replay did not decline again");
    assert_eq!(
        (&charges["data"][0]["id"], &charges["data"][0]["status"]),
        (&first.at("/error/charge").into(), &"failed".into())
    );
    assert_eq!(
        (services.fired(), services.count(), refused(services.ledger())),
        (vec![0], 0, vec![402, 402])
    );
    let path = format!("/v1/payment_intents/{intent}/confirm");
    assert!(
        services
            .send("payment", &TestRequest::form(path, "payment_method=pm_card_visa"))
            .await
            .bytes
            .is_empty(),
        "the fault fires"
    );
    assert_eq!((services.fired(), services.count()), (vec![1], 1));
}

#[tokio::test]
async fn invalid_parameters_are_not_stored() {
    let services = TestServices::with(&[]).await;
    let bad = TestRequest::form("/v1/charges", "amount=abc&currency=usd&customer=cus_42").key("k1");
    assert_eq!(services.send("payment", &bad).await.status(), Some(400));
    let good = services.send("payment", &charge("o1").key("k1")).await;
    assert_eq!((good.status(), good.header("idempotent-replayed"), services.count()), (Some(200), None, 1));
}

#[tokio::test]
async fn a_key_is_bound_to_its_first_parameters_and_endpoint() {
    let services = TestServices::with(&[]).await;
    let first = services.send("payment", &charge("o1").key("k1")).await;
    let other = services.send("payment", &charge("o2").key("k1")).await;
    assert_eq!((other.status(), other.at("/error/type").as_str()), (Some(400), "idempotency_error"));
    assert!(
        other
            .at("/error/message")
            .starts_with("Keys for idempotent requests can only be used with the same parameters")
    );
    let body = String::from_utf8_lossy(charge("o1").body.as_bytes()).into_owned();
    let elsewhere =
        services.send("payment", &TestRequest::form("/v1/payment_intents", &body).key("k1")).await;
    assert_eq!((elsewhere.status(), elsewhere.at("/error/type").as_str()), (Some(400), "idempotency_error"));
    assert!(elsewhere.at("/error/message").contains("can only be used for the same endpoint"));
    // The order of parameters does not matter.
    let turned = body.split('&').rev().collect::<Vec<_>>().join("&");
    let same = services.send("payment", &TestRequest::form("/v1/charges", &turned).key("k1")).await;
    assert_eq!((same.status(), same.body()), (Some(200), first.body()));
    assert_eq!((services.count(), refused(services.ledger())), (1, vec![400, 400]));
}

#[tokio::test]
async fn a_key_compares_parsed_parameters() {
    let services = TestServices::with(&[]).await;
    let charge = |rest: &str| {
        TestRequest::form("/v1/charges", &format!("amount=500&currency=usd&customer=cus_42&{rest}")).key("k1")
    };
    let first = services.send("payment", &charge("metadata[order]=a%20b")).await;
    for same in ["metadata%5Border%5D=a+b", "metadata[order]=a%20b&"] {
        let again = services.send("payment", &charge(same)).await;
        assert_eq!((again.status(), again.body()), (Some(200), first.body()), "{same}");
    }
    assert_eq!(services.send("payment", &charge("metadata[order]=a%2520b")).await.status(), Some(400));
    assert_eq!(services.count(), 1);
}

#[tokio::test]
async fn a_replay_is_marked_and_has_the_same_body_and_a_new_request_id() {
    let services = TestServices::with(&[]).await;
    let first = services.send("payment", &charge("o1").key("k1")).await;
    let again = services.send("payment", &charge("o1").key("k1")).await;
    assert_eq!(
        (first.header("idempotent-replayed"), again.header("idempotent-replayed").as_deref()),
        (None, Some("true"))
    );
    assert_eq!(first.body(), again.body());
    assert_ne!(first.header("request-id"), again.header("request-id"));
    assert_eq!(again.header("idempotency-key").as_deref(), Some("k1"));
    assert_eq!(
        again.header("original-request"),
        first.header("request-id"),
        "it names the request that was answered first"
    );
}

#[tokio::test]
async fn a_key_is_pruned_after_its_number_of_requests() {
    let rules = Idempotency::new(Profile::Stripe).with_lifetime(After::Requests(2));
    let services = TestServices::start(all_services_with_keys(rules), &[]).await.unwrap();
    services.send("payment", &charge("o1").key("k1")).await;
    services.send("payment", &TestRequest::get("/v1/charges")).await;
    let replay = services.send("payment", &charge("o1").key("k1")).await;
    assert_eq!(replay.header("idempotent-replayed").as_deref(), Some("true"));
    let fresh = services.send("payment", &charge("o1").key("k1")).await;
    assert_eq!((fresh.status(), fresh.header("idempotent-replayed"), services.count()), (Some(200), None, 2));
}

#[tokio::test]
async fn a_key_is_pruned_after_its_time() {
    for (lifetime, effects) in [(Duration::ZERO, 2), (Duration::from_secs(600), 1)] {
        let rules = Idempotency::new(Profile::Stripe).with_lifetime(After::Time(lifetime));
        let services = TestServices::start(all_services_with_keys(rules), &[]).await.unwrap();
        for _ in 0..2 {
            assert_eq!(services.send("payment", &charge("o1").key("k1")).await.status(), Some(200));
        }
        assert_eq!(services.count(), effects);
    }
}

#[tokio::test]
async fn a_key_in_flight_is_not_pruned() {
    let rules = Idempotency::new(Profile::Stripe).with_lifetime(After::Time(Duration::ZERO));
    let services =
        TestServices::start(all_services_with_keys(rules), &["payment.charge commit=later"]).await.unwrap();
    services.send("payment", &charge("o1").key("k1")).await;
    assert_eq!(services.send("payment", &charge("o1").key("k1")).await.status(), Some(409));
}

#[tokio::test]
async fn keys_have_no_effect_on_reads_and_deletions() {
    let services = TestServices::with(&[]).await;
    services.send("payment", &TestRequest::get("/v1/charges").key("k1")).await;
    assert_eq!(services.send("payment", &charge("o1").key("k1")).await.status(), Some(200));
    assert_eq!(
        services.send("payment", &TestRequest::get("/v1/charges").key("k1")).await.status(),
        Some(200)
    );
    let begun = services
        .send(
            "payment",
            &TestRequest::form("/v1/subscriptions", "customer=cus_42&items[0][price]=p").key("k2"),
        )
        .await;
    let path = format!("/v1/subscriptions/{}", begun.at("/id"));
    assert_eq!(
        services.send("payment", &TestRequest::delete(path.as_str()).key("k1")).await.status(),
        Some(200)
    );
    assert_eq!(
        services.send("payment", &TestRequest::delete(path.as_str()).key("k1")).await.status(),
        Some(404),
        "it is already deleted"
    );
    assert_eq!(services.count(), 3);
}

#[tokio::test]
async fn a_refused_key_has_the_standard_error_format() {
    let services = TestServices::with(&["payment.charge#2 commit=later"]).await;
    services.send("payment", &charge("o1").key("k1")).await;
    services.send("payment", &charge("o1").key("k2")).await;
    let usual = services.send("payment", &TestRequest::form("/v1/charges", "amount=abc")).await;
    let refusals = [
        (charge("o2").key("k1"), 400, "idempotency_error"),
        (TestRequest::form("/v1/refunds", "charge=ch_1").key("k1"), 400, "idempotency_error"),
        (charge("o1").key("k2"), 409, "idempotency_error"),
        (charge("o1").key(&"k".repeat(256)), 400, "invalid_request_error"),
    ];
    for (request, status, kind) in refusals {
        let seen = services.send("payment", &request).await;
        assert_eq!((seen.status(), seen.at("/error/type").as_str()), (Some(status), kind));
        let log = format!("https://dashboard.stripe.com/test/logs/{}?t=", seen.header("request-id").unwrap());
        assert!(seen.at("/error/request_log_url").starts_with(&log), "{seen:?}");
        assert!(
            seen.body().starts_with(b"{\n  \"error\": {\n    \"")
                && usual.body().starts_with(b"{\n  \"error\": {\n    \"")
        );
    }
}

#[tokio::test]
async fn a_key_has_from_1_to_255_characters() {
    let services = TestServices::with(&[]).await;
    for (key, status) in [("", 400), (&*"k".repeat(256), 400), (&*"k".repeat(255), 200), ("k", 200)] {
        assert_eq!(
            services.send("payment", &charge("o1").key(key)).await.status(),
            Some(status),
            "{}",
            key.len()
        );
    }
    assert_eq!((services.count(), received(services.ledger()).len()), (2, 2));
}
