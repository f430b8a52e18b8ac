//! Requests and answers as text for the ledger, so that a report can show what was on the wire.

use std::fmt::Write as _;

use crate::service::{Answer, Envelope, Request};

/// The number of bytes of a body that the ledger searches for secrets. It keeps fewer, so a secret that it cuts
/// is found as a whole.
const SEARCHED_BODY: usize = 16 * 1_024;
const MAX_HEADERS: usize = 60;
const MAX_HEADER_VALUE: usize = 300;

/// The request line, the headers, an empty line and the body.
pub(super) fn of_request(request: &Request) -> String {
    let mut text = String::new();
    if let Some(Envelope { from, to }) = request.envelope() {
        push_line(&mut text, "MAIL FROM", from);
        for recipient in to.iter().take(MAX_HEADERS) {
            push_line(&mut text, "RCPT TO", recipient);
        }
    } else {
        let query = if request.query().is_empty() { "" } else { "?" };
        let target = [request.path(), query, request.query()].concat();
        let _ = writeln!(text, "{} {}", one_line(request.method()), one_line(&target));
    }
    for (name, value) in request.headers().take(MAX_HEADERS) {
        push_line(&mut text, name, value);
    }
    push_body(&mut text, request.bytes());
    text
}

/// The status, the headers, an empty line and the body.
pub(super) fn of_answer(answer: &Answer) -> String {
    let mut text = format!("HTTP {}\n", answer.status);
    for (name, value) in answer.headers.iter().take(MAX_HEADERS) {
        push_line(&mut text, name, value);
    }
    let mut body = Vec::new();
    answer.write_body(&mut body);
    push_body(&mut text, &body);
    text
}

fn push_line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "{name}: {}", one_line(value));
}

/// Nothing in a header begins another line.
fn one_line(value: &str) -> String {
    let is_cut = value.chars().nth(MAX_HEADER_VALUE).is_some();
    let shown = value.chars().take(MAX_HEADER_VALUE);
    shown.map(|char| if char.is_control() { ' ' } else { char }).chain(is_cut.then_some('…')).collect()
}

fn push_body(text: &mut String, body: &[u8]) {
    if !body.is_empty() {
        text.push('\n');
        text.push_str(&String::from_utf8_lossy(&body[..body.len().min(SEARCHED_BODY)]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_target_headers_and_body() {
        let request = Request::new("POST", "/v1/charges?expand=a")
            .header("Content-Type", "text/plain")
            .header("X-Split", "a\r\nb")
            .body("amount=4999");
        let expected = "POST /v1/charges?expand=a\nContent-Type: text/plain\nX-Split: a  b\n\namount=4999";
        assert_eq!(of_request(&request), expected);
    }

    #[test]
    fn an_answer_has_its_status_headers_and_body() {
        let answer = Answer::text(503, "text/plain", "later");
        assert_eq!(of_answer(&answer), "HTTP 503\nContent-Type: text/plain\n\nlater");
    }

    #[test]
    fn a_message_of_any_size_is_bounded() {
        let mut request =
            Request::new("POST", &format!("/{}", "p".repeat(10_000))).body("b".repeat(1_000_000));
        for number in 0..1_000 {
            request = request.header(&format!("x-{number}"), &"v".repeat(5_000));
        }
        assert!(of_request(&request).len() < 40_000);
    }
}
