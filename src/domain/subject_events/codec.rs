//! Subject events as notes of the ledger, and back: the only place that knows their words.

use std::str::FromStr;

use std::borrow::Cow;
use std::time::Duration;

use mock_services::ledger::{Event, LATE_REQUEST};
use mock_services::service::{Fields, Value};
use mock_services::word_enum;

use super::{
    ClaimEvent, ClaimedBeforeLimit, EndEvent, InterruptEvent, LateRequestEvent, StartEnd, StartEvent,
    SubjectEvent,
};
use crate::domain::{ClaimOrigin, ClaimedOutcome, HostRequests, HostTreatment};

/// The name of late requests, which mock-services itself writes.
const _: () = assert!(matches!(LATE_REQUEST.as_bytes(), b"late-request"));

word_enum! {
    /// The names of subject events in the ledger.
    enum Name {
        Started => "started",
        Ended => "ended",
        Unstartable => "unstartable",
        Unprepared => "unprepared",
        Claimed => "claimed",
        Interrupted => "interrupted",
        InterruptMissed => "interrupt-missed",
        Escaped => "escaped",
        Proxied => "proxied",
        CertificateRefused => "certificate-refused",
        Allowed => "allowed",
        Ignored => "ignored",
        OverLimit => "over-limit",
        Unanswered => "unanswered",
        StillSending => "still-sending",
        IdleClosed => "idle-closed",
        LateRequest => "late-request",
    }
}

word_enum! {
    /// The words for how a start ended.
    enum EndWord {
        Exited => "exited",
        Signaled => "signaled",
        Answered => "answered",
        NoAnswer => "no-answer",
        TimeUp => "time-up",
        OverLimit => "over-limit",
    }
}

/// The word for a claim that is missing.
const MISSING: &str = "missing";

/// A note of the ledger is not a subject event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubjectEventError {
    /// Its name is unknown.
    #[error("`{0}` is not the name of a subject event")]
    UnknownName(String),
    /// A field is missing.
    #[error("the event `{event}` has no field `{field}`")]
    MissingField {
        /// The event.
        event: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A field has a value of the wrong type, or an unknown word.
    #[error("the field `{field}` of the event `{event}` has the invalid value `{value}`")]
    InvalidField {
        /// The event.
        event: &'static str,
        /// The field.
        field: &'static str,
        /// The value.
        value: String,
    },
    /// A field is unknown.
    #[error("the event `{event}` has the unknown field `{field}`")]
    UnknownField {
        /// The event.
        event: &'static str,
        /// The field.
        field: String,
    },
}

impl SubjectEvent {
    /// The event as an entry of the ledger, about this caller.
    #[must_use]
    pub fn to_ledger(&self, caller: Option<u32>) -> Event<'static> {
        let (name, fields) = self.parts();
        Event::Noted { name: Cow::Borrowed(name.as_str()), caller, fields: Cow::Owned(fields) }
    }

    /// The event of a note of the ledger.
    ///
    /// # Errors
    /// Where the note is not a subject event.
    pub fn from_ledger(name: &str, fields: &Fields) -> Result<Self, SubjectEventError> {
        let name = name.parse::<Name>().map_err(|_| SubjectEventError::UnknownName(name.to_owned()))?;
        let mut reader = NoteReader { name, fields, read: Vec::new() };
        let event = reader.event()?;
        let unknown = fields.iter().map(|(field, _)| field).find(|field| !reader.read.contains(field));
        match unknown {
            None => Ok(event),
            Some(field) => {
                Err(SubjectEventError::UnknownField { event: name.as_str(), field: field.to_owned() })
            }
        }
    }

    /// The subject event of an entry of the ledger; `None` where the entry is not a note.
    ///
    /// # Errors
    /// Where the note is not a subject event.
    pub fn of(event: &Event<'_>) -> Result<Option<Self>, SubjectEventError> {
        match event {
            Event::Noted { name, fields, .. } => SubjectEvent::from_ledger(name, fields).map(Some),
            Event::Opened { .. }
            | Event::Received(_)
            | Event::Refused { .. }
            | Event::Fault { .. }
            | Event::Committed { .. }
            | Event::Withheld { .. }
            | Event::Lapsed { .. }
            | Event::Unsent { .. }
            | Event::Replied { .. }
            | Event::Closed { .. }
            | Event::Barrier { .. }
            | Event::End { .. } => Ok(None),
        }
    }

    fn parts(&self) -> (Name, Fields) {
        let none = Fields::new();
        match self {
            SubjectEvent::Started(event) => (Name::Started, started(event)),
            SubjectEvent::Ended(event) => (Name::Ended, ended(event)),
            SubjectEvent::Unstartable { start, error } => {
                (Name::Unstartable, none.with("start", i64::from(*start)).with("error", error.as_str()))
            }
            SubjectEvent::Unprepared { error } => (Name::Unprepared, none.with("error", error.as_str())),
            SubjectEvent::Claimed(event) => (Name::Claimed, claimed(event)),
            SubjectEvent::Interrupted(event) => (Name::Interrupted, interrupt(event)),
            SubjectEvent::InterruptMissed { interrupt: event, reason } => {
                (Name::InterruptMissed, interrupt(event).with("reason", reason.as_str()))
            }
            SubjectEvent::Escaped { host, port } => (Name::Escaped, address(host, *port)),
            SubjectEvent::Proxied { host, port, service } => {
                (Name::Proxied, address(host, *port).with("service", service.as_str()))
            }
            SubjectEvent::CertificateRefused { host, port } => {
                (Name::CertificateRefused, address(host, *port))
            }
            SubjectEvent::HostRequests(event) => {
                let name = match event.treatment {
                    HostTreatment::Allowed => Name::Allowed,
                    HostTreatment::Ignored => Name::Ignored,
                };
                let failed = Some(event.failed).filter(|failed| *failed > 0).map(number);
                let fields = address(&event.host, event.port).with("requests", number(event.requests));
                (name, fields.with_some("failed", failed))
            }
            SubjectEvent::OverLimit { limit } => (Name::OverLimit, none.with("limit", limit.as_str())),
            SubjectEvent::Unanswered { requests } => {
                (Name::Unanswered, none.with("requests", number(*requests)))
            }
            SubjectEvent::StillSending { connections } => {
                (Name::StillSending, none.with("connections", number(*connections)))
            }
            SubjectEvent::IdleClosed { connections } => {
                (Name::IdleClosed, none.with("connections", number(*connections)))
            }
            SubjectEvent::LateRequest(event) => (
                Name::LateRequest,
                none.with("service", event.service.as_str())
                    .with("method", event.method.as_str())
                    .with("path", event.path.as_str())
                    .with("kind", event.kind.as_str())
                    .with_some("operation", event.operation.as_deref()),
            ),
        }
    }
}

fn started(event: &StartEvent) -> Fields {
    Fields::new()
        .with("start", i64::from(event.start))
        .with("trial", event.trial.as_str())
        .with("name", event.name.as_str())
        .with_some("turn", Some(i64::from(event.turn)).filter(|turn| *turn > 0))
}

fn ended(event: &EndEvent) -> Fields {
    let (word, status) = match event.end {
        StartEnd::Exited(status) => (EndWord::Exited, Some(i64::from(status))),
        StartEnd::Signaled(signal) => (EndWord::Signaled, Some(i64::from(signal))),
        StartEnd::Answered(status) => (EndWord::Answered, Some(i64::from(status))),
        StartEnd::NoAnswer => (EndWord::NoAnswer, None),
        StartEnd::TimeUp => (EndWord::TimeUp, None),
        StartEnd::OverLimit => (EndWord::OverLimit, None),
    };
    let left = Some(event.left_running).filter(|left| *left > 0).map(number);
    let fields = Fields::new()
        .with("start", i64::from(event.start))
        .with("end", word.as_str())
        .with_some("status", status)
        .with_some("left_running", left);
    match &event.claimed_before_limit {
        None => fields,
        Some(times) => fields
            .with("claimed_after_ms", milliseconds(times.claimed_after))
            .with("stopped_after_ms", milliseconds(times.stopped_after))
            .with("requests_in_flight", number(times.requests_in_flight)),
    }
}

fn claimed(event: &ClaimEvent) -> Fields {
    Fields::new()
        .with("start", i64::from(event.start))
        .with("outcome", event.outcome.map_or(MISSING, ClaimedOutcome::as_str))
        .with("message", event.message.as_str())
        .with_some("origin", event.origin.map(ClaimOrigin::as_str))
        .with_some("problem", event.problem.as_deref())
}

fn interrupt(event: &InterruptEvent) -> Fields {
    Fields::new()
        .with("interrupt", i64::from(event.interrupt))
        .with("action", event.action.as_str())
        .with("attempt", number(event.attempt))
}

fn address(host: &str, port: u16) -> Fields {
    Fields::new().with("host", host).with("port", i64::from(port))
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// A note that is being read.
struct NoteReader<'f> {
    name: Name,
    fields: &'f Fields,
    /// The names of the fields that were read.
    read: Vec<&'static str>,
}

impl NoteReader<'_> {
    fn event(&mut self) -> Result<SubjectEvent, SubjectEventError> {
        Ok(match self.name {
            Name::Started => SubjectEvent::Started(StartEvent {
                start: self.number("start")?,
                trial: self.text("trial")?,
                name: self.text("name")?,
                turn: self.optional_number("turn")?.unwrap_or_default(),
            }),
            Name::Ended => SubjectEvent::Ended(EndEvent {
                start: self.number("start")?,
                end: self.end()?,
                left_running: self.optional_number("left_running")?.unwrap_or_default(),
                claimed_before_limit: self.claimed_before_limit()?,
            }),
            Name::Unstartable => {
                SubjectEvent::Unstartable { start: self.number("start")?, error: self.text("error")? }
            }
            Name::Unprepared => SubjectEvent::Unprepared { error: self.text("error")? },
            Name::Claimed => SubjectEvent::Claimed(ClaimEvent {
                start: self.number("start")?,
                outcome: match self.text("outcome")?.as_str() {
                    MISSING => None,
                    _ => Some(self.word("outcome")?),
                },
                message: self.text("message")?,
                origin: match self.has("origin") {
                    true => Some(self.word("origin")?),
                    false => None,
                },
                problem: self.optional_text("problem")?,
            }),
            Name::Interrupted => SubjectEvent::Interrupted(self.interrupt()?),
            Name::InterruptMissed => {
                SubjectEvent::InterruptMissed { interrupt: self.interrupt()?, reason: self.text("reason")? }
            }
            Name::Escaped => SubjectEvent::Escaped { host: self.text("host")?, port: self.number("port")? },
            Name::Proxied => SubjectEvent::Proxied {
                host: self.text("host")?,
                port: self.number("port")?,
                service: self.text("service")?,
            },
            Name::CertificateRefused => {
                SubjectEvent::CertificateRefused { host: self.text("host")?, port: self.number("port")? }
            }
            Name::Allowed => SubjectEvent::HostRequests(self.host_requests(HostTreatment::Allowed)?),
            Name::Ignored => SubjectEvent::HostRequests(self.host_requests(HostTreatment::Ignored)?),
            Name::OverLimit => SubjectEvent::OverLimit { limit: self.text("limit")? },
            Name::Unanswered => SubjectEvent::Unanswered { requests: self.number("requests")? },
            Name::StillSending => SubjectEvent::StillSending { connections: self.number("connections")? },
            Name::IdleClosed => SubjectEvent::IdleClosed { connections: self.number("connections")? },
            Name::LateRequest => SubjectEvent::LateRequest(LateRequestEvent {
                service: self.text("service")?,
                method: self.optional_text("method")?.unwrap_or_default(),
                path: self.optional_text("path")?.unwrap_or_default(),
                kind: self.word("kind")?,
                operation: self.optional_text("operation")?,
            }),
        })
    }

    fn end(&mut self) -> Result<StartEnd, SubjectEventError> {
        Ok(match self.word("end")? {
            EndWord::Exited => StartEnd::Exited(self.number("status")?),
            EndWord::Signaled => StartEnd::Signaled(self.number("status")?),
            EndWord::Answered => StartEnd::Answered(self.number("status")?),
            EndWord::NoAnswer => StartEnd::NoAnswer,
            EndWord::TimeUp => StartEnd::TimeUp,
            EndWord::OverLimit => StartEnd::OverLimit,
        })
    }

    fn claimed_before_limit(&mut self) -> Result<Option<ClaimedBeforeLimit>, SubjectEventError> {
        if !self.has("claimed_after_ms") {
            return Ok(None);
        }
        Ok(Some(ClaimedBeforeLimit {
            claimed_after: Duration::from_millis(self.number("claimed_after_ms")?),
            stopped_after: Duration::from_millis(self.number("stopped_after_ms")?),
            requests_in_flight: self.number("requests_in_flight")?,
        }))
    }

    fn interrupt(&mut self) -> Result<InterruptEvent, SubjectEventError> {
        Ok(InterruptEvent {
            interrupt: self.number("interrupt")?,
            action: self.word("action")?,
            attempt: self.number("attempt")?,
        })
    }

    fn host_requests(&mut self, treatment: HostTreatment) -> Result<HostRequests, SubjectEventError> {
        Ok(HostRequests {
            host: self.text("host")?,
            port: self.number("port")?,
            treatment,
            requests: self.number("requests")?,
            failed: self.optional_number("failed")?.unwrap_or_default(),
        })
    }

    fn has(&self, field: &str) -> bool {
        self.fields.get(field).is_some()
    }

    fn value(&mut self, field: &'static str) -> Result<&Value, SubjectEventError> {
        self.read.push(field);
        let event = self.name.as_str();
        self.fields.get(field).ok_or(SubjectEventError::MissingField { event, field })
    }

    fn invalid(&self, field: &'static str) -> SubjectEventError {
        let value = self.fields.get(field).map(ToString::to_string).unwrap_or_default();
        SubjectEventError::InvalidField { event: self.name.as_str(), field, value }
    }

    fn text(&mut self, field: &'static str) -> Result<String, SubjectEventError> {
        match self.value(field)? {
            Value::Text(text) => Ok(text.to_string()),
            Value::Number(_) | Value::Bool(_) | Value::List(_) => Err(self.invalid(field)),
        }
    }

    fn optional_text(&mut self, field: &'static str) -> Result<Option<String>, SubjectEventError> {
        if self.has(field) { self.text(field).map(Some) } else { Ok(None) }
    }

    fn word<T: FromStr>(&mut self, field: &'static str) -> Result<T, SubjectEventError> {
        let text = self.text(field)?;
        text.parse().map_err(|_| self.invalid(field))
    }

    fn number<T: TryFrom<i64>>(&mut self, field: &'static str) -> Result<T, SubjectEventError> {
        match self.value(field)? {
            Value::Number(number) => T::try_from(*number).map_err(|_| self.invalid(field)),
            Value::Text(_) | Value::Bool(_) | Value::List(_) => Err(self.invalid(field)),
        }
    }

    fn optional_number<T: TryFrom<i64>>(
        &mut self,
        field: &'static str,
    ) -> Result<Option<T>, SubjectEventError> {
        if self.has(field) { self.number(field).map(Some) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use mock_services::Clock;
    use mock_services::ledger::Ledger;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{InterruptKind, LateRequestKind};

    /// A ledger keeps whole numbers up to this one.
    const LARGEST: u64 = i64::MAX as u64;

    fn text() -> impl Strategy<Value = String> {
        "[ -~äß\\n\"]{0,12}"
    }

    fn interrupt_event() -> impl Strategy<Value = InterruptEvent> {
        (any::<u32>(), prop::sample::select(InterruptKind::ALL.to_vec()), 0..=LARGEST)
            .prop_map(|(interrupt, action, attempt)| InterruptEvent { interrupt, action, attempt })
    }

    fn end() -> impl Strategy<Value = StartEnd> {
        prop_oneof![
            any::<i32>().prop_map(StartEnd::Exited),
            any::<i32>().prop_map(StartEnd::Signaled),
            any::<u16>().prop_map(StartEnd::Answered),
            Just(StartEnd::NoAnswer),
            Just(StartEnd::TimeUp),
            Just(StartEnd::OverLimit),
        ]
    }

    fn before_limit() -> impl Strategy<Value = ClaimedBeforeLimit> {
        (0..1_000_000_u64, 0..1_000_000_u64, 0..=LARGEST).prop_map(
            |(claimed, stopped, requests_in_flight)| ClaimedBeforeLimit {
                claimed_after: Duration::from_millis(claimed),
                stopped_after: Duration::from_millis(stopped),
                requests_in_flight,
            },
        )
    }

    fn claim_event() -> impl Strategy<Value = ClaimEvent> {
        let outcome = prop::option::of(prop::sample::select(ClaimedOutcome::ALL.to_vec()));
        let origin = prop::option::of(prop::sample::select(ClaimOrigin::ALL.to_vec()));
        (any::<u32>(), outcome, text(), origin, prop::option::of(text())).prop_map(
            |(start, outcome, message, origin, problem)| ClaimEvent {
                start,
                outcome,
                message,
                origin,
                problem,
            },
        )
    }

    fn host_requests() -> impl Strategy<Value = HostRequests> {
        let treatment = prop::sample::select(HostTreatment::ALL.to_vec());
        (treatment, text(), any::<u16>(), 0..=LARGEST, 0..=LARGEST).prop_map(
            |(treatment, host, port, requests, failed)| HostRequests {
                host,
                port,
                treatment,
                requests,
                failed,
            },
        )
    }

    fn late_request() -> impl Strategy<Value = LateRequestEvent> {
        let kind = prop::sample::select(LateRequestKind::ALL.to_vec());
        (text(), text(), text(), kind, prop::option::of(text())).prop_map(
            |(service, method, path, kind, operation)| LateRequestEvent {
                service,
                method,
                path,
                kind,
                operation,
            },
        )
    }

    fn event() -> impl Strategy<Value = SubjectEvent> {
        prop_oneof![
            (any::<u32>(), text(), text(), any::<u32>()).prop_map(|(start, trial, name, turn)| {
                SubjectEvent::Started(StartEvent { start, trial, name, turn })
            }),
            (any::<u32>(), end(), 0..=LARGEST, prop::option::of(before_limit())).prop_map(
                |(start, end, left_running, claimed_before_limit)| {
                    SubjectEvent::Ended(EndEvent { start, end, left_running, claimed_before_limit })
                }
            ),
            (any::<u32>(), text()).prop_map(|(start, error)| SubjectEvent::Unstartable { start, error }),
            text().prop_map(|error| SubjectEvent::Unprepared { error }),
            claim_event().prop_map(SubjectEvent::Claimed),
            interrupt_event().prop_map(SubjectEvent::Interrupted),
            (interrupt_event(), text())
                .prop_map(|(interrupt, reason)| SubjectEvent::InterruptMissed { interrupt, reason }),
            (text(), any::<u16>()).prop_map(|(host, port)| SubjectEvent::Escaped { host, port }),
            (text(), any::<u16>(), text()).prop_map(|(host, port, service)| SubjectEvent::Proxied {
                host,
                port,
                service
            }),
            (text(), any::<u16>()).prop_map(|(host, port)| SubjectEvent::CertificateRefused { host, port }),
            host_requests().prop_map(SubjectEvent::HostRequests),
            text().prop_map(|limit| SubjectEvent::OverLimit { limit }),
            (0..=LARGEST).prop_map(|requests| SubjectEvent::Unanswered { requests }),
            (0..=LARGEST).prop_map(|connections| SubjectEvent::StillSending { connections }),
            (0..=LARGEST).prop_map(|connections| SubjectEvent::IdleClosed { connections }),
            late_request().prop_map(SubjectEvent::LateRequest),
        ]
    }

    proptest! {
        #[test]
        fn every_event_comes_back_as_itself(event in event(), caller in prop::option::of(1..9_u32)) {
            let Event::Noted { name, caller: back, fields } = event.to_ledger(caller) else {
                panic!("a subject event is a note")
            };
            prop_assert_eq!(back, caller);
            prop_assert_eq!(SubjectEvent::from_ledger(&name, &fields), Ok(event.clone()));
            let json = serde_json::to_string(&event.to_ledger(caller)).unwrap();
            let read: Event<'static> = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(SubjectEvent::of(&read).unwrap(), Some(event));
        }
    }

    #[test]
    fn an_event_that_is_written_to_a_ledger_is_read_from_it() {
        let ledger = Ledger::new("trial", 1, Clock::default());
        let event = SubjectEvent::Interrupted(InterruptEvent {
            interrupt: 0,
            action: InterruptKind::Kill,
            attempt: 3,
        });
        ledger.append(&event.to_ledger(Some(2)));
        let entries = ledger.entries();
        assert_eq!(
            entries.iter().filter_map(|entry| SubjectEvent::of(&entry.event).unwrap()).collect::<Vec<_>>(),
            [event]
        );
    }

    #[test]
    fn a_note_that_is_not_a_subject_event_is_an_error_that_names_the_problem() {
        let message =
            |name: &str, fields: Fields| SubjectEvent::from_ledger(name, &fields).unwrap_err().to_string();
        let interrupted = || Fields::new().with("interrupt", 0).with("attempt", 1);
        assert_eq!(message("struck", Fields::new()), "`struck` is not the name of a subject event");
        assert_eq!(message("interrupted", interrupted()), "the event `interrupted` has no field `action`");
        assert_eq!(
            message("interrupted", interrupted().with("action", "melt")),
            "the field `action` of the event `interrupted` has the invalid value `melt`"
        );
        assert_eq!(
            message("interrupted", interrupted().with("action", "kill").with("do", "kill")),
            "the event `interrupted` has the unknown field `do`"
        );
        assert_eq!(
            message("escaped", Fields::new().with("host", "a").with("port", 70_000)),
            "the field `port` of the event `escaped` has the invalid value `70000`"
        );
    }
}
