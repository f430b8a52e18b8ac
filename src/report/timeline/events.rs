//! One entry of the ledger as text, and how it is drawn. Text of the subject is escaped here, for the
//! terminal and the page.

use std::collections::BTreeMap;

use mock_services::fault::ReplyKind;
use mock_services::ledger::{BarrierEvent, CommitTiming, Event, SilenceEnd};
use mock_services::service::Fields;

use super::Shape;
use crate::domain::{HostRequests, HostTreatment, InterruptKind, StartEnd, StartEvent, SubjectEvent};
use crate::report::text::line;

/// The maximum number of characters of a value that are shown.
const MAX_VALUE: usize = 60;
/// The maximum number of characters of the message of a claim that are shown.
const MAX_MESSAGE: usize = 200;
/// The maximum number of fields that are shown.
const MAX_FIELDS: usize = 12;

/// The fields that say what an effect is about, which come first.
const FIRST_FIELDS: [&str; 3] = ["amount", "order", "to"];
/// The length of a key up to which it is shown in full.
const MAX_KEY: usize = 12;

/// The names of attempts, such as `payment.charge#2`, by their numbers in the ledger.
pub(super) type AttemptNames = BTreeMap<u64, String>;

fn attempt_name(attempts: &AttemptNames, attempt: u64) -> String {
    attempts.get(&attempt).cloned().unwrap_or_else(|| format!("attempt {attempt}"))
}

/// The start of a key: enough to see whether two keys differ.
fn short(key: &str) -> String {
    line(key, if key.chars().count() > MAX_KEY { MAX_KEY - 4 } else { MAX_KEY })
}

/// The text of an entry.
pub(super) struct ItemText {
    pub(super) shape: Shape,
    pub(super) label: String,
    pub(super) detail: String,
}

impl ItemText {
    fn new(shape: Shape, label: impl Into<String>) -> Option<Self> {
        Some(ItemText { shape, label: label.into(), detail: String::new() })
    }

    fn with(shape: Shape, label: impl Into<String>, detail: impl Into<String>) -> Option<Self> {
        Some(ItemText { shape, label: label.into(), detail: detail.into() })
    }
}

/// The entry as text; `None` where it is not drawn.
pub(super) fn describe(event: &Event<'_>, attempts: &AttemptNames) -> Option<ItemText> {
    match event {
        Event::Received(received) => {
            let key = received.key.as_ref().map(|key| format!("key {}", short(key)));
            let replay = received.replay.then(|| "replayed for this key".to_owned());
            // What it is about comes first, and then the key: a narrow terminal cuts the rest.
            let (about, rest) = split_fields(&received.fields);
            let parts = [Some(about), key, replay, Some(rest)];
            let detail: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
            ItemText::with(Shape::Request, attempt_name(attempts, received.attempt), detail.join("  "))
        }
        Event::Refused { method, path, status, reason, .. } => {
            let method = if method.is_empty() { "unreadable".to_owned() } else { line(method, MAX_VALUE) };
            let reason =
                reason.as_ref().map(|reason| format!(": {}", line(reason, MAX_MESSAGE))).unwrap_or_default();
            let detail = format!("{method} {}{reason}", line(path, MAX_VALUE));
            let label = if *status == 0 { "refused".to_owned() } else { format!("refused with {status}") };
            ItemText::with(Shape::Refused, label, detail)
        }
        Event::Fault { commit, reply, status, drawn, .. } => {
            let after = drawn.as_ref().map(|time| format!(" (after {time})")).unwrap_or_default();
            let reply = status.map_or_else(|| reply.to_string(), |status| status.to_string());
            ItemText::new(Shape::Fault, format!("fault: commit {commit}{after}, reply {reply}"))
        }
        Event::Committed { effect, id, fields: about, timing, .. } => {
            let label = format!("committed {}{}", line(effect, MAX_VALUE), timing_words(*timing));
            ItemText::with(Shape::Commit, label, format!("{}  {}", fields(about), line(id, MAX_VALUE)))
        }
        Event::Withheld { effect, fields: about, .. } => {
            ItemText::with(Shape::Fault, format!("not committed: {}", line(effect, MAX_VALUE)), fields(about))
        }
        Event::Lapsed { status, .. } => ItemText::new(
            Shape::Fault,
            format!("not committed: when it was due, the service refused it with {status}"),
        ),
        Event::Unsent { .. } => {
            ItemText::new(Shape::BrokenReply, "reply not received: the caller had disconnected")
        }
        Event::Replied { silence: Some(end), .. } => ItemText::new(Shape::BrokenReply, silence(*end)),
        Event::Replied { retry_after: Some(seconds), status: Some(status), bytes, .. } => ItemText::with(
            Shape::Reply,
            format!("answered {status}, retry after {seconds} s"),
            format!("{bytes} bytes"),
        ),
        Event::Replied { reply, status, whole, bytes, replay, .. } => {
            replied(*reply, *status, *whole, *bytes, *replay)
        }
        Event::Barrier { event, .. } => ItemText::new(Shape::Note, at_barrier(*event)),
        Event::Noted { name, fields, .. } => match SubjectEvent::from_ledger(name, fields) {
            Ok(event) => subject_event(&event, attempts),
            Err(error) => {
                ItemText::with(Shape::Note, "cannot be read", line(&error.to_string(), MAX_MESSAGE))
            }
        },
        Event::Opened { .. } | Event::Closed { .. } | Event::End { .. } => None,
    }
}

fn replied(reply: ReplyKind, status: Option<u16>, whole: bool, bytes: u64, replay: bool) -> Option<ItemText> {
    let status = status.map_or_else(String::new, |status| status.to_string());
    if reply == ReplyKind::Oversize {
        let end = if whole { "" } else { ", until the caller closed the connection" };
        return ItemText::with(
            Shape::BrokenReply,
            format!("answered {status}, too large{end}"),
            format!("{bytes} bytes"),
        );
    }
    if whole && reply.can_be_parsed() {
        let again = if replay { " (replayed for this key)" } else { "" };
        return ItemText::with(Shape::Reply, format!("answered {status}{again}"), format!("{bytes} bytes"));
    }
    let lost = match reply {
        ReplyKind::Drop => "no reply: the connection was closed".to_owned(),
        ReplyKind::Reset => "no reply: the connection was reset".to_owned(),
        ReplyKind::Hang => "no reply: the connection stayed silent".to_owned(),
        ReplyKind::Truncate => format!("partial reply: {status}, then the connection was closed"),
        ReplyKind::Garble => format!("answered {status}, with an invalid body"),
        ReplyKind::Ok
        | ReplyKind::Delay
        | ReplyKind::Drip
        | ReplyKind::Status
        | ReplyKind::Stale
        | ReplyKind::Oversize
            if status.is_empty() =>
        {
            "no reply: the caller had disconnected".to_owned()
        }
        ReplyKind::Ok
        | ReplyKind::Delay
        | ReplyKind::Drip
        | ReplyKind::Status
        | ReplyKind::Stale
        | ReplyKind::Oversize => format!("incomplete reply: {status}"),
    };
    ItemText::with(Shape::BrokenReply, lost, format!("{bytes} bytes"))
}

fn silence(end: SilenceEnd) -> &'static str {
    match end {
        SilenceEnd::Caller => "no reply: the connection stayed silent until the caller closed it",
        SilenceEnd::Released => {
            "no reply: the connection stayed silent until hapax closed it (client timeout not reached)"
        }
        SilenceEnd::Limit => {
            "no reply: the connection stayed silent until hapax stopped waiting (client timeout not reached)"
        }
    }
}

fn at_barrier(event: BarrierEvent) -> &'static str {
    match event {
        BarrierEvent::Held => "waits at the start barrier",
        BarrierEvent::Admitted => "passes the start barrier",
        BarrierEvent::GaveUp => "gave up at the start barrier",
        BarrierEvent::Absent => "ended before it reached the start barrier",
        BarrierEvent::Locked => "waits for a lock of a caller at the start barrier, which opens",
        BarrierEvent::Missing => "did not reach the start barrier in time, and it opens",
        BarrierEvent::Late => "wrote after the start barrier had opened without it",
    }
}

fn subject_event(event: &SubjectEvent, attempts: &AttemptNames) -> Option<ItemText> {
    let text = |text: &str| line(text, MAX_MESSAGE);
    match event {
        SubjectEvent::Started(StartEvent { start: 1, .. }) => ItemText::new(Shape::Start, "started"),
        SubjectEvent::Started(StartEvent { start, .. }) => {
            ItemText::new(Shape::Start, format!("started again (start {start})"))
        }
        SubjectEvent::Ended(event) => {
            let end = match event.end {
                StartEnd::Exited(status) => format!("exited with {status}"),
                StartEnd::Signaled(signal) => format!("ended by signal {signal}"),
                StartEnd::TimeUp => "stopped: it reached its time limit".to_owned(),
                StartEnd::OverLimit => "stopped: it exceeded a limit".to_owned(),
                StartEnd::NoAnswer => "closed the connection without an answer".to_owned(),
                StartEnd::Answered(status) => format!("answered with {status}"),
            };
            ItemText::new(Shape::End, end)
        }
        SubjectEvent::Unstartable { error, .. } => {
            ItemText::with(Shape::Cut, "could not be started", text(error))
        }
        SubjectEvent::Unprepared { error } => {
            ItemText::with(Shape::Cut, "the command `before` failed", text(error))
        }
        SubjectEvent::Claimed(claim) => {
            let words = claim.problem.as_ref().map_or_else(|| quoted(&text(&claim.message)), |why| text(why));
            let label = match claim.outcome {
                Some(outcome) => format!("claimed {outcome}"),
                None => "made no claim".to_owned(),
            };
            ItemText::with(Shape::Claim, label, words)
        }
        SubjectEvent::Interrupted(event) => {
            let action = match event.action {
                InterruptKind::Kill => "killed",
                InterruptKind::Stop => "asked to stop",
                InterruptKind::Cancel => "canceled",
                InterruptKind::Freeze => "frozen",
            };
            ItemText::with(Shape::Cut, action, format!("at {}", attempt_name(attempts, event.attempt)))
        }
        SubjectEvent::InterruptMissed { interrupt, reason } => ItemText::with(
            Shape::Note,
            format!("interrupt had no effect: {}", interrupt.action),
            text(reason),
        ),
        SubjectEvent::Escaped { host, port } => {
            ItemText::new(Shape::Note, format!("tried to reach {}:{port}", text(host)))
        }
        SubjectEvent::Proxied { service, .. } => {
            ItemText::new(Shape::Note, format!("asked the proxy for {}, which NO_PROXY names", text(service)))
        }
        SubjectEvent::CertificateRefused { host, port } => {
            ItemText::new(Shape::Note, format!("did not accept the certificate for {}:{port}", text(host)))
        }
        SubjectEvent::HostRequests(requests) => {
            let (host, port, counted) = (text(&requests.host), requests.port, counted(requests));
            let label = match requests.treatment {
                HostTreatment::Allowed => format!("reached {host}:{port}, which is allowed: {counted}"),
                HostTreatment::Ignored => format!("refused {host}:{port}, which is ignored: {counted}"),
            };
            ItemText::new(Shape::Note, label)
        }
        SubjectEvent::OverLimit { limit } => {
            ItemText::new(Shape::Note, format!("exceeded a limit: {}", text(limit)))
        }
        SubjectEvent::Unanswered { requests } => {
            ItemText::new(Shape::Note, format!("requests not answered at the end: {requests}"))
        }
        SubjectEvent::StillSending { .. } => ItemText::new(Shape::Note, "still sending a request at the end"),
        SubjectEvent::IdleClosed { connections } => {
            ItemText::new(Shape::Note, format!("idle connections closed at the end: {connections}"))
        }
        SubjectEvent::LateRequest(request) => {
            let what = text(request.operation.as_ref().unwrap_or(&request.service));
            let detail = format!("{} {}", text(&request.method), text(&request.path));
            ItemText::with(Shape::Refused, format!("late {}: {what}, refused", request.kind), detail)
        }
    }
}

fn counted(requests: &HostRequests) -> String {
    let count = match requests.requests {
        1 => "1 request".to_owned(),
        count => format!("{count} requests"),
    };
    match requests.failed {
        0 => count,
        failed => format!("{count}, {failed} of them failed"),
    }
}

fn quoted(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("\"{words}\"") }
}

fn timing_words(timing: CommitTiming) -> &'static str {
    match timing {
        CommitTiming::Now => "",
        CommitTiming::Later => " (later)",
        CommitTiming::Twice => " (delivered twice)",
        CommitTiming::Part => " (part of a list)",
        CommitTiming::Rest => " (the rest of a list)",
        CommitTiming::Afterwards => " (afterwards)",
        CommitTiming::LeftBehind => " (left behind)",
    }
}

/// All fields, those first that say what it is about.
fn fields(fields: &Fields) -> String {
    let (about, rest) = split_fields(fields);
    [about, rest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

/// The fields that say what it is about, and the others.
fn split_fields(fields: &Fields) -> (String, String) {
    let place = |name: &str| FIRST_FIELDS.iter().position(|first| *first == name);
    let shown =
        |(name, value): (&str, String)| format!("{}={}", line(name, MAX_VALUE), line(&value, MAX_VALUE));
    let all = || fields.iter().map(|(name, value)| (name, value.to_string()));
    let mut about: Vec<(&str, String)> = all().filter(|(name, _)| place(name).is_some()).collect();
    about.sort_by_key(|(name, _)| place(name));
    let rest: Vec<(&str, String)> = all().filter(|(name, _)| place(name).is_none()).collect();
    let more = rest.len().saturating_sub(MAX_FIELDS);
    let more = (more > 0).then(|| format!("and {more} more"));
    let rest = rest.into_iter().take(MAX_FIELDS).map(shown).chain(more);
    (about.into_iter().map(shown).collect::<Vec<_>>().join("  "), rest.collect::<Vec<_>>().join("  "))
}
