//! One event of the ledger in words: the one place that knows them, for everyone who shows a ledger.

use std::collections::BTreeMap;

use super::{BarrierEvent, ClosedBy, CommitTiming, Event, Received, RefusedRequest, SilenceEnd};
use crate::fault::{ReplyKind, SentReply};
use crate::service::{Fields, Value};

/// The maximum number of characters of a value that are shown.
const MAX_VALUE: usize = 60;
/// The maximum number of characters of a sentence that are shown.
const MAX_SENTENCE: usize = 200;
/// The maximum number of fields that a timeline shows.
const MAX_FIELDS: usize = 12;
/// The length of a key up to which a timeline shows it in full.
const MAX_KEY: usize = 12;

/// The names of attempts, such as `payment.charge#2`, by their numbers in the ledger.
pub type AttemptNames = BTreeMap<u64, String>;

/// The names of the fields that say what an operation or effect is about, which come first in a timeline.
pub type FirstFields = fn(operation: &str) -> Vec<&'static str>;

/// Who reads an event.
#[derive(Debug, Clone, Copy)]
pub enum Audience<'a> {
    /// Someone who follows a running service: everything, one event on a line.
    Log,
    /// Someone whose test failed: what happened to the attempts of one operation.
    Test,
    /// Someone who looks at the timeline of a trial, on which attempts have names.
    Timeline(&'a AttemptNames, FirstFields),
}

/// An event in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventWords {
    /// What happened.
    pub label: String,
    /// Fields and other details.
    pub detail: String,
    /// Whether it is a reply that the caller may not be able to use.
    pub is_broken: bool,
}

impl EventWords {
    fn new(label: impl Into<String>, detail: impl Into<String>) -> Option<Self> {
        Some(EventWords { label: label.into(), detail: detail.into(), is_broken: false })
    }

    fn broken(label: impl Into<String>, detail: impl Into<String>) -> Option<Self> {
        Some(EventWords { label: label.into(), detail: detail.into(), is_broken: true })
    }
}

/// How texts that callers sent are shown: escaped, with at most so many characters.
type ShownText = fn(&str, usize) -> String;

impl Event {
    /// The event in words; `None` if it is not shown to this audience. `shown` escapes and cuts texts that
    /// callers sent.
    #[must_use]
    pub fn words(&self, audience: Audience<'_>, shown: ShownText) -> Option<EventWords> {
        use Audience::{Log, Test, Timeline};
        let short = |text: &str| shown(text, MAX_VALUE);
        match (self, audience) {
            (Event::Received(received), audience) => received.words(audience, shown),
            (Event::Refused(refused), audience) => {
                let RefusedRequest { service, method, path, status, caller, reason, .. } = &**refused;
                let is_readable = !method.is_empty();
                let (method, path) = (short(method), short(path));
                let before = if matches!(audience, Log) { "  " } else { ": " };
                let reason = reason.as_ref().map(|reason| format!("{before}{}", shown(reason, MAX_SENTENCE)));
                let reason = reason.unwrap_or_default();
                match audience {
                    Log => {
                        let request =
                            if is_readable { format!("{method} {path}") } else { "unreadable".to_owned() };
                        let status = if *status == 0 { String::new() } else { format!("  {status}") };
                        let detail = format!("{service}  caller {caller}  {request}{status}{reason}");
                        EventWords::new("refused", detail)
                    }
                    Test => {
                        EventWords::new(format!("refused {method} {path} with status {status}{reason}"), "")
                    }
                    Timeline(..) => {
                        let method = if is_readable { &method } else { "unreadable" };
                        let label = match status {
                            0 => "refused".to_owned(),
                            status => format!("refused with {status}"),
                        };
                        EventWords::new(label, format!("{method} {path}{reason}"))
                    }
                }
            }
            (Event::Fault { attempt, fault, commit, reply, status, drawn }, audience) => {
                let reply = status.map_or_else(|| reply.to_string(), |status| status.to_string());
                let after = drawn.as_ref().map(|time| format!(" (after {time})")).unwrap_or_default();
                let what = format!("commit {commit}{after}, reply {reply}");
                match audience {
                    Log => {
                        EventWords::new("fault", format!("attempt {attempt}  fault {}: {what}", fault + 1))
                    }
                    Test => EventWords::new(format!("fault commit={commit} reply={reply}"), ""),
                    Timeline(..) => EventWords::new(format!("fault: {what}"), ""),
                }
            }
            (Event::Committed { attempt, effect, id, fields, timing }, audience) => {
                let (id, timing) = (short(id), timing.words());
                match audience {
                    Log => {
                        let by = match attempt {
                            0 => "by itself".to_owned(),
                            attempt => format!("attempt {attempt}"),
                        };
                        let (fields, before) =
                            (log_fields(fields, shown), if timing.is_empty() { "" } else { "  " });
                        EventWords::new("committed", format!("{by}  {effect} {id}{fields}{before}{timing}"))
                    }
                    Test => EventWords::new(format!("committed {effect} {id}"), ""),
                    Timeline(_, first) => {
                        let before = if timing.is_empty() { "" } else { " " };
                        let label = format!("committed {}{before}{timing}", short(effect));
                        EventWords::new(
                            label,
                            format!("{}  {id}", timeline_fields(&first(effect), fields, shown)),
                        )
                    }
                }
            }
            (Event::Withheld { attempt, effect, fields, .. }, Log) => {
                let fields = log_fields(fields, shown);
                EventWords::new("withheld", format!("attempt {attempt}  {effect}{fields}"))
            }
            (Event::Withheld { effect, .. }, Test) => EventWords::new(format!("not committed: {effect}"), ""),
            (Event::Withheld { effect, fields, .. }, Timeline(_, first)) => {
                let fields = timeline_fields(&first(effect), fields, shown);
                EventWords::new(format!("not committed: {}", short(effect)), fields)
            }
            (Event::Reverted { attempt, effect, id }, audience) => {
                let id = short(id);
                match audience {
                    Log => EventWords::new("reverted", format!("attempt {attempt}  {effect} {id} is gone")),
                    Test => EventWords::new(format!("reverted {effect} {id}"), ""),
                    Timeline(..) => EventWords::new(format!("reverted: {} is gone", short(effect)), id),
                }
            }
            (Event::Lapsed { attempt, status }, audience) => {
                let why = format!("when it was due, the service refused it with {status}");
                match audience {
                    Log => EventWords::new("lapsed", format!("attempt {attempt}  {why}")),
                    Test => EventWords::new(format!("the late commit was refused with status {status}"), ""),
                    Timeline(..) => EventWords::new(format!("not committed: {why}"), ""),
                }
            }
            (Event::Unsent { attempt, bytes }, Log) => {
                let what = format!("the caller had disconnected: it received only {bytes} bytes");
                EventWords::new("unsent", format!("attempt {attempt}  {what}"))
            }
            (Event::Unsent { .. }, Timeline(..)) => {
                EventWords::broken("reply not received: the caller had disconnected", "")
            }
            (
                Event::Replied { attempt, reply, status, bytes, whole, replay, retry_after, silence, .. },
                Log,
            ) => {
                let status = status.map(|status| format!(" {status}")).unwrap_or_default();
                let part = if *whole { "" } else { ", incomplete" };
                let replay = if *replay { ", replayed" } else { "" };
                let wait = retry_after.map(|seconds| format!(", Retry-After: {seconds}")).unwrap_or_default();
                let silence = silence.map(|end| format!(", until {}", end.log_words())).unwrap_or_default();
                let what = format!("{reply}{status}, {bytes} bytes{part}{replay}{wait}{silence}");
                EventWords::new("replied", format!("attempt {attempt}  {what}"))
            }
            (Event::Replied { reply, status, bytes, whole, .. }, Test) => {
                let status = status.map_or(String::new(), |status| format!(" status {status}"));
                let part = if *whole { "" } else { ", not the whole answer" };
                EventWords::new(format!("replied {reply}{status}, {bytes} bytes{part}"), "")
            }
            (Event::Replied { silence: Some(end), .. }, Timeline(..)) => EventWords::broken(
                format!("no reply: the connection stayed silent until {}", end.timeline_words()),
                "",
            ),
            (
                Event::Replied { retry_after: Some(seconds), status: Some(status), bytes, .. },
                Timeline(..),
            ) => EventWords::new(
                format!("answered {status}, retry after {seconds} s"),
                format!("{bytes} bytes"),
            ),
            (Event::Replied { reply, status, bytes, whole, replay, .. }, Timeline(..)) => {
                replied(*reply, SentReply { status: *status, whole: *whole }, *bytes, *replay)
            }
            (Event::Closed { connection, by, .. }, Log) => {
                EventWords::new("closed", format!("connection {connection} by {}", by.words()))
            }
            (Event::Barrier { caller, event }, Log) => {
                EventWords::new("barrier", format!("caller {caller} {}", event.words()))
            }
            (Event::Barrier { event, .. }, Timeline(..)) => EventWords::new(event.words(), ""),
            (Event::Noted { name, caller, fields }, Log) => {
                let who = caller.map(|caller| format!("caller {caller}  ")).unwrap_or_default();
                EventWords::new("noted", format!("{who}{}{}", short(name), log_fields(fields, shown)))
            }
            (Event::Opened { .. } | Event::End { .. }, _)
            | (Event::Closed { .. } | Event::Noted { .. }, Test | Timeline(..))
            | (Event::Unsent { .. } | Event::Barrier { .. }, Test) => None,
        }
    }
}

impl Received {
    fn words(&self, audience: Audience<'_>, shown: ShownText) -> Option<EventWords> {
        let key = self.key.as_deref();
        match audience {
            Audience::Log => {
                let key = key.map(|key| format!("  key {}", shown(key, MAX_VALUE))).unwrap_or_default();
                let replay = if self.replay { "  (replayed for this key)" } else { "" };
                let fields = log_fields(&self.fields, shown);
                let Received { attempt, caller, operation, .. } = self;
                let what = format!("attempt {attempt}  caller {caller}  {operation}{fields}{key}{replay}");
                EventWords::new("received", what)
            }
            Audience::Test => {
                let key = key.map(|key| format!(", key {}", shown(key, MAX_VALUE))).unwrap_or_default();
                let replay = if self.replay { ", a replay" } else { "" };
                let fields: Vec<String> = self.fields.iter().map(|field| pair(field, shown)).collect();
                let Received { method, path, .. } = self;
                let label = format!("received {method} {path}{key}{replay}: {}", fields.join(", "));
                EventWords::new(label, "")
            }
            Audience::Timeline(names, first) => {
                let key = key.map(|key| {
                    let is_short = key.chars().count() <= MAX_KEY;
                    format!("key {}", shown(key, if is_short { MAX_KEY } else { MAX_KEY - 4 }))
                });
                let replay = if self.replay { "replayed for this key" } else { "" };
                // What it is about comes first, and then the key: a narrow terminal cuts the rest.
                let (about, rest) = split_fields(&first(&self.operation), &self.fields, shown);
                let parts = [about, key.unwrap_or_default(), replay.to_owned(), rest];
                EventWords::new(attempt_name(names, self.attempt), joined(parts))
            }
        }
    }
}

/// The name of an attempt.
#[must_use]
pub fn attempt_name(names: &AttemptNames, attempt: u64) -> String {
    names.get(&attempt).cloned().unwrap_or_else(|| format!("attempt {attempt}"))
}

fn replied(reply: ReplyKind, sent: SentReply, bytes: u64, replay: bool) -> Option<EventWords> {
    let bytes = format!("{bytes} bytes");
    let status = sent.status.map_or_else(String::new, |status| status.to_string());
    if reply.is_usable(sent) {
        let again = if replay { " (replayed for this key)" } else { "" };
        return EventWords::new(format!("answered {status}{again}"), bytes);
    }
    let label = match (reply.facts().words)(sent) {
        Some(words) => words.timeline,
        None if status.is_empty() => "no reply: the caller had disconnected".to_owned(),
        None => format!("incomplete reply: {status}"),
    };
    EventWords::broken(label, bytes)
}

impl SilenceEnd {
    fn log_words(self) -> &'static str {
        match self {
            SilenceEnd::Caller => "the caller disconnected",
            SilenceEnd::Released => "the release time",
            SilenceEnd::Limit => "the services stopped",
        }
    }

    fn timeline_words(self) -> &'static str {
        match self {
            SilenceEnd::Caller => "the caller closed it",
            SilenceEnd::Released => "hapax closed it (client timeout not reached)",
            SilenceEnd::Limit => "hapax stopped waiting (client timeout not reached)",
        }
    }
}

impl ClosedBy {
    fn words(self) -> &'static str {
        match self {
            ClosedBy::Caller => "the caller",
            ClosedBy::Service => "the service",
            ClosedBy::Timeout => "a timeout",
        }
    }
}

impl BarrierEvent {
    fn words(self) -> &'static str {
        match self {
            BarrierEvent::Held => "waits at the start barrier",
            BarrierEvent::Admitted => "passes the start barrier",
            BarrierEvent::GaveUp => "gave up at the start barrier",
            BarrierEvent::Absent => "ended before it reached the start barrier",
            BarrierEvent::Locked => "waits for a lock of a caller at the start barrier, which opens",
            BarrierEvent::Missing => "did not reach the start barrier in time, and it opens",
            BarrierEvent::Late => "wrote after the start barrier had opened without it",
        }
    }
}

impl CommitTiming {
    fn words(self) -> &'static str {
        match self {
            CommitTiming::Now => "",
            CommitTiming::Later => "(later)",
            CommitTiming::Twice => "(delivered twice)",
            CommitTiming::Part => "(part of a list)",
            CommitTiming::Rest => "(the rest of a list)",
            CommitTiming::Afterwards => "(afterwards)",
            CommitTiming::LeftBehind => "(left behind)",
        }
    }
}

fn pair((name, value): (&str, &Value), shown: ShownText) -> String {
    format!("{}={}", shown(name, MAX_VALUE), shown(&value.to_string(), MAX_VALUE))
}

fn log_fields(fields: &Fields, shown: ShownText) -> String {
    fields.iter().map(|field| format!("  {}", pair(field, shown))).collect()
}

/// All fields, those first that say what it is about.
fn timeline_fields(first: &[&str], fields: &Fields, shown: ShownText) -> String {
    let (about, rest) = split_fields(first, fields, shown);
    joined([about, rest])
}

/// The fields that say what it is about, and the others.
fn split_fields(first: &[&str], fields: &Fields, shown: ShownText) -> (String, String) {
    let rank = |name: &str| first.iter().position(|first| *first == name);
    let (mut about, rest): (Vec<_>, Vec<_>) = fields.iter().partition(|(name, _)| rank(name).is_some());
    about.sort_by_key(|(name, _)| rank(name));
    let more = rest.len().saturating_sub(MAX_FIELDS);
    let more = (more > 0).then(|| format!("and {more} more"));
    let rest = rest.into_iter().take(MAX_FIELDS).map(|field| pair(field, shown)).chain(more);
    (joined(about.into_iter().map(|field| pair(field, shown))), joined(rest))
}

/// The parts that are not empty, two spaces between them.
fn joined(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::CommitKind;

    fn charged() -> Fields {
        Fields::new().with("customer", "cus_1").with("order", "o1").with("amount", 5)
    }

    fn received(replay: bool) -> Event {
        Event::Received(Box::new(Received {
            attempt: 2,
            operation: "payment.charge".into(),
            method: "POST".into(),
            path: "/v1/charges".into(),
            fields: charged(),
            key: Some("a-key-of-18-letters".into()),
            replay,
            share: crate::service::TaskShare::Full,
            caller: 1,
            connection: 3,
            repeats: None,
            declared_answer: None,
            client: Fields::new(),
            message: None,
        }))
    }

    fn replied(reply: ReplyKind, status: Option<u16>, silence: Option<SilenceEnd>) -> Event {
        let (attempt, whole, bytes) = (2, status.is_some(), 9);
        let (replay, retry_after, message) = (false, None, None);
        Event::Replied { attempt, reply, status, bytes, whole, replay, retry_after, silence, message }
    }

    /// What each audience reads: the log, a failed test, and the timeline.
    fn told(event: &Event) -> [String; 3] {
        let names = AttemptNames::from([(2, "payment.charge#1".to_owned())]);
        [Audience::Log, Audience::Test, Audience::Timeline(&names, |_| vec!["amount", "order"])].map(
            |audience| {
                let words = event.words(audience, |text, limit| text.chars().take(limit).collect());
                words.map(|words| format!("{} | {}", words.label, words.detail)).unwrap_or_default()
            },
        )
    }

    #[test]
    fn each_audience_has_its_words() {
        let fault = |status| Event::Fault {
            attempt: 2,
            fault: 0,
            commit: CommitKind::Later,
            reply: ReplyKind::Status,
            status,
            drawn: Some("3s".into()),
        };
        let committed = Event::Committed {
            attempt: 0,
            effect: "payment.charge".into(),
            id: "ch_1".into(),
            fields: charged(),
            timing: CommitTiming::Afterwards,
        };
        for (event, expected) in [
            (
                received(true),
                [
                    "received | attempt 2  caller 1  payment.charge  customer=cus_1  order=o1  amount=5  \
                     key a-key-of-18-letters  (replayed for this key)",
                    "received POST /v1/charges, key a-key-of-18-letters, a replay: customer=cus_1, order=o1, \
                     amount=5 | ",
                    "payment.charge#1 | amount=5  order=o1  key a-key-of  replayed for this key  customer=cus_1",
                ],
            ),
            (
                fault(Some(503)),
                [
                    "fault | attempt 2  fault 1: commit later (after 3s), reply 503",
                    "fault commit=later reply=503 | ",
                    "fault: commit later (after 3s), reply 503 | ",
                ],
            ),
            (
                committed,
                [
                    "committed | by itself  payment.charge ch_1  customer=cus_1  order=o1  amount=5  (afterwards)",
                    "committed payment.charge ch_1 | ",
                    "committed payment.charge (afterwards) | amount=5  order=o1  customer=cus_1  ch_1",
                ],
            ),
            (
                replied(ReplyKind::Ok, Some(200), None),
                [
                    "replied | attempt 2  ok 200, 9 bytes",
                    "replied ok status 200, 9 bytes | ",
                    "answered 200 | 9 bytes",
                ],
            ),
            (
                replied(ReplyKind::Hang, None, Some(SilenceEnd::Caller)),
                [
                    "replied | attempt 2  hang, 9 bytes, incomplete, until the caller disconnected",
                    "replied hang, 9 bytes, not the whole answer | ",
                    "no reply: the connection stayed silent until the caller closed it | ",
                ],
            ),
            (
                Event::Barrier { caller: 2, event: BarrierEvent::Held },
                ["barrier | caller 2 waits at the start barrier", "", "waits at the start barrier | "],
            ),
            (Event::End { count: 1 }, ["", "", ""]),
        ] {
            assert_eq!(told(&event), expected);
        }
    }

    #[test]
    fn a_reply_that_the_caller_cannot_use_is_broken() {
        let names = AttemptNames::new();
        let shown = |event: &Event| {
            event.words(Audience::Timeline(&names, |_| vec!["amount", "order"]), |text, _| text.to_owned())
        };
        let is_broken = |event: &Event| shown(event).unwrap().is_broken;
        assert!(!is_broken(&replied(ReplyKind::Ok, Some(200), None)));
        for kind in [ReplyKind::Garble, ReplyKind::Oversize] {
            assert!(is_broken(&replied(kind, Some(200), None)), "{kind}");
        }
        assert!(ReplyKind::ALL.into_iter().all(|kind| is_broken(&replied(kind, None, None))));
    }
}
