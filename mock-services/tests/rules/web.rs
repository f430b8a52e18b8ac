//! The service for any API: whether a repeated call reaches it twice, and with which key.

use crate::kit::ledger::received;
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, all_services_with_keys};
use mock_services::idempotency::{Idempotency, Profile};
use serde_json::json;

fn order() -> TestRequest {
    TestRequest::json("POST", "/v1/orders", &json!({"order": "ord_1"}))
}

#[tokio::test]
async fn a_call_that_is_repeated_after_a_lost_reply_is_committed_twice_and_its_keys_are_recorded() {
    let services = TestServices::with(&["web.post#1 commit=now reply=drop"]).await;
    assert!(services.send("web", &order().key("k1")).await.bytes.is_empty());
    assert_eq!(services.send("web", &order().key("k1").secret("")).await.status(), Some(201));
    let keys: Vec<_> = received(&services).into_iter().map(|attempt| attempt.key).collect();
    assert_eq!(keys, [Some("k1".into()), Some("k1".into())]);
    assert_eq!(services.count(), 2);
    let listed = services.send("web", &TestRequest::get("/v1/orders")).await;
    assert_eq!(listed.at("/data/1/order"), "ord_1");
}

#[tokio::test]
async fn a_key_is_honored_if_the_scenario_says_so() {
    let rules = Idempotency::new(Profile::Stripe);
    let services = TestServices::start(all_services_with_keys(rules), &["web.post#1 commit=now reply=drop"])
        .await
        .unwrap();
    for _ in 0..3 {
        services.send("web", &order().key("k1")).await;
    }
    assert_eq!(services.count(), 1);
}

#[tokio::test]
async fn a_head_request_has_no_body() {
    let services = TestServices::with(&[]).await;
    services.send("web", &order()).await;
    let head = TestRequest { method: "HEAD", ..TestRequest::get("/v1/orders") };
    let seen = services.send("web", &head).await;
    assert_eq!((seen.status(), seen.text().split("\r\n\r\n").nth(1)), (Some(200), Some("")));
}

#[tokio::test]
async fn a_host_whose_provider_has_a_profile_has_the_keys_of_that_provider() {
    let services = TestServices::with(&[]).await;
    let order = |host: &str, units: u32| {
        let body = json!({ "order": "ord_1", "units": units });
        TestRequest::json("POST", "/v1/orders", &body).header("Host", host).key("k1")
    };
    for (request, expected) in [
        (order("api.xero.com", 1), 201),
        (order("api.xero.com", 1), 201),
        (order("api.xero.com", 2), 400),
        // Its provider looks for another header.
        (order("thirdparty.qonto.com", 1), 201),
        (order("thirdparty.qonto.com", 1), 201),
        (order("thirdparty.qonto.com", 2).header("X-Qonto-Idempotency-Key", "k2"), 201),
        (order("thirdparty.qonto.com", 3).header("X-Qonto-Idempotency-Key", "k2"), 201),
        // No provider is known.
        (order("api.acme.example", 1), 201),
        (order("api.acme.example", 1), 201),
    ] {
        let seen = services.send("web", &request).await;
        assert_eq!(seen.status(), Some(expected), "{}", seen.text());
    }
    let effects = services.effects();
    let on = |host: &str| {
        effects
            .iter()
            .filter(|effect| effect.fields.get("host").is_some_and(|have| have.to_string() == host))
            .count()
    };
    assert_eq!([on("api.xero.com"), on("thirdparty.qonto.com"), on("api.acme.example")], [1, 3, 2]);
}
