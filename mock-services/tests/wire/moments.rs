//! Moments at which the whole service stands still, and what is committed when the caller is long gone.

use mock_services::ledger::{ClosedBy, CommitTiming, Event};
use mock_services::{Held, Listener, MockServices, MomentKind};
use tokio::io::AsyncReadExt;

use crate::kit::ledger::replied;
use crate::kit::{
    Connection, attempts, commits, connected, events, increment, must, put, records, replies, request,
    started, wait_for_value,
};

/// Holds the first put at a moment.
async fn held_at(kind: MomentKind) -> (MockServices, Connection, Held) {
    let services = started(records(&[])).await;
    let mut listener = services.listen("records", kind).unwrap();
    let mut line = connected(&services, 1).await;
    line.send(&put(&services, "a")).await;
    let held = must(listener.recv()).await.unwrap();
    assert_eq!(
        (held.moment.kind, held.moment.operation.as_str(), held.moment.attempt),
        (kind, "records.put", 1)
    );
    (services, line, held)
}

/// Brings a second put to where the service stands still. It asks to be told to go on and does not wait for
/// that: when it has been told, it has been read.
async fn second_put(services: &MockServices) -> Connection {
    let mut line = connected(services, 1).await;
    let put = String::from_utf8(put(services, "b")).unwrap();
    line.send(put.replacen("\r\n", "\r\nExpect: 100-continue\r\n", 1).as_bytes()).await;
    assert_eq!(line.answer().await.status, 100);
    line
}

#[tokio::test]
async fn at_received_the_attempt_is_written_down_and_nothing_else_moves() {
    let (services, mut line, held) = held_at(MomentKind::Received).await;
    let mut second = second_put(&services).await;
    assert!(second.is_silent().await && line.is_silent().await);
    assert_eq!((attempts(&services), commits(&services), replies(&services).len()), (vec![1], vec![], 0));
    drop(held);
    assert_eq!((line.answer().await.status, second.answer().await.status), (201, 201));
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
async fn at_committed_the_effect_is_there_and_no_byte_has_been_sent() {
    let (services, mut line, held) = held_at(MomentKind::Committed).await;
    let mut second = second_put(&services).await;
    assert!(second.is_silent().await && line.is_silent().await);
    assert_eq!((attempts(&services), commits(&services), replies(&services).len()), (vec![1], vec![1], 0));
    drop(held);
    assert_eq!((line.answer().await.status, second.answer().await.status), (201, 201));
}

#[tokio::test]
async fn before_the_reply_all_is_done_but_the_answer() {
    let (services, mut line, held) = held_at(MomentKind::BeforeReply).await;
    let mut second = second_put(&services).await;
    assert!(second.is_silent().await && line.is_silent().await);
    assert_eq!((attempts(&services), commits(&services), replies(&services).len()), (vec![1], vec![1], 0));
    drop(held);
    assert_eq!((line.answer().await.status, second.answer().await.status), (201, 201));
}

#[tokio::test]
async fn what_a_caller_asked_for_is_done_even_if_it_dies_while_the_service_stands_still() {
    for kind in [MomentKind::Received, MomentKind::Committed, MomentKind::BeforeReply] {
        let (services, line, held) = held_at(kind).await;
        drop(line);
        // Another caller's line shows that the first one's end has come through: both ends are read in the
        // order in which they came.
        drop(second_put(&services).await);
        drop(held);
        let told = replied(&services, 1).await;
        assert_eq!((told.bytes, told.whole, told.status), (0, false, None), "{kind:?}");
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
async fn many_at_once_are_held_one_after_the_other() {
    for kind in [MomentKind::Received, MomentKind::Committed, MomentKind::BeforeReply] {
        let services = started(records(&[]).callers(16)).await;
        let mut listener = services.listen("records", kind).unwrap();
        let mut lines = Vec::new();
        for caller in 1..=16 {
            let mut line = connected(&services, caller).await;
            line.send(&increment(&services, "c", &[])).await;
            lines.push(line);
        }
        for _ in 0..16 {
            let held = must(listener.recv()).await.unwrap();
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
        for line in &mut lines {
            assert_eq!(line.answer().await.status, 200);
        }
    }
}

/// Sends one put and holds it before the last byte of its reply, with everything else already read by the
/// caller: so many bytes.
async fn held_before_the_last_byte(reply: &str) -> (MockServices, Connection, Listener, Held, usize) {
    let services = started(records(&[&format!("records.put#1 commit=now reply={reply}")])).await;
    let mut last = services.listen("records", MomentKind::LastByte).unwrap();
    let after = services.listen("records", MomentKind::AfterReply).unwrap();
    let mut line = connected(&services, 1).await;
    line.send(&put(&services, "a")).await;
    let held = must(last.recv()).await.unwrap();
    assert_eq!((held.moment.kind, held.moment.attempt, held.moment.sent), (MomentKind::LastByte, 1, false));
    // The listener that held it is dropped: the next reply has no pause.
    drop(last);
    // They were sent before the moment was told of, so they are there.
    let mut count = 0;
    while !line.is_silent().await {
        count += must(line.stream.read(&mut [0; 1024])).await.unwrap();
    }
    (services, line, after, held, count)
}

#[tokio::test]
async fn before_the_last_byte_all_others_have_come_and_the_reply_is_not_written_down() {
    for reply in
        ["ok", "garble", "{delay: 20ms}", "{drip: 20ms}", "{status: 503, retry_after: 2}", "truncate"]
    {
        let (services, mut line, mut after, held, count) = held_before_the_last_byte(reply).await;
        assert_eq!(replies(&services).len(), 0, "{reply}");
        drop(held);
        let held = must(after.recv()).await.unwrap();
        assert_eq!(
            (held.moment.kind, held.moment.attempt, held.moment.sent),
            (MomentKind::AfterReply, 1, true),
            "{reply}"
        );
        // Written down before the last byte left, and that byte has come.
        let told = replies(&services);
        assert_eq!(
            (told.len(), told[0].bytes, told[0].whole),
            (1, count as u64 + 1, reply != "truncate"),
            "{reply}"
        );
        assert_eq!(must(line.stream.read(&mut [0; 8])).await.unwrap(), 1, "{reply}");
        drop(held);
    }
}

#[tokio::test]
async fn while_a_reply_lacks_its_last_byte_nothing_else_moves() {
    let (services, _line, mut after, held, _) = held_before_the_last_byte("ok").await;
    let mut second = second_put(&services).await;
    assert!(second.is_silent().await);
    assert_eq!(attempts(&services), [1]);
    drop(held);
    let held = must(after.recv()).await.unwrap();
    assert!(second.is_silent().await);
    assert_eq!(attempts(&services), [1]);
    drop(held);
    assert_eq!(second.answer().await.status, 201);
}

#[tokio::test]
async fn a_caller_that_closed_before_the_last_byte_does_not_have_the_reply() {
    let (services, line, mut after, held, count) = held_before_the_last_byte("ok").await;
    drop(line);
    drop(held);
    let held = must(after.recv()).await.unwrap();
    assert!(!held.moment.sent);
    drop(held);
    let told = replied(&services, 1).await;
    assert_eq!((told.bytes, told.whole), (count as u64, false));
}

#[tokio::test]
async fn a_reply_without_bytes_has_no_last_one() {
    for reply in ["drop", "reset", "{hang: {release: 1ms}}"] {
        let services = started(records(&[&format!("records.put#1 commit=now reply={reply}")])).await;
        let mut last = services.listen("records", MomentKind::LastByte).unwrap();
        let mut line = connected(&services, 1).await;
        line.send(&put(&services, "a")).await;
        replied(&services, 1).await;
        assert!(last.try_recv().is_err(), "{reply}");
    }
}

/// One increment under a fault; its caller leaves without an answer, and that has been noticed.
async fn left_behind(commit: &str) -> MockServices {
    let services =
        started(records(&[&format!("records.increment#1 commit={commit} reply={{hang: {{release: 10m}}}}")]))
            .await;
    let mut line = connected(&services, 1).await;
    line.send(&increment(&services, "c", &[])).await;
    wait_for_value(&services, |event| matches!(event, Event::Fault { .. }).then_some(())).await;
    drop(line);
    wait_for_value(&services, |event| matches!(event, Event::Closed { .. }).then_some(())).await;
    services
}

async fn counter(services: &MockServices) -> String {
    let seen = connected(services, 1).await.ask(&request(services, "GET", "/counters/c", &[], "")).await;
    String::from_utf8(seen.body).unwrap()
}

fn late(event: &Event<'static>) -> Option<u64> {
    match event {
        Event::Committed { attempt, timing: CommitTiming::Later, .. } => Some(*attempt),
        _ => None,
    }
}

#[tokio::test]
async fn a_commit_that_waits_for_requests_comes_when_its_caller_is_gone() {
    let services = left_behind("{later: {requests: 2}}").await;
    let seen = [counter(&services).await, counter(&services).await, counter(&services).await];
    assert!(seen[0].ends_with(":0}") && seen[1].ends_with(":0}") && seen[2].ends_with(":1}"), "{seen:?}");
    assert_eq!(wait_for_value(&services, late).await, 1);
}

#[tokio::test]
async fn a_commit_that_waits_for_the_clock_comes_when_its_caller_is_gone() {
    let services = left_behind("{later: 30ms}").await;
    assert_eq!(wait_for_value(&services, late).await, 1);
    assert!(counter(&services).await.ends_with(":1}"));
}

#[tokio::test]
async fn settling_commits_all_that_is_outstanding_whatever_it_waits_for() {
    for commit in ["later", "{later: {requests: 9}}", "{later: 10m}"] {
        let services = left_behind(commit).await;
        assert!(counter(&services).await.ends_with(":0}"), "{commit}");
        services.settle().await;
        assert_eq!(commits(&services), [1], "{commit}");
        assert!(counter(&services).await.ends_with(":1}"), "{commit}");
        services.settle().await;
        assert_eq!(commits(&services), [1], "{commit}: nothing is outstanding any more");
    }
}
