//! Bodies of a hundred megabytes and endless heads, of which little is kept in memory.

use tokio::io::AsyncWriteExt;

use crate::bad_input::processes::Store;
use crate::kit::connection::header;
use crate::kit::{End, RawConnection, attempts, email, start, within_timeout};

const MEGABYTE: usize = 1024 * 1024;
const MOST: u64 = 64 * MEGABYTE as u64;

/// Sends a head and then a hundred times the chunk, ignoring any response meanwhile; returns the status.
async fn refused(store: &Store, headers: &str, piece: &[u8]) -> u16 {
    let mut connection = RawConnection::open(store.address).await;
    connection.send(&store.put("large", headers, "")).await;
    for _ in 0..100 {
        connection.send(piece).await;
    }
    let seen = connection.answer().await;
    assert_eq!(
        (header(&seen.head, "connection"), connection.read_to_end().await),
        (Some("close"), (Vec::new(), End::Fin))
    );
    seen.status
}

#[tokio::test]
async fn a_body_of_a_hundred_megabytes_is_refused_and_not_stored() {
    let store = Store::start("true").await;
    store.assert_answers("before").await;
    let before = store.part.peak_memory();
    let piece = vec![b'x'; MEGABYTE];
    assert_eq!(refused(&store, "Content-Length: 104857600\r\n", &piece).await, 413);
    let chunk = [b"100000\r\n".as_slice(), &piece, b"\r\n"].concat();
    assert_eq!(refused(&store, "Transfer-Encoding: chunked\r\n", &chunk).await, 413);
    let grown = store.part.peak_memory() - before;
    assert!(grown < MOST, "{grown} bytes more");
    store.assert_answers("after").await;
    assert_eq!(store.finish().await, (2, 2));
}

#[tokio::test]
async fn a_body_declared_too_large_is_refused_before_it_is_sent() {
    let store = Store::start("true").await;
    let mut connection = RawConnection::open(store.address).await;
    let seen = connection
        .exchange(&store.put("large", "Content-Length: 104857600\r\nExpect: 100-continue\r\n", ""))
        .await;
    assert_eq!((seen.status, connection.read_to_end().await), (413, (Vec::new(), End::Fin)));
    let mut connection = RawConnection::open(store.address).await;
    let seen =
        connection.exchange(&store.put("large", "Content-Length: 99999999999999999999999999\r\n", "")).await;
    assert_eq!(seen.status, 413);
    drop(connection);
    assert_eq!(store.finish().await, (0, 2));
}

#[tokio::test]
async fn an_endless_head_is_refused_and_not_stored() {
    let store = Store::start("true").await;
    store.assert_answers("before").await;
    let before = store.part.peak_memory();
    let long = |connection: &str, times: usize| connection.repeat(times).into_bytes();
    // One endless header, endless headers, and an endless first line.
    for head in [long("X", MEGABYTE), long("X-Header: value\r\n", MEGABYTE / 16)] {
        let mut connection = RawConnection::open(store.address).await;
        connection.send(b"GET /records HTTP/1.1\r\n").await;
        connection.send(&head).await;
        assert_eq!(connection.answer().await.status, 431);
        assert_eq!(connection.read_to_end().await, (Vec::new(), End::Fin));
    }
    let mut connection = RawConnection::open(store.address).await;
    connection.send(b"GET /").await;
    connection.send(&long("x", MEGABYTE)).await;
    assert_eq!(connection.answer().await.status, 431);
    let grown = store.part.peak_memory() - before;
    assert!(grown < MOST, "{grown} bytes more");
    store.assert_answers("after").await;
    assert_eq!(store.finish().await, (2, 3));
}

#[tokio::test]
async fn a_message_of_a_hundred_megabytes_is_refused_and_the_session_continues() {
    let services = start(email(&[])).await;
    let mut connection = RawConnection::open(services.smtp_address("email", 1).unwrap()).await;
    for (command, code) in [
        ("EHLO x", "250"),
        ("MAIL FROM:<a@x.example>", "250"),
        ("RCPT TO:<b@x.example>", "250"),
        ("DATA", "354"),
    ] {
        connection.send(format!("{command}\r\n").as_bytes()).await;
        loop {
            let reply = String::from_utf8(connection.read_through(b"\r\n").await).unwrap();
            if reply.starts_with(&format!("{code} ")) {
                break;
            }
            assert!(reply.starts_with("220 ") || reply.starts_with(&format!("{code}-")), "{reply}");
        }
    }
    let piece = [vec![b'x'; MEGABYTE - 2], b"\r\n".to_vec()].concat();
    for _ in 0..100 {
        within_timeout(connection.stream.write_all(&piece)).await.unwrap();
    }
    connection.send(b".\r\n").await;
    assert_eq!(connection.read_through(b"\r\n").await, b"552 5.3.4 Message size exceeds fixed limit\r\n");
    connection.send(b"NOOP\r\n").await;
    assert_eq!(connection.read_through(b"\r\n").await, b"250 2.0.0 Ok\r\n");
    assert!(attempts(&services).is_empty());
}
