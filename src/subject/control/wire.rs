//! Sends requests over HTTP, one connection each, without retries, redirects or proxies: policies decide
//! about every attempt.

use std::io::Read;

use serde_json::Value;
use ureq::http::{Request, Response};
use ureq::{Agent, Body};

use super::answer::{Reply, ReplyClass};
use super::environment::{Address, Environment};
use super::smtp::{self, Mail};
use super::tool_calls;

/// The largest body of a reply that is read, in bytes.
const MAX_BODY_BYTES: u64 = 16 * 1024 * 1024;

/// A request to a service.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolRequest {
    pub(super) service: String,
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) content: Content,
    pub(super) headers: Vec<(&'static str, String)>,
}

/// The content of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    Nothing,
    Form(Vec<(String, String)>),
    Json(Value),
    /// A mail that is sent over SMTP.
    Mail(Mail),
}

impl ToolRequest {
    /// A request to a service.
    pub(super) fn new(
        service: &str,
        method: &'static str,
        path: impl Into<String>,
        content: Content,
    ) -> Self {
        ToolRequest { service: service.to_owned(), method, path: path.into(), content, headers: Vec::new() }
    }

    /// Adds a header.
    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds an idempotency key.
    pub(super) fn under(self, key: Option<&str>) -> Self {
        match key {
            Some(key) => self.header("Idempotency-Key", key),
            None => self,
        }
    }
}

/// The client for the services.
pub(super) struct Wire<'a> {
    environment: &'a Environment,
    agent: Agent,
}

impl<'a> Wire<'a> {
    pub(super) fn new(environment: &'a Environment) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // The services are on this machine; the proxy of the environment is for other hosts.
            .proxy(None)
            .max_idle_connections(0)
            .timeout_global(Some(environment.client_timeout()))
            .build();
        Wire { environment, agent: Agent::new_with_config(config) }
    }

    /// Sends one request.
    pub(super) fn send(&self, tool_request: &ToolRequest) -> Reply {
        if let Content::Mail(mail) = &tool_request.content {
            let key = self
                .environment
                .service(&tool_request.service)
                .map(|address| address.key)
                .unwrap_or_default();
            return match self.environment.mail_server() {
                Some(server) => smtp::send(&server, &key, mail, self.environment.client_timeout()),
                None => Reply::bare(ReplyClass::Refused, None),
            };
        }
        let Some(address) = self.environment.service(&tool_request.service) else {
            return match self.environment.mcp_url() {
                Some(url) => tool_calls::send(&self.agent, url, self.environment.mcp_client, tool_request),
                None => Reply::bare(ReplyClass::Refused, None),
            };
        };
        match self.run(tool_request, &address) {
            Ok(Ok(answer)) => read_reply(answer),
            Ok(Err(_)) => Reply::lost(),
            // An invalid header or path: nothing was sent.
            Err(_) => Reply::bare(ReplyClass::Refused, None),
        }
    }

    /// Sends one request, and returns the body of the reply as it arrived.
    pub(super) fn send_raw(&self, tool_request: &ToolRequest) -> RawReply {
        let address = self.environment.service(&tool_request.service);
        match address.map(|address| self.run(tool_request, &address)) {
            Some(Ok(Ok(answer))) => RawReply::read(answer),
            _ => RawReply::default(),
        }
    }

    /// Sends one request to this address. The outer error is that of a request that cannot be sent.
    fn run(
        &self,
        tool_request: &ToolRequest,
        address: &Address,
    ) -> Result<Result<Response<Body>, ureq::Error>, ureq::http::Error> {
        let mut request = Request::builder()
            .method(tool_request.method)
            .uri(format!("{}{}", address.url, tool_request.path));
        request = request
            .header("Authorization", format!("Bearer {}", address.key))
            .header("Accept", "application/json");
        for (name, value) in &tool_request.headers {
            request = request.header(*name, value.as_str());
        }
        let (kind, body) = match &tool_request.content {
            Content::Nothing | Content::Mail(_) => (None, String::new()),
            Content::Form(pairs) => (Some("application/x-www-form-urlencoded"), form(pairs)),
            Content::Json(value) => (Some("application/json"), value.to_string()),
        };
        match kind {
            None => request.body(()).map(|request| self.agent.run(request)),
            Some(kind) => {
                request.header("Content-Type", kind).body(body).map(|request| self.agent.run(request))
            }
        }
    }

    /// Sends a GET request.
    pub(super) fn get(&self, service: &str, path: impl Into<String>) -> Reply {
        self.send(&ToolRequest::new(service, "GET", path, Content::Nothing))
    }
}

/// A reply with its body as it arrived; without a status if no head arrived.
#[derive(Debug, Default)]
pub(super) struct RawReply {
    pub(super) status: Option<u16>,
    /// The value of `Retry-After`, in seconds.
    pub(super) retry_after: Option<u64>,
    /// What arrived of the body.
    pub(super) text: String,
    /// Whether the whole body arrived.
    pub(super) is_whole: bool,
}

impl RawReply {
    fn read(answer: Response<Body>) -> Self {
        let (head, body) = answer.into_parts();
        let number = |name: &str| head.headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
        let mut bytes = Vec::new();
        let read = body.into_reader().take(MAX_BODY_BYTES).read_to_end(&mut bytes);
        let is_whole =
            read.is_ok() && number("content-length").is_none_or(|declared| declared == bytes.len() as u64);
        RawReply {
            status: Some(head.status.as_u16()),
            retry_after: number("retry-after"),
            text: String::from_utf8_lossy(&bytes).into_owned(),
            is_whole,
        }
    }
}

fn read_reply(answer: Response<Body>) -> Reply {
    let (head, mut body) = answer.into_parts();
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let declared = header("content-length").and_then(|length| length.parse::<usize>().ok());
    match body.with_config().limit(MAX_BODY_BYTES).read_to_vec() {
        Ok(bytes) if declared.is_none_or(|declared| declared == bytes.len()) => {
            Reply::read(head.status.as_u16(), header, &bytes)
        }
        // An incomplete body proves nothing; the status is kept.
        Ok(_) | Err(_) => Reply { status: Some(head.status.as_u16()), ..Reply::lost() },
    }
}

pub(super) fn form(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
    pairs.join("&")
}

/// The text, percent-encoded for a path, a query or a form.
pub(in crate::subject) fn escaped(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_percent_encoded() {
        let pairs =
            [("metadata[order]".to_owned(), "ord 1&2".to_owned()), ("amount".to_owned(), "4999".to_owned())];
        assert_eq!(form(&pairs), "metadata%5Border%5D=ord%201%262&amount=4999");
    }

    #[test]
    fn a_key_is_sent_as_a_header() {
        let tool_request = ToolRequest::new("payment", "POST", "/v1/charges", Content::Nothing);
        assert_eq!(tool_request.clone().under(None), tool_request);
        assert_eq!(tool_request.under(Some("k")).headers, [("Idempotency-Key", "k".to_owned())]);
    }
}
