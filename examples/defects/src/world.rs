//! The world of a program: the environment that hapax gives to a subject, its files, requests over HTTP with a timeout
//! of one second, and the claim.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::Request as HttpRequest;
use ureq::{Agent, Body};

use crate::program::Outcome;

/// The time after which a request without a reply is given up. On a busy machine a reply can take a second, and one that
/// is given up shows some of the defects without a fault.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest `Retry-After` that a program waits for.
const MAX_WAIT: u64 = 2;

/// What a program knows and can do.
pub(crate) struct World {
    /// Whether the corrected twin runs.
    pub(crate) is_corrected: bool,
    agent: Agent,
    steps: Vec<Value>,
}

/// A request to a service.
pub(crate) struct Request {
    service: &'static str,
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Option<(&'static str, String)>,
}

/// What a reply means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    /// A complete success.
    Done,
    /// The service refuses the request, and would refuse it again.
    Refused,
    /// The record has another version than the request expects.
    Outdated,
    /// The key or the lock is in use.
    Busy,
    /// Too many requests.
    Limited,
    /// The service failed.
    Failed,
    /// A success whose body cannot be read.
    Garbled,
    /// No reply.
    Lost,
}

/// How a request without a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoReply {
    /// The connection was closed.
    Closed,
    /// The connection was reset.
    Reset,
    /// Nothing came in time.
    TimedOut,
}

/// A reply, as far as one came.
pub(crate) struct Reply {
    /// What it means.
    pub(crate) kind: ReplyKind,
    /// Whether the service says that it replays an earlier reply.
    pub(crate) is_replayed: bool,
    /// How it ended without a reply.
    pub(crate) end: Option<NoReply>,
    /// Its status; 0 without a reply.
    pub(crate) status: u16,
    /// How long the service asks to wait.
    pub(crate) retry_after: Option<Duration>,
    /// Its JSON, or `null`.
    pub(crate) body: Value,
}

impl Reply {
    /// No reply.
    fn lost(end: NoReply) -> Self {
        Reply {
            kind: ReplyKind::Lost,
            is_replayed: false,
            end: Some(end),
            status: 0,
            retry_after: None,
            body: Value::Null,
        }
    }

    /// The text at this pointer, or an empty one.
    pub(crate) fn text(&self, pointer: &str) -> String {
        self.body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

impl Request {
    /// A read.
    pub(crate) fn get(service: &'static str, path: impl Into<String>) -> Self {
        Request { service, method: "GET", path: path.into(), headers: Vec::new(), body: None }
    }

    /// A write with JSON.
    pub(crate) fn json(service: &'static str, method: &'static str, path: &str, body: &Value) -> Self {
        let body = Some(("application/json", body.to_string()));
        Request { service, method, path: path.to_owned(), headers: Vec::new(), body }
    }

    /// A write with a form.
    pub(crate) fn form(service: &'static str, path: &str, pairs: &[(&str, &str)]) -> Self {
        let pairs: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
        let body = Some(("application/x-www-form-urlencoded", pairs.join("&")));
        Request { service, method: "POST", path: path.to_owned(), headers: Vec::new(), body }
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds an idempotency key.
    pub(crate) fn key(self, key: impl Into<String>) -> Self {
        self.header("Idempotency-Key", key)
    }
}

impl World {
    /// Reads the environment.
    pub(crate) fn from_environment(is_corrected: bool) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // The services are on this machine; the proxy of the environment is for other hosts.
            .proxy(None)
            .max_idle_connections(0)
            .timeout_global(Some(CLIENT_TIMEOUT))
            .build();
        let steps = variable("HAPAX_STEPS").and_then(|text| serde_json::from_str(&text).ok());
        World { is_corrected, agent: Agent::new_with_config(config), steps: steps.unwrap_or_default() }
    }

    /// A field of the step with this number (from 0) of an operation, or what the task of the program says.
    pub(crate) fn field(&self, operation: &str, number: usize, name: &str, usual: &str) -> String {
        let mut steps = self.steps.iter().filter(|step| step["do"] == operation);
        match steps.nth(number).and_then(|step| step["with"].get(name)) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => usual.to_owned(),
        }
    }

    /// Sends a request once.
    pub(crate) fn send(&self, request: &Request) -> Reply {
        let service = request.service.to_uppercase();
        let url = variable(&format!("HAPAX_{service}_URL")).unwrap_or_default();
        let key = variable(&format!("HAPAX_{service}_KEY")).unwrap_or_default();
        let mut builder = HttpRequest::builder()
            .method(request.method)
            .uri(format!("{url}{}", request.path))
            .header("Authorization", format!("Bearer {key}"));
        for (name, value) in &request.headers {
            builder = builder.header(*name, value.as_str());
        }
        let sent = match &request.body {
            None => builder.body(()).map(|ready| self.agent.run(ready)),
            Some((kind, text)) => {
                builder.header("Content-Type", *kind).body(text.clone()).map(|ready| self.agent.run(ready))
            }
        };
        match sent {
            Ok(Ok(response)) => read_reply(response),
            Ok(Err(error)) => Reply::lost(end_of(&error)),
            // The request could not be made.
            Err(_) => Reply::lost(NoReply::Closed),
        }
    }

    /// Reads until a complete answer comes, at most this many times.
    pub(crate) fn read(&self, service: &'static str, path: &str, times: u32) -> Option<Value> {
        for time in 0..times {
            if time > 0 {
                pause();
            }
            let reply = self.send(&Request::get(service, path));
            if reply.kind == ReplyKind::Done {
                return Some(reply.body);
            }
            if reply.kind == ReplyKind::Refused {
                return Some(Value::Null);
            }
        }
        None
    }

    /// The name of this caller, which is the same after a restart.
    pub(crate) fn caller(&self) -> String {
        variable("HAPAX_CALLER").unwrap_or_default()
    }

    /// A file of this caller. It is kept across restarts, except on another machine.
    pub(crate) fn own_file(&self, name: &str) -> PathBuf {
        directory("HAPAX_STATE_DIR").join(name)
    }

    /// A file that all callers share.
    pub(crate) fn shared_file(&self, name: &str) -> PathBuf {
        directory("HAPAX_SHARED_DIR").join(name)
    }

    /// Whether this caller is the first that writes its name into a file that all share. It is so after a restart, too.
    pub(crate) fn is_first(&self, name: &str) -> bool {
        let file = self.shared_file(name);
        let created = File::options().write(true).create_new(true).open(&file);
        let written = created.and_then(|mut file| io::Write::write_all(&mut file, self.caller().as_bytes()));
        written.is_ok() || fs::read_to_string(&file).is_ok_and(|first| first == self.caller())
    }

    /// The content of a file of this caller.
    pub(crate) fn note(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.own_file(name)).ok()
    }

    /// Writes a file of this caller.
    pub(crate) fn set_note(&self, name: &str, text: &str) {
        write_whole(&self.own_file(name), text);
    }

    /// The number of this start, from 1, as far as the directory of this caller shows it.
    pub(crate) fn count_start(&self) -> u32 {
        let starts = self.note("starts").and_then(|text| text.parse().ok()).unwrap_or(0) + 1;
        self.set_note("starts", &starts.to_string());
        starts
    }

    /// Writes the claim.
    pub(crate) fn claim(&self, outcome: Outcome) -> io::Result<()> {
        let line = json!({"outcome": outcome.as_str(), "message": "the program has ended"}).to_string();
        match variable("HAPAX_RESULT") {
            Some(path) => fs::write(path, line),
            None => io::Write::write_all(&mut io::stdout(), format!("{line}\n").as_bytes()),
        }
    }
}

/// Writes a file that is never seen in parts. A program that cannot store anything goes on without.
pub(crate) fn write_whole(path: &PathBuf, text: &str) {
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let written = File::create(&draft).and_then(|mut file| {
        io::Write::write_all(&mut file, text.as_bytes())?;
        file.sync_all()
    });
    let _ = written.and_then(|()| fs::rename(&draft, path));
}

/// Waits for a file that another worker writes, for about a tenth of a second; whether it is there.
pub(crate) fn wait_for(path: &Path) -> bool {
    for _ in 0..20 {
        if path.exists() {
            return true;
        }
        pause();
    }
    false
}

/// A short pause between two attempts.
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn directory(name: &str) -> PathBuf {
    variable(name).map_or_else(std::env::temp_dir, PathBuf::from)
}

/// How a request without a reply ended.
fn end_of(error: &ureq::Error) -> NoReply {
    match error {
        ureq::Error::Timeout(_) => NoReply::TimedOut,
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionReset => NoReply::Reset,
        _ => NoReply::Closed,
    }
}

fn read_reply(response: ureq::http::Response<Body>) -> Reply {
    let (head, mut body) = response.into_parts();
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let declared = header("content-length").and_then(|length| length.parse::<usize>().ok());
    let whole = body.read_to_vec().ok().filter(|bytes| declared.is_none_or(|length| length == bytes.len()));
    let parsed = whole.and_then(|bytes| match bytes.is_empty() {
        true if head.status == 204 => Some(Value::Null),
        true => None,
        false => serde_json::from_slice(&bytes).ok(),
    });
    let seconds = header("retry-after").and_then(|value| value.trim().parse::<u64>().ok());
    Reply {
        kind: reply_kind(head.status.as_u16(), parsed.as_ref()),
        is_replayed: header("idempotent-replayed") == Some("true"),
        end: None,
        status: head.status.as_u16(),
        retry_after: seconds.map(|seconds| Duration::from_secs(seconds.min(MAX_WAIT))),
        body: parsed.unwrap_or_default(),
    }
}

fn reply_kind(status: u16, body: Option<&Value>) -> ReplyKind {
    match status {
        200..=299 if body.is_none() => ReplyKind::Garbled,
        200..=299 => ReplyKind::Done,
        // Resend says so where a key was used for another mail.
        409 if body.is_some_and(|body| body["name"] == "invalid_idempotent_request") => ReplyKind::Refused,
        409 | 423 => ReplyKind::Busy,
        412 => ReplyKind::Outdated,
        429 => ReplyKind::Limited,
        408 | 425 => ReplyKind::Failed,
        400..=499 if body.is_none() => ReplyKind::Lost,
        400..=499 => ReplyKind::Refused,
        _ => ReplyKind::Failed,
    }
}

/// The text, percent-encoded for a path, a query or a form.
pub(crate) fn escaped(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}
