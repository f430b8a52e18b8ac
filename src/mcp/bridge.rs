//! A stdio MCP server that passes every message on to the endpoint of a trial, for clients that start a
//! command. It adds nothing: if the endpoint loses a connection, the bridge ends, as a server does that
//! died before it replied.

use std::io::{BufRead, Write};
use std::sync::mpsc::{self, Sender};
use std::thread;

use serde_json::Value;
use ureq::Agent;
use ureq::http::{Request, StatusCode};

/// The largest message that is passed back, in bytes.
const MAX_MESSAGE_BYTES: u64 = 64 * 1024 * 1024;

/// Why the bridge ended before its client closed its input.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The endpoint lost a connection, or its reply is not a message.
    #[error("the server died before it replied to `{method}`: {why}")]
    Lost {
        /// The method of the request.
        method: String,
        /// What happened to the connection.
        why: String,
    },
    /// The client cannot be written to.
    #[error("cannot write to the standard output: {0}")]
    Output(#[from] std::io::Error),
}

enum BridgeEvent {
    /// The client sent a line.
    Line(String),
    /// The client closed its input.
    InputClosed,
    /// The endpoint answered a message: with a message, or with nothing.
    Answered(Result<Option<String>, BridgeError>),
}

/// Passes messages on until the client closes its input and every request is answered.
///
/// # Errors
/// When the endpoint loses a connection, or when the client cannot be written to.
pub fn run(
    url: &str,
    mut input: impl BufRead + Send + 'static,
    mut output: impl Write,
) -> Result<(), BridgeError> {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        // The endpoint is on this machine; the proxy of the environment is for other hosts.
        .proxy(None)
        .max_idle_connections(0)
        .build();
    let agent = Agent::new_with_config(config);
    let (events, received) = mpsc::channel();
    let lines = events.clone();
    thread::spawn(move || {
        let mut line = String::new();
        while input.read_line(&mut line).is_ok_and(|count| count > 0) {
            if lines.send(BridgeEvent::Line(std::mem::take(&mut line))).is_err() {
                return;
            }
        }
        let _ = lines.send(BridgeEvent::InputClosed);
    });
    let (mut open, mut is_closed) = (0_usize, false);
    // The version that `initialize` agreed on, for the header of later requests.
    let mut version = None;
    while !(is_closed && open == 0) {
        let Ok(event) = received.recv() else { break };
        match event {
            BridgeEvent::Line(line) if line.trim().is_empty() => {}
            BridgeEvent::Line(line) => {
                open += 1;
                pass_on(&agent, url, line, version.clone(), events.clone());
            }
            BridgeEvent::InputClosed => is_closed = true,
            BridgeEvent::Answered(answer) => {
                open -= 1;
                if let Some(message) = answer? {
                    version = agreed_version(&message).or(version);
                    writeln!(output, "{message}")?;
                    output.flush()?;
                }
            }
        }
    }
    Ok(())
}

/// Sends one message in a thread of its own: calls run at the same time.
fn pass_on(agent: &Agent, url: &str, line: String, version: Option<String>, events: Sender<BridgeEvent>) {
    let (agent, url) = (agent.clone(), url.to_owned());
    thread::spawn(move || {
        let _ = events.send(BridgeEvent::Answered(exchange(&agent, &url, line, version)));
    });
}

fn exchange(
    agent: &Agent,
    url: &str,
    line: String,
    version: Option<String>,
) -> Result<Option<String>, BridgeError> {
    let message: Value = serde_json::from_str(&line).unwrap_or_default();
    let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
    let method = text("/method").unwrap_or_default().to_owned();
    let lost = |why: String| BridgeError::Lost { method: method.clone(), why };
    let mut request = Request::builder()
        .method("POST")
        .uri(url)
        .header("Accept", "application/json, text/event-stream")
        .header("Content-Type", "application/json");
    // A request of 2026-07-28 has its version in itself, and headers with its method and name.
    let own = text("/params/_meta/io.modelcontextprotocol~1protocolVersion").map(str::to_owned);
    if own.is_some() {
        request = request.header("Mcp-Method", method.as_str());
        if let Some(name) = text("/params/name") {
            request = request.header("Mcp-Name", name);
        }
    }
    let version = own.or(version).filter(|_| method != "initialize");
    if let Some(version) = version {
        request = request.header("MCP-Protocol-Version", version);
    }
    let request = request.body(line).map_err(|error| lost(error.to_string()))?;
    let mut answer = agent.run(request).map_err(|error| lost(error.to_string()))?;
    let body = answer.body_mut().with_config().limit(MAX_MESSAGE_BYTES).read_to_string();
    let body = body.map_err(|error| lost(error.to_string()))?;
    if answer.status() == StatusCode::NOT_FOUND {
        return Err(lost("the server does not know the session".to_owned()));
    }
    match serde_json::from_str::<Value>(&body) {
        // On one line, as the transport requires.
        Ok(reply) if reply.is_object() => Ok(Some(reply.to_string())),
        _ if body.is_empty() && answer.status().is_success() => Ok(None),
        _ => Err(lost(format!("the reply with the status {} is not a message", answer.status().as_u16()))),
    }
}

fn agreed_version(message: &str) -> Option<String> {
    let message: Value = serde_json::from_str(message).ok()?;
    Some(message.pointer("/result/protocolVersion")?.as_str()?.to_owned())
}
