//! Late and repeated commits.

use mock_services::fault::After;
use mock_services::idempotency::{Idempotency, Profile};
use mock_services::ledger::{CommitTiming, Event};

use crate::kit::ledger::{events, lapsed, refused};
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, all_services_with_keys};
use crate::kit::write::{charge, put};

fn refund(charge: &str) -> TestRequest {
    TestRequest::form("/v1/refunds", &format!("charge={charge}"))
}

#[tokio::test]
async fn a_late_commit_is_decided_again_on_the_current_state() {
    let services = TestServices::with(&["payment.refund commit={later: {requests: 2}}"]).await;
    let id = services.send("payment", &charge("o1")).await.at("/id");
    assert_eq!(services.send("payment", &refund(&id).key("k1")).await.status(), Some(200));
    assert_eq!(services.send("payment", &refund(&id)).await.status(), Some(200), "nothing is refunded yet");
    let attempt = services.mock.fired()[0].attempts[0];
    assert_eq!(lapsed(services.ledger()), []);
    services.send("payment", &TestRequest::get("/v1/refunds")).await;
    assert_eq!(lapsed(services.ledger()), [(attempt, 400)], "the charge has been refunded meanwhile");
    services.settle().await;
    let refunds: Vec<_> =
        services.effects().into_iter().filter(|effect| effect.name == "payment.refund").collect();
    assert_eq!(
        refunds.iter().map(|refund| (refund.attempt == attempt, refund.timing)).collect::<Vec<_>>(),
        [(false, CommitTiming::Now)]
    );
    // The refusal came during execution, so the key stores it.
    let again = services.send("payment", &refund(&id).key("k1")).await;
    assert_eq!((again.status(), again.at("/error/code").as_str()), (Some(400), "charge_already_refunded"));
}

#[tokio::test]
async fn a_condition_is_checked_at_the_late_commit() {
    let services = TestServices::with(&["records.put#2 commit=later"]).await;
    services.send("records", &put("stock", 1)).await;
    let conditional = put("stock", 2).header("If-Match", "\"1\"");
    assert_eq!(services.send("records", &conditional).await.status(), Some(200));
    assert_eq!(services.send("records", &put("stock", 3)).await.status(), Some(200));
    services.settle().await;
    assert_eq!(lapsed(services.ledger()), [(2, 412)]);
    assert_eq!(services.send("records", &TestRequest::get("/records/stock")).await.json()["value"], 3);
}

#[tokio::test]
async fn a_lapsed_commit_refused_before_execution_frees_its_key() {
    let services = TestServices::start(
        all_services_with_keys(Idempotency::new(Profile::Stripe)),
        &["records.put#2 commit=later reply=drop"],
    )
    .await
    .unwrap();
    services.send("records", &put("stock", 1).key("k0")).await;
    let conditional = put("stock", 2).header("If-Match", "\"1\"").key("k1");
    services.send("records", &conditional).await;
    services.send("records", &put("stock", 3).key("k2")).await;
    assert_eq!(services.send("records", &conditional).await.status(), Some(409));
    services.settle().await;
    assert_eq!(
        services.send("records", &conditional).await.status(),
        Some(412),
        "the service decides it again"
    );
}

#[tokio::test]
async fn a_late_commit_waits_for_the_number_of_requests_of_any_kind() {
    let services = TestServices::with(&["payment.charge commit={later: {requests: 5}} reply=drop"]).await;
    services.send_as(1, "payment", &charge("o1")).await;
    let is_empty = async |caller| {
        services.send_as(caller, "payment", &TestRequest::get("/v1/charges")).await.json()["data"]
            .as_array()
            .unwrap()
            .is_empty()
    };
    assert!(is_empty(2).await, "a read of another caller");
    let path = TestRequest::get("/v1/no/such/path");
    assert_eq!(services.send_as(3, "payment", &path).await.status(), Some(404), "a request for nothing");
    let wrong = TestRequest::get("/v1/charges").secret("sk_test_wrong");
    assert_eq!(
        services.send_as(1, "payment", &wrong).await.status(),
        Some(401),
        "a request without a valid secret"
    );
    let missing = TestRequest::form("/v1/charges", "amount=1");
    assert_eq!(
        services.send_as(2, "payment", &missing).await.status(),
        Some(400),
        "a request with bad parameters"
    );
    assert_eq!(services.count(), 0);
    assert!(is_empty(3).await, "the fifth request comes before the commit");
    assert_eq!(services.count(), 1);
    assert!(!is_empty(1).await, "the sixth comes after it");
}

#[tokio::test]
async fn a_request_is_recorded_before_the_late_commit_that_it_triggers() {
    let refusals = [
        TestRequest::get("/v1/charges").secret(""),
        TestRequest::get("/v1/none"),
        TestRequest::get("/v1/charges/ch_none"),
        charge("o2").key(""),
    ];
    for request in refusals {
        let services = TestServices::with(&["payment.charge commit={later: {requests: 1}} reply=drop"]).await;
        services.send("payment", &charge("o1")).await;
        services.send("payment", &request).await;
        let kept = |event: &Event| matches!(event, Event::Refused(_) | Event::Committed { .. });
        let order: Vec<_> = events(services.ledger()).into_iter().filter(kept).collect();
        assert!(matches!(order[..], [Event::Refused(_), Event::Committed { .. }]), "{order:?}");
    }
}

#[tokio::test]
async fn requests_to_another_service_do_not_count() {
    let services = TestServices::with(&["payment.charge commit={later: {requests: 1}}"]).await;
    services.send("payment", &charge("o1")).await;
    services.send("records", &put("a", 1)).await;
    assert_eq!(services.effects().iter().filter(|effect| effect.name == "payment.charge").count(), 0);
    services.send("payment", &TestRequest::get("/v1/balance")).await;
    assert_eq!(services.effects().iter().filter(|effect| effect.name == "payment.charge").count(), 1);
}

#[tokio::test]
async fn a_late_commit_is_recorded_when_it_happens_after_its_caller_has_left() {
    let services = TestServices::with(&["payment.charge commit={later: {requests: 1}} reply=reset"]).await;
    services.send_as(1, "payment", &charge("o1")).await;
    let gone = |event: &Event| matches!(event, Event::Closed { caller: 1, .. });
    crate::kit::ledger::wait_for(services.ledger(), gone).await;
    services.send_as(2, "payment", &TestRequest::get("/v1/balance")).await;
    let entries = services.ledger().entries();
    let place = |like: &dyn Fn(&Event) -> bool| entries.iter().position(|entry| like(&entry.event)).unwrap();
    let (left, read) = (place(&gone), place(&|event| matches!(event, Event::Received(it) if it.caller == 2)));
    let committed =
        place(&|event| matches!(event, Event::Committed { attempt: 1, timing: CommitTiming::Later, .. }));
    assert!(left < read && read < committed);
    assert!(entries[committed].at >= entries[read].at);
}

#[tokio::test]
async fn a_timed_late_commit_needs_no_request() {
    let services = TestServices::with(&["payment.charge commit={later: 3ms}"]).await;
    let seen = services.send("payment", &charge("o1")).await;
    services.wait_for_effects(1).await;
    assert_eq!(
        (services.effects()[0].id.clone(), services.effects()[0].timing),
        (seen.at("/id"), CommitTiming::Later)
    );
}

#[tokio::test]
async fn after_settling_nothing_is_in_progress() {
    for commit in ["later", "{later: 10m}", "{later: {requests: 100}}"] {
        let services =
            TestServices::with(&[&format!("payment.charge commit={commit} reply={{status: 504}}")]).await;
        services.send("payment", &charge("o1").key("k1")).await;
        assert_eq!(services.send("payment", &charge("o1").key("k1")).await.status(), Some(409));
        services.settle().await;
        assert_eq!(services.count(), 1);
        let again = services.send("payment", &charge("o1").key("k1")).await;
        assert_eq!(
            (again.status(), again.at("/id")),
            (Some(200), services.effects()[0].id.clone()),
            "{commit}"
        );
        services.settle().await;
        assert_eq!(services.count(), 1);
    }
}

#[tokio::test]
async fn a_late_commit_matches_the_response() {
    let services = TestServices::with(&["payment.charge commit=later"]).await;
    let id = services.send("payment", &charge("o1")).await.at("/id");
    services.settle().await;
    assert_eq!(services.effects()[0].id, id);
    assert_eq!(
        services.send("payment", &TestRequest::get(format!("/v1/charges/{id}"))).await.status(),
        Some(200)
    );
}

#[tokio::test]
async fn of_a_request_delivered_twice_the_client_gets_the_first_response() {
    let services = TestServices::with(&["payment.charge commit=twice"]).await;
    let seen = services.send("payment", &charge("o1")).await;
    let [first, second] = &services.effects()[..] else { panic!("{:?}", services.effects()) };
    assert_eq!(
        (first.timing, second.timing, &first.id),
        (CommitTiming::Now, CommitTiming::Twice, &seen.at("/id"))
    );
    assert_ne!(first.id, second.id);
    assert_eq!(first.attempt, second.attempt);
}

#[tokio::test]
async fn the_service_applies_its_idempotency_to_the_second_delivery() {
    for (profile, effects) in [
        (Profile::Stripe, 1),
        (Profile::Ietf, 1),
        (Profile::Acp, 1),
        (Profile::Resend, 1),
        (Profile::None, 2),
    ] {
        let services = TestServices::start(
            all_services_with_keys(Idempotency::new(profile)),
            &["payment.charge commit=twice"],
        )
        .await
        .unwrap();
        let seen = services.send("payment", &charge("o1").key("k1")).await;
        assert_eq!((seen.header("idempotent-replayed"), services.count()), (None, effects), "{profile:?}");
        assert_eq!(services.effects()[0].id, seen.at("/id"));
    }
}

#[tokio::test]
async fn a_refused_second_delivery_has_no_effect() {
    let services = TestServices::with(&["payment.refund commit=twice"]).await;
    let id = services.send("payment", &charge("o1")).await.at("/id");
    assert_eq!(services.send("payment", &refund(&id)).await.status(), Some(200));
    assert_eq!(services.effects().iter().filter(|effect| effect.name == "payment.refund").count(), 1);
    assert!(refused(services.ledger()).is_empty(), "no second request was sent");
}

#[tokio::test]
async fn what_is_reverted_is_shown_for_so_many_requests_and_then_gone_with_its_key() {
    let services = TestServices::with(&["payment.charge#1 commit={reverts: {requests: 3}}"]).await;
    let id = services.send("payment", &charge("o1").key("k1")).await.at("/id");
    let read = TestRequest::get(format!("/v1/charges/{id}"));
    assert_eq!(services.send("payment", &charge("o1").key("k1")).await.at("/id"), id, "a replay");
    for _ in 0..2 {
        assert_eq!(services.send("payment", &read).await.status(), Some(200));
    }
    assert_eq!(services.send("payment", &read).await.status(), Some(404));
    let reverted = |event: &Event| matches!(event, Event::Reverted { id: gone, .. } if *gone == id);
    assert_eq!(events(services.ledger()).iter().filter(|event| reverted(event)).count(), 1);
    let again = services.send("payment", &charge("o1").key("k1")).await;
    assert_eq!((again.status(), services.count()), (Some(200), 2), "the same key is executed anew");
    assert_ne!(again.at("/id"), id);
    let second = TestRequest::get(format!("/v1/charges/{}", again.at("/id")));
    services.settle().await;
    assert_eq!(
        services.send("payment", &second).await.status(),
        Some(200),
        "only the first attempt is reverted"
    );
}

#[tokio::test]
async fn what_others_changed_stays_and_a_change_of_what_is_gone_does_no_harm() {
    let services = TestServices::with(&["payment.charge#1 commit={reverts: {requests: 2}}"]).await;
    let gone = services.send("payment", &charge("o1")).await.at("/id");
    assert_eq!(services.send("payment", &refund(&gone)).await.status(), Some(200));
    let kept = services.send("payment", &charge("o2")).await.at("/id");
    for (id, status) in [(&gone, 404), (&kept, 200)] {
        let read = TestRequest::get(format!("/v1/charges/{id}"));
        assert_eq!(services.send("payment", &read).await.status(), Some(status));
    }
    let refused = services.send("payment", &refund(&gone)).await;
    assert_eq!(refused.at("/error/code"), "resource_missing");
}

#[tokio::test]
async fn a_stale_read_still_shows_what_was_reverted() {
    let services = TestServices::with(&[
        "records.put#1 commit={reverts: {requests: 1}}",
        "records.get#2 reply={stale: {reads: 1}}",
    ])
    .await;
    services.send("records", &put("a", 1)).await;
    let read = TestRequest::get("/records/a");
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(services.send("records", &read).await.status());
    }
    assert_eq!(seen, [Some(200), Some(200), Some(404)]);
}

#[tokio::test]
async fn a_key_that_was_used_anew_outlives_the_revert_of_its_first_request() {
    let rules = Idempotency::new(Profile::Stripe).with_lifetime(After::Requests(2));
    let services = TestServices::start(
        all_services_with_keys(rules),
        &["payment.charge#1 commit={reverts: {requests: 4}}"],
    )
    .await
    .unwrap();
    let read = TestRequest::get("/v1/charges");
    services.send("payment", &charge("o1").key("k1")).await;
    for _ in 0..2 {
        services.send("payment", &read).await;
    }
    let second = services.send("payment", &charge("o1").key("k1")).await.at("/id");
    let shown = services.send("payment", &read).await.json()["data"].as_array().unwrap().len();
    let again = services.send("payment", &charge("o1").key("k1")).await.at("/id");
    assert_eq!((shown, services.count(), again), (2, 2, second));
    let left = services.send("payment", &read).await.json()["data"].as_array().unwrap().len();
    assert_eq!(left, 1, "the first is gone");
}
