//! What happens to a subject during a trial: it is started, interrupted, prints, ends, claims. A trial writes these
//! events into the ledger of its services, and scoring and reports read them from there.

use std::time::Duration;

use mock_services::ledger::LateRequest;
use mock_services::service::Fields;
use mock_services::word_enum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AnswerEvent, AskEvent, ClaimOrigin, ClaimedOutcome, CopyAnswerEvent, HostRequests, OrderMiss,
    SentCopyEvent, Transport,
};

/// How long a start must be watched after its claim for the claim to be final.
const QUIET_TIME: Duration = Duration::from_secs(1);

/// Something that happens to a subject. A note of the ledger has the name of the variant, and its fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectEvent {
    /// A caller was started.
    Started(StartEvent),
    /// A start of a caller has ended.
    Ended(EndEvent),
    /// A caller could not be started.
    Unstartable {
        /// Which start of the caller, from 1.
        start: u32,
        /// Why.
        error: String,
    },
    /// The command that is run before each trial failed, so nothing was started.
    Unprepared {
        /// What the command said.
        error: String,
    },
    /// What a start of a caller claimed at its end.
    Claimed(ClaimEvent),
    /// A caller asked a person.
    Asked(AskEvent),
    /// A person answered, and a start of the caller gets the answer.
    Answered(AnswerEvent),
    /// The scenario itself made an effect happen; it is nobody's.
    Happened {
        /// The name of the effect.
        effect: String,
        /// The id that the service gave it.
        id: String,
        /// What was done, as JSON.
        #[serde(with = "super::subject_notes::fields_as_text")]
        fields: Fields,
    },
    /// A copy of an event was sent and arrives.
    Delivered(SentCopyEvent),
    /// A copy of an event was sent and does not arrive, as the scenario says.
    CopyLost(SentCopyEvent),
    /// A copy of an event was answered, or was not.
    CopyAnswered(CopyAnswerEvent),
    /// A copy of an event could not be delivered.
    NotDelivered {
        /// The number of the event in the trial, from 1.
        event: u32,
        /// Why.
        reason: String,
    },
    /// An interrupt took effect.
    Interrupted(InterruptEvent),
    /// An interrupt did not take effect.
    InterruptMissed {
        /// Its index in the scenario, from 0.
        interrupt: u32,
        /// What it does.
        action: InterruptKind,
        /// The number of the attempt in the ledger.
        attempt: u64,
        /// Why.
        reason: String,
    },
    /// An agent over HTTP was interrupted before it had accepted its task, so it is not restarted without it.
    NotAccepted {
        /// Which start of the caller was interrupted, from 1.
        start: u32,
    },
    /// The client of an MCP tool told the server that it does not wait for a call any longer.
    CallCanceled {
        /// The operation of the tool.
        operation: String,
        /// How it told it.
        signal: CancelSignal,
    },
    /// The first of two overlapping deliveries was frozen, with its request held before the service decided on it.
    Frozen {
        /// The operation of the request.
        operation: String,
    },
    /// The first of two overlapping deliveries could not be frozen.
    FreezeMissed {
        /// The operation of the request.
        operation: String,
        /// Why.
        reason: String,
    },
    /// The first of two overlapping deliveries continues, and its request goes on.
    Unfrozen {
        /// What the second did then.
        second: SecondCopy,
    },
    /// The request of a caller was let in, while the others waited, as the order of the scenario says.
    LetIn {
        /// The number of the request, from 1.
        number: u32,
        /// The operation of the request.
        operation: String,
        /// The other callers whose requests were held then.
        #[serde(with = "super::subject_notes::numbers_as_texts")]
        held: Vec<u32>,
    },
    /// The callers could not be let in in the order of the scenario.
    OrderMissed(OrderMiss),
    /// The subject tried to reach a host that is not a service of the trial.
    Escaped {
        /// The host.
        host: String,
        /// The port; 0 if the transport has none.
        port: u16,
        /// How.
        #[serde(default, skip_serializing_if = "super::is_default")]
        transport: Transport,
    },
    /// In a sealed run, the subject sent something to a host that a service of the trial stands for, and it
    /// was no request that the service could get: a handshake that never ended, or a datagram.
    Contacted {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// How.
        #[serde(default, skip_serializing_if = "super::is_default")]
        transport: Transport,
    },
    /// In a sealed run, the subject looked up a name and sent nothing to its address.
    LookedUp {
        /// The name.
        host: String,
        /// Whether the name is no plain host name, but carries data, to a host that is neither a service, nor
        /// allowed, nor ignored.
        #[serde(default, skip_serializing_if = "super::is_default")]
        carries_data: bool,
    },
    /// A client asked the proxy for a service of the trial, although `NO_PROXY` names its address.
    Proxied {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// The service.
        service: String,
    },
    /// In a sealed run, a client did not accept the certificate of a service of the trial.
    CertificateRefused {
        /// The host that the service stands for.
        host: String,
        /// The port.
        port: u16,
    },
    /// Requests to a host that is allowed or ignored, counted at the end of the trial. The note has the name of
    /// the treatment instead.
    HostRequests(HostRequests),
    /// The subject exceeded a limit.
    OverLimit {
        /// Which one.
        limit: String,
    },
    /// Requests of a caller were not answered at the end.
    Unanswered {
        /// How many.
        requests: u64,
    },
    /// A caller was still sending requests at the end.
    StillSending {
        /// Over how many connections.
        connections: u64,
    },
    /// Connections of a caller were open and idle at the end, and were closed.
    IdleClosed {
        /// How many.
        connections: u64,
    },
    /// A request came after the trial had ended.
    LateRequest(LateRequest),
}

impl SubjectEvent {
    /// Which start of its caller the event is about; `None` if it is about none in particular.
    #[must_use]
    pub const fn start(&self) -> Option<u32> {
        match self {
            SubjectEvent::Started(StartEvent { start, .. })
            | SubjectEvent::Ended(EndEvent { start, .. })
            | SubjectEvent::Unstartable { start, .. }
            | SubjectEvent::Claimed(ClaimEvent { start, .. })
            | SubjectEvent::Asked(AskEvent { start, .. })
            | SubjectEvent::Answered(AnswerEvent { start, .. }) => Some(*start),
            SubjectEvent::Unprepared { .. }
            | SubjectEvent::Happened { .. }
            | SubjectEvent::Delivered(_)
            | SubjectEvent::CopyLost(_)
            | SubjectEvent::CopyAnswered(_)
            | SubjectEvent::NotDelivered { .. }
            | SubjectEvent::Interrupted(_)
            | SubjectEvent::InterruptMissed { .. }
            | SubjectEvent::NotAccepted { .. }
            | SubjectEvent::CallCanceled { .. }
            | SubjectEvent::Frozen { .. }
            | SubjectEvent::FreezeMissed { .. }
            | SubjectEvent::Unfrozen { .. }
            | SubjectEvent::LetIn { .. }
            | SubjectEvent::OrderMissed(_)
            | SubjectEvent::Escaped { .. }
            | SubjectEvent::Contacted { .. }
            | SubjectEvent::LookedUp { .. }
            | SubjectEvent::Proxied { .. }
            | SubjectEvent::CertificateRefused { .. }
            | SubjectEvent::HostRequests(_)
            | SubjectEvent::OverLimit { .. }
            | SubjectEvent::Unanswered { .. }
            | SubjectEvent::StillSending { .. }
            | SubjectEvent::IdleClosed { .. }
            | SubjectEvent::LateRequest(_) => None,
        }
    }
}

/// A caller was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartEvent {
    /// Which start of the caller, from 1.
    pub start: u32,
    /// What it was given as `HAPAX_TRIAL`.
    pub trial: String,
    /// What it was given as `HAPAX_CALLER`.
    pub name: String,
    /// Which turn of the caller it begins or continues, from 0.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub turn: u32,
}

/// A start of a caller has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "super::subject_notes::EndNote")]
pub struct EndEvent {
    /// Which start of the caller, from 1.
    pub start: u32,
    /// How it ended.
    pub end: StartEnd,
    /// How many processes it left running, which were killed.
    pub left_running: u64,
    /// When it made its claim, if it was stopped at its time limit and had made one before.
    pub claimed_before_limit: Option<ClaimedBeforeLimit>,
}

/// How a start of a caller ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartEnd {
    /// It exited with this status.
    Exited(i32),
    /// A signal ended it.
    Signaled(i32),
    /// An agent over HTTP answered with this status.
    Answered(u16),
    /// An agent over HTTP closed the connection without an answer.
    NoAnswer,
    /// It was stopped at its time limit.
    TimeUp,
    /// It was stopped because it exceeded another limit.
    OverLimit,
}

/// When a start claimed that was stopped at its time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimedBeforeLimit {
    /// When it made its claim, after its start.
    pub claimed_after: Duration,
    /// When it was stopped, after its start.
    pub stopped_after: Duration,
    /// How many of its requests were being sent or not answered when it was stopped.
    pub requests_in_flight: u64,
}

impl ClaimedBeforeLimit {
    /// Whether the claim is final: the start was watched for a while after it, and had no requests in flight
    /// when it was stopped.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.requests_in_flight == 0 && self.claimed_after + QUIET_TIME <= self.stopped_after
    }
}

/// What a start of a caller claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimEvent {
    /// Which start of the caller, from 1.
    pub start: u32,
    /// What it claimed; `None` if it claimed nothing that can be read.
    #[serde(with = "super::subject_notes::claimed_outcome")]
    pub outcome: Option<ClaimedOutcome>,
    /// Its message.
    pub message: String,
    /// Where the claim was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ClaimOrigin>,
    /// Why it cannot be read, if there was something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// An interrupt at an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptEvent {
    /// Its index in the scenario, from 0.
    pub interrupt: u32,
    /// What it does.
    pub action: InterruptKind,
    /// The number of the attempt in the ledger.
    pub attempt: u64,
}

word_enum! {
    /// What the second of two overlapping deliveries did when the first continued.
    pub enum SecondCopy {
        /// It had ended.
        Ended => "ended",
        /// It waited for a lock that the first holds.
        WaitsForLock => "waits-for-lock",
        /// It had not ended, and was not seen to wait for the first.
        Running => "running",
    }
}

/// What an interrupt does to a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum InterruptAction {
    /// SIGKILL.
    Kill,
    /// SIGTERM.
    Stop,
    /// SIGINT, or the signal that the subject's settings name.
    Cancel,
    /// SIGSTOP, and SIGCONT after this time.
    Freeze(Duration),
}

impl InterruptAction {
    /// Its kind, without the time of a freeze.
    #[must_use]
    pub const fn kind(self) -> InterruptKind {
        match self {
            InterruptAction::Kill => InterruptKind::Kill,
            InterruptAction::Stop => InterruptKind::Stop,
            InterruptAction::Cancel => InterruptKind::Cancel,
            InterruptAction::Freeze(_) => InterruptKind::Freeze,
        }
    }
}

word_enum! {
    /// How the client of an MCP tool tells the server that it does not wait for a call any longer.
    pub enum CancelSignal {
        /// `notifications/cancelled`.
        Notification => "notification",
        /// It closed the connection, which is the signal since 2026-07-28.
        Disconnect => "disconnect",
    }
}

word_enum! {
    /// The kinds of interrupts.
    pub enum InterruptKind {
        /// SIGKILL.
        Kill => "kill",
        /// SIGTERM.
        Stop => "stop",
        /// SIGINT, or the signal that the subject's settings name.
        Cancel => "cancel",
        /// SIGSTOP, and SIGCONT later.
        Freeze => "freeze",
    }
}

impl InterruptKind {
    /// Whether the subject goes on afterwards as if nothing had happened.
    #[must_use]
    pub const fn is_temporary(self) -> bool {
        match self {
            InterruptKind::Freeze => true,
            InterruptKind::Kill | InterruptKind::Stop | InterruptKind::Cancel => false,
        }
    }
}

/// What one start of a caller wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapturedOutput {
    /// The caller.
    pub caller: u32,
    /// Which start of the caller, from 1.
    pub start: u32,
    /// What it wrote to its standard output, with the middle cut out where it was too long.
    pub stdout: String,
    /// The same for its standard error.
    pub stderr: String,
    /// How many bytes were cut out, of both.
    pub cut: u64,
}
