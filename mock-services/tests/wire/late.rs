//! After the end of a trial: its ports stay bound, unfinished requests are counted, and late requests are
//! recorded and refused.

use std::sync::Arc;

use mock_services::ledger::{Event, LATE_REQUEST, LateSender, Ledger, LedgerFile, read_ledgers};
use mock_services::service::Fields;
use mock_services::{Clock, LateCall, MockServices, OpenConnections};

use crate::kit::{
    RawConnection, connect, email, get, put, records, start, wait_for_count, wait_for_value, within_timeout,
};

/// The late requests in the ledger, by kind and operation.
fn late(services: &MockServices) -> Vec<(String, String)> {
    let text = |fields: &Fields, name: &str| fields.get(name).map(ToString::to_string).unwrap_or_default();
    let entries = services.ledger().entries();
    let of_entry = |event: &Event| match event {
        Event::Noted { name, fields, .. } if name == LATE_REQUEST => {
            Some((text(fields, "kind"), text(fields, "operation")))
        }
        _ => None,
    };
    entries.iter().filter_map(|entry| of_entry(&entry.event)).collect()
}

#[tokio::test]
async fn a_late_request_is_recorded_refused_and_changes_nothing() {
    let services = start(records(&[])).await;
    assert_eq!(connect(&services, 1).await.exchange(&put(&services, "a")).await.status, 201);
    services.retire().await;
    services.ledger().close();
    for request in
        [put(&services, "b"), get(&services, "a"), b"GET /records/a HTTP/1.1\r\nHost: x\r\n\r\n".to_vec()]
    {
        assert_eq!(connect(&services, 1).await.exchange(&request).await.status, 503);
    }
    let named = |kind: &str, operation: &str| (kind.to_owned(), operation.to_owned());
    assert_eq!(
        late(&services),
        [named("write", "records.put"), named("read", "records.get"), named("refused", "")]
    );
    let commits = services
        .ledger()
        .entries()
        .iter()
        .filter(|entry| matches!(entry.event, Event::Committed { .. }))
        .count();
    assert_eq!(commits, 1);
}

#[tokio::test]
async fn the_ledger_file_is_closed_again_after_each_late_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let file = LedgerFile::create_planned(&path, "{}").unwrap();
    let ledger = Ledger::in_file("t", 1, Clock::default(), &file);
    let services = start(records(&[]).ledger(ledger.clone())).await;
    services.retire().await;
    ledger.close();
    let read = || {
        file.flush().unwrap();
        read_ledgers(std::io::BufReader::new(std::fs::File::open(&path).unwrap()))
            .unwrap()
            .remove("t")
            .unwrap()
    };
    let before = read();
    for count in 1..=3 {
        connect(&services, 1).await.exchange(&put(&services, "b")).await;
        let saved = read();
        assert_eq!(saved.torn, None);
        assert_eq!(
            saved.entries.len(),
            before.entries.len() + 2 * count,
            "a note and another closing entry each"
        );
        assert_eq!(saved.entries, ledger.entries());
        assert_ne!(saved.seal, before.seal);
    }
}

#[tokio::test]
async fn unfinished_requests_are_counted_and_idle_connections_are_closed() {
    let services = start(records(&["records.put#1 commit=now reply={hang: {release: 10m}}"])).await;
    let mut unanswered = connect(&services, 1).await;
    unanswered.send(&put(&services, "a")).await;
    wait_for_count(&services, 1, |event| matches!(event, Event::Committed { .. })).await;
    let mut idle = connect(&services, 1).await;
    assert_eq!(idle.exchange(&get(&services, "a")).await.status, 200);
    let mut sending = connect(&services, 1).await;
    sending.send(b"PUT /records/b HTTP/1.1\r\nHos").await;
    let expected = OpenConnections { idle: 1, sending: 1, unanswered: 1 };
    within_timeout(async {
        while services.connections(1) != expected {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(services.retire().await, [expected]);
    for connection in [&mut unanswered, &mut idle, &mut sending] {
        assert_eq!(connection.read_to_end().await.0, b"", "closed, and nothing was sent");
    }
    assert_eq!(services.connections(1), OpenConnections::default());
}

#[tokio::test]
async fn a_request_that_crosses_the_closing_of_its_connection_is_recorded() {
    let services = start(records(&[])).await;
    let mut idle = connect(&services, 1).await;
    assert_eq!(idle.exchange(&put(&services, "a")).await.status, 201);
    services.retire().await;
    services.ledger().close();
    // The client has not noticed yet that the connection was closed.
    idle.send(&put(&services, "b")).await;
    wait_for_value(&services, |event| {
        matches!(event, Event::Noted { name, .. } if name == LATE_REQUEST).then_some(())
    })
    .await;
    assert_eq!(late(&services), [("write".to_owned(), "records.put".to_owned())]);
}

#[tokio::test]
async fn a_late_smtp_message_is_recorded_as_a_write() {
    let services = start(email(&[])).await;
    services.retire().await;
    services.ledger().close();
    let mut connection = RawConnection::open(services.smtp_address("email", 1).unwrap()).await;
    connection.send(b"EHLO me\r\n").await;
    let (said, _) = connection.read_to_end().await;
    assert!(String::from_utf8_lossy(&said).contains("\r\n421 "), "{}", String::from_utf8_lossy(&said));
    assert_eq!(late(&services), [("write".to_owned(), "email.send".to_owned())]);
}

#[tokio::test]
async fn a_late_mail_client_is_the_subject_and_another_process_only_if_it_says_something_else() {
    let services = start(email(&[]).late_senders(Arc::new(|_| LateSender::Foreign))).await;
    services.retire().await;
    services.ledger().close();
    for first in [b"ehlo me\r\n".as_slice(), b"HELO me\r\n", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n"] {
        let mut connection = RawConnection::open(services.smtp_address("email", 1).unwrap()).await;
        connection.send(first).await;
        connection.read_to_end().await;
    }
    let entries = services.ledger().entries();
    let senders = entries.iter().filter_map(|entry| match &entry.event {
        Event::Noted { fields, .. } => Some(fields.get("sender").map(ToString::to_string)),
        _ => None,
    });
    assert_eq!(senders.collect::<Vec<_>>(), [None, None, None, Some("foreign".to_owned())]);
}

#[tokio::test]
async fn many_late_reads_hide_no_late_write() {
    let services = start(records(&[])).await;
    services.retire().await;
    services.ledger().close();
    for _ in 0..100 {
        connect(&services, 1).await.exchange(&get(&services, "a")).await;
    }
    connect(&services, 1).await.exchange(&put(&services, "b")).await;
    let found = late(&services);
    assert!(found.len() < 50, "{}", found.len());
    assert_eq!(found.last().unwrap().0, "write");
}

#[tokio::test]
async fn late_requests_of_another_process_are_told_apart_and_hide_no_write_of_the_subject() {
    let senders = |call: LateCall<'_>| match call.has_word(|word| word == "other") {
        true => LateSender::Foreign,
        false => LateSender::Subject,
    };
    let services = start(records(&[]).late_senders(Arc::new(senders))).await;
    services.retire().await;
    services.ledger().close();
    for _ in 0..100 {
        let request = b"PUT /records/a?from=other HTTP/1.1\r\nHost: x\r\n\r\n";
        connect(&services, 1).await.exchange(request).await;
    }
    connect(&services, 1).await.exchange(&put(&services, "b")).await;
    let found = late(&services);
    assert!(found.len() < 50, "{}", found.len());
    assert_eq!(found.last().unwrap().0, "write");
    let entries = services.ledger().entries();
    let senders = entries.iter().filter_map(|entry| match &entry.event {
        Event::Noted { fields, .. } => Some(fields.get("sender").map(ToString::to_string)),
        _ => None,
    });
    let senders: Vec<_> = senders.collect();
    assert_eq!(senders.last().unwrap(), &None);
    assert_eq!(senders[0].as_deref(), Some("foreign"));
}
