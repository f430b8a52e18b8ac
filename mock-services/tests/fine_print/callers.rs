//! Who calls, and many at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use mock_services::payment::Payment;
use mock_services::{MockServices, ServiceOptions};

use crate::kit::ledger::received;
use crate::kit::request::TestRequest;
use crate::kit::services::TestServices;
use crate::kit::write::{Write, charge};

#[tokio::test]
async fn the_port_is_the_caller_over_one_state() {
    let world = TestServices::with(&[]).await;
    for caller in 1..=3 {
        world.send_as(caller, "payment", &charge("o1")).await;
    }
    assert_eq!(received(world.ledger()).iter().map(|it| it.caller).collect::<Vec<_>>(), [1, 2, 3]);
    let listed = world.send_as(2, "payment", &TestRequest::get("/v1/charges")).await.json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 3);
    let ports: BTreeSet<_> =
        (1..=3).map(|caller| world.services.address("payment", caller).unwrap().port()).collect();
    assert_eq!(ports.len(), 3);
    assert_eq!(world.services.address("payment", 4), None);
}

#[tokio::test]
async fn ids_come_from_the_seed_the_caller_and_the_number_of_its_request_alone() {
    for op in [Write::Charge, Write::Resend, Write::Github, Write::OpenTicket] {
        let facts = op.facts();
        let id = async |seed: u64, caller: u32, others: u32| {
            let world = TestServices::start(crate::kit::services::everything(seed), &[]).await.unwrap();
            for _ in 0..others {
                let other = if caller == 1 { 2 } else { 1 };
                let ask = op.request(&world, other).await;
                world.send_as(other, facts.service, &ask).await;
            }
            let ask = op.request(&world, caller).await;
            world.send_as(caller, facts.service, &ask).await.json()["id"].to_string()
        };
        assert_eq!(id(1, 1, 0).await, id(1, 1, 3).await, "{op:?}: what others do changes nothing");
        let different = [id(1, 1, 0).await, id(1, 2, 0).await, id(2, 1, 0).await];
        assert_eq!(different.iter().collect::<BTreeSet<_>>().len(), 3, "{op:?}: {different:?}");
    }
}

/// A payment service with 64 callers.
async fn crowd(faults: &[&str]) -> Arc<TestServices> {
    let builder = MockServices::builder().callers(64).service(Payment::default(), ServiceOptions::default());
    Arc::new(TestServices::start(builder, faults).await.unwrap())
}

/// All callers ask at once; the statuses that they see, 0 for none.
async fn all_at_once(world: &Arc<TestServices>, ask: impl Fn(u32) -> TestRequest) -> Vec<u16> {
    let mut tasks = Vec::new();
    for caller in 1..=64 {
        let (world, ask) = (Arc::clone(world), ask(caller));
        tasks.push(tokio::spawn(async move {
            world.send_as(caller, "payment", &ask).await.status().unwrap_or_default()
        }));
    }
    let mut statuses = Vec::new();
    for task in tasks {
        statuses.push(task.await.unwrap());
    }
    statuses
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_64_callers_at_once_the_first_attempt_is_struck_and_no_other() {
    let world = crowd(&["payment.charge#1 commit=never reply=drop"]).await;
    let statuses = all_at_once(&world, |caller| charge(&format!("o{caller}"))).await;
    assert_eq!(statuses.iter().filter(|status| **status == 0).count(), 1);
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 63);
    assert_eq!((world.fired(), world.count()), (vec![1], 63));
    assert_eq!(world.services.fired()[0].seen, 64);
    assert_eq!(world.services.fired()[0].attempts, [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_64_callers_with_one_key_one_is_charged_and_all_are_told_the_same() {
    let world = crowd(&[]).await;
    let statuses = all_at_once(&world, |_| charge("o1").key("k1")).await;
    assert!(statuses.iter().all(|status| *status == 200));
    assert_eq!(world.count(), 1);
    let replays = received(world.ledger()).iter().filter(|it| it.replay).count();
    assert_eq!((received(world.ledger()).len(), replays), (64, 63));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_64_callers_with_one_key_in_flight_one_is_charged_and_the_others_conflict() {
    let world = crowd(&["payment.charge commit=later reply=drop"]).await;
    let statuses = all_at_once(&world, |_| charge("o1").key("k1")).await;
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 63);
    assert_eq!(world.count(), 0);
    world.settle().await;
    assert_eq!(world.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_64_late_commits_each_happens_once() {
    let world = crowd(&["payment.charge#every commit={later: 1ms} reply=drop"]).await;
    all_at_once(&world, |caller| charge(&format!("o{caller}"))).await;
    world.until_effects(64).await;
    world.settle().await;
    let orders: BTreeSet<String> = world.effects().iter().map(|effect| effect.field("order")).collect();
    assert_eq!((world.count(), orders.len()), (64, 64));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn attempts_are_numbered_without_gaps_whoever_makes_them() {
    let world = crowd(&[]).await;
    all_at_once(
        &world,
        |caller| if caller % 2 == 0 { charge("o1") } else { TestRequest::get("/v1/charges") },
    )
    .await;
    let attempts: Vec<u64> = received(world.ledger()).iter().map(|it| it.attempt).collect();
    assert_eq!(attempts, (1..=64).collect::<Vec<_>>());
}
