//! The entries of a ledger: plain data, the same in memory, in the file and when the file is read.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::fault::{CommitKind, ReplyKind, SilenceEnd};
use crate::service::{Fields, TaskShare};
use crate::word_enum;

/// The number of the format of ledgers. It changes when entries of one version cannot be read by another.
pub const LEDGER_FORMAT: u32 = 2;

/// The name of the note of a request that came after the ledger was closed: it is added after the closing
/// entry, and another closing entry after it. It has the fields of a [`LateRequest`](super::LateRequest).
pub const LATE_REQUEST: &str = "late-request";

/// The name of the note that entries are missing because there were too many. Field: `limit`.
pub const OVER_LIMIT: &str = "over-limit";

/// One line of a ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, from 1, without gaps.
    pub n: u64,
    /// Microseconds since the ledger was opened; never goes back.
    pub at: u64,
    /// The time of day, in milliseconds since 1970.
    pub wall: i64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Something that happened in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Event {
    /// The first entry.
    Opened {
        /// The format of the ledger: [`LEDGER_FORMAT`].
        #[serde(default = "first_format")]
        format: u32,
        /// The seed of ids and random choices.
        seed: u64,
        /// The hash of the plan record that opens the file, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<CompactString>,
    },
    /// An attempt came in.
    Received(Box<Received>),
    /// A request came in that the service itself refused, so it is not an attempt.
    Refused(Box<RefusedRequest>),
    /// A fault applies to an attempt.
    Fault {
        /// The attempt.
        attempt: u64,
        /// The fault's place in the plan, from 0.
        fault: usize,
        /// What is committed.
        commit: CommitKind,
        /// What the caller sees.
        reply: ReplyKind,
        /// The status that the caller sees, if the fault gives one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// The time after which it is committed, if it was drawn from the seed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drawn: Option<CompactString>,
    },
    /// An effect was committed.
    Committed {
        /// The attempt that caused it.
        attempt: u64,
        /// Its name.
        effect: CompactString,
        /// The id that the service gave it.
        id: CompactString,
        /// What was done.
        fields: Fields,
        /// Why it was committed at this moment.
        timing: CommitTiming,
    },
    /// An effect that a fault prevented from being committed.
    Withheld {
        /// The attempt.
        attempt: u64,
        /// The effect's name.
        effect: CompactString,
        /// The id that it would have had.
        id: CompactString,
        /// What would have been done.
        fields: Fields,
    },
    /// An effect that a fault took back after it had been committed.
    Reverted {
        /// The attempt that caused it.
        attempt: u64,
        /// The effect's name.
        effect: CompactString,
        /// The id that the service gave it.
        id: CompactString,
    },
    /// A late commit failed: when it was due, the service refused it.
    Lapsed {
        /// The attempt.
        attempt: u64,
        /// The status of the refusal, which was not sent.
        status: u16,
    },
    /// Not all of a reply could be sent, because the caller had left. Corrects the entry of that reply.
    Unsent {
        /// The attempt that it would have answered.
        attempt: u64,
        /// How many bytes were sent.
        bytes: u64,
    },
    /// A reply is sent, in whole, in part or not at all. Written before its last byte leaves, so that
    /// everything the caller does next comes after it.
    Replied {
        /// The attempt that it answers.
        attempt: u64,
        /// What the caller was made to see.
        reply: ReplyKind,
        /// The status, if one was sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// How many bytes were handed to the network.
        bytes: u64,
        /// Whether that was the whole answer.
        whole: bool,
        /// Whether the answer was marked as a replay.
        #[serde(default, skip_serializing_if = "is_false")]
        replay: bool,
        /// The seconds of its `Retry-After`, if the whole of a 429, 503 or 529 was sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<u64>,
        /// Who ended the silence, if the reply was a `hang`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        silence: Option<SilenceEnd>,
        /// The answer as text before the fault changed how it is sent: the status, the headers, an empty line
        /// and the body, without secrets. Only in the first entries of a ledger.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A connection ended.
    Closed {
        /// The service.
        service: CompactString,
        /// The connection.
        connection: u64,
        /// The caller.
        caller: u32,
        /// Who ended it.
        by: ClosedBy,
    },
    /// Something happened at the start barrier.
    Barrier {
        /// The caller that it concerns.
        caller: u32,
        /// What happened.
        event: BarrierEvent,
    },
    /// An event that a user of the ledger adds: a subject started, was killed, claimed.
    Noted {
        /// What it is: `started`, `killed`, `claimed`.
        name: CompactString,
        /// The caller that it concerns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caller: Option<u32>,
        /// Its details.
        #[serde(default, skip_serializing_if = "Fields::is_empty")]
        fields: Fields,
    },
    /// The last entry.
    End {
        /// How many entries come before it.
        count: u64,
    },
}

impl Event {
    /// The attempt that it is about; 0 for an effect that a service made by itself.
    #[must_use]
    pub fn attempt(&self) -> Option<u64> {
        match self {
            Event::Received(received) => Some(received.attempt),
            Event::Fault { attempt, .. }
            | Event::Committed { attempt, .. }
            | Event::Withheld { attempt, .. }
            | Event::Reverted { attempt, .. }
            | Event::Lapsed { attempt, .. }
            | Event::Unsent { attempt, .. }
            | Event::Replied { attempt, .. } => Some(*attempt),
            Event::Refused { .. }
            | Event::Barrier { .. }
            | Event::Noted { .. }
            | Event::Opened { .. }
            | Event::Closed { .. }
            | Event::End { .. } => None,
        }
    }
}

/// An attempt as it came in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Received {
    /// Its number in the ledger, from 1.
    pub attempt: u64,
    /// The full name of the operation.
    pub operation: CompactString,
    /// The method.
    pub method: CompactString,
    /// The path, without its query.
    pub path: CompactString,
    /// The fields of the request.
    pub fields: Fields,
    /// The idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<CompactString>,
    /// Whether its answer was already stored under that key.
    #[serde(default, skip_serializing_if = "is_false")]
    pub replay: bool,
    /// How much of the task it carries.
    #[serde(default, skip_serializing_if = "TaskShare::is_full")]
    pub share: TaskShare,
    /// The caller.
    pub caller: u32,
    /// The connection.
    pub connection: u64,
    /// The first attempt with the same bytes: method, target and body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
    /// The place, from 0, of the answer that the scenario declares for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared_answer: Option<usize>,
    /// The headers that identify the client and its retry count.
    #[serde(default, skip_serializing_if = "Fields::is_empty")]
    pub client: Fields,
    /// The request as text: its first line, the headers, an empty line and the body, without secrets. A long
    /// body is cut. Only in the first entries of a ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A request that the service itself refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefusedRequest {
    /// The service.
    pub service: CompactString,
    /// The operation, if the request was recognized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<CompactString>,
    /// The method.
    pub method: CompactString,
    /// The path, without its query.
    pub path: CompactString,
    /// The status of the refusal; 0 if none was sent, as after a TLS handshake that failed.
    pub status: u16,
    /// The caller.
    pub caller: u32,
    /// The connection.
    pub connection: u64,
    /// The idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<CompactString>,
    /// The reason, from the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CompactString>,
    /// What the real service has and the mock does not, if that is the reason: `POST /v1/invoices`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<CompactString>,
    /// Why the service cannot decide what the scenario wants, if that is the reason, and what to write
    /// into the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<CompactString>,
    /// The place, from 0, of the answer that the scenario declares for it, if it was recognized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared_answer: Option<usize>,
    /// The request as text, as in [`Received`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The answer as text, in the same form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

word_enum! {
    /// Why an effect was committed at that moment.
    pub enum CommitTiming {
        /// Before the reply, as usual.
        Now => "now",
        /// A fault delayed it.
        Later => "later",
        /// The network delivered the request twice; this is the second.
        Twice => "twice",
        /// Part of a list, by a fault.
        Part => "part",
        /// The rest of a list whose first part was committed before under the same key.
        Rest => "rest",
        /// The service made the change some time after the request: a message is delivered later.
        Afterwards => "afterwards",
        /// It was not ended when the trial ended, and should have been: held money, a lock.
        LeftBehind => "left-behind",
    }
}

word_enum! {
    /// Who ended a connection.
    pub enum ClosedBy {
        /// The caller closed or reset it.
        Caller => "caller",
        /// The service closed it: a fault, or a request that could not be read.
        Service => "service",
        /// The caller sent nothing for too long, or too slowly.
        Timeout => "timeout",
    }
}

word_enum! {
    /// What can happen at the start barrier.
    pub enum BarrierEvent {
        /// The caller's first write has come and waits.
        Held => "held",
        /// The caller's write continues.
        Admitted => "admitted",
        /// The caller's client gave up while it was held.
        GaveUp => "gave-up",
        /// The caller ended before it reached the barrier.
        Absent => "absent",
        /// The barrier opened without the caller, which waited for a lock that a caller at the barrier holds.
        Locked => "locked",
        /// The barrier opened without the caller, because the time was over.
        Missing => "missing",
        /// The caller wrote after the barrier had opened without it.
        Late => "late",
    }
}

/// Ledgers of the first format have no number.
const fn first_format() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
