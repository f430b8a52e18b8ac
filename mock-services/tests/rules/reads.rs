//! Stale reads.

use mock_services::fault::ReplyKind;
use mock_services::ledger::Event;
use mock_services::records::{Records, RecordsOptions};
use mock_services::{MockServices, MomentKind, ServiceOptions};
use serde_json::json;

use crate::kit::ledger::{lapsed, received, refused, wait_for};
use crate::kit::request::TestRequest;
use crate::kit::services::TestServices;
use crate::kit::write::{WriteCase, charge, put};

async fn listed(services: &TestServices) -> usize {
    services.send("payment", &TestRequest::get("/v1/charges")).await.json()["data"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_change_is_visible_after_the_number_of_stale_reads() {
    let services = TestServices::with(&["payment.list#every reply={stale: {reads: 2}}"]).await;
    services.send("payment", &charge("o1")).await;
    assert_eq!((listed(&services).await, listed(&services).await), (0, 0));
    services.send("payment", &charge("o2")).await;
    assert_eq!((listed(&services).await, listed(&services).await), (1, 1));
    assert_eq!(listed(&services).await, 2);
}

#[tokio::test]
async fn only_the_faulted_read_is_stale() {
    let services = TestServices::with(&["payment.list#1 reply={stale: {reads: 1}}"]).await;
    services.send("payment", &charge("o1")).await;
    assert_eq!((listed(&services).await, listed(&services).await), (0, 1));
    assert_eq!(services.fired(), [1]);
}

#[tokio::test]
async fn a_change_is_visible_after_the_stale_time() {
    let services = TestServices::with(&["payment.list#every reply={stale: 10m}"]).await;
    services.send("payment", &charge("o1")).await;
    assert_eq!((listed(&services).await, listed(&services).await), (0, 0));

    let services = TestServices::with(&["payment.list#every reply={stale: 20ms}"]).await;
    services.send("payment", &charge("o1")).await;
    let seen = async { while listed(&services).await == 0 {} };
    crate::kit::within_timeout(seen).await;
    let entries = services.ledger().entries();
    let at = |like: fn(&Event) -> bool| entries.iter().rev().find(|entry| like(&entry.event)).unwrap().at;
    let committed = at(|event| matches!(event, Event::Committed { .. }));
    let shown = at(|event| matches!(event, Event::Replied { .. }));
    assert!(shown - committed >= 20_000, "{committed} {shown}");
}

#[tokio::test]
async fn a_stale_read_of_a_new_object_is_an_attempt_that_finds_nothing() {
    let services = TestServices::with(&["payment.get reply={stale: {reads: 1}}"]).await;
    let id = services.send("payment", &charge("o1")).await.at("/id");
    let path = format!("/v1/charges/{id}");
    assert_eq!(services.send("payment", &TestRequest::get(path.as_str())).await.status(), Some(404));
    assert_eq!(services.fired(), [1]);
    assert_eq!(received(services.ledger()).len(), 2);
    assert!(refused(services.ledger()).is_empty());
    let replied =
        wait_for(services.ledger(), |event| matches!(event, Event::Replied { attempt: 2, .. })).await;
    assert!(matches!(replied, Event::Replied { status: Some(404), reply: ReplyKind::Stale, .. }));
    assert_eq!(services.send("payment", &TestRequest::get(path.as_str())).await.status(), Some(200));
}

#[tokio::test]
async fn a_read_of_an_unknown_object_uses_up_no_stale_read() {
    let services = TestServices::with(&["payment.get reply={stale: {reads: 1}}"]).await;
    assert_eq!(services.send("payment", &TestRequest::get("/v1/charges/ch_none")).await.status(), Some(404));
    assert_eq!((services.fired(), refused(services.ledger())), (vec![0], vec![404]));
}

#[tokio::test]
async fn a_stale_read_still_shows_a_deleted_object() {
    let services = TestServices::with(&[]).await;
    let statuses = async |count: usize, path: &str, service: &str| {
        let mut all = Vec::new();
        for _ in 0..count {
            all.extend(services.send(service, &TestRequest::get(path)).await.status());
        }
        all
    };
    services.send("records", &put("a", 1)).await;
    assert_eq!(statuses(2, "/records/a", "records").await, [200, 200]);
    services.send("records", &TestRequest::delete("/records/a")).await;
    services.arm("records.get#every reply={stale: {reads: 2}}");
    assert_eq!(statuses(4, "/records/a", "records").await, [200, 200, 404, 404]);
    assert_eq!((services.fired(), refused(services.ledger()).len()), (vec![2], 2));
    assert!(lapsed(services.ledger()).is_empty());

    let id =
        services.send("deploy", &WriteCase::Github.request(&services, 1).await).await.json()["id"].clone();
    let path = format!("/repos/acme/shop/deployments/{id}");
    assert_eq!(statuses(1, &path, "deploy").await, [200]);
    assert_eq!(services.send("deploy", &TestRequest::delete(path.as_str())).await.status(), Some(204));
    services.arm("deploy.get#every reply={stale: {reads: 1}}");
    assert_eq!(statuses(2, &path, "deploy").await, [200, 404]);
}

#[tokio::test]
async fn a_held_stale_read_shows_an_object_deleted_meanwhile() {
    let services = TestServices::with(&["records.get reply={stale: {reads: 1}}"]).await;
    services.send("records", &put("a", 1)).await;
    services.send("records", &TestRequest::get("/records")).await;
    services.send("records", &TestRequest::delete("/records/a")).await;
    let mut received = services.mock.listen("records", MomentKind::Received).unwrap();
    let request = TestRequest::get("/records/a");
    let (seen, ()) = tokio::join!(services.send("records", &request), async { drop(received.recv().await) });
    assert_eq!((seen.status(), services.fired()), (Some(200), vec![1]));
    assert!(lapsed(services.ledger()).is_empty(), "it was never accepted, so nothing lapsed");
}

#[tokio::test]
async fn a_refused_read_without_a_stale_fault_uses_up_no_fault() {
    let services =
        TestServices::with(&["records.get reply=drop", "records.get#2 reply={stale: {reads: 9}}"]).await;
    services.send("records", &put("a", 1)).await;
    services.send("records", &TestRequest::delete("/records/a")).await;
    assert_eq!(services.send("records", &TestRequest::get("/records/a")).await.status(), Some(404));
    assert_eq!((services.fired(), received(services.ledger()).len()), (vec![0, 0], 2));
    services.send("records", &put("a", 2)).await;
    assert_eq!(
        services.send("records", &TestRequest::get("/records/a")).await.status(),
        None,
        "the first attempt that is accepted"
    );
    assert_eq!(services.fired(), [1, 0]);
}

#[tokio::test]
async fn writes_and_keys_are_never_stale() {
    let services = TestServices::with(&[
        "payment.list#every reply={stale: {reads: 9}}",
        "payment.get#every reply={stale: {reads: 9}}",
    ])
    .await;
    let id = services.send("payment", &charge("o1").key("k1")).await.at("/id");
    assert_eq!(listed(&services).await, 0);
    let again = services.send("payment", &charge("o1").key("k1")).await;
    assert_eq!((again.at("/id"), again.header("idempotent-replayed").as_deref()), (id.clone(), Some("true")));
    let refund = TestRequest::form("/v1/refunds", &format!("charge={id}"));
    assert_eq!(services.send("payment", &refund).await.status(), Some(200));
    assert_eq!(services.send("payment", &refund).await.status(), Some(400), "it knows that it was refunded");
    assert_eq!(
        services.send("payment", &TestRequest::get(format!("/v1/charges/{id}"))).await.status(),
        Some(404)
    );
}

#[tokio::test]
async fn the_initial_state_is_never_hidden_by_stale_reads() {
    let options =
        RecordsOptions { initial: vec![("stock".to_owned(), json!(7))], ..RecordsOptions::default() };
    let builder = MockServices::builder().service(Records::new(options), ServiceOptions::default());
    let services =
        TestServices::start(builder, &["records.get#every reply={stale: {reads: 1}}"]).await.unwrap();
    services.send("records", &put("stock", 8)).await;
    let value =
        async || services.send("records", &TestRequest::get("/records/stock")).await.json()["value"].clone();
    assert_eq!((value().await, value().await), (json!(7), json!(8)));
}

#[tokio::test]
async fn a_late_commit_is_new_to_stale_reads_when_it_happens() {
    let services = TestServices::with(&[
        "payment.charge commit={later: {requests: 1}}",
        "payment.list#2 reply={stale: {reads: 1}}",
    ])
    .await;
    services.send("payment", &charge("o1")).await;
    assert_eq!(listed(&services).await, 0, "not done yet");
    assert_eq!(listed(&services).await, 0, "done, and too new for this read");
    assert_eq!(listed(&services).await, 1);
}

#[tokio::test]
async fn a_read_can_be_answered_about_another_object_and_the_next_one_is_true() {
    let services = TestServices::with(&["web.get#1 reply={other: {order: ord_9}}"]).await;
    let listed = TestRequest::get("/v1/orders");
    // Nothing is there that could be of another object: the fault waits.
    services.send("web", &listed).await;
    let order = TestRequest::json("POST", "/v1/orders", &json!({ "order": "ord_1", "units": "three" }));
    services.send("web", &order).await;
    let wrong = services.send("web", &listed).await;
    assert_eq!((wrong.at("/data/0/order").as_str(), wrong.at("/data/0/units").as_str()), ("ord_9", "three"));
    let right = services.send("web", &listed).await;
    assert_eq!(right.at("/data/0/order"), "ord_1");
    assert_eq!(services.count(), 1);
}
