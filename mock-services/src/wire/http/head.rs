//! The head of a request. It is parsed strictly: input that two programs could read differently is refused.

use std::mem::MaybeUninit;

use crate::service::Request;

const MAX_HEADERS: usize = 100;

/// A request whose body has not been read.
#[derive(Debug)]
pub(super) struct RequestHead {
    pub(super) request: Request,
    /// Its length in the buffer.
    pub(super) length: usize,
    pub(super) framing: BodyFraming,
    pub(super) keep_alive: bool,
    /// The caller waits for `100 Continue` before it sends the body.
    pub(super) expects_continue: bool,
}

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFraming {
    Length(u64),
    Chunked,
}

/// Parses the head at the start of the buffer. `Ok(None)`: it is not complete yet. An error is the status of
/// the refusal. The header with the idempotency key can have only one value.
pub(super) fn parse(buffer: &[u8], longest: usize, key_header: &str) -> Result<Option<RequestHead>, u16> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut []);
    let length = match parsed.parse_with_uninit_headers(buffer, &mut headers) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if buffer.len() >= longest => return Err(431),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(431),
        Err(httparse::Error::Version) => return Err(505),
        Err(_) => return Err(400),
    };
    if length > longest {
        return Err(431);
    }
    let method = parsed.method.unwrap_or_default();
    let target = origin_form(parsed.path.unwrap_or_default()).ok_or(400u16)?;
    let mut request = Request::with_capacity(method, target, parsed.headers.len(), length);
    let is_current = parsed.version == Some(1);
    let mut keep_alive = is_current;
    let mut content_length = None;
    let mut codings = 0;
    let mut hosts = 0;
    let mut key = None;
    let mut expects_continue = false;
    for header in parsed.headers.iter() {
        // Other encodings are ambiguous: two different keys could become the same.
        let value = std::str::from_utf8(header.value).map_err(|_| 400u16)?;
        let name = header.name;
        if name.eq_ignore_ascii_case(key_header) && key.replace(value).is_some_and(|other| other != value) {
            return Err(400);
        }
        if name.eq_ignore_ascii_case("content-length") {
            let length = digits(value).ok_or(400u16)?;
            if content_length.is_some_and(|have| have != length) {
                return Err(400);
            }
            content_length = Some(length);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            for coding in value.split(',') {
                if !coding.trim().eq_ignore_ascii_case("chunked") {
                    return Err(501);
                }
                codings += 1;
            }
        } else if name.eq_ignore_ascii_case("host") {
            hosts += 1;
        } else if name.eq_ignore_ascii_case("connection") {
            for token in value.split(',').map(str::trim) {
                if token.eq_ignore_ascii_case("close") {
                    keep_alive = false;
                } else if token.eq_ignore_ascii_case("keep-alive") {
                    keep_alive = true;
                }
            }
        } else if name.eq_ignore_ascii_case("expect") {
            expects_continue = value.trim().eq_ignore_ascii_case("100-continue");
        }
        request.push_header(name, value);
    }
    // HTTP/1.0 does not require a host.
    if hosts > 1 || (is_current && hosts == 0) {
        return Err(400);
    }
    let framing = match (content_length, codings) {
        (length, 0) => BodyFraming::Length(length.unwrap_or(0)),
        // HTTP/1.0 has no chunks, and chunked is applied at most once.
        (None, 1) if is_current => BodyFraming::Chunked,
        _ => return Err(400),
    };
    Ok(Some(RequestHead { request, length, framing, keep_alive, expects_continue }))
}

/// The path and query, also of a target that names the host, as clients send it to a proxy.
fn origin_form(target: &str) -> Option<&str> {
    if target.starts_with('/') || target == "*" {
        return Some(target);
    }
    let rest = target.strip_prefix("http://").or_else(|| target.strip_prefix("https://"))?;
    Some(rest.find('/').map_or("/", |at| &rest[at..]))
}

fn digits(value: &str) -> Option<u64> {
    let value = value.trim();
    (!value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| value.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Result<Option<RequestHead>, u16> {
        parse(text.as_bytes(), 1024, "Idempotency-Key")
    }

    #[test]
    fn a_head_is_read_once_it_is_whole() {
        let text = "POST /v1/charges?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
        for end in 0..text.len() - 3 {
            assert!(matches!(parsed(&text[..end]), Ok(None)), "{end}");
        }
        let head = parsed(text).unwrap().unwrap();
        assert_eq!(
            (head.request.method(), head.request.path(), head.request.query()),
            ("POST", "/v1/charges", "x=1")
        );
        assert_eq!(
            (head.framing, head.keep_alive, head.length),
            (BodyFraming::Length(3), true, text.len() - 3)
        );
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let with = |headers: &str| {
            parsed(&format!("POST / HTTP/1.1\r\nHost: h\r\n{headers}\r\n\r\n")).map(|_| ()).unwrap_err()
        };
        assert_eq!(with("Content-Length: 1\r\nTransfer-Encoding: chunked"), 400);
        assert_eq!(with("Content-Length: 1\r\nContent-Length: 2"), 400);
        assert_eq!(with("Content-Length: +1"), 400);
        assert_eq!(with("Transfer-Encoding: gzip"), 501);
        assert_eq!(with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), 400);
        assert_eq!(with("Transfer-Encoding: chunked, chunked"), 400);
        assert_eq!(with("Host: h"), 400);
        assert_eq!(with("no colon"), 400);
    }

    #[test]
    fn the_host_is_named_once_unless_the_version_is_old() {
        let status = |version: &str, headers: &str| {
            parsed(&format!("PUT / HTTP/{version}\r\n{headers}A: b\r\n\r\n")).map(|_| ()).err()
        };
        assert_eq!((status("1.1", ""), status("1.0", "")), (Some(400), None));
        for version in ["1.0", "1.1"] {
            assert_eq!(status(version, "Host: h\r\n"), None);
            assert_eq!(status(version, "Host: h\r\nhost: i\r\n"), Some(400));
        }
        assert_eq!(status("1.1", "Host: h\r\nTransfer-Encoding: chunked\r\n"), None);
        assert_eq!(status("1.0", "Host: h\r\nTransfer-Encoding: chunked\r\n"), Some(400));
    }

    #[test]
    fn an_idempotency_key_has_one_value() {
        let status = |headers: &str| {
            parsed(&format!("PUT / HTTP/1.1\r\nHost: h\r\n{headers}\r\n\r\n")).map(|_| ()).err()
        };
        assert_eq!(status("Idempotency-Key: a\r\nidempotency-key: a"), None);
        assert_eq!(status("Idempotency-Key: a\r\nidempotency-key: b"), Some(400));
        assert_eq!(status("Other-Key: a\r\nother-key: b"), None);
        let head = b"PUT / HTTP/1.1\r\nHost: h\r\nX-Key: a\r\nX-Key: b\r\n\r\n";
        assert_eq!(parse(head, 1024, "x-key").map(|_| ()).err(), Some(400));
    }

    #[test]
    fn what_is_not_utf_8_is_refused_in_the_target_and_in_headers() {
        for head in [
            &b"GET /\xff HTTP/1.1\r\nHost: h\r\n\r\n"[..],
            b"GET / HTTP/1.1\r\nHost: h\r\nIdempotency-Key: \xff\xfe\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n",
        ] {
            assert_eq!(parse(head, 1024, "idempotency-key").map(|_| ()), Err(400), "{}", head.escape_ascii());
        }
        assert!(parsed("GET / HTTP/1.1\r\nHost: h\r\nIdempotency-Key: é\r\n\r\n").is_ok());
    }

    #[test]
    fn a_head_without_end_and_too_many_headers_are_refused() {
        assert_eq!(parsed(&format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(2000))).unwrap_err(), 431);
        assert_eq!(
            parse(format!("GET / HTTP/1.1\r\n{}", "X: y\r\n".repeat(101)).as_bytes(), 65_536, "")
                .unwrap_err(),
            431
        );
    }

    #[test]
    fn connections_are_kept_alive_as_the_version_and_the_caller_say() {
        let keep = |version: &str, header: &str| {
            parsed(&format!("GET / HTTP/{version}\r\nHost: h\r\n{header}\r\n\r\n"))
                .unwrap()
                .unwrap()
                .keep_alive
        };
        assert!(keep("1.1", "A: b") && !keep("1.0", "A: b"));
        assert!(!keep("1.1", "Connection: close") && keep("1.0", "Connection: keep-alive"));
    }

    #[test]
    fn a_target_that_names_the_host_is_taken() {
        let head =
            parsed("GET http://localhost:1/v1/x?y HTTP/1.1\r\nHost: localhost:1\r\n\r\n").unwrap().unwrap();
        assert_eq!((head.request.path(), head.request.query()), ("/v1/x", "y"));
        assert_eq!(parsed("CONNECT h:443 HTTP/1.1\r\n\r\n").unwrap_err(), 400);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes, 1024, "idempotency-key");
        }
    }
}
