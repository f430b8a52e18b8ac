//! Several callers, and many at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use mock_services::payment::Payment;
use mock_services::{MockServices, ServiceOptions};

use crate::kit::ledger::received;
use crate::kit::request::TestRequest;
use crate::kit::services::TestServices;
use crate::kit::write::{WriteCase, charge};

#[tokio::test]
async fn each_port_is_a_caller_and_all_share_one_state() {
    let services = TestServices::with(&[]).await;
    for caller in 1..=3 {
        services.send_as(caller, "payment", &charge("o1")).await;
    }
    assert_eq!(received(services.ledger()).iter().map(|it| it.caller).collect::<Vec<_>>(), [1, 2, 3]);
    let listed = services.send_as(2, "payment", &TestRequest::get("/v1/charges")).await.json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 3);
    let ports: BTreeSet<_> =
        (1..=3).map(|caller| services.mock.address("payment", caller).unwrap().port()).collect();
    assert_eq!(ports.len(), 3);
    assert_eq!(services.mock.address("payment", 4), None);
}

#[tokio::test]
async fn ids_depend_only_on_the_seed_the_caller_and_its_request_number() {
    for op in [WriteCase::Charge, WriteCase::Resend, WriteCase::Github, WriteCase::OpenTicket] {
        let facts = op.facts();
        let id = async |seed: u64, caller: u32, others: u32| {
            let services = TestServices::start(crate::kit::services::all_services(seed), &[]).await.unwrap();
            for _ in 0..others {
                let other = if caller == 1 { 2 } else { 1 };
                let request = op.request(&services, other).await;
                services.send_as(other, facts.service, &request).await;
            }
            let request = op.request(&services, caller).await;
            services.send_as(caller, facts.service, &request).await.json()["id"].to_string()
        };
        assert_eq!(id(1, 1, 0).await, id(1, 1, 3).await, "{op:?}: the requests of others change nothing");
        let different = [id(1, 1, 0).await, id(1, 2, 0).await, id(2, 1, 0).await];
        assert_eq!(different.iter().collect::<BTreeSet<_>>().len(), 3, "{op:?}: {different:?}");
    }
}

/// A payment service with 64 callers.
async fn services_with_64_callers(faults: &[&str]) -> Arc<TestServices> {
    let builder = MockServices::builder().callers(64).service(Payment::default(), ServiceOptions::default());
    Arc::new(TestServices::start(builder, faults).await.unwrap())
}

/// All callers send a request at once; returns the statuses they receive, 0 for none.
async fn all_at_once(services: &Arc<TestServices>, request: impl Fn(u32) -> TestRequest) -> Vec<u16> {
    let mut tasks = Vec::new();
    for caller in 1..=64 {
        let (services, request) = (Arc::clone(services), request(caller));
        tasks.push(tokio::spawn(async move {
            services.send_as(caller, "payment", &request).await.status().unwrap_or_default()
        }));
    }
    let mut statuses = Vec::new();
    for task in tasks {
        statuses.push(task.await.unwrap());
    }
    statuses
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn with_64_callers_at_once_only_the_first_attempt_is_faulted() {
    let services = services_with_64_callers(&["payment.charge#1 commit=never reply=drop"]).await;
    let statuses = all_at_once(&services, |caller| charge(&format!("o{caller}"))).await;
    assert_eq!(statuses.iter().filter(|status| **status == 0).count(), 1);
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 63);
    assert_eq!((services.fired(), services.count()), (vec![1], 63));
    assert_eq!(services.mock.fired()[0].seen, 64);
    assert_eq!(services.mock.fired()[0].attempts, [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn with_64_callers_and_one_key_one_is_charged_and_all_get_the_same_response() {
    let services = services_with_64_callers(&[]).await;
    let statuses = all_at_once(&services, |_| charge("o1").key("k1")).await;
    assert!(statuses.iter().all(|status| *status == 200));
    assert_eq!(services.count(), 1);
    let replays = received(services.ledger()).iter().filter(|it| it.replay).count();
    assert_eq!((received(services.ledger()).len(), replays), (64, 63));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn with_64_callers_and_one_key_in_progress_one_is_charged_and_the_others_conflict() {
    let services = services_with_64_callers(&["payment.charge commit=later reply=drop"]).await;
    let statuses = all_at_once(&services, |_| charge("o1").key("k1")).await;
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 63);
    assert_eq!(services.count(), 0);
    services.settle().await;
    assert_eq!(services.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_of_64_late_commits_happens_once() {
    let services = services_with_64_callers(&["payment.charge#every commit={later: 1ms} reply=drop"]).await;
    all_at_once(&services, |caller| charge(&format!("o{caller}"))).await;
    services.wait_for_effects(64).await;
    services.settle().await;
    let orders: BTreeSet<String> = services.effects().iter().map(|effect| effect.field("order")).collect();
    assert_eq!((services.count(), orders.len()), (64, 64));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn attempts_of_all_callers_are_numbered_without_gaps() {
    let services = services_with_64_callers(&[]).await;
    all_at_once(
        &services,
        |caller| if caller % 2 == 0 { charge("o1") } else { TestRequest::get("/v1/charges") },
    )
    .await;
    let attempts: Vec<u64> = received(services.ledger()).iter().map(|it| it.attempt).collect();
    assert_eq!(attempts, (1..=64).collect::<Vec<_>>());
}
