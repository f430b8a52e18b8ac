//! Which attempts a fault strikes, and what is told of it afterwards.

use std::sync::Arc;

use mock_services::idempotency::{Idempotency, Profile};
use mock_services::ledger::Event;
use mock_services::payment::Payment;
use mock_services::service::{EffectFacts, Value};
use mock_services::{MockServices, ServiceOptions};

use crate::kit::fault;
use crate::kit::ledger::received;
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, everything};
use crate::kit::write::{charge, mail};

/// Which of eight charges are dropped.
async fn struck(faults: &[&str], seed: u64) -> Vec<u32> {
    let world = TestServices::start(everything(seed), faults).await.unwrap();
    let mut struck = Vec::new();
    for number in 1..=8 {
        // A read and a refused request in between count for nothing.
        world.send("payment", &TestRequest::get("/v1/charges")).await;
        world.send("payment", &TestRequest::form("/v1/charges", "amount=0")).await;
        let order = if number % 2 == 0 { "even" } else { "odd" };
        if world.send_as(number % 3 + 1, "payment", &charge(order)).await.bytes.is_empty() {
            struck.push(number);
        }
    }
    assert_eq!(world.fired().iter().sum::<usize>(), struck.len());
    struck
}

#[tokio::test]
async fn a_number_a_list_a_span_or_every_attempt_is_struck() {
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
            struck(&[&format!("payment.charge{attempts} reply=drop")], 1).await,
            expected,
            "{attempts}"
        );
    }
}

#[tokio::test]
async fn the_number_counts_the_attempts_that_fit_the_rest() {
    assert_eq!(struck(&["payment.charge#2 reply=drop where.order=even"], 1).await, [4]);
    assert_eq!(struck(&["payment.charge#every reply=drop where.order=odd"], 1).await, [1, 3, 5, 7]);
    // Callers 2, 3, 1, 2, 3, 1, 2, 3.
    assert_eq!(struck(&["payment.charge#2 reply=drop caller=1"], 1).await, [6]);
    assert_eq!(struck(&["payment.charge#every reply=drop caller=3 where.order=even"], 1).await, [2, 8]);
    assert_eq!(
        struck(&["payment.charge#every reply=drop where.amount=4999 where.customer=cus_42"], 1).await.len(),
        8
    );
    assert!(struck(&["payment.charge#every reply=drop where.metadata.order=none"], 1).await.is_empty());
}

#[tokio::test]
async fn the_first_of_two_faults_on_one_attempt_strikes() {
    let both = ["payment.charge#2 reply=drop", "payment.charge#1..3 reply={status: 500}"];
    assert_eq!(struck(&both[..1], 1).await, [2]);
    let world = TestServices::with(&both).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(world.send("payment", &charge("o1")).await.status());
    }
    assert_eq!(seen, [Some(500), None, Some(500), Some(200)]);
    let fired = world.services.fired();
    assert_eq!((fired[0].attempts.clone(), fired[1].attempts.clone()), (vec![2], vec![1, 3]));
}

#[tokio::test]
async fn chance_comes_from_the_seed() {
    let line = ["payment.charge#every reply=drop chance=0.5"];
    let mut outcomes = Vec::new();
    for seed in 1..=6 {
        let (one, other) = (struck(&line, seed).await, struck(&line, seed).await);
        assert_eq!(one, other, "seed {seed}");
        outcomes.push(one);
    }
    outcomes.dedup();
    assert!(outcomes.len() > 1, "all seeds gave {outcomes:?}");
    assert_eq!(struck(&["payment.charge#every reply=drop chance=1.0"], 1).await.len(), 8);
}

#[tokio::test]
async fn afterwards_it_is_told_what_fired_and_what_did_not() {
    let world = TestServices::with(&[
        "payment.charge#2 reply=drop",
        "payment.refund reply=drop optional",
        "email.send reply=ok",
    ])
    .await;
    for _ in 0..3 {
        world.send("payment", &charge("o1")).await;
    }
    world.send("email", &mail(&["a@x.example"])).await;
    let fired = world.services.fired();
    assert_eq!(
        fired.iter().map(|it| (it.seen, it.attempts.clone())).collect::<Vec<_>>(),
        [(3, vec![2]), (0, vec![]), (1, vec![4])]
    );
    assert_eq!(fired.iter().map(|it| it.fault.optional).collect::<Vec<_>>(), [false, true, false]);
    world.services.reset("again").await;
    assert_eq!(world.fired(), [0, 0, 0], "after a reset they count from the beginning");
    world.send("payment", &charge("o1")).await;
    assert!(world.send("payment", &charge("o1")).await.bytes.is_empty());
    world.services.clear_faults();
    assert!(world.services.fired().is_empty());
}

#[tokio::test]
async fn a_recipient_of_a_list_can_be_named() {
    let world = TestServices::with(&["email.send#every reply=drop where.to=b@x.example"]).await;
    assert_eq!(world.send("email", &mail(&["a@x.example"])).await.status(), Some(200));
    assert_eq!(world.send("email", &mail(&["a@x.example", "b@x.example"])).await.status(), None);
}

#[tokio::test]
async fn a_status_brings_its_own_headers_body_and_time_to_wait() {
    let line =
        "payment.charge#1 reply={status: 503, retry_after: 7, headers: {X-Extra: a}, body: {error: busy}}";
    let world = TestServices::with(&[line, "payment.charge#2 reply={status: 202}"]).await;
    let seen = world.send("payment", &charge("o1")).await;
    assert_eq!((seen.status(), seen.header("retry-after").as_deref()), (Some(503), Some("7")));
    assert_eq!((seen.header("x-extra").as_deref(), seen.body()), (Some("a"), &b"{\"error\":\"busy\"}"[..]));
    let seen = world.send("payment", &charge("o2")).await;
    assert_eq!(
        (seen.status(), seen.at("/id")),
        (Some(202), world.effects()[1].id.clone()),
        "a success keeps the true body"
    );
}

#[tokio::test]
async fn a_fault_is_refused_behind_those_that_take_all_of_its_attempts_and_have_not_come_to_them() {
    let world = TestServices::with(&["payment.charge#[1, 3] reply=drop"]).await;
    let refused = |line: &str| world.services.arm(vec![fault(line)]).is_err();
    assert!(refused("payment.charge#1 reply=reset") && refused("payment.charge#3 reply=reset"));
    assert!(!refused("payment.charge#2 reply={status: 503}"));
    world.send("payment", &charge("o1")).await;
    // What was the third is the second now, and the second the first.
    assert!(refused("payment.charge#2 reply=reset") && refused("payment.charge#1 reply=reset"));
    assert!(!refused("payment.charge#3 reply={status: 502}"));
    for (order, status) in [("o2", Some(503)), ("o3", None), ("o4", Some(502))] {
        assert_eq!(world.send("payment", &charge(order)).await.status(), status, "{order}");
    }
    assert_eq!(world.fired(), [2, 1, 1]);
}

/// A world whose faults are about charges for this order.
async fn about(order: &'static str, faults: &[&str], keys: Profile) -> TestServices {
    let options = ServiceOptions { idempotency: Some(Idempotency::new(keys)), ..ServiceOptions::default() };
    let builder = MockServices::builder().service(Payment::default(), options);
    let intended =
        Arc::new(move |facts: &EffectFacts| facts.fields.get("order") == Some(&Value::from(order)));
    TestServices::start(builder.intended(intended), faults).await.unwrap()
}

#[tokio::test]
async fn a_write_that_nobody_intends_uses_no_fault_up() {
    let world = about("o1", &["payment.charge#1 commit=never reply=ok"], Profile::None).await;
    assert_eq!(world.send("payment", &charge("other")).await.status(), Some(200));
    assert_eq!((world.count(), world.fired()), (1, vec![0]));
    assert_eq!(world.send("payment", &charge("o1")).await.status(), Some(200));
    assert_eq!((world.count(), world.fired()), (1, vec![1]), "the second is the first that is intended");
}

#[tokio::test]
async fn a_fault_for_any_effect_is_used_up_by_whatever_comes_first() {
    let world = about("o1", &["payment.charge#1 commit=never reply=ok where=any"], Profile::None).await;
    world.send("payment", &charge("other")).await;
    assert_eq!((world.count(), world.fired()), (0, vec![1]));
}

#[tokio::test]
async fn a_replay_is_about_what_its_key_stands_for() {
    let world = about("o1", &["payment.charge#2 reply=drop"], Profile::Stripe).await;
    for order in ["other", "o1"] {
        let ask = charge(order).header("Idempotency-Key", order);
        assert_eq!(world.send("payment", &ask).await.status(), Some(200));
    }
    let again = |order: &str| charge(order).header("Idempotency-Key", order);
    assert_eq!(
        world.send("payment", &again("other")).await.status(),
        Some(200),
        "a replay that nobody intends"
    );
    assert_eq!(
        world.send("payment", &again("o1")).await.status(),
        None,
        "the second attempt that is intended"
    );
    assert_eq!(world.fired(), [1]);
}

#[tokio::test]
async fn what_a_fault_keeps_back_stands_in_the_ledger() {
    let withheld = |world: &TestServices| -> Vec<String> {
        let entries = world.ledger().entries().into_iter();
        let of = |event: Event<'static>| match event {
            Event::Withheld { effect, fields, .. } => {
                Some(format!("{effect} {}", fields.get("order").map(ToString::to_string)?))
            }
            _ => None,
        };
        entries.filter_map(|entry| of(entry.event)).collect()
    };
    let world = TestServices::with(&["payment.charge#1 commit=never reply=ok"]).await;
    world.send("payment", &charge("o1")).await;
    world.send("payment", &charge("o2")).await;
    assert_eq!(withheld(&world), ["payment.charge o1"]);
    // What is only put off is committed in the end, and nothing was kept back.
    let world = TestServices::with(&["payment.charge#1 commit=later reply=ok"]).await;
    world.send("payment", &charge("o1")).await;
    world.settle().await;
    assert_eq!((withheld(&world), world.count()), (Vec::new(), 1));
}

#[tokio::test]
async fn a_write_that_changes_nothing_or_only_a_label_uses_no_fault_up() {
    let faults = [
        "payment.upgrade#1 reply=drop",
        "deploy.deploy#2 reply=drop",
        "payment.no-change#2 reply={status: 500}",
    ];
    let world = TestServices::with(&faults).await;
    let begun = world
        .send("payment", &TestRequest::form("/v1/subscriptions", "customer=cus_1&items[0][price]=basic"))
        .await;
    let (path, item) = (format!("/v1/subscriptions/{}", begun.at("/id")), begun.at("/items/data/0/id"));
    let update = |body: String| TestRequest::form(path.clone(), &body);
    for body in ["metadata[note]=x", "metadata[order]=o1", "cancel_at_period_end=true", ""] {
        assert_eq!(world.send("payment", &update(body.to_owned())).await.status(), Some(200), "{body}");
    }
    let same = update(format!("items[0][id]={item}&items[0][price]=basic"));
    assert_eq!(world.send("payment", &same).await.status(), Some(500), "the second that changes nothing");
    let upgrade = update(format!("items[0][id]={item}&items[0][price]=pro"));
    assert!(world.send("payment", &upgrade).await.bytes.is_empty(), "the fault was kept for the upgrade");
    let deploy = |version: &str| {
        TestRequest::json(
            "POST",
            "/deployments",
            &serde_json::json!({"environment": "production", "version": version}),
        )
    };
    for (version, status) in [("v1", Some(201)), ("v1", Some(200)), ("v1", Some(200)), ("v2", None)] {
        assert_eq!(world.send("deploy", &deploy(version)).await.status(), status, "{version}");
    }
    let operations: Vec<String> =
        received(world.ledger()).into_iter().map(|received| received.operation.into_owned()).collect();
    let expected = "payment.subscribe payment.relabel payment.relabel payment.amend payment.no-change payment.no-change \
                    payment.upgrade deploy.deploy deploy.no-change deploy.no-change deploy.deploy";
    assert_eq!(operations.join(" "), expected);
}
