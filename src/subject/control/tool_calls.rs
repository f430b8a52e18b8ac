//! Makes the same requests as calls of MCP tools, where a trial offers only tools: each request is the call
//! that makes it, in the form of the protocol that needs no `initialize`.

use mock_services::catalog::{self, ServiceRequest};
use serde_json::{Value, json};
use ureq::http::{Request, Response};
use ureq::{Agent, Body};

use super::answer::{Reply, ReplyClass};
use super::environment::McpClient;
use super::wire::{Content, ToolRequest, form};

const PROTOCOL_VERSION: &str = "2026-07-28";
const EARLIER_VERSION: &str = "2025-11-25";
/// The code of the error that a server does not know the session. It may have executed the call before it lost it.
const SESSION_NOT_FOUND: i64 = -32001;

/// The id of a call: there is one at a time.
const CALL_ID: u32 = 1;

/// Sends one request as the call of a tool.
pub(super) fn send(agent: &Agent, url: &str, client: McpClient, request: &ToolRequest) -> Reply {
    let Some((name, arguments)) = call(request) else { return Reply::bare(ReplyClass::Refused, None) };
    let mut message = json!({
        "jsonrpc": "2.0", "id": CALL_ID, "method": "tools/call",
        "params": { "name": name, "arguments": arguments }
    });
    if client == McpClient::Closing {
        message["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
            "io.modelcontextprotocol/clientInfo": { "name": "hapax-control", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {}
        });
    }
    match post(agent, url, client, &name, &message) {
        Ok(Ok(mut answer)) => match answer.body_mut().read_to_vec() {
            Ok(body) => read(&body),
            Err(_) => Reply::lost(),
        },
        Ok(Err(error)) => {
            if client == McpClient::Telling && matches!(error, ureq::Error::Timeout(_)) {
                let params = json!({ "requestId": CALL_ID, "reason": "timeout" });
                let told = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
                // The server may be gone; then there is nothing to cancel.
                let _ = post(agent, url, client, &name, &told);
            }
            Reply::lost()
        }
        Err(_) => Reply::bare(ReplyClass::Refused, None),
    }
}

/// Posts a message about the call of a tool. The outer error is that of a message that cannot be sent.
fn post(
    agent: &Agent,
    url: &str,
    client: McpClient,
    tool: &str,
    message: &Value,
) -> Result<Result<Response<Body>, ureq::Error>, ureq::http::Error> {
    let request = Request::builder()
        .method("POST")
        .uri(url)
        .header("Accept", "application/json, text/event-stream")
        .header("Content-Type", "application/json");
    let request = match client {
        McpClient::Closing => request
            .header("MCP-Protocol-Version", PROTOCOL_VERSION)
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", tool),
        McpClient::Telling | McpClient::Silent => request.header("MCP-Protocol-Version", EARLIER_VERSION),
    };
    Ok(agent.run(request.body(message.to_string())?))
}

/// The tool that makes this request, and its arguments.
fn call(request: &ToolRequest) -> Option<(String, Value)> {
    let (content_type, body) = match &request.content {
        Content::Nothing => (None, String::new()),
        Content::Form(pairs) => (Some("application/x-www-form-urlencoded"), form(pairs)),
        Content::Json(value) => (Some("application/json"), value.to_string()),
        Content::Mail(_) => return None,
    };
    let headers = request.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let wanted = ServiceRequest {
        method: request.method.to_owned(),
        target: request.path.clone(),
        headers: headers.collect(),
        content_type,
        body,
    };
    let tools = (catalog::find(&request.service)?.tools)();
    tools.iter().find_map(|tool| Some((tool.name.clone(), Value::Object(tool.arguments(&wanted)?))))
}

/// The reply of the service in the result of a call.
fn read(body: &[u8]) -> Reply {
    let Ok(message) = serde_json::from_slice::<Value>(body) else { return Reply::lost() };
    if message.pointer("/error/code").and_then(Value::as_i64) == Some(SESSION_NOT_FOUND) {
        return Reply::lost();
    }
    let content = message.pointer("/result/structuredContent");
    let status =
        content.and_then(|content| content.get("status")?.as_u64()).and_then(|it| u16::try_from(it).ok());
    let (Some(content), Some(status)) = (content, status) else {
        return Reply::bare(ReplyClass::Refused, None);
    };
    let header = |name: &str| content.get("headers")?.get(name)?.as_str().map(str::to_owned);
    let body = match content.get("body") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => text.clone().into_bytes(),
        Some(body) => body.to_string().into_bytes(),
    };
    Reply::read(status, header, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_a_call_is_the_reply_of_the_service() {
        let limited = json!({"result": {"isError": true, "structuredContent": {
            "status": 429, "headers": {"retry-after": "2"}, "body": {"error": "slow"}
        }}});
        let reply = read(limited.to_string().as_bytes());
        assert_eq!((reply.class, reply.retry_after), (ReplyClass::Limited, Some(2)));
        assert_eq!(read(b"{\"result\":\x17").class, ReplyClass::Lost);
        assert_eq!(read(b"{\"error\":{\"code\":-32602}}").class, ReplyClass::Refused);
        assert_eq!(read(b"{\"error\":{\"code\":-32001}}").class, ReplyClass::Lost, "the session is lost");
    }
}
