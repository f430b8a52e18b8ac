//! The moments at which a service stands still.

use std::time::Duration;

use mock_services::deploy::{Deploy, DeployOptions, EnvironmentOptions, LockEnd};
use mock_services::ledger::Event;
use mock_services::service::After;
use mock_services::{MockServices, MomentKind, ServiceOptions};

use crate::kit::ledger::{events, lapsed};
use crate::kit::request::TestRequest;
use crate::kit::services::TestServices;
use crate::kit::write::{charge, put};

/// Longer than anything here takes; only a failure waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn received_is_before_the_commit_and_committed_before_the_reply() {
    for (kind, committed) in
        [(MomentKind::Received, 0), (MomentKind::Committed, 1), (MomentKind::BeforeReply, 1)]
    {
        let world = TestServices::with(&[]).await;
        let mut listener = world.services.listen("payment", kind).unwrap();
        let (ask, other) = (charge("o1"), TestRequest::get("/v1/balance"));
        let (asked, also) = (world.send_as(1, "payment", &ask), world.send_as(2, "payment", &other));
        let struck = async {
            let held = listener.recv().await.unwrap();
            assert_eq!(
                (held.moment.operation.as_str(), held.moment.attempt, held.moment.caller),
                ("payment.charge", 1, 1)
            );
            let have = events(world.ledger());
            let is = |like: fn(&Event<'_>) -> bool| have.iter().filter(|event| like(event)).count();
            assert_eq!(is(|event| matches!(event, Event::Committed { .. })), committed, "{kind:?}");
            assert_eq!(is(|event| matches!(event, Event::Replied { .. })), 0, "{kind:?}");
            drop(held);
            drop(listener);
        };
        let (seen, ()) = tokio::join!(asked, struck);
        assert_eq!(seen.status(), Some(200));
        assert_eq!(also.await.status(), Some(200));
    }
}

#[tokio::test]
async fn a_late_commit_is_a_moment_of_its_attempt_and_one_that_lapses_is_none() {
    let world = TestServices::with(&["payment.refund commit={later: {requests: 2}}"]).await;
    let id = world.send("payment", &charge("o1")).await.at("/id");
    let refund = TestRequest::form("/v1/refunds", &format!("charge={id}"));
    world.send("payment", &refund).await;
    world.send("payment", &refund).await;
    let mut listener = world.services.listen("payment", MomentKind::Committed).unwrap();
    let read = TestRequest::get("/v1/refunds");
    let seen = tokio::time::timeout(PATIENCE, world.send("payment", &read)).await.unwrap();
    assert_eq!((seen.status(), lapsed(world.ledger()).len()), (Some(200), 1));
    assert!(listener.try_recv().is_err(), "nothing was committed");
}

#[tokio::test]
async fn what_the_world_does_by_itself_is_a_moment_of_no_attempt() {
    let locked = EnvironmentOptions {
        name: "production".to_owned(),
        version: None,
        locked_by: Some(("ann".to_owned(), LockEnd::After(After::Requests(1)))),
    };
    let deploy = Deploy::new(DeployOptions { environments: vec![locked], ..DeployOptions::default() });
    let builder = MockServices::builder().service(deploy, ServiceOptions::default());
    let world = TestServices::start(builder, &[]).await.unwrap();
    let mut listener = world.services.listen("deploy", MomentKind::Committed).unwrap();
    let read = TestRequest::get("/environments/production");
    let seen = tokio::time::timeout(PATIENCE, world.send("deploy", &read)).await.unwrap();
    assert_eq!(seen.at("/lock/holder"), "ann");
    assert!(listener.try_recv().is_err(), "nobody deployed anything");
    assert_eq!(world.send("deploy", &read).await.json()["lock"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_reset_waits_for_the_moment_to_pass_and_then_goes_on() {
    let world = TestServices::with(&["payment.charge commit={later: 1ms} reply=drop"]).await;
    let mut listener = world.services.listen("payment", MomentKind::Committed).unwrap();
    world.send("payment", &charge("o1")).await;
    let held = listener.recv().await.unwrap();
    let mut reset = Box::pin(world.services.reset("again"));
    tokio::select! {
        biased;
        () = &mut reset => panic!("the service stands still"),
        () = std::future::ready(()) => {}
    }
    drop(held);
    drop(listener);
    tokio::time::timeout(PATIENCE, reset).await.unwrap();
    assert_eq!(
        world.send("payment", &charge("o2")).await.status(),
        None,
        "the fault counts from the beginning"
    );
}

#[tokio::test]
async fn what_comes_while_a_reset_waits_is_in_the_new_state_and_in_the_new_ledger() {
    let world = TestServices::with(&[]).await;
    let mut listener = world.services.listen("records", MomentKind::Received).unwrap();
    let ask = put("a", 1);
    let mut held = Box::pin(world.send("records", &ask));
    let moment = tokio::select! {
        moment = listener.recv() => moment.unwrap(),
        _ = &mut held => panic!("the service stands still"),
    };
    let mut reset = Box::pin(world.services.reset("again"));
    let order = charge("o1");
    let mut sent = Box::pin(world.send("payment", &order));
    // Time enough for an answer, were there one: the reset has not come to this service yet, so it goes on.
    let meanwhile = async {
        for _ in 0..20 {
            world.send("tickets", &TestRequest::get("/tickets")).await;
        }
    };
    tokio::select! {
        biased;
        () = &mut reset => panic!("one of the services stands still"),
        _ = &mut sent => panic!("the service has forgotten, and the ledger has not"),
        () = meanwhile => {}
    }
    drop((moment, listener));
    let ((), seen, _) =
        tokio::time::timeout(PATIENCE, async { tokio::join!(reset, sent, held) }).await.unwrap();
    assert_eq!((seen.status(), world.count()), (Some(200), 1), "{:?}", world.ledger().entries());
    assert_eq!(
        world.send("payment", &TestRequest::get("/v1/charges")).await.json()["data"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}
