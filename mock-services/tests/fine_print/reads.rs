//! Stale reads.

use std::time::Duration;

use mock_services::fault::ReplyKind;
use mock_services::ledger::Event;
use mock_services::records::{Records, RecordsOptions};
use mock_services::{MockServices, MomentKind, ServiceOptions};
use serde_json::json;

use crate::kit::ledger::{lapsed, received, refused, wait_for};
use crate::kit::request::TestRequest;
use crate::kit::services::TestServices;
use crate::kit::write::{Write, charge, put};

async fn listed(world: &TestServices) -> usize {
    world.send("payment", &TestRequest::get("/v1/charges")).await.json()["data"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_change_is_seen_once_so_many_reads_have_missed_it() {
    let world = TestServices::with(&["payment.list#every reply={stale: {reads: 2}}"]).await;
    world.send("payment", &charge("o1")).await;
    assert_eq!((listed(&world).await, listed(&world).await), (0, 0));
    world.send("payment", &charge("o2")).await;
    assert_eq!((listed(&world).await, listed(&world).await), (1, 1));
    assert_eq!(listed(&world).await, 2);
}

#[tokio::test]
async fn only_the_read_that_is_struck_is_stale() {
    let world = TestServices::with(&["payment.list#1 reply={stale: {reads: 1}}"]).await;
    world.send("payment", &charge("o1")).await;
    assert_eq!((listed(&world).await, listed(&world).await), (0, 1));
    assert_eq!(world.fired(), [1]);
}

#[tokio::test]
async fn by_the_clock_a_change_is_seen_once_it_is_old_enough() {
    let world = TestServices::with(&["payment.list#every reply={stale: 10m}"]).await;
    world.send("payment", &charge("o1")).await;
    assert_eq!((listed(&world).await, listed(&world).await), (0, 0));

    let world = TestServices::with(&["payment.list#every reply={stale: 20ms}"]).await;
    world.send("payment", &charge("o1")).await;
    let seen = async { while listed(&world).await == 0 {} };
    tokio::time::timeout(Duration::from_secs(30), seen).await.unwrap();
    let entries = world.ledger().entries();
    let at = |like: fn(&Event<'_>) -> bool| entries.iter().rev().find(|entry| like(&entry.event)).unwrap().at;
    let committed = at(|event| matches!(event, Event::Committed { .. }));
    let shown = at(|event| matches!(event, Event::Replied { .. }));
    assert!(shown - committed >= 20_000, "{committed} {shown}");
}

#[tokio::test]
async fn something_too_new_is_not_found_and_the_request_is_an_attempt_all_the_same() {
    let world = TestServices::with(&["payment.get reply={stale: {reads: 1}}"]).await;
    let id = world.send("payment", &charge("o1")).await.at("/id");
    let path = format!("/v1/charges/{id}");
    assert_eq!(world.send("payment", &TestRequest::get(path.as_str())).await.status(), Some(404));
    assert_eq!(world.fired(), [1]);
    assert_eq!(received(world.ledger()).len(), 2);
    assert!(refused(world.ledger()).is_empty());
    let replied = wait_for(world.ledger(), |event| matches!(event, Event::Replied { attempt: 2, .. })).await;
    assert!(matches!(replied, Event::Replied { status: Some(404), reply: ReplyKind::Stale, .. }));
    assert_eq!(world.send("payment", &TestRequest::get(path.as_str())).await.status(), Some(200));
}

#[tokio::test]
async fn a_read_of_what_was_never_there_is_refused_and_uses_no_stale_read_up() {
    let world = TestServices::with(&["payment.get reply={stale: {reads: 1}}"]).await;
    assert_eq!(world.send("payment", &TestRequest::get("/v1/charges/ch_none")).await.status(), Some(404));
    assert_eq!((world.fired(), refused(world.ledger())), (vec![0], vec![404]));
}

#[tokio::test]
async fn what_was_deleted_is_still_shown_to_reads_that_lag_behind() {
    let world = TestServices::with(&[]).await;
    let statuses = async |count: usize, path: &str, service: &str| {
        let mut all = Vec::new();
        for _ in 0..count {
            all.extend(world.send(service, &TestRequest::get(path)).await.status());
        }
        all
    };
    world.send("records", &put("a", 1)).await;
    assert_eq!(statuses(2, "/records/a", "records").await, [200, 200]);
    world.send("records", &TestRequest::delete("/records/a")).await;
    world.arm("records.get#every reply={stale: {reads: 2}}");
    assert_eq!(statuses(4, "/records/a", "records").await, [200, 200, 404, 404]);
    assert_eq!((world.fired(), refused(world.ledger()).len()), (vec![2], 2));
    assert!(lapsed(world.ledger()).is_empty());

    let id = world.send("deploy", &Write::Github.request(&world, 1).await).await.json()["id"].clone();
    let path = format!("/repos/acme/shop/deployments/{id}");
    assert_eq!(statuses(1, &path, "deploy").await, [200]);
    assert_eq!(world.send("deploy", &TestRequest::delete(path.as_str())).await.status(), Some(204));
    world.arm("deploy.get#every reply={stale: {reads: 1}}");
    assert_eq!(statuses(2, &path, "deploy").await, [200, 404]);
}

#[tokio::test]
async fn a_held_read_that_lags_behind_still_shows_what_is_deleted_meanwhile() {
    let world = TestServices::with(&["records.get reply={stale: {reads: 1}}"]).await;
    world.send("records", &put("a", 1)).await;
    world.send("records", &TestRequest::get("/records")).await;
    world.send("records", &TestRequest::delete("/records/a")).await;
    let mut received = world.services.listen("records", MomentKind::Received).unwrap();
    let ask = TestRequest::get("/records/a");
    let (seen, ()) = tokio::join!(world.send("records", &ask), async { drop(received.recv().await) });
    assert_eq!((seen.status(), world.fired()), (Some(200), vec![1]));
    assert!(lapsed(world.ledger()).is_empty(), "it was never acceptable as things stand, so nothing lapsed");
}

#[tokio::test]
async fn a_read_that_no_stale_read_strikes_is_refused_and_uses_no_other_fault_up() {
    let world =
        TestServices::with(&["records.get reply=drop", "records.get#2 reply={stale: {reads: 9}}"]).await;
    world.send("records", &put("a", 1)).await;
    world.send("records", &TestRequest::delete("/records/a")).await;
    assert_eq!(world.send("records", &TestRequest::get("/records/a")).await.status(), Some(404));
    assert_eq!((world.fired(), received(world.ledger()).len()), (vec![0, 0], 2));
    world.send("records", &put("a", 2)).await;
    assert_eq!(
        world.send("records", &TestRequest::get("/records/a")).await.status(),
        None,
        "the first attempt that is accepted"
    );
    assert_eq!(world.fired(), [1, 0]);
}

#[tokio::test]
async fn writes_and_keys_are_always_fresh() {
    let world = TestServices::with(&[
        "payment.list#every reply={stale: {reads: 9}}",
        "payment.get#every reply={stale: {reads: 9}}",
    ])
    .await;
    let id = world.send("payment", &charge("o1").key("k1")).await.at("/id");
    assert_eq!(listed(&world).await, 0);
    let again = world.send("payment", &charge("o1").key("k1")).await;
    assert_eq!((again.at("/id"), again.header("idempotent-replayed").as_deref()), (id.clone(), Some("true")));
    let refund = TestRequest::form("/v1/refunds", &format!("charge={id}"));
    assert_eq!(world.send("payment", &refund).await.status(), Some(200));
    assert_eq!(world.send("payment", &refund).await.status(), Some(400), "it knows that it was refunded");
    assert_eq!(
        world.send("payment", &TestRequest::get(format!("/v1/charges/{id}"))).await.status(),
        Some(404)
    );
}

#[tokio::test]
async fn what_was_there_from_the_start_is_never_too_new() {
    let options =
        RecordsOptions { initial: vec![("stock".to_owned(), json!(7))], ..RecordsOptions::default() };
    let builder = MockServices::builder().service(Records::new(options), ServiceOptions::default());
    let world = TestServices::start(builder, &["records.get#every reply={stale: {reads: 1}}"]).await.unwrap();
    world.send("records", &put("stock", 8)).await;
    let value =
        async || world.send("records", &TestRequest::get("/records/stock")).await.json()["value"].clone();
    assert_eq!((value().await, value().await), (json!(7), json!(8)));
}

#[tokio::test]
async fn what_is_in_flight_is_seen_by_no_read_and_a_late_commit_is_new_when_it_happens() {
    let world = TestServices::with(&[
        "payment.charge commit={later: {requests: 1}}",
        "payment.list#2 reply={stale: {reads: 1}}",
    ])
    .await;
    world.send("payment", &charge("o1")).await;
    assert_eq!(listed(&world).await, 0, "not done yet");
    assert_eq!(listed(&world).await, 0, "done, and too new for this read");
    assert_eq!(listed(&world).await, 1);
}
