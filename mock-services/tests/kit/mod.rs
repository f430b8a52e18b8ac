//! The test kit of this package: services to test against, raw connections that keep every byte, requests and
//! writes, the ledger, and child processes. It knows nothing about what a test expects. Tests wait for
//! entries of the ledger, not for time.

#![allow(unused_imports, reason = "the kit exports its main names from one place")]

pub(crate) mod client;
pub(crate) mod connection;
pub(crate) mod ledger;
pub(crate) mod process;
pub(crate) mod request;
pub(crate) mod services;
pub(crate) mod write;

use std::future::Future;
use std::time::Duration;

use mock_services::email::{Email, EmailOptions};
use mock_services::fault::{Fault, Reply, ReplyContent, ReplyKind};
use mock_services::records::Records;
use mock_services::{Builder, MockServices, ServiceOptions};

pub(crate) use connection::{End, RawConnection, RawResponse};
pub(crate) use ledger::{attempts, commits, events, replies, wait_for_count, wait_for_value};

/// A test that waits longer than this has failed. Longer than any step takes on a busy machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// Waits for something with the test timeout.
pub(crate) async fn within_timeout<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, what).await.expect("the test timed out")
}

/// Parses a fault: `records.put#1 commit=now reply=drop`. It is checked when it is armed.
pub(crate) fn fault(line: &str) -> Fault {
    line.parse().unwrap_or_else(|problems| panic!("{problems}"))
}

/// Parses several faults.
pub(crate) fn faults(lines: &[&str]) -> Vec<Fault> {
    lines.iter().map(|line| fault(line)).collect()
}

/// One form of a reply.
#[derive(Debug, Clone)]
pub(crate) struct ReplySample {
    /// As a fault has it.
    pub(crate) text: &'static str,
    pub(crate) reply: Reply,
}

impl ReplySample {
    pub(crate) fn content(&self) -> ReplyContent {
        self.reply.kind().facts().content
    }

    /// Whether the service stores it under the key.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(&self.reply, Reply::Status(status) if status.kept)
    }
}

/// Every form of every reply that each write can have and that ends without the client.
pub(crate) fn write_replies() -> Vec<ReplySample> {
    let texts = ReplyKind::ALL.into_iter().flat_map(|kind| kind.facts().samples);
    let samples = texts.map(|text| ReplySample { text, reply: fault(&format!("a.b reply={text}")).reply });
    let is_general = |sample: &ReplySample| {
        let ReplySample { reply, .. } = sample;
        !sample.content().is_for_reads() && !reply.waits_for_caller() && reply.cut_place().is_none()
    };
    samples.filter(is_general).collect()
}

/// A builder with a record store and these faults.
pub(crate) fn records(lines: &[&str]) -> Builder {
    MockServices::builder().faults(faults(lines)).service(Records::default(), ServiceOptions::default())
}

/// A builder with a mail service that accepts any key, and these faults.
pub(crate) fn email(lines: &[&str]) -> Builder {
    MockServices::builder()
        .any_key()
        .faults(faults(lines))
        .service(Email::new(EmailOptions::default()), ServiceOptions::default())
}

/// Starts the services.
pub(crate) async fn start(builder: Builder) -> MockServices {
    builder.start().await.unwrap()
}

/// A connection of a caller to the record store.
pub(crate) async fn connect(services: &MockServices, caller: u32) -> RawConnection {
    RawConnection::open(services.address("records", caller).unwrap()).await
}

/// A request to the record store with the correct key; `headers` are whole lines.
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
        "{\"value\":\"a value that is long enough to be truncated\"}",
    )
}

/// A request that reads the value under a key.
pub(crate) fn get(services: &MockServices, key: &str) -> Vec<u8> {
    request(services, "GET", &format!("/records/{key}"), &[], "")
}

/// A request that increments a counter by one.
pub(crate) fn increment(services: &MockServices, counter: &str, headers: &[&str]) -> Vec<u8> {
    request(services, "POST", &format!("/counters/{counter}/increment"), headers, "{\"by\":1}")
}
