//! Input that is not HTTP, and HTTP that is not a valid request.

use std::time::Duration;

use mock_services::{Limits, MockServices};
use tokio::io::AsyncWriteExt;

use crate::bad_input::assert_alive;
use crate::kit::connection::header;
use crate::kit::{
    End, RawConnection, RawResponse, attempts, connect, email, events, records, request, start,
};

/// A store with long timeouts: a refusal that depended on a timeout would never come.
async fn with_long_timeouts() -> MockServices {
    let time = Duration::from_secs(600);
    let limits = Limits { head_time: time, body_time: time, idle_time: time, ..Limits::default() };
    start(records(&["records.put#1 commit=now reply=ok"]).limits(limits)).await
}

/// Sends bytes that are refused before they are a request; returns the response.
async fn refused(services: &MockServices, bytes: &[u8]) -> RawResponse {
    let mut connection = connect(services, 1).await;
    let seen = connection.exchange(bytes).await;
    assert_eq!(
        (header(&seen.head, "connection"), connection.read_to_end().await),
        (Some("close"), (Vec::new(), End::Fin))
    );
    assert!(attempts(services).is_empty());
    seen
}

#[tokio::test]
async fn garbage_instead_of_http_is_refused_at_once() {
    let services = with_long_timeouts().await;
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x8f\xee\x12\x44";
    let none: [&[u8]; 14] = [
        hello,
        b"\x00\x00\x00\x00",
        b"hello\r\n",
        b"GET\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nName : space before the colon\r\n\r\n",
        b"CONNECT api.stripe.com:443 HTTP/1.1\r\nHost: api.stripe.com:443\r\n\r\n",
        b"GET /records HTTP/1.1\r\n\r\n",
        b"GET /records HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n",
        b"PUT /records/a HTTP/1.1\r\nHost: h\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\n\r\n",
        b"PUT /records/a HTTP/1.1\r\nHost: h\r\nIdempotency-Key: \xff\xfe\r\n\r\n",
        b"PUT /records/a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: \
         chunked\r\n\r\n",
        b"PUT /records/a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    ];
    for bytes in none {
        let seen = refused(&services, bytes).await;
        assert_eq!(seen.status, 400, "{}", bytes.escape_ascii());
        assert!(String::from_utf8(seen.body).unwrap().contains("<h1>400 Bad Request</h1>"));
    }
    assert_eq!(assert_alive(&services).await, [400; 14]);
}

#[tokio::test]
async fn other_versions_and_framings_have_their_own_status() {
    let services = with_long_timeouts().await;
    let cases: [(&[u8], u16); 5] = [
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"GET / HTTP/3.0\r\n\r\n", 505),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nnot a size\r\n", 400),
    ];
    for (bytes, status) in cases {
        assert_eq!(refused(&services, bytes).await.status, status, "{}", bytes.escape_ascii());
    }
    assert_eq!(assert_alive(&services).await, cases.map(|(_, status)| status));
}

#[tokio::test]
async fn no_bytes_make_an_attempt_or_stop_the_service() {
    let services = with_long_timeouts().await;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..300 {
        let mut bytes = b"GET / HTTP/1.1\r\nHost: h\r\n".to_vec();
        for place in 0..64 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let byte = random.to_le_bytes()[0];
            if place % 4 == 0 && random.is_multiple_of(3) {
                let at = usize::from(byte) % bytes.len();
                bytes[at] = byte;
            } else {
                bytes.push(byte);
            }
        }
        let mut connection = connect(&services, 1).await;
        connection.send(&bytes).await;
        connection.stream.shutdown().await.unwrap();
        let (seen, end) = connection.read_to_end().await;
        assert!(
            seen.is_empty() || seen.starts_with(b"HTTP/1.1 4") || seen.starts_with(b"HTTP/1.1 505"),
            "{}",
            seen.escape_ascii()
        );
        assert_eq!(end, End::Fin, "{}", bytes.escape_ascii());
    }
    assert!(attempts(&services).is_empty() && services.fired()[0].seen == 0);
    assert_alive(&services).await;
}

#[tokio::test]
async fn a_refusal_of_the_service_keeps_the_connection_open() {
    let services = with_long_timeouts().await;
    let mut connection = connect(&services, 1).await;
    let cases = [
        ("an unknown path", request(&services, "GET", "/nowhere", &[], ""), 404),
        ("a wrong method", request(&services, "PATCH", "/records/a", &[], "{}"), 405),
        ("a method nobody knows", request(&services, "BREW", "/records", &[], ""), 405),
        ("half a body", request(&services, "PUT", "/records/a", &[], "{\"value\": [1, 2"), 400),
        (
            "a form",
            request(
                &services,
                "PUT",
                "/records/a",
                &["Content-Type: application/x-www-form-urlencoded"],
                "value=%",
            ),
            400,
        ),
        ("a body without its field", request(&services, "PUT", "/records/a", &[], "{\"valu\":1}"), 422),
        ("no body", request(&services, "PUT", "/records/a", &[], ""), 400),
        ("a key that is not UTF-8", request(&services, "GET", "/records/%ff%fe", &[], ""), 400),
        ("a number that is none", request(&services, "GET", "/records?limit=-1", &[], ""), 400),
        ("nesting without end", request(&services, "PUT", "/records/a", &[], &"[".repeat(100_000)), 400),
    ];
    for (what, bytes, status) in &cases {
        let seen = connection.exchange(bytes).await;
        assert_eq!(
            (seen.status, header(&seen.head, "content-type")),
            (*status, Some("application/problem+json")),
            "{what}"
        );
        assert_eq!(header(&seen.head, "connection"), Some("keep-alive"), "{what}");
        if *status == 405 {
            assert!(header(&seen.head, "allow").is_some(), "{what}");
        }
    }
    assert!(attempts(&services).is_empty() && services.fired()[0].seen == 0);
    assert_eq!(assert_alive(&services).await, cases.map(|(_, _, status)| status));
}

#[tokio::test]
async fn invalid_utf_8_is_refused_everywhere() {
    let services = with_long_timeouts().await;
    let mut path = request(&services, "GET", "/records/x", &[], "");
    path[13] = 0xff;
    assert_eq!(refused(&services, &path).await.status, 400);
    let mut connection = connect(&services, 1).await;
    let mut body = request(&services, "PUT", "/records/a", &[], "{\"value\":\"x\"}");
    let at = body.len() - 3;
    body[at] = 0xff;
    assert_eq!(connection.exchange(&body).await.status, 400);
    let mut key = request(&services, "GET", "/records", &["X-Api-Key: x"], "");
    let at = key.len() - 5;
    key[at] = 0xff;
    assert_eq!(refused(&services, &key).await.status, 400);
    assert_eq!(assert_alive(&services).await, [400, 400, 400]);
}

#[tokio::test]
async fn garbage_instead_of_smtp_is_refused_until_the_error_limit() {
    let services = start(email(&[])).await;
    let mut connection = RawConnection::open(services.smtp_address("email", 1).unwrap()).await;
    connection.send(b"GET / HTTP/1.1\r\n\xff\xfe\x00\r\nMAIL FROM:<a@x.example>\r\nDATA\r\n").await;
    connection.send(&b"nonsense\r\n".repeat(30)).await;
    let (seen, end) = connection.read_to_end().await;
    let text = String::from_utf8(seen).unwrap();
    assert!(text.lines().skip(1).all(|line| line.starts_with("50") || line.starts_with("421 ")), "{text}");
    assert!(text.ends_with("421 4.7.0 Error: too many errors\r\n"), "{text}");
    assert_eq!((end, attempts(&services).len(), events(&services).len()), (End::Fin, 0, 1));
}
