//! An answer as the bytes of an HTTP/1.1 response.

use std::cell::RefCell;

use jiff::Timestamp;

use crate::delivery::Delivery;
use crate::service::Answer;
use crate::wire::deliver::{Encoded, Filler};

/// The size of one piece of padding.
const PADDING_PIECE: usize = 64 * 1024;

/// What the bytes depend on besides the answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResponseFrame {
    pub(super) now: Timestamp,
    pub(super) keep_alive: bool,
    /// The answer to a `HEAD`: the length of the body without the body.
    pub(super) head_only: bool,
}

/// Encodes an answer with its body, ready to be sent as it is asked for, into a buffer that may have been
/// used before.
pub(super) fn encode(
    answer: &Answer,
    body: &[u8],
    frame: ResponseFrame,
    how: &Delivery,
    mut bytes: Vec<u8>,
) -> Encoded {
    let reply = how.reply.behavior();
    // The padding of an oversized answer is not in chunks.
    let streams = is_event_stream(answer) && reply.padded_to().is_none();
    let chunked = streams || reply.is_chunked();
    let bodiless = matches!(answer.status, 100..=199 | 204 | 304);
    let filler =
        if bodiless || frame.head_only { Filler::default() } else { filler(body, reply.padded_to()) };
    bytes.clear();
    bytes.reserve(1024 + body.len());
    bytes.extend_from_slice(b"HTTP/1.1 ");
    push_number(&mut bytes, u64::from(answer.status));
    bytes.push(b' ');
    bytes.extend_from_slice(reason_phrase(answer).as_bytes());
    bytes.extend_from_slice(b"\r\nDate: ");
    push_date(&mut bytes, frame.now);
    for (name, value) in &answer.headers {
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
    }
    if chunked && !bodiless {
        bytes.extend_from_slice(b"\r\nTransfer-Encoding: chunked");
    } else if !bodiless {
        bytes.extend_from_slice(b"\r\nContent-Length: ");
        push_number(&mut bytes, body.len() as u64 + filler.total);
    }
    let connection: &[u8] = if frame.keep_alive { b"keep-alive" } else { b"close" };
    bytes.extend_from_slice(b"\r\nConnection: ");
    bytes.extend_from_slice(connection);
    bytes.extend_from_slice(b"\r\n\r\n");
    let body_at = bytes.len();
    if bodiless || frame.head_only || body.is_empty() {
        // Without a body, the head is cut: the caller must see an incomplete answer.
        return Encoded { cut: body_at / 2, bytes, body_at, filler };
    }
    let cut_at = how.cut.map_or(body.len() / 2, |at| at.min(body.len()));
    if chunked {
        let cut = push_chunks(&mut bytes, body, if streams { first_event } else { <[u8]>::len }, cut_at);
        return Encoded { cut, bytes, body_at, filler };
    }
    bytes.extend_from_slice(body);
    Encoded { cut: body_at + cut_at, bytes, body_at, filler }
}

/// Whether an answer is a stream of server-sent events, which servers send in chunks.
fn is_event_stream(answer: &Answer) -> bool {
    answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// The length of the first server-sent event.
fn first_event(rest: &[u8]) -> usize {
    memchr::memmem::find(rest, b"\n\n").map_or(rest.len(), |at| at + 2)
}

/// Writes a body in chunks, each as long as `chunk` says, and returns where byte `cut_at` of the body is. A
/// cut between two chunks comes after the whole first chunk.
fn push_chunks(bytes: &mut Vec<u8>, body: &[u8], chunk: impl Fn(&[u8]) -> usize, cut_at: usize) -> usize {
    let (mut cut, mut sent) = (bytes.len(), 0);
    while sent < body.len() {
        let length = chunk(&body[sent..]);
        bytes.extend_from_slice(format!("{length:x}\r\n").as_bytes());
        if (sent..sent + length).contains(&cut_at) && cut_at > sent {
            cut = bytes.len() + (cut_at - sent);
        }
        bytes.extend_from_slice(&body[sent..sent + length]);
        bytes.extend_from_slice(b"\r\n");
        sent += length;
        if sent == cut_at {
            cut = bytes.len();
        }
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    cut
}

/// Spaces after the body: JSON stays JSON, and text stays text.
fn filler(body: &[u8], padded_to: Option<u64>) -> Filler {
    let total = padded_to.map_or(0, |size| size.saturating_sub(body.len() as u64));
    let piece = vec![b' '; PADDING_PIECE.min(usize::try_from(total).unwrap_or(PADDING_PIECE))];
    Filler { piece, total, first: false }
}

fn push_number(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Writes the date. The text of the last second is cached: under load most answers have the same.
fn push_date(bytes: &mut Vec<u8>, now: Timestamp) {
    thread_local! {
        static LAST: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
    }
    LAST.with_borrow_mut(|(second, text)| {
        if *second != now.as_second() {
            *second = now.as_second();
            *text = jiff::fmt::rfc2822::DateTimePrinter::new()
                .timestamp_to_rfc9110_string(&now)
                .unwrap_or_default();
        }
        bytes.extend_from_slice(text.as_bytes());
    });
}

/// The reason phrase of an answer. nginx's own pages have other phrases.
fn reason_phrase(answer: &Answer) -> &'static str {
    let of_nginx = match answer.status {
        408 => "Request Time-out",
        413 => "Request Entity Too Large",
        504 => "Gateway Time-out",
        status => return reason(status),
    };
    let is_page =
        answer.header("server") == Some("nginx") && answer.header("content-type") == Some("text/html");
    if is_page { of_nginx } else { reason(answer.status) }
}

/// The reason phrase of a status.
const fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Entity",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{CutPlace, Oversize, Truncation};

    fn frame() -> ResponseFrame {
        ResponseFrame {
            now: Timestamp::from_second(1_763_170_000).unwrap(),
            keep_alive: true,
            head_only: false,
        }
    }

    fn encode(answer: &Answer, frame: ResponseFrame, how: &Delivery) -> Encoded {
        super::encode(answer, &answer.body, frame, how, Vec::new())
    }

    fn whole() -> Delivery {
        Delivery::default()
    }

    fn truncated(truncation: Truncation) -> Delivery {
        Delivery { reply: truncation.into(), ..whole() }
    }

    fn cut_at(at: usize) -> Delivery {
        Delivery { cut: Some(at), ..truncated(Truncation::At(CutPlace::Word)) }
    }

    fn oversized(size: u64) -> Delivery {
        Delivery { reply: Oversize(size).into(), ..whole() }
    }

    fn text(encoded: &Encoded, to: usize) -> String {
        String::from_utf8_lossy(&encoded.bytes[..to]).into_owned()
    }

    #[test]
    fn an_answer_has_a_date_its_headers_in_order_and_its_length() {
        let answer = Answer::json(200, &[1, 2]).with_header("Request-Id", "req_1");
        let encoded = encode(&answer, frame(), &whole());
        let expected = "HTTP/1.1 200 OK\r\nDate: Sat, 15 Nov 2025 01:26:40 GMT\r\nContent-Type: \
            application/json\r\n\
                        Request-Id: req_1\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n[1,2]";
        assert_eq!(text(&encoded, encoded.bytes.len()), expected);
    }

    #[test]
    fn the_status_line_over_a_page_of_nginx_is_in_its_words() {
        for (status, words, otherwise) in [
            (408, "408 Request Time-out", "408 Request Timeout"),
            (413, "413 Request Entity Too Large", "413 Content Too Large"),
            (504, "504 Gateway Time-out", "504 Gateway Timeout"),
        ] {
            let page = Answer::text(status, "text/html", "<html>").with_header("Server", "nginx");
            let first = |answer: &Answer| {
                text(&encode(answer, frame(), &whole()), 9 + words.len().max(otherwise.len()))
            };
            assert!(first(&page).contains(words), "{}", first(&page));
            let other = Answer::json(status, &"x").with_header("Server", "nginx");
            assert!(first(&other).contains(otherwise), "{}", first(&other));
        }
    }

    #[test]
    fn a_truncated_answer_declares_more_than_it_sends() {
        let answer = Answer::json(200, &"0123456789");
        let length = encode(&answer, frame(), &truncated(Truncation::Length));
        assert!(
            text(&length, length.cut).contains("Content-Length: 12\r\n")
                && text(&length, length.cut).ends_with("\"01234")
        );
        let chunked = encode(&answer, frame(), &truncated(Truncation::Chunked));
        assert!(text(&chunked, chunked.cut).contains("Transfer-Encoding: chunked\r\n"));
        assert!(text(&chunked, chunked.cut).ends_with("\r\n\r\nc\r\n\"01234"));
    }

    #[test]
    fn a_stream_has_one_chunk_for_each_event_and_can_be_cut_between_two() {
        let stream = Answer::text(200, "text/event-stream; charset=utf-8", "data: 1\n\ndata: 22\n\n");
        let whole = encode(&stream, frame(), &whole());
        let body = "9\r\ndata: 1\n\n\r\na\r\ndata: 22\n\n\r\n0\r\n\r\n";
        assert!(text(&whole, whole.bytes.len()).ends_with(body));
        assert!(text(&whole, whole.bytes.len()).contains("Transfer-Encoding: chunked\r\n"));
        let cut = encode(&stream, frame(), &cut_at(9));
        assert!(text(&cut, cut.cut).ends_with("\r\n\r\n9\r\ndata: 1\n\n\r\n"));
        let inside = encode(&stream, frame(), &cut_at(12));
        assert!(text(&inside, inside.cut).ends_with("data: 1\n\n\r\na\r\ndat"));
        let oversized = encode(&stream, frame(), &oversized(2_000));
        assert!(text(&oversized, oversized.bytes.len()).contains("Content-Length: 2000\r\n"));
    }

    #[test]
    fn an_answer_without_a_body_is_cut_in_its_head() {
        let encoded = encode(&Answer::empty(202), frame(), &truncated(Truncation::Length));
        assert!(encoded.cut > 0 && encoded.cut < encoded.body_at);
    }

    #[test]
    fn an_oversized_answer_declares_all_of_it_and_holds_little_of_it() {
        let large = encode(&Answer::json(200, &"x"), frame(), &oversized(256_000_000));
        assert!(text(&large, large.bytes.len()).contains("Content-Length: 256000000\r\n"));
        assert!(text(&large, large.bytes.len()).ends_with("\r\n\r\n\"x\""));
        assert_eq!((large.filler.total, large.filler.piece.len()), (256_000_000 - 3, PADDING_PIECE));
        let head =
            encode(&Answer::json(200, &"x"), ResponseFrame { head_only: true, ..frame() }, &oversized(2_000));
        assert_eq!(head.filler.total, 0);
        assert_eq!(encode(&Answer::empty(204), frame(), &oversized(2_000)).filler.total, 0);
    }

    #[test]
    fn the_answer_to_a_head_has_a_length_and_no_body() {
        let encoded =
            encode(&Answer::json(200, &"x"), ResponseFrame { head_only: true, ..frame() }, &whole());
        assert!(
            text(&encoded, encoded.bytes.len())
                .ends_with("Content-Length: 3\r\nConnection: keep-alive\r\n\r\n")
        );
    }
}
