//! What is committed later, and twice.

use mock_services::idempotency::{Idempotency, Profile};
use mock_services::ledger::{CommitTiming, Event};

use crate::kit::ledger::{events, lapsed, refused};
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, keyed};
use crate::kit::write::{charge, put};

fn refund(charge: &str) -> TestRequest {
    TestRequest::form("/v1/refunds", &format!("charge={charge}"))
}

#[tokio::test]
async fn at_its_moment_later_decides_again_on_the_state_of_then() {
    let world = TestServices::with(&["payment.refund commit={later: {requests: 2}}"]).await;
    let id = world.send("payment", &charge("o1")).await.at("/id");
    assert_eq!(world.send("payment", &refund(&id).key("k1")).await.status(), Some(200));
    assert_eq!(world.send("payment", &refund(&id)).await.status(), Some(200), "nothing is refunded yet");
    let attempt = world.services.fired()[0].attempts[0];
    assert_eq!(lapsed(world.ledger()), []);
    world.send("payment", &TestRequest::get("/v1/refunds")).await;
    assert_eq!(lapsed(world.ledger()), [(attempt, 400)], "the charge has been refunded meanwhile");
    world.settle().await;
    let refunds: Vec<_> =
        world.effects().into_iter().filter(|effect| effect.name == "payment.refund").collect();
    assert_eq!(
        refunds.iter().map(|refund| (refund.attempt == attempt, refund.timing)).collect::<Vec<_>>(),
        [(false, CommitTiming::Now)]
    );
    // The refusal came after the service had begun, so the key stands for it from now on.
    let again = world.send("payment", &refund(&id).key("k1")).await;
    assert_eq!((again.status(), again.at("/error/code").as_str()), (Some(400), "charge_already_refunded"));
}

#[tokio::test]
async fn a_condition_is_judged_when_the_late_commit_comes() {
    let world = TestServices::with(&["records.put#2 commit=later"]).await;
    world.send("records", &put("stock", 1)).await;
    let conditional = put("stock", 2).header("If-Match", "\"1\"");
    assert_eq!(world.send("records", &conditional).await.status(), Some(200));
    assert_eq!(world.send("records", &put("stock", 3)).await.status(), Some(200));
    world.settle().await;
    assert_eq!(lapsed(world.ledger()), [(2, 412)]);
    assert_eq!(world.send("records", &TestRequest::get("/records/stock")).await.json()["value"], 3);
}

#[tokio::test]
async fn a_lapsed_commit_that_had_not_begun_frees_its_key() {
    let world = TestServices::start(
        keyed(Idempotency::new(Profile::Stripe)),
        &["records.put#2 commit=later reply=drop"],
    )
    .await
    .unwrap();
    world.send("records", &put("stock", 1).key("k0")).await;
    let conditional = put("stock", 2).header("If-Match", "\"1\"").key("k1");
    world.send("records", &conditional).await;
    world.send("records", &put("stock", 3).key("k2")).await;
    assert_eq!(world.send("records", &conditional).await.status(), Some(409));
    world.settle().await;
    assert_eq!(world.send("records", &conditional).await.status(), Some(412), "the service judges it anew");
}

#[tokio::test]
async fn so_many_requests_still_find_it_undone_whoever_makes_them_and_whatever_comes_of_them() {
    let world = TestServices::with(&["payment.charge commit={later: {requests: 5}} reply=drop"]).await;
    world.send_as(1, "payment", &charge("o1")).await;
    let is_empty = async |caller| {
        world.send_as(caller, "payment", &TestRequest::get("/v1/charges")).await.json()["data"]
            .as_array()
            .unwrap()
            .is_empty()
    };
    assert!(is_empty(2).await, "a read of another caller");
    let path = TestRequest::get("/v1/no/such/path");
    assert_eq!(world.send_as(3, "payment", &path).await.status(), Some(404), "a request for nothing");
    let wrong = TestRequest::get("/v1/charges").secret("sk_test_wrong");
    assert_eq!(
        world.send_as(1, "payment", &wrong).await.status(),
        Some(401),
        "a request without a valid secret"
    );
    let missing = TestRequest::form("/v1/charges", "amount=1");
    assert_eq!(
        world.send_as(2, "payment", &missing).await.status(),
        Some(400),
        "a request with bad parameters"
    );
    assert_eq!(world.count(), 0);
    assert!(is_empty(3).await, "the fifth request still finds it undone");
    assert_eq!(world.count(), 1);
    assert!(!is_empty(1).await, "the sixth finds it done");
}

#[tokio::test]
async fn a_request_stands_in_the_ledger_before_the_late_commit_that_it_makes_due() {
    let refusals = [
        TestRequest::get("/v1/charges").secret(""),
        TestRequest::get("/v1/none"),
        TestRequest::get("/v1/charges/ch_none"),
        charge("o2").key(""),
    ];
    for ask in refusals {
        let world = TestServices::with(&["payment.charge commit={later: {requests: 1}} reply=drop"]).await;
        world.send("payment", &charge("o1")).await;
        world.send("payment", &ask).await;
        let kept = |event: &Event<'_>| matches!(event, Event::Refused { .. } | Event::Committed { .. });
        let order: Vec<_> = events(world.ledger()).into_iter().filter(kept).collect();
        assert!(matches!(order[..], [Event::Refused { .. }, Event::Committed { .. }]), "{order:?}");
    }
}

#[tokio::test]
async fn requests_to_another_service_do_not_count() {
    let world = TestServices::with(&["payment.charge commit={later: {requests: 1}}"]).await;
    world.send("payment", &charge("o1")).await;
    world.send("records", &put("a", 1)).await;
    assert_eq!(world.effects().iter().filter(|effect| effect.name == "payment.charge").count(), 0);
    world.send("payment", &TestRequest::get("/v1/balance")).await;
    assert_eq!(world.effects().iter().filter(|effect| effect.name == "payment.charge").count(), 1);
}

#[tokio::test]
async fn a_late_commit_stands_where_it_happened_though_its_caller_is_gone() {
    let world = TestServices::with(&["payment.charge commit={later: {requests: 1}} reply=reset"]).await;
    world.send_as(1, "payment", &charge("o1")).await;
    let gone = |event: &Event<'_>| matches!(event, Event::Closed { caller: 1, .. });
    crate::kit::ledger::wait_for(world.ledger(), gone).await;
    world.send_as(2, "payment", &TestRequest::get("/v1/balance")).await;
    let entries = world.ledger().entries();
    let place =
        |like: &dyn Fn(&Event<'_>) -> bool| entries.iter().position(|entry| like(&entry.event)).unwrap();
    let (left, read) = (place(&gone), place(&|event| matches!(event, Event::Received(it) if it.caller == 2)));
    let committed =
        place(&|event| matches!(event, Event::Committed { attempt: 1, timing: CommitTiming::Later, .. }));
    assert!(left < read && read < committed);
    assert!(entries[committed].at >= entries[read].at);
}

#[tokio::test]
async fn by_the_clock_it_is_committed_without_a_request() {
    let world = TestServices::with(&["payment.charge commit={later: 3ms}"]).await;
    let seen = world.send("payment", &charge("o1")).await;
    world.until_effects(1).await;
    assert_eq!(
        (world.effects()[0].id.clone(), world.effects()[0].timing),
        (seen.at("/id"), CommitTiming::Later)
    );
}

#[tokio::test]
async fn after_settling_nothing_is_in_flight() {
    for commit in ["later", "{later: 10m}", "{later: {requests: 100}}"] {
        let world =
            TestServices::with(&[&format!("payment.charge commit={commit} reply={{status: 504}}")]).await;
        world.send("payment", &charge("o1").key("k1")).await;
        assert_eq!(world.send("payment", &charge("o1").key("k1")).await.status(), Some(409));
        world.settle().await;
        assert_eq!(world.count(), 1);
        let again = world.send("payment", &charge("o1").key("k1")).await;
        assert_eq!((again.status(), again.at("/id")), (Some(200), world.effects()[0].id.clone()), "{commit}");
        world.settle().await;
        assert_eq!(world.count(), 1);
    }
}

#[tokio::test]
async fn what_a_caller_was_told_is_what_is_committed_later() {
    let world = TestServices::with(&["payment.charge commit=later"]).await;
    let told = world.send("payment", &charge("o1")).await.at("/id");
    world.settle().await;
    assert_eq!(world.effects()[0].id, told);
    assert_eq!(
        world.send("payment", &TestRequest::get(format!("/v1/charges/{told}"))).await.status(),
        Some(200)
    );
}

#[tokio::test]
async fn of_a_request_that_comes_twice_the_caller_sees_the_first_answer() {
    let world = TestServices::with(&["payment.charge commit=twice"]).await;
    let seen = world.send("payment", &charge("o1")).await;
    let [first, second] = &world.effects()[..] else { panic!("{:?}", world.effects()) };
    assert_eq!(
        (first.timing, second.timing, &first.id),
        (CommitTiming::Now, CommitTiming::Twice, &seen.at("/id"))
    );
    assert_ne!(first.id, second.id);
    assert_eq!(first.attempt, second.attempt);
}

#[tokio::test]
async fn the_services_own_idempotency_judges_the_second_of_two_deliveries() {
    for (profile, effects) in [
        (Profile::Stripe, 1),
        (Profile::Ietf, 1),
        (Profile::Acp, 1),
        (Profile::Resend, 1),
        (Profile::None, 2),
    ] {
        let world = TestServices::start(keyed(Idempotency::new(profile)), &["payment.charge commit=twice"])
            .await
            .unwrap();
        let seen = world.send("payment", &charge("o1").key("k1")).await;
        assert_eq!((seen.header("idempotent-replayed"), world.count()), (None, effects), "{profile:?}");
        assert_eq!(world.effects()[0].id, seen.at("/id"));
    }
}

#[tokio::test]
async fn the_second_of_two_deliveries_can_be_refused_and_leaves_nothing() {
    let world = TestServices::with(&["payment.refund commit=twice"]).await;
    let id = world.send("payment", &charge("o1")).await.at("/id");
    assert_eq!(world.send("payment", &refund(&id)).await.status(), Some(200));
    assert_eq!(world.effects().iter().filter(|effect| effect.name == "payment.refund").count(), 1);
    assert!(refused(world.ledger()).is_empty(), "nobody asked a second time");
}
