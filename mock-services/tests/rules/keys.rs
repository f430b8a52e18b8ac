//! Keys and faults: what a key stores when the client received something else.

use mock_services::custom::Custom;
use mock_services::idempotency::{Idempotency, Profile};
use mock_services::{MockServices, ServiceOptions};
use yaml_reader::Source;

use crate::kit::ledger::received;
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, all_services, all_services_with_keys};
use crate::kit::write::{charge, put};
use crate::kit::{ReplySample, write_replies};

#[tokio::test]
async fn a_key_covers_the_headers_that_are_fields_and_no_others() {
    let file = "service: notes\nidempotency: stripe\noperations:\n  add:\n    route: POST /notes\n    \
                effect: { identity: [text] }\n    \
                fields: { text: body.text, who: header.X-Who }\n";
    let notes =
        Custom::from_source(&Source::new("notes.yaml", file)).unwrap_or_else(|problems| panic!("{problems}"));
    let services =
        TestServices::start(MockServices::builder().service(notes, ServiceOptions::default()), &[])
            .await
            .unwrap();
    let add = |who: &str, trace: &str| {
        let request = TestRequest::json("POST", "/notes", &serde_json::json!({"text": "x"})).key("k1");
        request.header("X-Who", who).header("X-Trace", trace)
    };
    let first = services.send("notes", &add("ann", "1")).await;
    assert_eq!(first.status().map(|status| status / 100), Some(2), "{first:?}");
    assert_eq!(services.send("notes", &add("ann", "2")).await.body(), first.body());
    assert_eq!(services.send("notes", &add("bob", "1")).await.status(), Some(400));
    assert_eq!(services.count(), 1);
}

#[tokio::test]
async fn a_key_stores_the_response_of_the_service_not_of_the_fault() {
    for ReplySample { text: reply, .. } in write_replies().into_iter().filter(|sample| !sample.is_kept()) {
        let services = TestServices::with(&[&format!("payment.charge reply={reply}")]).await;
        services.send("payment", &charge("o1").key("k1")).await;
        let again = services.send("payment", &charge("o1").key("k1")).await;
        assert_eq!(
            (again.status(), again.header("idempotent-replayed").as_deref()),
            (Some(200), Some("true")),
            "{reply}"
        );
        let [effect] = &services.effects()[..] else { panic!("{reply}: {:?}", services.effects()) };
        assert_eq!(again.at("/id"), effect.id, "{reply}");
    }
}

#[tokio::test]
async fn a_kept_failure_is_stored_and_replayed_although_the_effect_happened() {
    let services = TestServices::with(&["payment.charge reply={status: 500, kept: true}"]).await;
    let first = services.send("payment", &charge("o1").key("k1")).await;
    assert_eq!((first.status(), first.header("idempotent-replayed")), (Some(500), None));
    for _ in 0..3 {
        let again = services.send("payment", &charge("o1").key("k1")).await;
        assert_eq!((again.status(), again.body()), (Some(500), first.body()));
        assert_eq!(again.header("idempotent-replayed").as_deref(), Some("true"));
    }
    assert_eq!(services.count(), 1);
    assert_eq!(services.send("payment", &charge("o1").key("k2")).await.status(), Some(200));
    assert_eq!(services.count(), 2);
}

#[tokio::test]
async fn a_kept_failure_without_a_commit_fails_the_key_forever() {
    let services = TestServices::with(&["payment.charge commit=never reply={status: 500, kept: true}"]).await;
    for _ in 0..3 {
        assert_eq!(services.send("payment", &charge("o1").key("k1")).await.status(), Some(500));
    }
    services.settle().await;
    assert_eq!(services.send("payment", &charge("o1").key("k1")).await.status(), Some(500));
    assert_eq!(services.count(), 0);
    assert_eq!(services.send("payment", &charge("o1").key("k2")).await.status(), Some(200));
    assert_eq!(services.count(), 1);
}

#[tokio::test]
async fn a_failure_that_is_not_kept_is_not_stored_without_a_commit() {
    let services = TestServices::with(&["payment.charge commit=never reply={status: 500}"]).await;
    assert_eq!(services.send("payment", &charge("o1").key("k1")).await.status(), Some(500));
    let again = services.send("payment", &charge("o1").key("k1")).await;
    assert_eq!((again.status(), again.header("idempotent-replayed")), (Some(200), None));
    assert_eq!(services.count(), 1);
}

#[tokio::test]
async fn commit_never_does_not_store_the_key() {
    let services = TestServices::with(&["payment.charge commit=never"]).await;
    let lie = services.send("payment", &charge("o1").key("k1")).await;
    assert_eq!(lie.status(), Some(200));
    assert_eq!(
        services.send("payment", &TestRequest::get("/v1/charges")).await.json()["data"],
        serde_json::json!([])
    );
    assert_eq!(
        services.send("payment", &TestRequest::get(format!("/v1/charges/{}", lie.at("/id")))).await.status(),
        Some(404)
    );
    services.settle().await;
    assert_eq!(services.count(), 0);

    // Even with other parameters: to the service this key is new.
    let again = services.send("payment", &charge("o2").key("k1")).await;
    assert_eq!((again.status(), again.header("idempotent-replayed")), (Some(200), None));
    let [effect] = &services.effects()[..] else { panic!("{:?}", services.effects()) };
    assert_eq!((effect.id.as_str(), effect.field("order").as_str()), (again.at("/id").as_str(), "o2"));
    assert_ne!(again.at("/id"), lie.at("/id"));
}

#[tokio::test]
async fn ids_of_later_responses_do_not_depend_on_uncommitted_requests() {
    let mut ids = Vec::new();
    for commit in ["now", "never", "twice", "later"] {
        let services = TestServices::with(&[&format!("payment.charge commit={commit}")]).await;
        services.send("payment", &charge("o1")).await;
        ids.push(services.send("payment", &charge("o2")).await.at("/id"));
    }
    assert!(ids.iter().all(|id| id.starts_with("ch_") && *id == ids[0]), "{ids:?}");
}

#[tokio::test]
async fn a_key_is_in_progress_until_the_commit_not_until_the_reply() {
    for (commit, reply) in
        [("now", "{delay: 1ms}"), ("never", "drop"), ("twice", "reset"), ("now", "{hang: {release: 1ms}}")]
    {
        let services = TestServices::with(&[&format!("payment.charge commit={commit} reply={reply}")]).await;
        services.send("payment", &charge("o1").key("k1")).await;
        assert_eq!(
            services.send("payment", &charge("o1").key("k1")).await.status(),
            Some(200),
            "{commit} {reply}"
        );
    }
}

#[tokio::test]
async fn a_key_conflicts_until_a_late_commit() {
    for profile in [Profile::Stripe, Profile::Ietf, Profile::Acp, Profile::Resend] {
        for (service, request) in [("payment", charge("o1")), ("records", put("a", 1))] {
            let fault = if service == "payment" { "payment.charge" } else { "records.put" };
            let line = format!("{fault} commit={{later: {{requests: 2}}}} reply=drop");
            let services = TestServices::start(all_services_with_keys(Idempotency::new(profile)), &[&line])
                .await
                .unwrap();
            let request = request.key("k1");
            services.send(service, &request).await;
            for committed in [0, 1] {
                let conflict = services.send(service, &request).await;
                assert_eq!((conflict.status(), services.count()), (Some(409), committed), "{profile:?}");
                assert_eq!(conflict.header("retry-after").is_some(), profile == Profile::Acp, "{profile:?}");
            }
            let done = services.send(service, &request).await;
            assert!(matches!(done.status(), Some(200 | 201)), "{profile:?}: {}", done.text());
            assert_eq!(services.count(), 1, "{profile:?}");
            assert_eq!(
                received(services.ledger()).iter().map(|it| it.replay).collect::<Vec<_>>(),
                [false, true],
                "{profile:?}"
            );
        }
    }
}

#[tokio::test]
async fn without_a_key_or_a_profile_nothing_conflicts() {
    let services = TestServices::with(&["payment.charge commit=later reply=drop"]).await;
    services.send("payment", &charge("o1")).await;
    assert_eq!(services.send("payment", &charge("o1")).await.status(), Some(200));
    services.settle().await;
    assert_eq!(services.count(), 2);

    let none = all_services_with_keys(Idempotency::new(Profile::None));
    let services = TestServices::start(none, &["payment.charge commit=later reply=drop"]).await.unwrap();
    services.send("payment", &charge("o1").key("k1")).await;
    assert_eq!(services.send("payment", &charge("o1").key("k1")).await.status(), Some(200));
    services.settle().await;
    assert_eq!(services.count(), 2);
}

#[tokio::test]
async fn a_replay_is_an_attempt_that_gets_the_reply_of_its_fault_but_no_commit() {
    for commit in ["now", "never", "twice", "later", "{later: {requests: 1}}"] {
        let services = TestServices::with(&[&format!("payment.charge#2 commit={commit} reply=drop")]).await;
        let first = services.send("payment", &charge("o1").key("k1")).await;
        assert!(services.send("payment", &charge("o1").key("k1")).await.bytes.is_empty(), "{commit}");
        assert_eq!(services.fired(), [1], "{commit}");
        // Neither forgotten nor in progress.
        let third = services.send("payment", &charge("o1").key("k1")).await;
        assert_eq!((third.status(), third.body()), (Some(200), first.body()), "{commit}");
        services.settle().await;
        assert_eq!(services.count(), 1, "{commit}");
        assert_eq!(
            received(services.ledger()).iter().map(|it| it.replay).collect::<Vec<_>>(),
            [false, true, true],
            "{commit}"
        );
    }
}

#[tokio::test]
async fn a_kept_failure_on_a_replay_does_not_replace_the_stored_response() {
    let services = TestServices::with(&["payment.charge#2 reply={status: 500, kept: true}"]).await;
    for expected in [200, 500, 200] {
        assert_eq!(services.send("payment", &charge("o1").key("k1")).await.status(), Some(expected));
    }
    assert_eq!(services.count(), 1);
}

#[tokio::test]
async fn a_key_belongs_to_the_service_and_not_to_the_caller() {
    let services = TestServices::start(all_services(1), &[]).await.unwrap();
    let first = services.send_as(1, "payment", &charge("o1").key("k1")).await;
    let other = services.send_as(2, "payment", &charge("o1").key("k1")).await;
    assert_eq!((other.body(), services.count()), (first.body(), 1));
}

#[tokio::test]
async fn a_service_can_read_its_key_from_the_body_or_the_query() {
    for (place, path, first, other) in [
        (
            "body.nonce",
            "/notes",
            serde_json::json!({"text": "x", "nonce": "n1"}),
            serde_json::json!({"text": "x", "nonce": "n2"}),
        ),
        ("query.once", "/notes?once=n1", serde_json::json!({"text": "x"}), serde_json::json!({"text": "x"})),
    ] {
        let file = format!(
            "service: notes\nidempotency: stripe\nkey: {place}\noperations:\n  add:\n    route: POST \
             /notes\n    \
             effect: {{ identity: [text] }}\n    fields: {{ text: body.text }}\n"
        );
        let notes = Custom::from_source(&Source::new("notes.yaml", file))
            .unwrap_or_else(|problems| panic!("{problems}"));
        let services =
            TestServices::start(MockServices::builder().service(notes, ServiceOptions::default()), &[])
                .await
                .unwrap();
        let made = services.send("notes", &TestRequest::json("POST", path, &first)).await;
        // A header has no meaning here.
        let again = services.send("notes", &TestRequest::json("POST", path, &first).key("other")).await;
        assert_eq!((again.body(), services.count()), (made.body(), 1), "{place}");
        services.send("notes", &TestRequest::json("POST", path.replace("n1", "n2"), &other)).await;
        assert_eq!(services.count(), 2, "{place}: another key is another request");
        let attempts = received(services.ledger());
        let keys: Vec<Option<&str>> = attempts.iter().map(|received| received.key.as_deref()).collect();
        assert_eq!(keys, [Some("n1"), Some("n1"), Some("n2")], "{place}");
    }
}

#[tokio::test]
async fn the_ledger_says_which_attempt_has_the_same_bytes() {
    let services = TestServices::with(&[]).await;
    for (order, key) in [("o1", "k1"), ("o2", "k2"), ("o1", "k3"), ("o1", "k1")] {
        services.send("payment", &charge(order).key(key)).await;
    }
    let repeats: Vec<Option<u64>> =
        received(services.ledger()).iter().map(|received| received.repeats).collect();
    assert_eq!(repeats, [None, None, Some(1), Some(1)]);
}
