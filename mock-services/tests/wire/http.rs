//! HTTP/1.1 over a raw socket: keep-alive, pipelining, `HEAD`, `100 Continue`, and HTTP/1.0.

use mock_services::ledger::{ClosedBy, Event};

use crate::kit::connection::header;
use crate::kit::{End, attempts, commits, connect, get, put, records, request, start, wait_for_value};

#[tokio::test]
async fn one_connection_carries_several_requests() {
    let services = start(records(&[])).await;
    let mut connection = connect(&services, 1).await;
    for number in 0..5 {
        let seen = connection.exchange(&put(&services, &format!("k{number}"))).await;
        assert_eq!((seen.status, header(&seen.head, "connection")), (201, Some("keep-alive")));
    }
    drop(connection);
    let by = wait_for_value(
        &services,
        |event| if let Event::Closed { by, .. } = event { Some(*by) } else { None },
    )
    .await;
    assert_eq!((by, attempts(&services).len()), (ClosedBy::Caller, 5));
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_even_after_a_delayed_one() {
    let services = start(records(&[
        "records.put#2 commit=now reply={delay: 60ms}",
        "records.put#3 commit=now reply={drip: 20ms}",
    ]))
    .await;
    let mut connection = connect(&services, 1).await;
    let all: Vec<u8> = (0..5).flat_map(|number| put(&services, &format!("k{number}"))).collect();
    connection.send(&all).await;
    for number in 0..5 {
        let seen = connection.answer().await;
        let body = String::from_utf8(seen.body).unwrap();
        assert!(body.starts_with(&format!("{{\"key\":\"k{number}\"")), "{body}");
    }
    assert_eq!(commits(&services), [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_request_pipelined_after_a_dropped_one_is_not_an_attempt() {
    let services = start(records(&["records.put#2 commit=now reply=drop"])).await;
    let mut connection = connect(&services, 1).await;
    let all: Vec<u8> = (0..4).flat_map(|number| put(&services, &format!("k{number}"))).collect();
    connection.send(&all).await;
    assert_eq!(connection.answer().await.status, 201);
    assert_eq!(
        connection.read_to_end().await,
        (Vec::new(), End::Fin),
        "unread input does not turn the FIN into a RST"
    );
    drop(connection);
    wait_for_value(&services, |event| matches!(event, Event::Closed { .. }).then_some(())).await;
    assert_eq!(attempts(&services), [1, 2]);
}

#[tokio::test]
async fn a_request_can_arrive_in_single_bytes() {
    let services = start(records(&[])).await;
    let mut connection = connect(&services, 1).await;
    connection.stream.set_nodelay(true).unwrap();
    for byte in put(&services, "a") {
        connection.send(&[byte]).await;
    }
    assert_eq!(connection.answer().await.status, 201);
}

#[tokio::test]
async fn a_chunked_body_is_read() {
    let services = start(records(&[])).await;
    let mut connection = connect(&services, 1).await;
    let head = request(&services, "PUT", "/records/a", &["Transfer-Encoding: chunked"], "");
    connection.send(&head).await;
    connection.send(b"3\r\n{\"v\r\n").await;
    let seen = connection.exchange(b"9\r\nalue\":17}\r\n0\r\n\r\n").await;
    assert_eq!(seen.status, 201);
    assert!(String::from_utf8(seen.body).unwrap().contains("\"value\":17"));
    assert_eq!(connection.exchange(&get(&services, "a")).await.status, 200);
}

#[tokio::test]
async fn the_response_to_head_declares_a_body_and_has_none() {
    let services = start(records(&[])).await;
    let mut connection = connect(&services, 1).await;
    connection.send(&request(&services, "HEAD", "/records", &[], "")).await;
    let seen = connection.response_head().await;
    assert!(header(&seen.head, "content-length").unwrap().parse::<u64>().unwrap() > 0, "{}", seen.head);
    let next = connection.exchange(&request(&services, "GET", "/records", &[], "")).await;
    assert_eq!((next.status, next.body.as_slice()), (200, b"{\"records\":[],\"next\":null}".as_slice()));
}

#[tokio::test]
async fn a_client_that_expects_100_continue_gets_it() {
    let services = start(records(&[])).await;
    let mut connection = connect(&services, 1).await;
    let whole = request(&services, "PUT", "/records/a", &["Expect: 100-continue"], "{\"value\":1}");
    let (head, body) = whole.split_at(whole.len() - 11);
    connection.send(head).await;
    assert_eq!(connection.read_through(b"\r\n\r\n").await, b"HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(attempts(&services), [0; 0], "a request is not an attempt before it is complete");
    assert_eq!(connection.exchange(body).await.status, 201);
}

#[tokio::test]
async fn an_http_1_0_client_gets_one_response_and_a_fin() {
    let services = start(records(&[])).await;
    let old = |headers: &[&str]| {
        let text = String::from_utf8(request(&services, "GET", "/records", headers, "")).unwrap();
        text.replace("HTTP/1.1", "HTTP/1.0").into_bytes()
    };
    let mut connection = connect(&services, 1).await;
    let seen = connection.exchange(&old(&[])).await;
    assert_eq!((seen.status, header(&seen.head, "connection")), (200, Some("close")));
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin));
    let mut connection = connect(&services, 1).await;
    for _ in 0..2 {
        assert_eq!(
            header(&connection.exchange(&old(&["Connection: keep-alive"])).await.head, "connection"),
            Some("keep-alive")
        );
    }
}

#[tokio::test]
async fn a_client_that_sends_connection_close_gets_one_response_and_a_fin() {
    let services = start(records(&[])).await;
    let mut connection = connect(&services, 1).await;
    let seen = connection.exchange(&request(&services, "GET", "/records", &["Connection: close"], "")).await;
    assert_eq!((seen.status, header(&seen.head, "connection")), (200, Some("close")));
    assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin));
    drop(connection);
    let by = wait_for_value(
        &services,
        |event| if let Event::Closed { by, .. } = event { Some(*by) } else { None },
    )
    .await;
    assert_eq!(by, ClosedBy::Service);
}

#[tokio::test]
async fn a_reply_that_the_client_did_not_read_is_corrected_in_the_ledger() {
    const RECORDS: u64 = 50;
    let services = start(records(&[])).await;
    let mut connection = connect(&services, 1).await;
    let body = format!("{{\"value\":\"{}\"}}", "x".repeat(250_000));
    for number in 0..RECORDS {
        assert_eq!(
            connection
                .exchange(&request(&services, "PUT", &format!("/records/{number}"), &[], &body))
                .await
                .status,
            201
        );
    }
    // Together they are larger than the buffers of both ends.
    let mut connection = connect(&services, 1).await;
    connection.send(&request(&services, "GET", "/records?limit=100", &[], "")).await;
    let promised = wait_for_value(&services, |event| match event {
        Event::Replied { attempt, bytes, whole: true, .. } if *attempt > RECORDS => Some(*bytes),
        _ => None,
    });
    let promised = promised.await;
    drop(connection);
    let taken =
        wait_for_value(
            &services,
            |event| if let Event::Unsent { bytes, .. } = event { Some(*bytes) } else { None },
        )
        .await;
    assert!(taken < promised, "{taken} of {promised}");
}
