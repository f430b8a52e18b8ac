//! The moments at which a service is paused.

use mock_services::deploy::{Deploy, DeployOptions, EnvironmentOptions, LockEnd};
use mock_services::ledger::Event;
use mock_services::service::After;
use mock_services::{MockServices, MomentKind, QueuedEnd, ServiceOptions};

use crate::kit::ledger::{events, lapsed};
use crate::kit::request::TestRequest;
use crate::kit::services::TestServices;
use crate::kit::within_timeout;
use crate::kit::write::{charge, put};

#[tokio::test]
async fn received_is_before_the_commit_and_committed_before_the_reply() {
    for (kind, committed) in
        [(MomentKind::Received, 0), (MomentKind::Committed, 1), (MomentKind::BeforeReply, 1)]
    {
        let services = TestServices::with(&[]).await;
        let mut listener = services.mock.listen("payment", kind).unwrap();
        let (request, other) = (charge("o1"), TestRequest::get("/v1/balance"));
        let (asked, also) =
            (services.send_as(1, "payment", &request), services.send_as(2, "payment", &other));
        let checks = async {
            let held = listener.recv().await.unwrap();
            assert_eq!(
                (held.moment.operation.as_str(), held.moment.attempt, held.moment.caller),
                ("payment.charge", 1, 1)
            );
            let have = events(services.ledger());
            let is = |like: fn(&Event) -> bool| have.iter().filter(|event| like(event)).count();
            assert_eq!(is(|event| matches!(event, Event::Committed { .. })), committed, "{kind:?}");
            assert_eq!(is(|event| matches!(event, Event::Replied { .. })), 0, "{kind:?}");
            drop(held);
            drop(listener);
        };
        let (seen, ()) = tokio::join!(asked, checks);
        assert_eq!(seen.status(), Some(200));
        assert_eq!(also.await.status(), Some(200));
    }
}

#[tokio::test]
async fn a_request_that_has_arrived_is_held_alone_and_decided_after_the_others() {
    let services = TestServices::with(&[]).await;
    let mut listener = services.mock.listen("payment", MomentKind::Arrived).unwrap();
    let request = charge("o1").header("Idempotency-Key", "k");
    let late = services.send_as(1, "payment", &request);
    let checks = async {
        let held = listener.recv().await.unwrap();
        let moment = &held.moment;
        assert_eq!(
            (moment.operation.as_str(), moment.attempt, moment.caller, moment.share.is_full()),
            ("payment.charge", 0, 1, true)
        );
        assert!(events(services.ledger()).iter().all(|event| !matches!(event, Event::Received(_))));
        let refused = services.send_as(2, "payment", &TestRequest::form("/v1/charges", "amount=x")).await;
        assert_eq!(refused.status(), Some(400), "what the service refuses is not held");
        let other = async {
            drop(listener.recv().await.unwrap());
        };
        let (seen, ()) = tokio::join!(services.send_as(2, "payment", &request), other);
        assert_eq!(seen.status(), Some(200), "the service goes on meanwhile");
        drop(held);
    };
    let (seen, ()) = tokio::join!(late, checks);
    assert_eq!(seen.status(), Some(200));
    let have = events(services.ledger());
    assert_eq!(have.iter().filter(|event| matches!(event, Event::Committed { .. })).count(), 1);
    let replays = have.iter().filter_map(|event| match event {
        Event::Received(received) => Some((received.caller, received.replay)),
        _ => None,
    });
    assert_eq!(replays.collect::<Vec<_>>(), [(2, false), (1, true)]);
}

#[tokio::test]
async fn a_late_commit_is_a_moment_of_its_attempt_unless_it_lapses() {
    let services = TestServices::with(&["payment.refund commit={later: {requests: 2}}"]).await;
    let id = services.send("payment", &charge("o1")).await.at("/id");
    let refund = TestRequest::form("/v1/refunds", &format!("charge={id}"));
    services.send("payment", &refund).await;
    services.send("payment", &refund).await;
    let mut listener = services.mock.listen("payment", MomentKind::Committed).unwrap();
    let read = TestRequest::get("/v1/refunds");
    let seen = within_timeout(services.send("payment", &read)).await;
    assert_eq!((seen.status(), lapsed(services.ledger()).len()), (Some(200), 1));
    assert!(listener.try_recv().is_err(), "nothing was committed");
}

#[tokio::test]
async fn a_scheduled_change_is_a_moment_of_no_attempt() {
    let locked = EnvironmentOptions {
        name: "production".to_owned(),
        version: None,
        locked_by: Some(("ann".to_owned(), LockEnd::After(After::Requests(1)))),
    };
    let deploy = Deploy::new(DeployOptions { environments: vec![locked], ..DeployOptions::default() });
    let builder = MockServices::builder().service(deploy, ServiceOptions::default());
    let services = TestServices::start(builder, &[]).await.unwrap();
    let mut listener = services.mock.listen("deploy", MomentKind::Committed).unwrap();
    let read = TestRequest::get("/environments/production");
    let seen = within_timeout(services.send("deploy", &read)).await;
    assert_eq!(seen.at("/lock/holder"), "ann");
    assert!(listener.try_recv().is_err(), "nothing was deployed");
    assert_eq!(services.send("deploy", &read).await.json()["lock"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_reset_waits_until_a_held_moment_is_released() {
    let services = TestServices::with(&["payment.charge commit={later: 1ms} reply=drop"]).await;
    let mut listener = services.mock.listen("payment", MomentKind::Committed).unwrap();
    services.send("payment", &charge("o1")).await;
    let held = listener.recv().await.unwrap();
    let mut reset = Box::pin(services.mock.reset("again"));
    tokio::select! {
        biased;
        () = &mut reset => panic!("the service is paused"),
        () = std::future::ready(()) => {}
    }
    drop(held);
    drop(listener);
    within_timeout(reset).await;
    assert_eq!(services.send("payment", &charge("o2")).await.status(), None, "the fault counts from 1 again");
}

#[tokio::test]
async fn a_request_during_a_waiting_reset_is_in_the_new_ledger() {
    let services = TestServices::with(&[]).await;
    let mut listener = services.mock.listen("records", MomentKind::Received).unwrap();
    let request = put("a", 1);
    let mut held = Box::pin(services.send("records", &request));
    let moment = tokio::select! {
        moment = listener.recv() => moment.unwrap(),
        _ = &mut held => panic!("the service is paused"),
    };
    let mut reset = Box::pin(services.mock.reset("again"));
    let order = charge("o1");
    let mut sent = Box::pin(services.send("payment", &order));
    // Time for a response, if there were one. The reset has not reached the tickets service yet, so it
    // still responds.
    let meanwhile = async {
        for _ in 0..20 {
            services.send("tickets", &TestRequest::get("/tickets")).await;
        }
    };
    tokio::select! {
        biased;
        () = &mut reset => panic!("one of the services is paused"),
        _ = &mut sent => panic!("the service is reset, but the ledger is not"),
        () = meanwhile => {}
    }
    drop((moment, listener));
    let ((), seen, _) = within_timeout(async { tokio::join!(reset, sent, held) }).await;
    assert_eq!((seen.status(), services.count()), (Some(200), 1), "{:?}", services.ledger().entries());
    assert_eq!(
        services.send("payment", &TestRequest::get("/v1/charges")).await.json()["data"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_queued_read_is_held_even_if_the_service_would_refuse_it_and_a_refused_write_is_not() {
    let services = TestServices::with(&[]).await;
    let mut listener = services.mock.listen("records", MomentKind::Queued).unwrap();
    let stale = put("a", 2).header("If-Match", "\"7\"");
    assert_eq!(services.send_as(2, "records", &stale).await.status(), Some(412), "it is not held");
    assert!(listener.try_recv().is_err());
    let (read, write) = (TestRequest::get("/records/a"), put("a", 1));
    let early = services.send_as(1, "records", &read);
    let checks = async {
        let held = listener.recv().await.unwrap();
        assert_eq!((held.moment.operation.as_str(), held.moment.attempt), ("records.get", 0));
        let let_in = async { listener.recv().await.unwrap().release().await };
        let (written, end) = tokio::join!(services.send_as(2, "records", &write), let_in);
        assert_eq!((written.status(), end), (Some(201), Some(QueuedEnd::Answered)));
        held.release().await
    };
    let (seen, end) = tokio::join!(early, checks);
    assert_eq!(
        (seen.status(), end),
        (Some(200), Some(QueuedEnd::Answered)),
        "it is decided when it is let in"
    );
}

#[tokio::test]
async fn the_end_of_a_queued_request_is_known_whatever_becomes_of_it() {
    let services = TestServices::with(&[]).await;
    let mut listener = services.mock.listen("records", MomentKind::Queued).unwrap();
    let create = put("a", 1).header("If-None-Match", "*");
    let (one, two) = (services.send_as(1, "records", &create), services.send_as(2, "records", &create));
    let ends = async {
        let (first, second) = (listener.recv().await.unwrap(), listener.recv().await.unwrap());
        (first.release().await, second.release().await)
    };
    let (one, two, ends) = tokio::join!(one, two, ends);
    let mut statuses = [one.status(), two.status()];
    statuses.sort_unstable();
    assert_eq!(statuses, [Some(201), Some(412)]);
    assert_eq!(
        ends,
        (Some(QueuedEnd::Answered), Some(QueuedEnd::Answered)),
        "the refused one has an end, too"
    );

    let read = TestRequest::get("/records/a");
    let mut left = Box::pin(services.send_as(1, "records", &read));
    let held = tokio::select! {
        held = listener.recv() => held.unwrap(),
        _ = &mut left => panic!("the request is held"),
    };
    drop(left);
    assert_eq!(within_timeout(held.release()).await, Some(QueuedEnd::GivenUp));
}
