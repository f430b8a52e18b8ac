//! On which attempts a fault fires, and what is reported afterwards.

use std::sync::Arc;

use mock_services::idempotency::{Idempotency, Profile};
use mock_services::ledger::Event;
use mock_services::payment::Payment;
use mock_services::service::{EffectFacts, Value};
use mock_services::{MockServices, ServiceOptions};

use crate::kit::fault;
use crate::kit::ledger::received;
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, all_services};
use crate::kit::write::{charge, mail};

/// Which of eight charges are dropped.
async fn faulted(faults: &[&str], seed: u64) -> Vec<u32> {
    let services = TestServices::start(all_services(seed), faults).await.unwrap();
    let mut dropped = Vec::new();
    for number in 1..=8 {
        // A read and a refused request in between do not count.
        services.send("payment", &TestRequest::get("/v1/charges")).await;
        services.send("payment", &TestRequest::form("/v1/charges", "amount=0")).await;
        let order = if number % 2 == 0 { "even" } else { "odd" };
        if services.send_as(number % 3 + 1, "payment", &charge(order)).await.bytes.is_empty() {
            dropped.push(number);
        }
    }
    assert_eq!(services.fired().iter().sum::<usize>(), dropped.len());
    dropped
}

#[tokio::test]
async fn a_fault_fires_on_a_number_a_list_a_range_or_every_attempt() {
    for (attempts, expected) in [
        ("#1", vec![1]),
        ("", vec![1]),
        ("#3", vec![3]),
        ("#[2, 5]", vec![2, 5]),
        ("#3..5", vec![3, 4, 5]),
        ("#every", (1..=8).collect()),
        ("#9", vec![]),
    ] {
        assert_eq!(
            faulted(&[&format!("payment.charge{attempts} reply=drop")], 1).await,
            expected,
            "{attempts}"
        );
    }
}

#[tokio::test]
async fn the_attempt_number_counts_the_matching_attempts() {
    assert_eq!(faulted(&["payment.charge#2 reply=drop where.order=even"], 1).await, [4]);
    assert_eq!(faulted(&["payment.charge#every reply=drop where.order=odd"], 1).await, [1, 3, 5, 7]);
    // Callers 2, 3, 1, 2, 3, 1, 2, 3.
    assert_eq!(faulted(&["payment.charge#2 reply=drop caller=1"], 1).await, [6]);
    assert_eq!(faulted(&["payment.charge#every reply=drop caller=3 where.order=even"], 1).await, [2, 8]);
    assert_eq!(
        faulted(&["payment.charge#every reply=drop where.amount=4999 where.customer=cus_42"], 1).await.len(),
        8
    );
    assert!(faulted(&["payment.charge#every reply=drop where.metadata.order=none"], 1).await.is_empty());
}

#[tokio::test]
async fn the_first_of_two_faults_on_one_attempt_fires() {
    let both = ["payment.charge#2 reply=drop", "payment.charge#1..3 reply={status: 500}"];
    assert_eq!(faulted(&both[..1], 1).await, [2]);
    let services = TestServices::with(&both).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(services.send("payment", &charge("o1")).await.status());
    }
    assert_eq!(seen, [Some(500), None, Some(500), Some(200)]);
    let fired = services.mock.fired();
    assert_eq!((fired[0].attempts.clone(), fired[1].attempts.clone()), (vec![2], vec![1, 3]));
}

#[tokio::test]
async fn chance_depends_on_the_seed() {
    let line = ["payment.charge#every reply=drop chance=0.5"];
    let mut outcomes = Vec::new();
    for seed in 1..=6 {
        let (one, other) = (faulted(&line, seed).await, faulted(&line, seed).await);
        assert_eq!(one, other, "seed {seed}");
        outcomes.push(one);
    }
    outcomes.dedup();
    assert!(outcomes.len() > 1, "all seeds gave {outcomes:?}");
    assert_eq!(faulted(&["payment.charge#every reply=drop chance=1.0"], 1).await.len(), 8);
}

#[tokio::test]
async fn faults_that_fired_and_that_did_not_are_reported() {
    let services = TestServices::with(&[
        "payment.charge#2 reply=drop",
        "payment.refund reply=drop optional",
        "email.send reply=ok",
    ])
    .await;
    for _ in 0..3 {
        services.send("payment", &charge("o1")).await;
    }
    services.send("email", &mail(&["a@x.example"])).await;
    let fired = services.mock.fired();
    assert_eq!(
        fired.iter().map(|it| (it.seen, it.attempts.clone())).collect::<Vec<_>>(),
        [(3, vec![2]), (0, vec![]), (1, vec![4])]
    );
    assert_eq!(fired.iter().map(|it| it.fault.optional).collect::<Vec<_>>(), [false, true, false]);
    services.mock.reset("again").await;
    assert_eq!(services.fired(), [0, 0, 0], "after a reset they count from the beginning");
    services.send("payment", &charge("o1")).await;
    assert!(services.send("payment", &charge("o1")).await.bytes.is_empty());
    services.mock.clear_faults();
    assert!(services.mock.fired().is_empty());
}

#[tokio::test]
async fn a_fault_can_name_one_recipient_of_a_list() {
    let services = TestServices::with(&["email.send#every reply=drop where.to=b@x.example"]).await;
    assert_eq!(services.send("email", &mail(&["a@x.example"])).await.status(), Some(200));
    assert_eq!(services.send("email", &mail(&["a@x.example", "b@x.example"])).await.status(), None);
}

#[tokio::test]
async fn a_status_has_its_own_headers_body_and_retry_after() {
    let line =
        "payment.charge#1 reply={status: 503, retry_after: 7, headers: {X-Extra: a}, body: {error: busy}}";
    let services = TestServices::with(&[line, "payment.charge#2 reply={status: 202}"]).await;
    let seen = services.send("payment", &charge("o1")).await;
    assert_eq!((seen.status(), seen.header("retry-after").as_deref()), (Some(503), Some("7")));
    assert_eq!((seen.header("x-extra").as_deref(), seen.body()), (Some("a"), &b"{\"error\":\"busy\"}"[..]));
    let seen = services.send("payment", &charge("o2")).await;
    assert_eq!(
        (seen.status(), seen.at("/id")),
        (Some(202), services.effects()[1].id.clone()),
        "a success keeps the true body"
    );
}

#[tokio::test]
async fn a_fault_that_earlier_faults_shadow_completely_is_refused() {
    let services = TestServices::with(&["payment.charge#[1, 3] reply=drop"]).await;
    let refused = |line: &str| services.mock.arm(vec![fault(line)]).is_err();
    assert!(refused("payment.charge#1 reply=reset") && refused("payment.charge#3 reply=reset"));
    assert!(!refused("payment.charge#2 reply={status: 503}"));
    services.send("payment", &charge("o1")).await;
    // The third attempt is now the second, and the second the first.
    assert!(refused("payment.charge#2 reply=reset") && refused("payment.charge#1 reply=reset"));
    assert!(!refused("payment.charge#3 reply={status: 502}"));
    for (order, status) in [("o2", Some(503)), ("o3", None), ("o4", Some(502))] {
        assert_eq!(services.send("payment", &charge(order)).await.status(), status, "{order}");
    }
    assert_eq!(services.fired(), [2, 1, 1]);
}

/// Services with these faults, which only count charges for this order.
async fn services_for_order(order: &'static str, faults: &[&str], keys: Profile) -> TestServices {
    let options = ServiceOptions { idempotency: Some(Idempotency::new(keys)), ..ServiceOptions::default() };
    let builder = MockServices::builder().service(Payment::default(), options);
    let intended =
        Arc::new(move |facts: &EffectFacts| facts.fields.get("order") == Some(&Value::from(order)));
    TestServices::start(builder.intended(intended), faults).await.unwrap()
}

#[tokio::test]
async fn an_unintended_write_uses_up_no_fault() {
    let services = services_for_order("o1", &["payment.charge#1 commit=never reply=ok"], Profile::None).await;
    assert_eq!(services.send("payment", &charge("other")).await.status(), Some(200));
    assert_eq!((services.count(), services.fired()), (1, vec![0]));
    assert_eq!(services.send("payment", &charge("o1")).await.status(), Some(200));
    assert_eq!(
        (services.count(), services.fired()),
        (1, vec![1]),
        "the second charge is the first intended one"
    );
}

#[tokio::test]
async fn a_fault_for_any_effect_fires_on_the_first_write() {
    let services =
        services_for_order("o1", &["payment.charge#1 commit=never reply=ok where=any"], Profile::None).await;
    services.send("payment", &charge("other")).await;
    assert_eq!((services.count(), services.fired()), (0, vec![1]));
}

#[tokio::test]
async fn a_replay_is_matched_by_the_request_of_its_key() {
    let services = services_for_order("o1", &["payment.charge#2 reply=drop"], Profile::Stripe).await;
    for order in ["other", "o1"] {
        let request = charge(order).header("Idempotency-Key", order);
        assert_eq!(services.send("payment", &request).await.status(), Some(200));
    }
    let again = |order: &str| charge(order).header("Idempotency-Key", order);
    assert_eq!(
        services.send("payment", &again("other")).await.status(),
        Some(200),
        "a replay that nobody intends"
    );
    assert_eq!(
        services.send("payment", &again("o1")).await.status(),
        None,
        "the second attempt that is intended"
    );
    assert_eq!(services.fired(), [1]);
}

#[tokio::test]
async fn a_suppressed_effect_is_in_the_ledger() {
    let withheld = |services: &TestServices| -> Vec<String> {
        let entries = services.ledger().entries().into_iter();
        let of = |event: Event| match event {
            Event::Withheld { effect, fields, .. } => {
                Some(format!("{effect} {}", fields.get("order").map(ToString::to_string)?))
            }
            _ => None,
        };
        entries.filter_map(|entry| of(entry.event)).collect()
    };
    let services = TestServices::with(&["payment.charge#1 commit=never reply=ok"]).await;
    services.send("payment", &charge("o1")).await;
    services.send("payment", &charge("o2")).await;
    assert_eq!(withheld(&services), ["payment.charge o1"]);
    // A delayed commit happens in the end, so nothing was suppressed.
    let services = TestServices::with(&["payment.charge#1 commit=later reply=ok"]).await;
    services.send("payment", &charge("o1")).await;
    services.settle().await;
    assert_eq!((withheld(&services), services.count()), (Vec::new(), 1));
}

#[tokio::test]
async fn a_write_that_changes_nothing_or_only_a_label_uses_up_no_fault() {
    let faults = [
        "payment.upgrade#1 reply=drop",
        "deploy.deploy#2 reply=drop",
        "payment.no-change#2 reply={status: 500}",
    ];
    let services = TestServices::with(&faults).await;
    let begun = services
        .send("payment", &TestRequest::form("/v1/subscriptions", "customer=cus_1&items[0][price]=basic"))
        .await;
    let (path, item) = (format!("/v1/subscriptions/{}", begun.at("/id")), begun.at("/items/data/0/id"));
    let update = |body: String| TestRequest::form(path.clone(), &body);
    for body in ["metadata[note]=x", "metadata[order]=o1", "cancel_at_period_end=true", ""] {
        assert_eq!(services.send("payment", &update(body.to_owned())).await.status(), Some(200), "{body}");
    }
    let same = update(format!("items[0][id]={item}&items[0][price]=basic"));
    assert_eq!(services.send("payment", &same).await.status(), Some(500), "the second that changes nothing");
    let upgrade = update(format!("items[0][id]={item}&items[0][price]=pro"));
    assert!(services.send("payment", &upgrade).await.bytes.is_empty(), "the fault was kept for the upgrade");
    let deploy = |version: &str| {
        TestRequest::json(
            "POST",
            "/deployments",
            &serde_json::json!({"environment": "production", "version": version}),
        )
    };
    for (version, status) in [("v1", Some(201)), ("v1", Some(200)), ("v1", Some(200)), ("v2", None)] {
        assert_eq!(services.send("deploy", &deploy(version)).await.status(), status, "{version}");
    }
    let operations: Vec<String> =
        received(services.ledger()).into_iter().map(|received| received.operation.to_string()).collect();
    let expected = "payment.subscribe payment.relabel payment.relabel payment.amend payment.no-change \
                    payment.no-change \
                    payment.upgrade deploy.deploy deploy.no-change deploy.no-change deploy.deploy";
    assert_eq!(operations.join(" "), expected);
}
