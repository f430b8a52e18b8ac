//! Requests that the service refuses by itself: they get its own response, have no effect, are not attempts,
//! and use up no fault.

use mock_services::email::Email;
use mock_services::ledger::Event;
use mock_services::payment::{Customers, Payment, PaymentOptions};
use mock_services::{Builder, MockServices, ServiceOptions};

use crate::kit::ledger::{events, received, refused};
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, all_services};
use crate::kit::write::{WriteCase, charge, mail, put};

/// The service that takes requests without an API key, and has every path.
const OPEN: &str = "web";

fn strict() -> Builder {
    let options = PaymentOptions {
        customers: Customers::Only(vec!["cus_42".to_owned(), "cus_poor".to_owned()]),
        declining_customers: vec!["cus_poor".to_owned()],
        ..PaymentOptions::default()
    };
    MockServices::builder()
        .service(Payment::new(options), ServiceOptions::default())
        .service(Email::default(), ServiceOptions::default())
}

#[tokio::test]
async fn a_refused_request_gets_its_own_response_and_uses_up_no_fault() {
    let body = |body: &str| TestRequest::form("/v1/charges", body);
    let refusals = [
        (body("currency=usd&customer=cus_42"), 400, "bad parameters"),
        (body("amount=-5&currency=usd&customer=cus_42"), 400, "a negative amount"),
        (body("amount=4999&currency=usd&customer=cus_none"), 400, "an unknown customer"),
        (body("amount=4999&currency=usd&source=tok_chargeDeclined"), 402, "a declined card"),
        (body("amount=4999&currency=usd&customer=cus_poor"), 402, "a customer whose card is declined"),
        (charge("o1").secret(""), 401, "no secret"),
        (charge("o1").secret("sk_test_another"), 401, "another secret"),
        (charge("o1").key(&"k".repeat(256)), 400, "a key that is too long"),
        (TestRequest::form("/v1/charge", "amount=1"), 404, "an unknown path"),
        (TestRequest { method: "PUT", ..charge("o1") }, 404, "another method"),
        (TestRequest::form("/v1/charges/ch_none/capture", ""), 404, "an unknown charge"),
    ];
    for commit in ["now", "never", "twice", "later"] {
        let services =
            TestServices::start(strict(), &[&format!("payment.charge#every commit={commit} reply=drop")])
                .await
                .unwrap();
        for (number, (request, status, why)) in refusals.iter().enumerate() {
            assert_eq!(services.send("payment", request).await.status(), Some(*status), "{why}");
            assert_eq!((services.fired(), services.count()), (vec![0], 0), "{why}");
            assert_eq!(refused(services.ledger()).len(), number + 1, "{why}");
            assert_eq!(received(services.ledger()).len(), 0, "{why}");
        }
        services.settle().await;
        assert_eq!(services.count(), 0);
        assert!(services.send("payment", &charge("o1")).await.bytes.is_empty());
        assert_eq!((services.fired(), received(services.ledger())[0].attempt), (vec![1], 1));
    }
}

#[tokio::test]
async fn a_refused_key_uses_up_no_fault() {
    let services = TestServices::with(&["payment.charge#2 reply=drop", "email.send#2 reply=drop"]).await;
    services.send("payment", &charge("o1").key("k1")).await;
    assert_eq!(services.send("payment", &charge("o2").key("k1")).await.status(), Some(400));
    assert_eq!(
        services.send("payment", &TestRequest::form("/v1/refunds", "charge=ch_1").key("k1")).await.status(),
        Some(400)
    );
    services.send("email", &mail(&["a@x.example"]).key("k1")).await;
    assert_eq!(services.send("email", &mail(&["b@x.example"]).key("k1")).await.status(), Some(409));
    assert_eq!((services.fired(), services.count()), (vec![0, 0], 2));
    assert_eq!(refused(services.ledger()), [400, 400, 409]);
}

#[tokio::test]
async fn a_failed_condition_uses_up_no_fault() {
    let services = TestServices::with(&["records.put#2 reply=drop"]).await;
    services.send("records", &put("a", 1)).await;
    assert_eq!(services.send("records", &put("a", 2).header("If-Match", "\"7\"")).await.status(), Some(412));
    assert_eq!((services.fired(), services.count()), (vec![0], 1));
    assert!(services.send("records", &put("a", 2).header("If-Match", "\"1\"")).await.bytes.is_empty());
    assert_eq!((services.fired(), services.count()), (vec![1], 2));
}

#[tokio::test]
async fn every_service_with_api_keys_checks_the_key_first() {
    let services = TestServices::start(all_services(1), &[]).await.unwrap();
    for op in WriteCase::ALL.into_iter().filter(|op| *op != WriteCase::Smtp && op.facts().service != OPEN) {
        let facts = op.facts();
        services.mock.reset("next").await;
        let request = op.request(&services, 1).await;
        let before = services.count();
        for secret in ["", "sk_test_wrong"] {
            assert_eq!(
                services.send(facts.service, &request.clone().secret(secret)).await.status(),
                Some(401),
                "{op:?}"
            );
        }
        assert_eq!(services.count(), before, "{op:?}");
        assert_eq!(services.send(facts.service, &request).await.status(), Some(facts.status), "{op:?}");
    }
}

#[tokio::test]
async fn the_api_key_of_one_service_is_invalid_for_others() {
    let services = TestServices::start(all_services(1), &[]).await.unwrap();
    let names: Vec<String> = services.mock.names().filter(|name| *name != OPEN).map(str::to_owned).collect();
    for name in &names {
        let path = match name.as_str() {
            "payment" => "/v1/charges",
            "email" => "/emails",
            "deploy" => "/deployments",
            "records" => "/records",
            "model" => "/v1/models",
            "approval" => "/approvals",
            _ => "/tickets",
        };
        for other in names.iter().filter(|other| *other != name) {
            let secret = services.mock.key(other).unwrap();
            assert_eq!(
                services.send(name, &TestRequest::get(path).secret(secret)).await.status(),
                Some(401),
                "{other} at {name}"
            );
        }
    }
}

#[tokio::test]
async fn a_refusal_names_the_operation_if_it_is_known() {
    let services = TestServices::start(strict(), &[]).await.unwrap();
    services
        .send(
            "payment",
            &TestRequest::form("/v1/charges", "amount=4999&currency=usd&customer=cus_none").key("k1"),
        )
        .await;
    let of = |event: &Event| match event {
        Event::Refused(refused) => Some((
            refused.operation.as_deref().map(str::to_owned),
            refused.key.as_deref().map(str::to_owned),
            refused.status,
            refused.caller,
        )),
        _ => None,
    };
    let found: Vec<_> = events(services.ledger()).iter().filter_map(of).collect();
    assert_eq!(found, [(Some("payment.charge".to_owned()), Some("k1".to_owned()), 400, 1)]);
}

/// The refusals in the ledger: status, reason, and unsupported feature.
fn reasons(services: &TestServices) -> Vec<(u16, String, Option<String>)> {
    let of = |event: &Event| match event {
        Event::Refused(refused) => Some((
            refused.status,
            refused.reason.as_deref().unwrap_or_default().to_owned(),
            refused.unsupported.as_deref().map(str::to_owned),
        )),
        _ => None,
    };
    events(services.ledger()).iter().filter_map(of).collect()
}

#[tokio::test]
async fn a_refusal_has_the_reason_of_its_response() {
    let services = TestServices::start(all_services(1), &[]).await.unwrap();
    services.send("payment", &TestRequest::form("/v1/charges", "currency=usd&customer=cus_42")).await;
    services.send("payment", &charge("o1").secret("sk_test_another_secret")).await;
    services
        .send("email", &TestRequest::json("POST", "/emails", &serde_json::json!({"from": "a@example.com"})))
        .await;
    services.send("records", &TestRequest::json("PUT", "/records/a", &serde_json::json!({}))).await;
    let refusals = reasons(&services);
    assert_eq!(refusals[0], (400, "Missing required param: amount.".to_owned(), None));
    assert_eq!(refusals[1].0, 401);
    assert!(
        refusals[1].1.starts_with("Invalid API Key provided: ") && !refusals[1].1.contains("another"),
        "{refusals:?}"
    );
    assert_eq!(refusals[2].0, 422);
    assert!(!refusals[2].1.is_empty() && !refusals[3].1.is_empty(), "{refusals:?}");
}

#[tokio::test]
async fn missing_parts_of_the_real_api_are_unsupported() {
    let json = |method: &'static str, target: &str| TestRequest::json(method, target, &serde_json::json!({}));
    for (service, request, lacks) in [
        ("payment", TestRequest::form("/v1/invoices", "customer=cus_42"), "POST /v1/invoices"),
        ("payment", TestRequest::form("/v1/invoices/in_123/pay", ""), "POST /v1/invoices/{id}/pay"),
        ("payment", TestRequest::get("/v1/disputes?limit=3"), "GET /v1/disputes"),
        ("payment", TestRequest::form("/v1/checkout/sessions", ""), "POST /v1/checkout/sessions"),
        ("deploy", TestRequest::get("/user"), "GET /user"),
        ("deploy", json("POST", "/repos/octo/shop/releases"), "POST /repos/{id}/{id}/releases"),
        (
            "deploy",
            TestRequest::get("/api/v3/repos/octo/shop/git/ref/heads/main"),
            "GET /repos/{id}/{id}/git/ref/{path}",
        ),
        ("deploy", json("POST", "/graphql"), "POST /graphql"),
        ("email", json("POST", "/domains"), "POST /domains"),
        ("email", TestRequest::get("/emails/receiving"), "GET /emails/receiving"),
        ("email", TestRequest::get("/v3/templates"), "GET /v3/templates"),
    ] {
        let services = TestServices::start(all_services(1), &[]).await.unwrap();
        let request = request.header("User-Agent", "test");
        let seen = services.send(service, &request).await;
        assert_eq!(seen.status(), Some(501), "{lacks}: {}", seen.text());
        let message = format!("hapax does not have {lacks} yet.");
        assert!(seen.text().contains(&message), "{}", seen.text());
        let [(501, reason, Some(unsupported))] = &reasons(&services)[..] else {
            panic!("{:?}", reasons(&services))
        };
        assert!(reason.starts_with(&message) && unsupported == lacks, "{reason} {unsupported}");
        // Without a key that refusal comes first: the path is valid.
        let unknown = services.send(service, &request.clone().secret("nobody")).await;
        assert_eq!(unknown.status(), Some(401), "{lacks}");
    }
}

#[tokio::test]
async fn an_unknown_endpoint_is_reported_before_the_api_key() {
    let services = TestServices::start(all_services(1), &[]).await.unwrap();
    let names: Vec<String> = services.mock.names().filter(|name| *name != OPEN).map(str::to_owned).collect();
    for name in &names {
        let path = if name == "model" { "/v1/charges" } else { "/v1/chat/completions" };
        let request =
            TestRequest::json("POST", path, &serde_json::json!({"model": "m"})).header("User-Agent", "test");
        for request in [request.clone(), request.secret("sk-of-another-vendor")] {
            let seen = services.send(name, &request).await;
            assert_eq!(seen.status(), Some(404), "{name}: {}", seen.text());
            let message = format!("no such endpoint: this is the {name} service, which speaks");
            let text = seen.text();
            assert!(text.contains(&message) && text.contains(&format!("POST {path}")), "{text}");
        }
    }
    assert!(reasons(&services).iter().all(|(status, reason, lacks)| {
        *status == 404 && reason.contains("no such endpoint") && lacks.is_none()
    }));
}
