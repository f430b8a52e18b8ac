//! Requests over HTTP, one connection each, without retries, redirects or proxies: each attempt is one that a
//! policy chose to make.

use std::time::Duration;

use serde_json::Value;
use ureq::http::Request;
use ureq::{Agent, Body};

use super::answer::{Class, Reply};
use super::environment::Environment;
use super::smtp::{self, Mail};

/// How long a reply is waited for. Longer than any fault lasts and than callers wait for each other, so that
/// no verdict depends on the speed of the machine; cases that wait for this timeout take as long.
pub(in crate::subject) const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of an answer is read, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ask {
    pub(super) service: String,
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) content: Content,
    pub(super) headers: Vec<(&'static str, String)>,
}

/// What a request carries.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    Nothing,
    Form(Vec<(String, String)>),
    Json(Value),
    /// A mail that is handed over by SMTP instead.
    Mail(Mail),
}

impl Ask {
    /// A request of a service.
    pub(super) fn new(
        service: &str,
        method: &'static str,
        path: impl Into<String>,
        content: Content,
    ) -> Self {
        Ask { service: service.to_owned(), method, path: path.into(), content, headers: Vec::new() }
    }

    /// The same with a header.
    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same under an idempotency key.
    pub(super) fn under(self, key: Option<&str>) -> Self {
        match key {
            Some(key) => self.header("Idempotency-Key", key),
            None => self,
        }
    }
}

/// The way to the services.
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
            // The proxy of the environment is there for what must not leave the machine; the services are on
            // it.
            .proxy(None)
            .max_idle_connections(0)
            .timeout_global(Some(CLIENT_TIMEOUT))
            .build();
        Wire { environment, agent: Agent::new_with_config(config) }
    }

    /// Makes one attempt.
    pub(super) fn send(&self, ask: &Ask) -> Reply {
        if let Content::Mail(mail) = &ask.content {
            let key = self.environment.service(&ask.service).map(|address| address.key).unwrap_or_default();
            return match self.environment.mail_server() {
                Some(server) => smtp::hand_over(&server, &key, mail),
                None => Reply::bare(Class::Refused, None),
            };
        }
        let Some(address) = self.environment.service(&ask.service) else {
            return Reply::bare(Class::Refused, None);
        };
        let mut request = Request::builder().method(ask.method).uri(format!("{}{}", address.url, ask.path));
        request = request
            .header("Authorization", format!("Bearer {}", address.key))
            .header("Accept", "application/json");
        for (name, value) in &ask.headers {
            request = request.header(*name, value.as_str());
        }
        let (kind, body) = match &ask.content {
            Content::Nothing | Content::Mail(_) => (None, String::new()),
            Content::Form(pairs) => (Some("application/x-www-form-urlencoded"), form(pairs)),
            Content::Json(value) => (Some("application/json"), value.to_string()),
        };
        let answer = match kind {
            None => request.body(()).map(|request| self.agent.run(request)),
            Some(kind) => {
                request.header("Content-Type", kind).body(body).map(|request| self.agent.run(request))
            }
        };
        match answer {
            Ok(Ok(answer)) => whole(answer),
            Ok(Err(_)) => Reply::lost(),
            // A header or a path that cannot be written: nothing was sent.
            Err(_) => Reply::bare(Class::Refused, None),
        }
    }

    /// Reads.
    pub(super) fn get(&self, service: &str, path: impl Into<String>) -> Reply {
        self.send(&Ask::new(service, "GET", path, Content::Nothing))
    }
}

fn whole(answer: ureq::http::Response<Body>) -> Reply {
    let (head, mut body) = answer.into_parts();
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let declared = header("content-length").and_then(|length| length.parse::<usize>().ok());
    match body.with_config().limit(LARGEST).read_to_vec() {
        Ok(bytes) if declared.is_none_or(|declared| declared == bytes.len()) => {
            Reply::read(head.status.as_u16(), header, &bytes)
        }
        // The head alone proves nothing, but what it asks for is still heeded.
        Ok(_) | Err(_) => Reply { status: Some(head.status.as_u16()), ..Reply::lost() },
    }
}

fn form(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
    pairs.join("&")
}

/// The text as it may stand in a path, a query or a form.
pub(super) fn escaped(text: &str) -> String {
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
    fn a_form_is_written_so_that_it_can_be_read() {
        let pairs =
            [("metadata[order]".to_owned(), "ord 1&2".to_owned()), ("amount".to_owned(), "4999".to_owned())];
        assert_eq!(form(&pairs), "metadata%5Border%5D=ord%201%262&amount=4999");
    }

    #[test]
    fn a_key_is_a_header_and_no_key_is_none() {
        let ask = Ask::new("payment", "POST", "/v1/charges", Content::Nothing);
        assert_eq!(ask.clone().under(None), ask);
        assert_eq!(ask.under(Some("k")).headers, [("Idempotency-Key", "k".to_owned())]);
    }
}
