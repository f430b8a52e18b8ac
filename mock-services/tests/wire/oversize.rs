//! Oversized replies: the commit stands, and the bytes are streamed.

use mock_services::ledger::ClosedBy;
use serde_json::Value;

use crate::kit::connection::header;
use crate::kit::ledger::replied;
use crate::kit::{commits, connect, get, put, records, start, wait_for_value};
use mock_services::ledger::Event;

#[tokio::test]
async fn an_oversized_reply_is_the_response_padded_with_spaces() {
    let services = start(records(&["records.put#1 commit=now reply={oversize: 3MB}"])).await;
    let mut connection = connect(&services, 1).await;
    let seen = connection.exchange(&put(&services, "a")).await;
    assert_eq!((seen.status, header(&seen.head, "content-length")), (201, Some("3000000")));
    assert_eq!(seen.body.len(), 3_000_000);
    assert_eq!(serde_json::from_slice::<Value>(&seen.body).unwrap()["key"], "a");
    let reply = replied(&services, 1).await;
    assert_eq!((reply.reply.as_str(), reply.whole, reply.bytes), ("oversize", true, seen.bytes));
    // The connection is still usable.
    assert_eq!(connection.exchange(&get(&services, "a")).await.status, 200);
}

#[tokio::test]
async fn a_client_that_leaves_during_an_oversized_reply_has_a_part_of_it() {
    // Far more than the socket buffers can hold.
    let services = start(records(&["records.put#1 commit=now reply={oversize: 256MB}"])).await;
    let mut connection = connect(&services, 1).await;
    connection.send(&put(&services, "a")).await;
    connection.response_head().await;
    drop(connection);
    let by = wait_for_value(
        &services,
        |event| if let Event::Closed { by, .. } = event { Some(*by) } else { None },
    )
    .await;
    assert_eq!(by, ClosedBy::Caller);
    let reply = replied(&services, 1).await;
    assert_eq!((reply.reply.as_str(), reply.whole, reply.status), ("oversize", false, Some(201)));
    assert!(reply.bytes < 256_000_000, "{}", reply.bytes);
    assert_eq!(commits(&services), [1]);
}

#[tokio::test]
async fn an_oversized_reply_needs_no_commit() {
    let services = start(records(&["records.put#1 commit=never reply={oversize: 1KB}"])).await;
    let mut connection = connect(&services, 1).await;
    let seen = connection.exchange(&put(&services, "a")).await;
    assert_eq!((seen.status, seen.body.len()), (201, 1_000));
    assert!(commits(&services).is_empty());
}
