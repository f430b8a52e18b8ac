//! Clients that take their time: a byte now and then, half a request, nothing at all.

use std::time::Duration;

use mock_services::ledger::{ClosedBy, Event};
use mock_services::{Limits, MockServices};
use tokio::io::AsyncWriteExt;

use crate::bad_input::{alive, refused};
use crate::kit::{
    Connection, End, attempts, connected, email, events, get, put, records, request, started, wait_for_value,
};

const SHORT: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_secs(600);

fn patient() -> Limits {
    Limits { head_time: LONG, body_time: LONG, idle_time: LONG, ..Limits::default() }
}

async fn closed_by(services: &MockServices) -> ClosedBy {
    wait_for_value(services, |event| if let Event::Closed { by, .. } = event { Some(*by) } else { None })
        .await
}

/// Sends one byte after the other, so slowly that no pause is long but all together are; until the line ends.
async fn trickle(line: Connection, bytes: &[u8]) -> (Vec<u8>, End) {
    let (mut from, mut to) = line.stream.into_split();
    let mut seen = Vec::new();
    let mut pace = tokio::time::interval(Duration::from_millis(15));
    let mut bytes = bytes.iter().cycle();
    loop {
        tokio::select! {
            read = tokio::io::AsyncReadExt::read_buf(&mut from, &mut seen) => match read {
                Ok(0) => return (seen, End::Fin),
                Ok(_) => {}
                Err(error) => return (seen, End::of(&error)),
            },
            // Once the service has closed, it may not be able to send.
            _ = pace.tick() => if let Some(byte) = bytes.next() { let _ = to.write_all(&[*byte]).await; },
        }
    }
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_has_its_time_and_no_more() {
    let services = started(records(&[]).limits(Limits { head_time: SHORT, ..patient() })).await;
    let mut line = connected(&services, 1).await;
    line.send(b"GET /records HTTP/1.1\r\n").await;
    let (seen, _) = crate::kit::must(trickle(line, b"X: y\r\n")).await;
    assert!(seen.starts_with(b"HTTP/1.1 408 Request Time-out\r\n"), "{}", seen.escape_ascii());
    assert_eq!((closed_by(&services).await, alive(&services).await), (ClosedBy::Timeout, vec![408]));
}

#[tokio::test]
async fn a_body_that_comes_byte_by_byte_has_its_time_and_no_more() {
    for headers in [["Content-Length: 100000"], ["Transfer-Encoding: chunked"]] {
        let services = started(records(&[]).limits(Limits { body_time: SHORT, ..patient() })).await;
        let mut line = connected(&services, 1).await;
        line.send(&request(&services, "PUT", "/records/a", &headers, "")).await;
        let (seen, _) = crate::kit::must(trickle(line, b"1\r\nx\r\n")).await;
        assert!(seen.starts_with(b"HTTP/1.1 408 Request Time-out\r\n"), "{}", seen.escape_ascii());
        assert_eq!((closed_by(&services).await, alive(&services).await), (ClosedBy::Timeout, vec![408]));
    }
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed_in_silence() {
    let services = started(records(&[]).limits(Limits { idle_time: SHORT, ..patient() })).await;
    let mut line = connected(&services, 1).await;
    assert_eq!(line.rest().await, (Vec::new(), End::Fin));
    assert_eq!(events(&services).len(), 1, "silence is nothing that happened");
    assert_eq!(alive(&services).await, [0; 0]);
}

#[tokio::test]
async fn a_connection_that_says_nothing_more_is_closed_in_silence() {
    let services = started(records(&[]).limits(Limits { idle_time: SHORT, ..patient() })).await;
    let mut line = connected(&services, 1).await;
    assert_eq!(line.ask(&put(&services, "a")).await.status, 201);
    assert_eq!(line.rest().await, (Vec::new(), End::Fin));
    assert_eq!((closed_by(&services).await, alive(&services).await), (ClosedBy::Timeout, vec![]));
}

#[tokio::test]
async fn half_a_request_is_nothing_that_happened() {
    let services = started(records(&["records.put#1 commit=now reply=drop"])).await;
    let whole = put(&services, "a");
    for end in [10, whole.len() / 2, whole.len() - 1] {
        let mut line = connected(&services, 1).await;
        line.send(&whole[..end]).await;
        line.stream.shutdown().await.unwrap();
        assert_eq!(line.rest().await, (Vec::new(), End::Fin), "{end} bytes");
    }
    assert!(attempts(&services).is_empty() && services.fired()[0].seen == 0);
    assert!(!events(&services).into_iter().any(|event| refused(event).is_some()));
    let mut line = connected(&services, 1).await;
    assert_eq!(line.ask(&get(&services, "a")).await.status, 404, "nothing was committed");
    line.send(&whole).await;
    assert_eq!(line.rest().await, (Vec::new(), End::Fin), "the fault is still there");
    assert_eq!(alive(&services).await, [404]);
}

#[tokio::test]
async fn a_dialogue_that_comes_byte_by_byte_has_its_time_and_no_more() {
    let services = started(email(&[]).limits(Limits { idle_time: SHORT, ..patient() })).await;
    let line = Connection::open(services.smtp_address("email", 1).unwrap()).await;
    let (seen, end) = crate::kit::must(trickle(line, b"x")).await;
    let text = String::from_utf8(seen).unwrap();
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        ["220 localhost ESMTP", "421 4.4.2 localhost Error: timeout exceeded"]
    );
    assert_eq!(end, End::Fin);
    assert!(attempts(&services).is_empty());
}
