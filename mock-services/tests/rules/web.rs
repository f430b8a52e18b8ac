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
