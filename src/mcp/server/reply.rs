//! The reply of a service as the result of a tool, or as the end of the connection.

use mock_services::fault::SESSION_HEADER;
use rmcp::model::{CallToolResult, ContentBlock, RequestId};
use serde_json::{Map, Value, json};

use super::call::{RequestOutcome, ServiceReply};
use super::connection::ConnectionEnd;

/// The headers of a reply that say something about the call.
const TOLD_HEADERS: [&str; 5] =
    ["retry-after", "idempotent-replayed", "stripe-should-retry", "x-should-retry", "etag"];

/// What a call comes to.
#[derive(Debug)]
pub(super) enum ToolReply {
    /// A result.
    Result(Box<CallToolResult>),
    /// No result: the connection ends.
    End(ConnectionEnd),
    /// Nobody waits for it.
    Nothing,
}

/// What the outcome of the request is for the client of the tool.
pub(super) fn from_outcome(outcome: RequestOutcome, id: &RequestId) -> ToolReply {
    match outcome {
        RequestOutcome::Replied(reply) if is_session_lost(&reply) => {
            ToolReply::End(ConnectionEnd::SessionLost)
        }
        RequestOutcome::Replied(reply) => match result(&reply) {
            Some(result) => ToolReply::Result(Box::new(result)),
            None => ToolReply::End(ConnectionEnd::CloseAfter(garbled(&reply, id))),
        },
        RequestOutcome::Truncated { reply, announced, reset } => {
            let bytes = truncated(&reply, announced, id);
            ToolReply::End(if reset {
                ConnectionEnd::ResetAfter(bytes)
            } else {
                ConnectionEnd::CloseAfter(bytes)
            })
        }
        RequestOutcome::Closed => ToolReply::End(ConnectionEnd::Close),
        RequestOutcome::Reset => ToolReply::End(ConnectionEnd::Reset),
        RequestOutcome::Unsendable(why) => ToolReply::Result(Box::new(refusal(&why))),
        RequestOutcome::ClientLeft => ToolReply::Nothing,
    }
}

fn is_session_lost(reply: &ServiceReply) -> bool {
    let (name, value) = SESSION_HEADER;
    reply.headers.get(name).is_some_and(|found| found == value)
}

/// A call that was refused before it reached the service.
pub(super) fn refusal(why: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(format!("The call was not made: {why}."))])
}

/// The result of a complete reply; `None` if it cannot be read.
fn result(reply: &ServiceReply) -> Option<CallToolResult> {
    let is_error = !(200..300).contains(&reply.status);
    let body = match serde_json::from_slice::<Value>(&reply.body) {
        Ok(body) => body,
        Err(_) if reply.body.is_empty() => Value::Null,
        Err(_) if is_error => Value::from(String::from_utf8_lossy(&reply.body)),
        Err(_) => return None,
    };
    let headers: Map<String, Value> = TOLD_HEADERS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), reply.headers.get(*name)?.to_str().ok()?.into())))
        .collect();
    let text = text(reply, &body);
    let structured = json!({ "status": reply.status, "headers": headers, "body": body });
    let content = vec![ContentBlock::text(text)];
    let mut result = if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = Some(structured);
    Some(result)
}

fn text(reply: &ServiceReply, body: &Value) -> String {
    let body = match body {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        body => body.to_string(),
    };
    if (200..300).contains(&reply.status) {
        return if body.is_empty() { format!("HTTP {}", reply.status) } else { body };
    }
    let wait = reply.headers.get("retry-after").and_then(|value| value.to_str().ok());
    let wait = wait.map(|wait| format!(" (Retry-After: {wait})")).unwrap_or_default();
    format!("HTTP {}{wait}: {body}", reply.status)
}

/// A whole response with a body that does not parse.
fn garbled(reply: &ServiceReply, id: &RequestId) -> Vec<u8> {
    let mut body = start(id).into_bytes();
    body.extend_from_slice(&reply.body);
    body.extend_from_slice(b"}");
    let mut bytes = head(body.len());
    bytes.extend_from_slice(&body);
    bytes
}

/// A response that ends before its announced length.
fn truncated(reply: &ServiceReply, announced: usize, id: &RequestId) -> Vec<u8> {
    let mut body = format!("{}{{\"content\":[{{\"type\":\"text\",\"text\":", start(id));
    let text = Value::from(String::from_utf8_lossy(&reply.body)).to_string();
    body.push_str(text.strip_suffix('"').unwrap_or(&text));
    let missing = announced.saturating_sub(reply.body.len()).max(1);
    let mut bytes = head(body.len() + missing);
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

fn start(id: &RequestId) -> String {
    let id = serde_json::to_string(id).unwrap_or_else(|_| "null".to_owned());
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":")
}

fn head(length: usize) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    format!("{head}\r\ncontent-length: {length}\r\n\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderMap, HeaderValue};

    use super::*;

    fn reply(status: u16, body: &str) -> ServiceReply {
        ServiceReply { status, headers: HeaderMap::new(), body: body.as_bytes().to_vec() }
    }

    fn shown(outcome: RequestOutcome) -> String {
        match from_outcome(outcome, &RequestId::Number(7)) {
            ToolReply::Result(result) => serde_json::to_string(&result).unwrap(),
            ToolReply::End(ConnectionEnd::CloseAfter(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_success_and_an_error_have_the_status_and_the_body() {
        let done = shown(RequestOutcome::Replied(reply(200, r#"{"id":"ch_1"}"#)));
        assert!(
            done.contains(r#""structuredContent":{"body":{"id":"ch_1"},"headers":{},"status":200}"#),
            "{done}"
        );
        assert!(done.contains(r#""isError":false"#), "{done}");
        let mut limited = reply(429, r#"{"error":"slow down"}"#);
        limited.headers.insert("retry-after", HeaderValue::from_static("2"));
        let limited = shown(RequestOutcome::Replied(limited));
        assert!(limited.contains(r#"HTTP 429 (Retry-After: 2): {\"error\":\"slow down\"}"#), "{limited}");
        assert!(limited.contains(r#""isError":true"#), "{limited}");
        assert!(shown(RequestOutcome::Replied(reply(202, ""))).contains("HTTP 202"));
        assert!(shown(RequestOutcome::Replied(reply(502, "<html>"))).contains("HTTP 502: <html>"));
    }

    #[test]
    fn a_reply_that_does_not_parse_is_sent_in_whole_and_does_not_parse_either() {
        let sent = shown(RequestOutcome::Replied(reply(200, "\u{17}{<!")));
        let (head, body) = sent.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        assert!(serde_json::from_str::<Value>(body).is_err(), "{body}");
    }

    #[test]
    fn a_truncated_reply_ends_before_its_length() {
        let partial =
            RequestOutcome::Truncated { reply: reply(200, r#"{"id":"#), announced: 100, reset: false };
        let sent = shown(partial);
        let (head, body) = sent.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len() + 94)), "{head}");
        assert!(body.ends_with(r#""text":"{\"id\":"#), "{body}");
    }

    #[test]
    fn a_lost_connection_is_lost_in_the_same_way() {
        assert_eq!(shown(RequestOutcome::Closed), "End(Close)");
        assert_eq!(shown(RequestOutcome::Reset), "End(Reset)");
        assert_eq!(shown(RequestOutcome::ClientLeft), "Nothing");
    }
}
