//! What happens to a subject during a trial: it is started, interrupted, ends, claims. A trial writes these
//! events into the ledger of its services, and scoring and reports read them from there.

mod codec;

use std::time::Duration;

use mock_services::word_enum;

use super::{ClaimOrigin, ClaimedOutcome, HostRequests, InterruptKind};

pub use codec::SubjectEventError;

/// How long a start must be watched after its claim for the claim to be final.
const QUIET_TIME: Duration = Duration::from_secs(1);

/// Something that happens to a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// An interrupt took effect.
    Interrupted(InterruptEvent),
    /// An interrupt did not take effect.
    InterruptMissed {
        /// The interrupt.
        interrupt: InterruptEvent,
        /// Why.
        reason: String,
    },
    /// The subject tried to reach a host that is not a service of the trial.
    Escaped {
        /// The host.
        host: String,
        /// The port.
        port: u16,
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
    /// Requests to a host that is allowed or ignored, counted at the end of the trial.
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
    LateRequest(LateRequestEvent),
}

impl SubjectEvent {
    /// Which start of its caller the event is about; `None` where it is about none in particular.
    #[must_use]
    pub const fn start(&self) -> Option<u32> {
        match self {
            SubjectEvent::Started(StartEvent { start, .. })
            | SubjectEvent::Ended(EndEvent { start, .. })
            | SubjectEvent::Unstartable { start, .. }
            | SubjectEvent::Claimed(ClaimEvent { start, .. }) => Some(*start),
            SubjectEvent::Unprepared { .. }
            | SubjectEvent::Interrupted(_)
            | SubjectEvent::InterruptMissed { .. }
            | SubjectEvent::Escaped { .. }
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartEvent {
    /// Which start of the caller, from 1.
    pub start: u32,
    /// What it was given as `HAPAX_TRIAL`.
    pub trial: String,
    /// What it was given as `HAPAX_CALLER`.
    pub name: String,
    /// Which turn of the caller it begins or continues, from 0.
    pub turn: u32,
}

/// A start of a caller has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndEvent {
    /// Which start of the caller, from 1.
    pub start: u32,
    /// How it ended.
    pub end: StartEnd,
    /// How many processes it left running, which were killed.
    pub left_running: u64,
    /// When it made its claim, where it was stopped at its time limit and had made one before.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimEvent {
    /// Which start of the caller, from 1.
    pub start: u32,
    /// What it claimed; `None` where it claimed nothing that can be read.
    pub outcome: Option<ClaimedOutcome>,
    /// Its message.
    pub message: String,
    /// Where the claim was found.
    pub origin: Option<ClaimOrigin>,
    /// Why it cannot be read, where there was something.
    pub problem: Option<String>,
}

/// An interrupt at an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptEvent {
    /// Its place in the scenario, from 0.
    pub interrupt: u32,
    /// What it does.
    pub action: InterruptKind,
    /// The number of the attempt in the ledger.
    pub attempt: u64,
}

/// A request that came after the trial had ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateRequestEvent {
    /// The service.
    pub service: String,
    /// The method.
    pub method: String,
    /// The path, without its query.
    pub path: String,
    /// What it would have been.
    pub kind: LateRequestKind,
    /// The full name of the operation, where the request was understood.
    pub operation: Option<String>,
}

word_enum! {
    /// What a late request would have been.
    pub enum LateRequestKind {
        /// A write.
        Write => "write",
        /// A read.
        Read => "read",
        /// A request that cannot be read.
        Unreadable => "unreadable",
    }
}
