//! One entry of the ledger as a line for the terminal. Text of callers is escaped.

use anstyle::{AnsiColor, Style};
use mock_services::ledger::{BarrierEvent, ClosedBy, CommitTiming, Entry, Event, SilenceEnd};
use mock_services::service::Fields;
use mock_services::yaml::shown;

use crate::report::text::line as one_line;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
/// The maximum number of characters of a reason that are shown.
const MAX_REASON: usize = 200;
const FAINT: Style = Style::new().dimmed();

/// The line of an entry; `None` for entries that are not shown.
#[must_use]
pub fn line(entry: &Entry) -> Option<String> {
    let (style, what, rest) = match &entry.event {
        Event::Received(received) => {
            let key = received.key.as_ref().map(|key| format!("  key {}", shown(key))).unwrap_or_default();
            let replay = if received.replay { "  (replayed for this key)" } else { "" };
            let fields = fields(&received.fields);
            let caller = received.caller;
            let who = format!(
                "attempt {}  caller {caller}  {}{fields}{key}{replay}",
                received.attempt, received.operation
            );
            (Style::new(), "received", who)
        }
        Event::Refused { service, method, path, status, caller, reason, .. } => {
            let request = if method.is_empty() {
                "unreadable".to_owned()
            } else {
                format!("{} {}", shown(method), shown(path))
            };
            let reason = reason
                .as_ref()
                .map(|reason| format!("  {}", one_line(reason, MAX_REASON)))
                .unwrap_or_default();
            let status = if *status == 0 { String::new() } else { format!("  {status}") };
            (FAINT, "refused", format!("{service}  caller {caller}  {request}{status}{reason}"))
        }
        Event::Fault { attempt, commit, reply, status, fault, drawn } => {
            let reply = status.map_or_else(|| reply.to_string(), |status| status.to_string());
            let after = drawn.as_ref().map(|time| format!(" (after {time})")).unwrap_or_default();
            (
                BAD,
                "fault",
                format!("attempt {attempt}  fault {}: commit {commit}{after}, reply {reply}", fault + 1),
            )
        }
        Event::Committed { attempt, effect, id, fields: about, timing } => {
            let by = if *attempt == 0 { "by itself".to_owned() } else { format!("attempt {attempt}") };
            (
                GOOD,
                "committed",
                format!("{by}  {effect} {}{}{}", shown(id), fields(about), timing_words(*timing)),
            )
        }
        Event::Withheld { attempt, effect, fields: about, .. } => {
            (FAINT, "withheld", format!("attempt {attempt}  {effect}{}", fields(about)))
        }
        Event::Lapsed { attempt, status } => (
            FAINT,
            "lapsed",
            format!("attempt {attempt}  when it was due, the service refused it with {status}"),
        ),
        Event::Unsent { attempt, bytes } => (
            BAD,
            "unsent",
            format!("attempt {attempt}  the caller had disconnected: it received only {bytes} bytes"),
        ),
        Event::Replied { attempt, reply, status, bytes, whole, replay, retry_after, silence, .. } => {
            let status = status.map(|status| format!(" {status}")).unwrap_or_default();
            let part = if *whole { "" } else { ", incomplete" };
            let replay = if *replay { ", replayed" } else { "" };
            let style = if *whole { FAINT } else { BAD };
            let wait = retry_after.map(|seconds| format!(", Retry-After: {seconds}")).unwrap_or_default();
            let silence = match silence {
                Some(SilenceEnd::Caller) => ", until the caller disconnected",
                Some(SilenceEnd::Released) => ", until the release time",
                Some(SilenceEnd::Limit) => ", until the services stopped",
                None => "",
            };
            (
                style,
                "replied",
                format!("attempt {attempt}  {reply}{status}, {bytes} bytes{part}{replay}{wait}{silence}"),
            )
        }
        Event::Closed { connection, by, .. } => {
            let by = match by {
                ClosedBy::Caller => "the caller",
                ClosedBy::Service => "the service",
                ClosedBy::Timeout => "a timeout",
            };
            (FAINT, "closed", format!("connection {connection} by {by}"))
        }
        Event::Barrier { caller, event } => {
            let what = match event {
                BarrierEvent::Held => "waits at the start barrier",
                BarrierEvent::Admitted => "passes the start barrier",
                BarrierEvent::GaveUp => "gave up at the start barrier",
                BarrierEvent::Absent => "ended before it reached the start barrier",
                BarrierEvent::Locked => "waits for a lock of a caller at the start barrier, which opens",
                BarrierEvent::Missing => "did not reach the start barrier in time, and it opens",
                BarrierEvent::Late => "wrote after the start barrier had opened without it",
            };
            (FAINT, "barrier", format!("caller {caller} {what}"))
        }
        Event::Noted { name, caller, fields: about } => {
            let who = caller.map(|caller| format!("caller {caller}  ")).unwrap_or_default();
            (Style::new(), "noted", format!("{who}{}{}", shown(name), fields(about)))
        }
        Event::Opened { .. } | Event::End { .. } => return None,
    };
    let seconds = entry.at as f64 / 1_000_000.0;
    Some(format!("{seconds:>9.3}  {style}{what:<9}{style:#}  {rest}"))
}

fn timing_words(timing: CommitTiming) -> &'static str {
    match timing {
        CommitTiming::Now => "",
        CommitTiming::Later => "  (later)",
        CommitTiming::Twice => "  (delivered twice)",
        CommitTiming::Part => "  (part of a list)",
        CommitTiming::Rest => "  (the rest of a list)",
        CommitTiming::Afterwards => "  (afterwards)",
        CommitTiming::LeftBehind => "  (left behind)",
    }
}

/// Fields as `name=value`, each after two spaces.
pub(super) fn fields(fields: &Fields) -> String {
    fields.iter().map(|(name, value)| format!("  {}={}", shown(name), shown(&value.to_string()))).collect()
}
