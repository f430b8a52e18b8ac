//! Each fault as a raw socket sees it, and as the ledger tells it.

use std::time::{Duration, Instant};

use mock_services::MockServices;
use mock_services::ledger::{ClosedBy, Event, SilenceEnd};
use serde_json::Value;

use crate::kit::connection::header;
use crate::kit::ledger::{Replied, replied};
use crate::kit::{Connection, End, commits, connected, events, get, put, records, started, wait_for_value};

/// Who ended the connection over which the first attempt came.
async fn closed_by(services: &MockServices) -> ClosedBy {
    let of_attempt = wait_for_value(services, |event| match event {
        Event::Received(received) if received.attempt == 1 => Some(received.connection),
        _ => None,
    })
    .await;
    wait_for_value(services, |event| match event {
        Event::Closed { connection, by, .. } if *connection == of_attempt => Some(*by),
        _ => None,
    })
    .await
}

fn nothing(reply: &str) -> Replied {
    Replied { attempt: 1, reply: reply.to_owned(), status: None, bytes: 0, whole: false }
}

/// Services with one fault on the first put, and a connection over which that put has been sent.
async fn struck(reply: &str) -> (MockServices, Connection) {
    let services = started(records(&[&format!("records.put#1 commit=now reply={reply}")])).await;
    let mut line = connected(&services, 1).await;
    line.send(&put(&services, "a")).await;
    (services, line)
}

#[tokio::test]
async fn drop_is_a_fin_with_no_byte_sent() {
    let (services, mut line) = struck("drop").await;
    assert_eq!(line.rest().await, (Vec::new(), End::Fin));
    assert_eq!(replied(&services, 1).await, nothing("drop"));
    drop(line);
    assert_eq!(closed_by(&services).await, ClosedBy::Service);
    assert_eq!(commits(&services), [1]);
}

#[tokio::test]
async fn reset_is_a_rst_that_the_kernel_of_the_caller_reports() {
    let (services, mut line) = struck("reset").await;
    assert_eq!(line.rest().await, (Vec::new(), End::Reset));
    assert_eq!(replied(&services, 1).await, nothing("reset"));
    assert_eq!(closed_by(&services).await, ClosedBy::Service);
    assert_eq!(commits(&services), [1]);
}

#[tokio::test]
async fn hang_is_an_open_silent_line_that_is_let_go_when_the_caller_leaves() {
    let (services, mut line) = struck("{hang: {release: 10m}}").await;
    wait_for_value(&services, |event| matches!(event, Event::Fault { .. }).then_some(())).await;
    assert!(line.is_silent().await);
    drop(line);
    assert_eq!(closed_by(&services).await, ClosedBy::Caller);
    assert_eq!(replied(&services, 1).await, nothing("hang"));
}

#[tokio::test]
async fn hang_is_closed_with_a_fin_when_its_release_is_over() {
    let begin = Instant::now();
    let (services, mut line) = struck("{hang: {release: 80ms}}").await;
    assert_eq!(line.rest().await, (Vec::new(), End::Fin));
    assert!(begin.elapsed() >= Duration::from_millis(80));
    assert_eq!(replied(&services, 1).await, nothing("hang"));
    drop(line);
    assert_eq!(closed_by(&services).await, ClosedBy::Service);
}

#[tokio::test]
async fn truncate_declares_a_length_that_it_does_not_keep() {
    let (services, mut line) = struck("truncate").await;
    let (bytes, end) = line.rest().await;
    assert_eq!(end, End::Fin);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 201 Created\r\n"), "{head}");
    let declared: usize = header(head, "content-length").unwrap().parse().unwrap();
    assert_eq!(body.len(), declared / 2);
    assert!(body.starts_with("{\"key\":\"a\""), "{body}");
    let expected = Replied {
        attempt: 1,
        reply: "truncate".to_owned(),
        status: Some(201),
        bytes: text.len() as u64,
        whole: false,
    };
    assert_eq!(replied(&services, 1).await, expected);
    drop(line);
    assert_eq!(closed_by(&services).await, ClosedBy::Service);
}

#[tokio::test]
async fn truncate_ends_in_the_midst_of_a_chunk_where_it_is_chunked() {
    let (services, mut line) = struck("{truncate: chunked}").await;
    let (bytes, end) = line.rest().await;
    assert_eq!(end, End::Fin);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert_eq!((header(head, "transfer-encoding"), header(head, "content-length")), (Some("chunked"), None));
    let (size, data) = body.split_once("\r\n").unwrap();
    let declared = usize::from_str_radix(size, 16).unwrap();
    assert_eq!(data.len(), declared / 2);
    assert!(!data.is_empty() && !text.contains("\r\n0\r\n"), "{text}");
    let reply = replied(&services, 1).await;
    assert_eq!((reply.bytes, reply.whole, reply.status), (text.len() as u64, false, Some(201)));
}

#[tokio::test]
async fn garble_is_the_right_status_and_a_body_that_does_not_parse() {
    let (services, mut line) = struck("garble").await;
    let seen = line.answer().await;
    assert_eq!((seen.status, header(&seen.head, "content-type")), (201, Some("application/json")));
    assert!(serde_json::from_slice::<Value>(&seen.body).is_err());
    let reply = replied(&services, 1).await;
    assert_eq!((reply.bytes, reply.whole, reply.status), (seen.bytes, true, Some(201)));
    // The line is as good as before.
    let truth = line.ask(&get(&services, "a")).await;
    assert_eq!(truth.status, 200);
    assert!(serde_json::from_slice::<Value>(&truth.body).is_ok());
}

#[tokio::test]
async fn drip_sends_the_head_at_once_and_the_body_piece_by_piece() {
    let (services, mut line) = struck("{drip: 200ms}").await;
    let first = line.piece().await;
    assert!(
        first.starts_with(b"HTTP/1.1 201 Created\r\n") && first.ends_with(b"\r\n\r\n"),
        "{}",
        first.escape_ascii()
    );
    let declared: usize =
        header(std::str::from_utf8(&first).unwrap(), "content-length").unwrap().parse().unwrap();
    let (mut body, mut pieces) = (Vec::new(), 0);
    while body.len() < declared {
        body.extend(line.piece().await);
        pieces += 1;
    }
    assert!(pieces > 1, "{pieces}");
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["key"], "a");
    let reply = replied(&services, 1).await;
    assert_eq!((reply.bytes, reply.whole), ((first.len() + declared) as u64, true));
    assert_eq!(line.ask(&get(&services, "a")).await.status, 200);
}

#[tokio::test]
async fn drip_ends_when_the_caller_leaves_and_counts_what_it_has_sent() {
    let (services, mut line) = struck("{drip: 10m}").await;
    let head = line.through(b"\r\n\r\n").await;
    assert!(line.is_silent().await);
    drop(line);
    assert_eq!(closed_by(&services).await, ClosedBy::Caller);
    let reply = replied(&services, 1).await;
    assert_eq!((reply.bytes, reply.whole), (head.len() as u64, false));
}

#[tokio::test]
async fn delay_is_the_whole_reply_and_not_before_its_time() {
    let begin = Instant::now();
    let (services, mut line) = struck("{delay: 120ms}").await;
    let seen = line.answer().await;
    assert!(begin.elapsed() >= Duration::from_millis(120));
    assert_eq!(seen.status, 201);
    let reply = replied(&services, 1).await;
    assert_eq!((reply.bytes, reply.whole), (seen.bytes, true));
    assert_eq!(line.ask(&get(&services, "a")).await.status, 200);
}

#[tokio::test]
async fn delay_sends_nothing_before_and_nothing_at_all_to_a_caller_that_left() {
    let (services, mut line) = struck("{delay: 10m}").await;
    wait_for_value(&services, |event| matches!(event, Event::Committed { .. }).then_some(())).await;
    assert!(line.is_silent().await);
    drop(line);
    assert_eq!(closed_by(&services).await, ClosedBy::Caller);
    assert_eq!(replied(&services, 1).await, nothing("delay"));
}

#[tokio::test]
async fn a_status_comes_over_a_line_that_stays_as_it_is() {
    let (services, mut line) = struck("{status: 503, retry_after: 2}").await;
    let seen = line.answer().await;
    assert_eq!((seen.status, header(&seen.head, "retry-after")), (503, Some("2")));
    assert!(String::from_utf8(seen.body).unwrap().contains("Service Unavailable"));
    let reply = replied(&services, 1).await;
    assert_eq!((reply.bytes, reply.whole, reply.status), (seen.bytes, true, Some(503)));
    assert_eq!(line.ask(&get(&services, "a")).await.status, 200, "it was committed, and the line is open");
}

#[tokio::test]
async fn only_the_connection_that_carried_the_faulted_request_is_touched() {
    for reply in [
        "drop",
        "reset",
        "truncate",
        "{truncate: chunked}",
        "{hang: {release: 30ms}}",
        "{drip: 30ms}",
        "{delay: 30ms}",
    ] {
        let services = started(records(&[&format!("records.put#2 commit=now reply={reply}")])).await;
        let (mut other, mut faulted) = (connected(&services, 1).await, connected(&services, 1).await);
        assert_eq!(other.ask(&put(&services, "a")).await.status, 201);
        faulted.send(&put(&services, "b")).await;
        wait_for_value(&services, |event| matches!(event, Event::Fault { .. }).then_some(())).await;
        assert_eq!(other.ask(&get(&services, "b")).await.status, 200, "{reply}");
        replied(&services, 2).await;
        assert_eq!(other.ask(&put(&services, "c")).await.status, 201, "{reply}");
        let connections = events(&services).into_iter().filter_map(|event| match event {
            Event::Received(received) => Some(received.connection),
            _ => None,
        });
        let connections: Vec<u64> = connections.collect();
        assert_eq!((connections[0], connections[0]), (connections[2], connections[3]), "{reply}");
        let closed = events(&services)
            .into_iter()
            .any(|event| matches!(event, Event::Closed { connection, .. } if connection == connections[0]));
        assert!(!closed, "{reply}");
    }
}

#[tokio::test]
async fn the_reply_stands_in_the_ledger_before_the_caller_can_try_again() {
    for reply in ["drop", "reset", "{hang: {release: 1ms}}"] {
        let (services, mut line) = struck(reply).await;
        assert_eq!(line.rest().await.0, b"");
        // The first line stays open on the caller's side.
        connected(&services, 1).await.ask(&put(&services, "a")).await;
        let order: Vec<u64> = events(&services)
            .into_iter()
            .filter_map(|event| match event {
                Event::Replied { attempt: 1, .. } => Some(1),
                Event::Received(received) if received.attempt == 2 => Some(2),
                _ => None,
            })
            .collect();
        assert_eq!(order, [1, 2], "{reply}");
    }
}

/// Who ended a silence, as the ledger has it, and the `Retry-After` that was told.
fn told(event: &Event<'static>) -> Option<(Option<u64>, Option<SilenceEnd>)> {
    match event {
        Event::Replied { retry_after, silence, .. } => Some((*retry_after, *silence)),
        _ => None,
    }
}

#[tokio::test]
async fn the_ledger_says_who_ended_a_silence() {
    let (services, _line) = struck("{hang: {release: 10ms}}").await;
    assert_eq!(wait_for_value(&services, told).await, (None, Some(SilenceEnd::Released)));
    for reply in ["{hang: {release: 10m}}", "{hang: until-timeout}"] {
        let (services, line) = struck(reply).await;
        wait_for_value(&services, |event| matches!(event, Event::Fault { .. }).then_some(())).await;
        drop(line);
        assert_eq!(wait_for_value(&services, told).await, (None, Some(SilenceEnd::Caller)), "{reply}");
    }
    let services = started(
        records(&["records.put#1 reply={hang: until-timeout}"]).longest_silence(Duration::from_millis(10)),
    )
    .await;
    let mut line = connected(&services, 1).await;
    line.send(&put(&services, "a")).await;
    assert_eq!(wait_for_value(&services, told).await, (None, Some(SilenceEnd::Limit)));
    assert_eq!(line.rest().await, (Vec::new(), End::Fin));
}

#[tokio::test]
async fn a_silence_without_end_lasts_until_the_services_stop_and_is_then_nobodys_timeout() {
    let (services, _line) = struck("{hang: until-timeout}").await;
    let ledger = services.ledger().clone();
    wait_for_value(&services, |event| matches!(event, Event::Fault { .. }).then_some(())).await;
    assert!(ledger.entries().iter().all(|entry| told(&entry.event).is_none()));
    services.stop().await;
    let silences: Vec<_> = ledger.entries().iter().filter_map(|entry| told(&entry.event)).collect();
    assert_eq!(silences, [(None, Some(SilenceEnd::Limit))]);
}

#[tokio::test]
async fn a_whole_429_or_503_leaves_its_retry_after_in_the_ledger_and_nothing_else_does() {
    for (reply, seconds) in [
        ("{status: 429, retry_after: 7}", Some(7)),
        ("{status: 503, retry_after: 2}", Some(2)),
        ("{status: 503, headers: {Retry-After: \"Fri, 31 Dec 1999 23:59:59 GMT\"}}", None),
        ("{status: 500, retry_after: 2}", None),
        ("ok", None),
    ] {
        let (services, _line) = struck(reply).await;
        assert_eq!(wait_for_value(&services, told).await, (seconds, None), "{reply}");
    }
}
