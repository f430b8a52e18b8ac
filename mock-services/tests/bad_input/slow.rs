//! Slow clients: single bytes, half a request, or nothing.

use std::time::Duration;

use mock_services::ledger::{ClosedBy, Event};
use mock_services::{Limits, MockServices};
use tokio::io::AsyncWriteExt;

use crate::bad_input::{assert_alive, refused};
use crate::kit::{
    End, RawConnection, attempts, connect, email, events, get, put, records, request, start, wait_for_value,
};

/// Longer than a busy machine needs for the steps before it.
const SHORT: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(600);

fn with_long_timeouts() -> Limits {
    Limits { head_time: LONG, body_time: LONG, idle_time: LONG, ..Limits::default() }
}

async fn closed_by(services: &MockServices) -> ClosedBy {
    wait_for_value(services, |event| if let Event::Closed { by, .. } = event { Some(*by) } else { None })
        .await
}

/// Sends single bytes so slowly that only the total time is too long, until the connection ends.
async fn send_slowly(connection: RawConnection, bytes: &[u8]) -> (Vec<u8>, End) {
    let (mut from, mut to) = connection.stream.into_split();
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
            // The write can fail once the service has closed the connection.
            _ = pace.tick() => if let Some(byte) = bytes.next() { let _ = to.write_all(&[*byte]).await; },
        }
    }
}

#[tokio::test]
async fn a_slow_head_times_out() {
    let services = start(records(&[]).limits(Limits { head_time: SHORT, ..with_long_timeouts() })).await;
    let mut connection = connect(&services, 1).await;
    connection.send(b"GET /records HTTP/1.1\r\n").await;
    let (seen, _) = crate::kit::within_timeout(send_slowly(connection, b"X: y\r\n")).await;
    assert!(seen.starts_with(b"HTTP/1.1 408 Request Time-out\r\n"), "{}", seen.escape_ascii());
    assert_eq!((closed_by(&services).await, assert_alive(&services).await), (ClosedBy::Timeout, vec![408]));
}

#[tokio::test]
async fn a_slow_body_times_out() {
    for headers in [["Content-Length: 100000"], ["Transfer-Encoding: chunked"]] {
        let services = start(records(&[]).limits(Limits { body_time: SHORT, ..with_long_timeouts() })).await;
        let mut connection = connect(&services, 1).await;
        connection.send(&request(&services, "PUT", "/records/a", &headers, "")).await;
        let (seen, _) = crate::kit::within_timeout(send_slowly(connection, b"1\r\nx\r\n")).await;
        assert!(seen.starts_with(b"HTTP/1.1 408 Request Time-out\r\n"), "{}", seen.escape_ascii());
        assert_eq!(
            (closed_by(&services).await, assert_alive(&services).await),
            (ClosedBy::Timeout, vec![408])
        );
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_without_a_response() {
    let services = start(records(&[]).limits(Limits { idle_time: SHORT, ..with_long_timeouts() })).await;
    let mut connection = connect(&services, 1).await;
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin));
    assert_eq!(events(&services).len(), 1, "an idle connection is not in the ledger");
    assert_eq!(assert_alive(&services).await, [0; 0]);
}

#[tokio::test]
async fn a_connection_idle_after_a_request_is_closed_without_a_response() {
    let services = start(records(&[]).limits(Limits { idle_time: SHORT, ..with_long_timeouts() })).await;
    let mut connection = connect(&services, 1).await;
    assert_eq!(connection.exchange(&put(&services, "a")).await.status, 201);
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin));
    assert_eq!((closed_by(&services).await, assert_alive(&services).await), (ClosedBy::Timeout, vec![]));
}

#[tokio::test]
async fn half_a_request_is_not_an_attempt() {
    let services = start(records(&["records.put#1 commit=now reply=drop"])).await;
    let whole = put(&services, "a");
    for end in [10, whole.len() / 2, whole.len() - 1] {
        let mut connection = connect(&services, 1).await;
        connection.send(&whole[..end]).await;
        connection.stream.shutdown().await.unwrap();
        assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin), "{end} bytes");
    }
    assert!(attempts(&services).is_empty() && services.fired()[0].seen == 0);
    assert!(!events(&services).into_iter().any(|event| refused(event).is_some()));
    let mut connection = connect(&services, 1).await;
    assert_eq!(connection.exchange(&get(&services, "a")).await.status, 404, "nothing was committed");
    connection.send(&whole).await;
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin), "the fault is still there");
    assert_eq!(assert_alive(&services).await, [404]);
}

#[tokio::test]
async fn a_silent_smtp_client_is_told_that_it_timed_out() {
    let services = start(email(&[]).limits(Limits { idle_time: SHORT, ..with_long_timeouts() })).await;
    let mut connection = RawConnection::open(services.smtp_address("email", 1).unwrap()).await;
    let (seen, end) = connection.read_to_end().await;
    let expected = "220 localhost ESMTP\r\n421 4.4.2 localhost Error: timeout exceeded\r\n";
    assert_eq!(
        (seen.escape_ascii().to_string(), end),
        (expected.as_bytes().escape_ascii().to_string(), End::Fin)
    );
}

#[tokio::test]
async fn a_slow_smtp_dialogue_times_out() {
    let services = start(email(&[]).limits(Limits { idle_time: SHORT, ..with_long_timeouts() })).await;
    let connection = RawConnection::open(services.smtp_address("email", 1).unwrap()).await;
    let (seen, end) = crate::kit::within_timeout(send_slowly(connection, b"x")).await;
    let text = String::from_utf8(seen).unwrap();
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        ["220 localhost ESMTP", "421 4.4.2 localhost Error: timeout exceeded"]
    );
    assert_eq!(end, End::Fin);
    assert!(attempts(&services).is_empty());
}
