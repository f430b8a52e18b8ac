//! Each fault as a raw socket receives it, and as the ledger records it.

use std::time::{Duration, Instant};

use mock_services::MockServices;
use mock_services::fault::ReplyContent;
use mock_services::ledger::{ClosedBy, Event, SilenceEnd};
use serde_json::Value;

use crate::kit::connection::header;
use crate::kit::ledger::{Replied, replied};
use crate::kit::{
    End, RawConnection, ReplySample, commits, connect, events, get, put, records, start, wait_for_value,
    write_replies,
};

/// Which side closed the connection of the first attempt.
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

fn no_bytes(reply: &str) -> Replied {
    Replied { attempt: 1, reply: reply.to_owned(), status: None, bytes: 0, whole: false }
}

/// Services with one fault on the first put, and a connection over which that put was sent.
async fn faulted(reply: &str) -> (MockServices, RawConnection) {
    let services = start(records(&[&format!("records.put#1 commit=now reply={reply}")])).await;
    let mut connection = connect(&services, 1).await;
    connection.send(&put(&services, "a")).await;
    (services, connection)
}

#[tokio::test]
async fn drop_is_a_fin_without_a_byte() {
    let (services, mut connection) = faulted("drop").await;
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin));
    assert_eq!(replied(&services, 1).await, no_bytes("drop"));
    drop(connection);
    assert_eq!(closed_by(&services).await, ClosedBy::Service);
    assert_eq!(commits(&services), [1]);
}

#[tokio::test]
async fn reset_is_a_rst() {
    let (services, mut connection) = faulted("reset").await;
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Reset));
    assert_eq!(replied(&services, 1).await, no_bytes("reset"));
    assert_eq!(closed_by(&services).await, ClosedBy::Service);
    assert_eq!(commits(&services), [1]);
}

#[tokio::test]
async fn hang_is_a_silent_open_connection_until_the_client_leaves() {
    let (services, mut connection) = faulted("{hang: {release: 10m}}").await;
    wait_for_value(&services, |event| matches!(event, Event::Fault { .. }).then_some(())).await;
    assert!(connection.is_silent().await);
    drop(connection);
    assert_eq!(closed_by(&services).await, ClosedBy::Caller);
    assert_eq!(replied(&services, 1).await, no_bytes("hang"));
}

#[tokio::test]
async fn hang_is_closed_with_a_fin_after_its_release() {
    let start_time = Instant::now();
    let (services, mut connection) = faulted("{hang: {release: 80ms}}").await;
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin));
    assert!(start_time.elapsed() >= Duration::from_millis(80));
    assert_eq!(replied(&services, 1).await, no_bytes("hang"));
    drop(connection);
    assert_eq!(closed_by(&services).await, ClosedBy::Service);
}

#[tokio::test]
async fn truncate_sends_less_than_the_declared_length() {
    let (services, mut connection) = faulted("truncate").await;
    let (bytes, end) = connection.read_to_end().await;
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
    drop(connection);
    assert_eq!(closed_by(&services).await, ClosedBy::Service);
}

#[tokio::test]
async fn truncate_ends_within_a_chunk_of_a_chunked_body() {
    let (services, mut connection) = faulted("{truncate: chunked}").await;
    let (bytes, end) = connection.read_to_end().await;
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
async fn garble_is_the_correct_status_and_an_unparsable_body() {
    let (services, mut connection) = faulted("garble").await;
    let seen = connection.answer().await;
    assert_eq!((seen.status, header(&seen.head, "content-type")), (201, Some("application/json")));
    assert!(serde_json::from_slice::<Value>(&seen.body).is_err());
    let reply = replied(&services, 1).await;
    assert_eq!((reply.bytes, reply.whole, reply.status), (seen.bytes, true, Some(201)));
    // The connection is still usable.
    let truth = connection.exchange(&get(&services, "a")).await;
    assert_eq!(truth.status, 200);
    assert!(serde_json::from_slice::<Value>(&truth.body).is_ok());
}

#[tokio::test]
async fn drip_sends_the_head_at_once_and_the_body_in_pieces() {
    let (services, mut connection) = faulted("{drip: 200ms}").await;
    let first = connection.read_some().await;
    assert!(
        first.starts_with(b"HTTP/1.1 201 Created\r\n") && first.ends_with(b"\r\n\r\n"),
        "{}",
        first.escape_ascii()
    );
    let declared: usize =
        header(std::str::from_utf8(&first).unwrap(), "content-length").unwrap().parse().unwrap();
    let (mut body, mut parts) = (Vec::new(), 0);
    while body.len() < declared {
        body.extend(connection.read_some().await);
        parts += 1;
    }
    assert!(parts > 1, "{parts}");
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["key"], "a");
    let reply = replied(&services, 1).await;
    assert_eq!((reply.bytes, reply.whole), ((first.len() + declared) as u64, true));
    assert_eq!(connection.exchange(&get(&services, "a")).await.status, 200);
}

#[tokio::test]
async fn drip_ends_when_the_client_leaves_and_records_the_bytes_sent() {
    let (services, mut connection) = faulted("{drip: 10m}").await;
    let head = connection.read_through(b"\r\n\r\n").await;
    assert!(connection.is_silent().await);
    drop(connection);
    assert_eq!(closed_by(&services).await, ClosedBy::Caller);
    let reply = replied(&services, 1).await;
    assert_eq!((reply.bytes, reply.whole), (head.len() as u64, false));
}

#[tokio::test]
async fn delay_sends_the_whole_reply_after_its_time() {
    let start_time = Instant::now();
    let (services, mut connection) = faulted("{delay: 120ms}").await;
    let seen = connection.answer().await;
    assert!(start_time.elapsed() >= Duration::from_millis(120));
    assert_eq!(seen.status, 201);
    let reply = replied(&services, 1).await;
    assert_eq!((reply.bytes, reply.whole), (seen.bytes, true));
    assert_eq!(connection.exchange(&get(&services, "a")).await.status, 200);
}

#[tokio::test]
async fn delay_sends_nothing_to_a_client_that_left() {
    let (services, mut connection) = faulted("{delay: 10m}").await;
    wait_for_value(&services, |event| matches!(event, Event::Committed { .. }).then_some(())).await;
    assert!(connection.is_silent().await);
    drop(connection);
    assert_eq!(closed_by(&services).await, ClosedBy::Caller);
    assert_eq!(replied(&services, 1).await, no_bytes("delay"));
}

#[tokio::test]
async fn a_status_keeps_the_connection_open() {
    let (services, mut connection) = faulted("{status: 503, retry_after: 2}").await;
    let seen = connection.answer().await;
    assert_eq!((seen.status, header(&seen.head, "retry-after")), (503, Some("2")));
    assert!(String::from_utf8(seen.body).unwrap().contains("Service Unavailable"));
    let reply = replied(&services, 1).await;
    assert_eq!((reply.bytes, reply.whole, reply.status), (seen.bytes, true, Some(503)));
    assert_eq!(
        connection.exchange(&get(&services, "a")).await.status,
        200,
        "it was committed, and the connection is open"
    );
}

#[tokio::test]
async fn only_the_connection_of_the_faulted_request_is_affected() {
    for ReplySample { text: reply, .. } in write_replies() {
        let services = start(records(&[&format!("records.put#2 commit=now reply={reply}")])).await;
        let (mut other, mut faulted) = (connect(&services, 1).await, connect(&services, 1).await);
        assert_eq!(other.exchange(&put(&services, "a")).await.status, 201);
        faulted.send(&put(&services, "b")).await;
        wait_for_value(&services, |event| matches!(event, Event::Fault { .. }).then_some(())).await;
        assert_eq!(other.exchange(&get(&services, "b")).await.status, 200, "{reply}");
        replied(&services, 2).await;
        assert_eq!(other.exchange(&put(&services, "c")).await.status, 201, "{reply}");
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
async fn the_reply_is_recorded_before_the_client_can_retry() {
    let is_silent = |sample: &ReplySample| sample.content() == ReplyContent::Nothing;
    for ReplySample { text: reply, .. } in write_replies().into_iter().filter(is_silent) {
        let (services, mut connection) = faulted(reply).await;
        assert_eq!(connection.read_to_end().await.0, b"");
        // The first connection stays open on the client's side.
        connect(&services, 1).await.exchange(&put(&services, "a")).await;
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

/// Who ended a silence, and the `Retry-After` that was sent, from the ledger.
fn silence_end(event: &Event) -> Option<(Option<u64>, Option<SilenceEnd>)> {
    match event {
        Event::Replied { retry_after, silence, .. } => Some((*retry_after, *silence)),
        _ => None,
    }
}

#[tokio::test]
async fn the_ledger_records_who_ended_a_silence() {
    let (services, _line) = faulted("{hang: {release: 10ms}}").await;
    assert_eq!(wait_for_value(&services, silence_end).await, (None, Some(SilenceEnd::Released)));
    for reply in ["{hang: {release: 10m}}", "{hang: until-timeout}"] {
        let (services, connection) = faulted(reply).await;
        wait_for_value(&services, |event| matches!(event, Event::Fault { .. }).then_some(())).await;
        drop(connection);
        assert_eq!(wait_for_value(&services, silence_end).await, (None, Some(SilenceEnd::Caller)), "{reply}");
    }
    let services = start(
        records(&["records.put#1 reply={hang: until-timeout}"]).longest_silence(Duration::from_millis(10)),
    )
    .await;
    let mut connection = connect(&services, 1).await;
    connection.send(&put(&services, "a")).await;
    assert_eq!(wait_for_value(&services, silence_end).await, (None, Some(SilenceEnd::Limit)));
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin));
}

#[tokio::test]
async fn an_endless_silence_lasts_until_the_services_stop() {
    let (services, _line) = faulted("{hang: until-timeout}").await;
    let ledger = services.ledger().clone();
    wait_for_value(&services, |event| matches!(event, Event::Fault { .. }).then_some(())).await;
    assert!(ledger.entries().iter().all(|entry| silence_end(&entry.event).is_none()));
    services.stop().await;
    let silences: Vec<_> = ledger.entries().iter().filter_map(|entry| silence_end(&entry.event)).collect();
    assert_eq!(silences, [(None, Some(SilenceEnd::Limit))]);
}

#[tokio::test]
async fn only_a_whole_429_or_503_records_its_retry_after() {
    for (reply, seconds) in [
        ("{status: 429, retry_after: 7}", Some(7)),
        ("{status: 503, retry_after: 2}", Some(2)),
        ("{status: 503, headers: {Retry-After: \"Fri, 31 Dec 1999 23:59:59 GMT\"}}", None),
        ("{status: 500, retry_after: 2}", None),
        ("ok", None),
    ] {
        let (services, _line) = faulted(reply).await;
        assert_eq!(wait_for_value(&services, silence_end).await, (seconds, None), "{reply}");
    }
}
