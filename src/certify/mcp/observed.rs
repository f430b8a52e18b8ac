//! What one trial shows: the calls as the driver saw them, and the effects as the ledger has them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mock_services::catalog;
use mock_services::ledger::{CommitTiming, Entry, Event};
use mock_services::service::OperationKind;

use crate::domain::SubjectEvent;
use crate::mcp::client::{CallOutcome, DriverRecord, read_records};

/// How much of the body of a write is shown, in characters.
const MAX_BODY: usize = 160;

/// A call, as the driver saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenCall {
    pub(super) outcome: CallOutcome,
    pub(super) text: String,
    /// When it was answered or cancelled, or its connection closed, in milliseconds since 1970.
    pub(super) ended_at: Option<i64>,
}

/// A write that reached a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenWrite {
    /// Its number in the ledger.
    pub(super) attempt: u64,
    pub(super) operation: String,
    pub(super) key: Option<String>,
    /// When, in milliseconds since 1970.
    pub(super) at: i64,
    pub(super) method: String,
    pub(super) path: String,
    /// The host and the body, if they are known.
    pub(super) host: Option<String>,
    pub(super) body: Option<String>,
}

impl SeenWrite {
    /// Whether it is a message to another MCP server.
    fn is_forwarded(&self) -> bool {
        let body = self.body.as_deref().unwrap_or_default();
        body.contains("\"jsonrpc\"") && body.contains("\"method\"")
    }

    /// What was sent: `POST api.example.com/v1/items {"name": "x"}`.
    pub(super) fn request(&self) -> String {
        let host = self.host.as_deref().unwrap_or_default();
        let body = self.body.as_ref().map(|body| format!(" {}", short(body, MAX_BODY))).unwrap_or_default();
        format!("{} {host}{}{body}", self.method, self.path)
    }
}

/// An effect that was committed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SeenEffect {
    /// The number of its request in the ledger.
    pub(super) attempt: u64,
    pub(super) effect: String,
    pub(super) operation: String,
    /// When its request was received, in milliseconds since 1970.
    pub(super) at: i64,
}

/// What one trial shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ObservedTrial {
    /// The calls, in order; those of several callers one after another.
    pub(super) calls: Vec<SeenCall>,
    /// The effects that were committed.
    pub(super) effects: Vec<SeenEffect>,
    /// The writes that reached a service.
    pub(super) writes: Vec<SeenWrite>,
    /// The places of the declared answers that a request matched.
    pub(super) matched_answers: BTreeSet<usize>,
    /// The attempts to which a fault was applied.
    pub(super) faulted: Vec<u64>,
    /// How many times the driver was started, over all callers.
    pub(super) starts: usize,
    /// How long the slowest connection took, with the start of a server of its own.
    pub(super) slowest_start: Duration,
    /// How long the slowest call took that was answered.
    pub(super) slowest_call: Duration,
    /// The connections before the first call, over all callers.
    pub(super) first_connections: usize,
    /// When the server was killed, or the driver began to connect to it again after a call, in milliseconds since
    /// 1970.
    pub(super) first_start_ended: Option<i64>,
    /// Why there was no connection, or no list of tools.
    pub(super) not_connected: Option<String>,
    /// The digests of the lists of tools.
    pub(super) lists: Vec<String>,
    /// The protocol version, and the name and version of the server.
    pub(super) identity: Option<(String, String)>,
    /// What the server asked for and did not get.
    pub(super) declined: Vec<String>,
    /// Whether the server answered after a cancelled call.
    pub(super) alive: Option<bool>,
    /// Lines of its standard output that are not messages, and the first of them.
    pub(super) noise: Option<(u64, String)>,
    /// Hosts that it could not reach.
    pub(super) escaped: Vec<String>,
    /// Hosts whose certificate of this run it did not accept.
    pub(super) untrusted: Vec<String>,
    /// Requests that hapax does not support.
    pub(super) unsupported: Vec<String>,
    /// Why the subject could not be started at all.
    pub(super) unstartable: Option<String>,
    /// How often a read of the server named the trial, each time that it was asked.
    pub(super) counts: Vec<usize>,
    /// Why a read of the server could not be asked.
    pub(super) not_counted: Option<String>,
}

/// The attempts so far.
#[derive(Debug, Default)]
struct AttemptsSoFar {
    /// By number: the operation, the first attempt with the same content if it can be repeated by its nature, and
    /// when it was received.
    by_number: BTreeMap<u64, (String, Option<u64>, i64)>,
    /// Those first attempts of which one was committed.
    repeatable_done: BTreeSet<u64>,
}

impl ObservedTrial {
    /// Reads the standard output of each start of the driver, and the ledger of the trial.
    pub(super) fn new(outputs: &[String], entries: &[Entry]) -> Self {
        let mut seen = ObservedTrial { starts: outputs.len(), ..ObservedTrial::default() };
        let was_killed = was_interrupted(entries);
        for (number, output) in outputs.iter().enumerate() {
            seen.add_output(read_records(output), number == 0 || !was_killed);
        }
        let mut attempts = AttemptsSoFar::default();
        for entry in entries {
            seen.add_entry(entry, &mut attempts);
        }
        seen
    }

    /// Adds what one start of the driver printed: the first one of its caller, or one after a kill.
    fn add_output(&mut self, records: Vec<DriverRecord>, is_first: bool) {
        let mut has_called = false;
        for record in records {
            match &record {
                DriverRecord::Connected { began_at, .. } if has_called => {
                    self.end_first_start(began_at.unwrap_or_default());
                }
                DriverRecord::Connected { .. } if is_first => self.first_connections += 1,
                DriverRecord::Called { .. } => has_called = true,
                _ => {}
            }
            self.add_record(record);
        }
    }

    /// What came from this time on is not of the first start of the server.
    fn end_first_start(&mut self, at: i64) {
        self.first_start_ended = Some(self.first_start_ended.map_or(at, |earlier| earlier.min(at)));
    }

    fn add_record(&mut self, record: DriverRecord) {
        match record {
            DriverRecord::Connected { protocol, server, took_ms, .. } => {
                self.identity = Some((protocol, server));
                self.slowest_start = self.slowest_start.max(Duration::from_millis(took_ms.unwrap_or(0)));
            }
            DriverRecord::NotConnected { why } | DriverRecord::NotListed { why } => {
                self.not_connected = Some(why)
            }
            DriverRecord::Listed { digest } => self.lists.push(digest),
            DriverRecord::Called { outcome, text, ended_at, took_ms, .. } => {
                if outcome.is_answer() {
                    self.slowest_call = self.slowest_call.max(Duration::from_millis(took_ms.unwrap_or(0)));
                }
                self.calls.push(SeenCall { outcome, text, ended_at });
            }
            DriverRecord::Counted { count } => self.counts.push(count),
            DriverRecord::NotCounted { why } => self.not_counted = Some(why),
            DriverRecord::Declined { what } => push_new(&mut self.declined, what),
            DriverRecord::Alive { answers } => self.alive = Some(answers),
            DriverRecord::Noise { lines, first } => self.noise = Some((lines, first)),
        }
    }

    fn add_entry(&mut self, entry: &Entry, attempts: &mut AttemptsSoFar) {
        match &entry.event {
            Event::Received(received) => {
                self.matched_answers.extend(received.declared_answer);
                let first = received.repeats.unwrap_or(received.attempt);
                // Either can be repeated by its nature: the second one with the same content changes nothing.
                let is_repeatable = matches!(&*received.method, "PUT" | "DELETE");
                let operation = received.operation.to_string();
                let seen = (operation, is_repeatable.then_some(first), entry.wall);
                attempts.by_number.insert(received.attempt, seen);
                if is_write(&received.operation) {
                    self.writes.push(SeenWrite {
                        attempt: received.attempt,
                        operation: received.operation.to_string(),
                        key: received.key.as_ref().map(ToString::to_string),
                        at: entry.wall,
                        method: received.method.to_string(),
                        path: received.path.to_string(),
                        host: received.message.as_deref().and_then(host_in),
                        body: received.message.as_deref().and_then(body_in),
                    });
                }
            }
            Event::Committed { attempt, effect, timing, .. } if *timing != CommitTiming::LeftBehind => {
                let (operation, repeatable, at) =
                    attempts.by_number.get(attempt).cloned().unwrap_or_default();
                if repeatable.is_some_and(|first| !attempts.repeatable_done.insert(first)) {
                    return;
                }
                self.effects.push(SeenEffect {
                    attempt: *attempt,
                    effect: effect.to_string(),
                    operation,
                    at,
                });
            }
            Event::Fault { attempt, .. } => self.faulted.push(*attempt),
            Event::Refused(refused) => {
                self.matched_answers.extend(refused.declared_answer);
                if let Some(what) = &refused.unsupported {
                    push_new(&mut self.unsupported, what.to_string());
                }
            }
            Event::Noted { .. } => match SubjectEvent::from_event(&entry.event) {
                Ok(Some(SubjectEvent::Escaped { host, .. })) => push_new(&mut self.escaped, host),
                Ok(Some(SubjectEvent::CertificateRefused { host, .. })) => {
                    push_new(&mut self.untrusted, host)
                }
                Ok(Some(SubjectEvent::Unstartable { error, .. })) => self.unstartable = Some(error),
                Ok(Some(SubjectEvent::Interrupted(_))) => self.end_first_start(entry.wall),
                _ => {}
            },
            _ => {}
        }
    }

    /// The host of the MCP server to which messages are forwarded, if the server is only a bridge.
    pub(super) fn forwards_to(&self) -> Option<&str> {
        self.writes.iter().find(|write| write.is_forwarded())?.host.as_deref()
    }

    /// How many effects have requests that came after the last call was answered; 0 if a call was not answered.
    pub(super) fn late_effects(&self) -> usize {
        let answered = |call: &SeenCall| call.ended_at.filter(|_| call.outcome.is_answer());
        let Some(ends) = self.calls.iter().map(answered).collect::<Option<Vec<i64>>>() else { return 0 };
        let Some(last) = ends.into_iter().max() else { return 0 };
        self.effects.iter().filter(|effect| effect.at > last).count()
    }

    /// The operations of the effects, each once, in order.
    pub(super) fn effect_operations(&self) -> Vec<String> {
        let mut operations = Vec::new();
        self.effects.iter().for_each(|effect| push_new(&mut operations, effect.operation.clone()));
        operations
    }

    /// By how much the last count of a read is larger than the first.
    pub(super) fn counted(&self) -> Option<usize> {
        Some(self.counts.last()?.saturating_sub(*self.counts.first()?))
    }

    /// Whether the last call has a result that is not an error.
    pub(super) fn last_has_result(&self) -> bool {
        self.calls.last().is_some_and(|call| call.outcome.is_result())
    }

    /// The lines of evidence: the calls, then the writes, with those that are not counted.
    pub(super) fn evidence(&self, excused: &BTreeSet<u64>) -> Vec<String> {
        let calls = self.calls.iter().enumerate().map(|(number, call)| {
            let word = serde_json::to_value(call.outcome).ok();
            let word = word.as_ref().and_then(|word| word.as_str()).unwrap_or_default().to_owned();
            format!("call {}: {word}: {}", number + 1, short(&call.text, 160))
        });
        let writes = self.writes.iter().map(|write| {
            let key = write.key.as_ref().map_or("no key".to_owned(), |key| format!("key {key}"));
            let at_start = if excused.contains(&write.attempt) { ", at the start, not counted" } else { "" };
            format!("{} {} {} ({key}{at_start})", write.operation, write.method, write.path)
        });
        let effects = match self.counts.is_empty() {
            true => format!("effects: {}", self.effects.len()),
            false => format!("counts of the read: {:?}", self.counts),
        };
        calls.chain(writes).chain([effects]).collect()
    }
}

fn was_interrupted(entries: &[Entry]) -> bool {
    let is_interrupt = |entry: &Entry| {
        matches!(SubjectEvent::from_event(&entry.event), Ok(Some(SubjectEvent::Interrupted(_))))
    };
    entries.iter().any(is_interrupt)
}

/// The host that a request as text names.
fn host_in(message: &str) -> Option<String> {
    let headers = message.lines().take_while(|line| !line.is_empty());
    let mut named = headers.filter_map(|line| line.split_once(": "));
    let (_, host) = named.find(|(name, _)| name.eq_ignore_ascii_case("host"))?;
    Some(host.trim().to_owned())
}

/// The body of a request as text.
fn body_in(message: &str) -> Option<String> {
    let (_, body) = message.split_once("\n\n")?;
    (!body.trim().is_empty()).then(|| body.to_owned())
}

fn is_write(operation: &str) -> bool {
    let service = operation.split('.').next().unwrap_or_default();
    let known = catalog::find(service)
        .and_then(|service| service.operations.iter().find(|known| known.name == operation));
    known.is_none_or(|known| known.kind == OperationKind::Write)
}

/// A text without what differs from call to call: each word with a digit is the same.
pub(super) fn form(text: &str) -> String {
    let word = |word: &str| match word.contains(|letter: char| letter.is_ascii_digit()) {
        true => "#".to_owned(),
        false => word.to_lowercase(),
    };
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// A text on one line, shortened.
pub(super) fn short(text: &str, length: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(length) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

fn push_new(list: &mut Vec<String>, item: String) {
    if !list.contains(&item) {
        list.push(item);
    }
}
