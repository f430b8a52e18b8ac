//! Moments at which the whole service is paused, and commits after the client has left.

use mock_services::fault::ReplyContent;
use mock_services::ledger::{ClosedBy, CommitTiming, Event};
use mock_services::{Held, Listener, MockServices, MomentKind};
use tokio::io::AsyncReadExt;

use crate::kit::ledger::replied;
use crate::kit::{
    RawConnection, ReplySample, attempts, commits, connect, events, increment, put, records, replies,
    request, start, wait_for_value, within_timeout, write_replies,
};

/// Holds the first put at a moment.
async fn held_at(kind: MomentKind) -> (MockServices, RawConnection, Held) {
    let services = start(records(&[])).await;
    let mut listener = services.listen("records", kind).unwrap();
    let mut connection = connect(&services, 1).await;
    connection.send(&put(&services, "a")).await;
    let held = within_timeout(listener.recv()).await.unwrap();
    assert_eq!(
        (held.moment.kind, held.moment.operation.as_str(), held.moment.attempt),
        (kind, "records.put", 1)
    );
    (services, connection, held)
}

/// Sends a second put to the paused service. It asks for `100 Continue` and does not wait for it: the interim
/// response shows that the request was read.
async fn second_put(services: &MockServices) -> RawConnection {
    let mut connection = connect(services, 1).await;
    let put = String::from_utf8(put(services, "b")).unwrap();
    connection.send(put.replacen("\r\n", "\r\nExpect: 100-continue\r\n", 1).as_bytes()).await;
    assert_eq!(connection.answer().await.status, 100);
    connection
}

#[tokio::test]
async fn at_received_the_attempt_is_recorded_and_the_service_is_paused() {
    let (services, mut connection, held) = held_at(MomentKind::Received).await;
    let mut second = second_put(&services).await;
    assert!(second.is_silent().await && connection.is_silent().await);
    assert_eq!((attempts(&services), commits(&services), replies(&services).len()), (vec![1], vec![], 0));
    drop(held);
    assert_eq!((connection.answer().await.status, second.answer().await.status), (201, 201));
    let order: Vec<u64> = events(&services)
        .into_iter()
        .filter_map(|event| match event {
            Event::Committed { attempt: 1, .. } => Some(1),
            Event::Received(received) if received.attempt == 2 => Some(2),
            _ => None,
        })
        .collect();
    assert_eq!(order, [1, 2]);
}

#[tokio::test]
async fn at_committed_the_effect_is_recorded_and_no_byte_is_sent() {
    let (services, mut connection, held) = held_at(MomentKind::Committed).await;
    let mut second = second_put(&services).await;
    assert!(second.is_silent().await && connection.is_silent().await);
    assert_eq!((attempts(&services), commits(&services), replies(&services).len()), (vec![1], vec![1], 0));
    drop(held);
    assert_eq!((connection.answer().await.status, second.answer().await.status), (201, 201));
}

#[tokio::test]
async fn before_the_reply_everything_but_the_response_is_done() {
    let (services, mut connection, held) = held_at(MomentKind::BeforeReply).await;
    let mut second = second_put(&services).await;
    assert!(second.is_silent().await && connection.is_silent().await);
    assert_eq!((attempts(&services), commits(&services), replies(&services).len()), (vec![1], vec![1], 0));
    drop(held);
    assert_eq!((connection.answer().await.status, second.answer().await.status), (201, 201));
}

#[tokio::test]
async fn a_request_is_committed_even_if_its_client_dies_during_the_pause() {
    for kind in [MomentKind::Received, MomentKind::Committed, MomentKind::BeforeReply] {
        let (services, connection, held) = held_at(kind).await;
        drop(connection);
        // Another connection shows that the end of the first has arrived: both are read in order of arrival.
        drop(second_put(&services).await);
        drop(held);
        let recorded = replied(&services, 1).await;
        assert_eq!((recorded.bytes, recorded.whole, recorded.status), (0, false, None), "{kind:?}");
        let by =
            wait_for_value(
                &services,
                |event| if let Event::Closed { by, .. } = event { Some(*by) } else { None },
            )
            .await;
        assert_eq!(by, ClosedBy::Caller, "{kind:?}");
        assert_eq!(commits(&services)[0], 1, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_are_held_one_after_another() {
    for kind in [MomentKind::Received, MomentKind::Committed, MomentKind::BeforeReply] {
        let services = start(records(&[]).callers(16)).await;
        let mut listener = services.listen("records", kind).unwrap();
        let mut lines = Vec::new();
        for caller in 1..=16 {
            let mut connection = connect(&services, caller).await;
            connection.send(&increment(&services, "c", &[])).await;
            lines.push(connection);
        }
        for _ in 0..16 {
            let held = within_timeout(listener.recv()).await.unwrap();
            let (before, counted) = (attempts(&services).len(), commits(&services).len());
            assert!(
                listener.try_recv().is_err(),
                "{kind:?}: nobody else comes to a moment while one is held"
            );
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            assert!(listener.try_recv().is_err(), "{kind:?}");
            assert_eq!((attempts(&services).len(), commits(&services).len()), (before, counted), "{kind:?}");
            drop(held);
        }
        for connection in &mut lines {
            assert_eq!(connection.answer().await.status, 200);
        }
    }
}

/// Sends one put and holds it before the last byte of its reply; returns the number of bytes that the client
/// has already read.
async fn held_before_the_last_byte(reply: &str) -> (MockServices, RawConnection, Listener, Held, usize) {
    let services = start(records(&[&format!("records.put#1 commit=now reply={reply}")])).await;
    let mut last = services.listen("records", MomentKind::LastByte).unwrap();
    let after = services.listen("records", MomentKind::AfterReply).unwrap();
    let mut connection = connect(&services, 1).await;
    connection.send(&put(&services, "a")).await;
    let held = within_timeout(last.recv()).await.unwrap();
    assert_eq!((held.moment.kind, held.moment.attempt, held.moment.sent), (MomentKind::LastByte, 1, false));
    // The listener that held it is dropped: the next reply is not held.
    drop(last);
    // They were sent before the moment, so they have arrived.
    let mut count = 0;
    while !connection.is_silent().await {
        count += within_timeout(connection.stream.read(&mut [0; 1024])).await.unwrap();
    }
    (services, connection, after, held, count)
}

#[tokio::test]
async fn before_the_last_byte_all_others_are_sent_and_the_reply_is_not_recorded() {
    let sends_something = |sample: &ReplySample| sample.content() != ReplyContent::Nothing;
    for sample in write_replies().into_iter().filter(sends_something) {
        let reply = sample.text;
        let (services, mut connection, mut after, held, count) = held_before_the_last_byte(reply).await;
        assert_eq!(replies(&services).len(), 0, "{reply}");
        drop(held);
        let held = within_timeout(after.recv()).await.unwrap();
        assert_eq!(
            (held.moment.kind, held.moment.attempt, held.moment.sent),
            (MomentKind::AfterReply, 1, true),
            "{reply}"
        );
        // Recorded before the last byte was sent, and that byte has arrived.
        let recorded = replies(&services);
        assert_eq!(
            (recorded.len(), recorded[0].bytes, recorded[0].whole),
            (1, count as u64 + 1, sample.content() != ReplyContent::Part),
            "{reply}"
        );
        assert_eq!(within_timeout(connection.stream.read(&mut [0; 8])).await.unwrap(), 1, "{reply}");
        drop(held);
    }
}

#[tokio::test]
async fn while_the_last_byte_is_held_the_service_is_paused() {
    let (services, _line, mut after, held, _) = held_before_the_last_byte("ok").await;
    let mut second = second_put(&services).await;
    assert!(second.is_silent().await);
    assert_eq!(attempts(&services), [1]);
    drop(held);
    let held = within_timeout(after.recv()).await.unwrap();
    assert!(second.is_silent().await);
    assert_eq!(attempts(&services), [1]);
    drop(held);
    assert_eq!(second.answer().await.status, 201);
}

#[tokio::test]
async fn a_client_that_closed_before_the_last_byte_does_not_have_the_reply() {
    let (services, connection, mut after, held, count) = held_before_the_last_byte("ok").await;
    drop(connection);
    drop(held);
    let held = within_timeout(after.recv()).await.unwrap();
    assert!(!held.moment.sent);
    drop(held);
    let recorded = replied(&services, 1).await;
    assert_eq!((recorded.bytes, recorded.whole), (count as u64, false));
}

#[tokio::test]
async fn a_reply_without_bytes_has_no_last_byte_moment() {
    for reply in ["drop", "reset", "{hang: {release: 1ms}}"] {
        let services = start(records(&[&format!("records.put#1 commit=now reply={reply}")])).await;
        let mut last = services.listen("records", MomentKind::LastByte).unwrap();
        let mut connection = connect(&services, 1).await;
        connection.send(&put(&services, "a")).await;
        replied(&services, 1).await;
        assert!(last.try_recv().is_err(), "{reply}");
    }
}

/// One increment under a fault; its client has left without a response, and the service has noticed.
async fn left_behind(commit: &str) -> MockServices {
    let services =
        start(records(&[&format!("records.increment#1 commit={commit} reply={{hang: {{release: 10m}}}}")]))
            .await;
    let mut connection = connect(&services, 1).await;
    connection.send(&increment(&services, "c", &[])).await;
    wait_for_value(&services, |event| matches!(event, Event::Fault { .. }).then_some(())).await;
    drop(connection);
    wait_for_value(&services, |event| matches!(event, Event::Closed { .. }).then_some(())).await;
    services
}

async fn counter(services: &MockServices) -> String {
    let seen = connect(services, 1).await.exchange(&request(services, "GET", "/counters/c", &[], "")).await;
    String::from_utf8(seen.body).unwrap()
}

fn late(event: &Event) -> Option<u64> {
    match event {
        Event::Committed { attempt, timing: CommitTiming::Later, .. } => Some(*attempt),
        _ => None,
    }
}

#[tokio::test]
async fn a_late_commit_by_requests_happens_after_its_client_left() {
    let services = left_behind("{later: {requests: 2}}").await;
    let seen = [counter(&services).await, counter(&services).await, counter(&services).await];
    assert!(seen[0].ends_with(":0}") && seen[1].ends_with(":0}") && seen[2].ends_with(":1}"), "{seen:?}");
    assert_eq!(wait_for_value(&services, late).await, 1);
}

#[tokio::test]
async fn a_late_commit_by_time_happens_after_its_client_left() {
    let services = left_behind("{later: 30ms}").await;
    assert_eq!(wait_for_value(&services, late).await, 1);
    assert!(counter(&services).await.ends_with(":1}"));
}

#[tokio::test]
async fn settling_commits_everything_outstanding() {
    for commit in ["later", "{later: {requests: 9}}", "{later: 10m}"] {
        let services = left_behind(commit).await;
        assert!(counter(&services).await.ends_with(":0}"), "{commit}");
        services.settle().await;
        assert_eq!(commits(&services), [1], "{commit}");
        assert!(counter(&services).await.ends_with(":1}"), "{commit}");
        services.settle().await;
        assert_eq!(commits(&services), [1], "{commit}: nothing is outstanding");
    }
}
