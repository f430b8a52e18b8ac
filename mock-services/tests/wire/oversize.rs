//! Replies that are too large: what is committed stays, and the bytes come as a stream.

use mock_services::ledger::ClosedBy;
use serde_json::Value;

use crate::kit::connection::header;
use crate::kit::ledger::replied;
use crate::kit::{commits, connected, get, put, records, started, wait_for_value};
use mock_services::ledger::Event;

#[tokio::test]
async fn an_oversized_reply_is_the_true_answer_filled_up_with_blanks() {
    let services = started(records(&["records.put#1 commit=now reply={oversize: 3MB}"])).await;
    let mut line = connected(&services, 1).await;
    let seen = line.ask(&put(&services, "a")).await;
    assert_eq!((seen.status, header(&seen.head, "content-length")), (201, Some("3000000")));
    assert_eq!(seen.body.len(), 3_000_000);
    assert_eq!(serde_json::from_slice::<Value>(&seen.body).unwrap()["key"], "a");
    let reply = replied(&services, 1).await;
    assert_eq!((reply.reply.as_str(), reply.whole, reply.bytes), ("oversize", true, seen.bytes));
    // The line is as good as before.
    assert_eq!(line.ask(&get(&services, "a")).await.status, 200);
}

#[tokio::test]
async fn a_caller_that_closes_the_connection_before_the_end_had_a_part_of_it_and_the_effect_stands() {
    // Far more than the sockets on the way can hold.
    let services = started(records(&["records.put#1 commit=now reply={oversize: 256MB}"])).await;
    let mut line = connected(&services, 1).await;
    line.send(&put(&services, "a")).await;
    line.answer_to_head().await;
    drop(line);
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
async fn nothing_need_be_committed_behind_an_oversized_reply() {
    let services = started(records(&["records.put#1 commit=never reply={oversize: 1KB}"])).await;
    let mut line = connected(&services, 1).await;
    let seen = line.ask(&put(&services, "a")).await;
    assert_eq!((seen.status, seen.body.len()), (201, 1_000));
    assert!(commits(&services).is_empty());
}
