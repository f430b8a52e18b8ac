//! Bodies of a hundred megabytes and heads without end, of which little is kept.

use tokio::io::AsyncWriteExt;

use crate::bad_input::processes::Store;
use crate::kit::connection::header;
use crate::kit::{Connection, End, attempts, email, must, started};

const MEGABYTE: usize = 1024 * 1024;
const MOST: u64 = 64 * MEGABYTE as u64;

/// Sends a head and a hundred times the piece behind it, whatever is answered meanwhile; gives the answer.
async fn refused(store: &Store, headers: &str, piece: &[u8]) -> u16 {
    let mut line = Connection::open(store.address).await;
    line.send(&store.put("large", headers, "")).await;
    for _ in 0..100 {
        line.send(piece).await;
    }
    let seen = line.answer().await;
    assert_eq!(
        (header(&seen.head, "connection"), line.rest().await),
        (Some("close"), (Vec::new(), End::Fin))
    );
    seen.status
}

#[tokio::test]
async fn a_body_of_a_hundred_megabytes_is_refused_and_not_kept() {
    let store = Store::start("true").await;
    store.answers("before").await;
    let before = store.part.peak();
    let piece = vec![b'x'; MEGABYTE];
    assert_eq!(refused(&store, "Content-Length: 104857600\r\n", &piece).await, 413);
    let chunk = [b"100000\r\n".as_slice(), &piece, b"\r\n"].concat();
    assert_eq!(refused(&store, "Transfer-Encoding: chunked\r\n", &chunk).await, 413);
    let grown = store.part.peak() - before;
    assert!(grown < MOST, "{grown} bytes more");
    store.answers("after").await;
    assert_eq!(store.ends().await, (2, 2));
}

#[tokio::test]
async fn a_body_that_is_declared_too_large_is_refused_before_it_is_sent() {
    let store = Store::start("true").await;
    let mut line = Connection::open(store.address).await;
    let seen =
        line.ask(&store.put("large", "Content-Length: 104857600\r\nExpect: 100-continue\r\n", "")).await;
    assert_eq!((seen.status, line.rest().await), (413, (Vec::new(), End::Fin)));
    let mut line = Connection::open(store.address).await;
    let seen = line.ask(&store.put("large", "Content-Length: 99999999999999999999999999\r\n", "")).await;
    assert_eq!(seen.status, 413);
    drop(line);
    assert_eq!(store.ends().await, (0, 2));
}

#[tokio::test]
async fn a_head_without_end_is_refused_and_not_kept() {
    let store = Store::start("true").await;
    store.answers("before").await;
    let before = store.part.peak();
    let long = |line: &str, times: usize| line.repeat(times).into_bytes();
    // One header without end, headers without end, and a first line without end.
    for head in [long("X", MEGABYTE), long("X-Header: value\r\n", MEGABYTE / 16)] {
        let mut line = Connection::open(store.address).await;
        line.send(b"GET /records HTTP/1.1\r\n").await;
        line.send(&head).await;
        assert_eq!(line.answer().await.status, 431);
        assert_eq!(line.rest().await, (Vec::new(), End::Fin));
    }
    let mut line = Connection::open(store.address).await;
    line.send(b"GET /").await;
    line.send(&long("x", MEGABYTE)).await;
    assert_eq!(line.answer().await.status, 431);
    let grown = store.part.peak() - before;
    assert!(grown < MOST, "{grown} bytes more");
    store.answers("after").await;
    assert_eq!(store.ends().await, (2, 3));
}

#[tokio::test]
async fn a_message_of_a_hundred_megabytes_is_refused_over_smtp_and_the_conversation_goes_on() {
    let services = started(email(&[])).await;
    let mut line = Connection::open(services.smtp_address("email", 1).unwrap()).await;
    for (command, code) in [
        ("EHLO x", "250"),
        ("MAIL FROM:<a@x.example>", "250"),
        ("RCPT TO:<b@x.example>", "250"),
        ("DATA", "354"),
    ] {
        line.send(format!("{command}\r\n").as_bytes()).await;
        loop {
            let reply = String::from_utf8(line.through(b"\r\n").await).unwrap();
            if reply.starts_with(&format!("{code} ")) {
                break;
            }
            assert!(reply.starts_with("220 ") || reply.starts_with(&format!("{code}-")), "{reply}");
        }
    }
    let piece = [vec![b'x'; MEGABYTE - 2], b"\r\n".to_vec()].concat();
    for _ in 0..100 {
        must(line.stream.write_all(&piece)).await.unwrap();
    }
    line.send(b".\r\n").await;
    assert_eq!(line.through(b"\r\n").await, b"552 5.3.4 Message size exceeds fixed limit\r\n");
    line.send(b"NOOP\r\n").await;
    assert_eq!(line.through(b"\r\n").await, b"250 2.0.0 Ok\r\n");
    assert!(attempts(&services).is_empty());
}
