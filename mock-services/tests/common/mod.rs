//! What the tests of the package share: services with faults on one line, raw connections of which every byte
//! and the manner of their end is seen, and waiting for an entry of the ledger instead of waiting for time.

#![allow(dead_code, unused_imports, reason = "each test program uses a part of it")]

pub(crate) mod ledger;
pub(crate) mod line;
pub(crate) mod process;

use std::future::Future;
use std::time::Duration;

use mock_services::email::{Email, EmailOptions};
use mock_services::fault::{Fault, read_line};
use mock_services::records::Records;
use mock_services::service::{Operation, Service};
use mock_services::yaml::Source;
use mock_services::{Builder, MockServices, ServiceOptions};

pub(crate) use ledger::{attempts, commits, entry, events, replies, until};
pub(crate) use line::{End, Line, Seen};

/// A test that waits longer than this has failed. It is no bound on how fast anything has to be.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for something that must come.
pub(crate) async fn must<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("what the test waits for has not come")
}

/// Faults from their lines: `records.put#1 commit=now reply=drop`.
pub(crate) fn faults(lines: &[&str]) -> Vec<Fault> {
    let (records, email) = (Records::default(), Email::default());
    let operations: Vec<Operation> = records.operations().iter().chain(email.operations()).cloned().collect();
    let read = |line: &&str| {
        read_line(&Source::new("fault", *line), &operations, None).unwrap_or_else(|error| panic!("{error}"))
    };
    lines.iter().map(read).collect()
}

/// A record store and what is needed to build more around it.
pub(crate) fn records(lines: &[&str]) -> Builder {
    MockServices::builder().faults(faults(lines)).service(Records::default(), ServiceOptions::default())
}

/// A mail service that takes messages over SMTP from anybody.
pub(crate) fn email(lines: &[&str]) -> Builder {
    MockServices::builder()
        .any_key()
        .faults(faults(lines))
        .service(Email::new(EmailOptions::default()), ServiceOptions::default())
}

/// Started services.
pub(crate) async fn started(builder: Builder) -> MockServices {
    builder.start().await.unwrap()
}

/// A connection of a caller to the record store.
pub(crate) async fn connected(services: &MockServices, caller: u32) -> Line {
    Line::open(services.address("records", caller).unwrap()).await
}

/// A request to the record store with the right key; `headers` are whole lines.
pub(crate) fn request(
    services: &MockServices,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> Vec<u8> {
    let key = services.key("records").unwrap();
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: records\r\nAuthorization: Bearer {key}\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    if !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    format!("{text}\r\n{body}").into_bytes()
}

/// A request that puts a value under a key.
pub(crate) fn put(services: &MockServices, key: &str) -> Vec<u8> {
    request(
        services,
        "PUT",
        &format!("/records/{key}"),
        &[],
        "{\"value\":\"one that is long enough to be cut in two\"}",
    )
}

/// A request that reads what is under a key.
pub(crate) fn get(services: &MockServices, key: &str) -> Vec<u8> {
    request(services, "GET", &format!("/records/{key}"), &[], "")
}

/// A request that moves a counter by one.
pub(crate) fn increment(services: &MockServices, counter: &str, headers: &[&str]) -> Vec<u8> {
    request(services, "POST", &format!("/counters/{counter}/increment"), headers, "{\"by\":1}")
}
