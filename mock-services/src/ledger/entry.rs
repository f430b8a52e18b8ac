//! The entries of a ledger: plain data, the same in memory, in the file and when the file is read.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::fault::{CommitKind, ReplyKind};
use crate::service::Fields;
use crate::word_enum;

/// The number of the format of ledgers. It changes when entries of one version cannot be read by another.
pub const LEDGER_FORMAT: u32 = 2;

/// The name of the note of a request that came after the ledger was closed: it is added after the closing
/// entry, and another closing entry after it. Fields: `service`, `method`, `path`, `kind` (`write`, `read`
/// or `unreadable`), and `operation` where the request was understood.
pub const LATE_REQUEST: &str = "late-request";

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
    pub event: Event<'static>,
}

/// Something that happened in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Event<'a> {
    /// The first entry.
    Opened {
        /// The format of the ledger: [`LEDGER_FORMAT`].
        #[serde(default = "first_format")]
        format: u32,
        /// The seed from which ids and chances come.
        seed: u64,
        /// The hash of the plan record that opens the file, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Cow<'a, str>>,
    },
    /// An attempt came in.
    Received(Received<'a>),
    /// A request came in that the service itself refused, so it is not an attempt.
    Refused {
        /// Which service.
        service: Cow<'a, str>,
        /// The operation, where the request was understood that far.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operation: Option<Cow<'a, str>>,
        /// The method.
        method: Cow<'a, str>,
        /// The path, without its query.
        path: Cow<'a, str>,
        /// The status of the refusal; 0 where none was sent, as after a TLS handshake that failed.
        status: u16,
        /// Who asked.
        caller: u32,
        /// Over which connection.
        connection: u64,
        /// The idempotency key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Cow<'a, str>>,
        /// Why, in the words of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Cow<'a, str>>,
        /// What the real service has and this one does not, where that is why: `POST /v1/invoices`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unsupported: Option<Cow<'a, str>>,
    },
    /// A fault was put on an attempt.
    Fault {
        /// The attempt.
        attempt: u64,
        /// The fault's place in the plan, from 0.
        fault: usize,
        /// What is committed.
        commit: CommitKind,
        /// What the caller sees.
        reply: ReplyKind,
        /// After which time it is committed, where that was drawn from the seed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drawn: Option<Cow<'a, str>>,
    },
    /// An effect was committed.
    Committed {
        /// The attempt that caused it.
        attempt: u64,
        /// Its name.
        effect: Cow<'a, str>,
        /// The id that the service gave it.
        id: Cow<'a, str>,
        /// What was done.
        fields: Cow<'a, Fields>,
        /// Why it was committed at this moment.
        timing: CommitTiming,
    },
    /// An effect that the service decided for an attempt and that a fault kept from being committed.
    Withheld {
        /// The attempt.
        attempt: u64,
        /// The effect's name.
        effect: Cow<'a, str>,
        /// The id that it would have had.
        id: Cow<'a, str>,
        /// What would have been done.
        fields: Cow<'a, Fields>,
    },
    /// A late commit came to nothing: when its time came, the service refused it.
    Lapsed {
        /// The attempt.
        attempt: u64,
        /// The status of the refusal that nobody saw.
        status: u16,
    },
    /// The network did not take all of a reply: the caller had left. Corrects the entry of that reply.
    Unsent {
        /// The attempt that it would have answered.
        attempt: u64,
        /// How many bytes were taken.
        bytes: u64,
    },
    /// A reply is sent, in whole, in part or not at all. Written before its last byte leaves, so that
    /// everything the caller does next comes after it.
    Replied {
        /// The attempt that it answers.
        attempt: u64,
        /// What the caller was made to see.
        reply: ReplyKind,
        /// The status, where the caller was sent one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// How many bytes were handed to the network.
        bytes: u64,
        /// Whether that was the whole answer.
        whole: bool,
        /// Whether the answer said that the key had been used before.
        #[serde(default, skip_serializing_if = "is_false")]
        replay: bool,
        /// The seconds of its `Retry-After`, where the whole of a 429 or 503 was sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<u64>,
        /// Who ended the silence, where the reply was a `hang`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        silence: Option<SilenceEnd>,
    },
    /// A connection ended.
    Closed {
        /// Which service.
        service: Cow<'a, str>,
        /// Which connection.
        connection: u64,
        /// Whose it was.
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
    /// Something that others add: a subject started, was killed, claimed.
    Noted {
        /// What it is: `started`, `killed`, `claimed`.
        name: Cow<'a, str>,
        /// Who it concerns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caller: Option<u32>,
        /// The rest.
        #[serde(default, skip_serializing_if = "no_fields")]
        fields: Cow<'a, Fields>,
    },
    /// The last entry.
    End {
        /// How many entries come before it.
        count: u64,
    },
}

impl Event<'_> {
    /// The same event with copies of all that it borrows.
    #[must_use]
    pub fn into_owned(self) -> Event<'static> {
        match self {
            Event::Opened { format, seed, plan } => Event::Opened { format, seed, plan: optional(plan) },
            Event::Received(received) => Event::Received(received.into_owned()),
            Event::Refused {
                service,
                operation,
                method,
                path,
                status,
                caller,
                connection,
                key,
                reason,
                unsupported,
            } => Event::Refused {
                service: text(service),
                operation: optional(operation),
                method: text(method),
                path: text(path),
                status,
                caller,
                connection,
                key: optional(key),
                reason: optional(reason),
                unsupported: optional(unsupported),
            },
            Event::Fault { attempt, fault, commit, reply, drawn } => {
                Event::Fault { attempt, fault, commit, reply, drawn: optional(drawn) }
            }
            Event::Committed { attempt, effect, id, fields, timing } => Event::Committed {
                attempt,
                effect: text(effect),
                id: text(id),
                fields: Cow::Owned(fields.into_owned()),
                timing,
            },
            Event::Withheld { attempt, effect, id, fields } => Event::Withheld {
                attempt,
                effect: text(effect),
                id: text(id),
                fields: Cow::Owned(fields.into_owned()),
            },
            Event::Lapsed { attempt, status } => Event::Lapsed { attempt, status },
            Event::Unsent { attempt, bytes } => Event::Unsent { attempt, bytes },
            Event::Replied { attempt, reply, status, bytes, whole, replay, retry_after, silence } => {
                Event::Replied { attempt, reply, status, bytes, whole, replay, retry_after, silence }
            }
            Event::Closed { service, connection, caller, by } => {
                Event::Closed { service: text(service), connection, caller, by }
            }
            Event::Barrier { caller, event } => Event::Barrier { caller, event },
            Event::Noted { name, caller, fields } => {
                Event::Noted { name: text(name), caller, fields: Cow::Owned(fields.into_owned()) }
            }
            Event::End { count } => Event::End { count },
        }
    }
}

impl Received<'_> {
    fn into_owned(self) -> Received<'static> {
        Received {
            attempt: self.attempt,
            operation: text(self.operation),
            method: text(self.method),
            path: text(self.path),
            fields: Cow::Owned(self.fields.into_owned()),
            key: optional(self.key),
            replay: self.replay,
            caller: self.caller,
            connection: self.connection,
            repeats: self.repeats,
            client: Cow::Owned(self.client.into_owned()),
        }
    }
}

fn text(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

fn optional(value: Option<Cow<'_, str>>) -> Option<Cow<'static, str>> {
    value.map(text)
}

/// An attempt as it came in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Received<'a> {
    /// Its number in the ledger, from 1.
    pub attempt: u64,
    /// The full name of the operation.
    pub operation: Cow<'a, str>,
    /// The method.
    pub method: Cow<'a, str>,
    /// The path, without its query.
    pub path: Cow<'a, str>,
    /// The fields that matter.
    pub fields: Cow<'a, Fields>,
    /// The idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Cow<'a, str>>,
    /// Whether the answer to it was already kept under that key.
    #[serde(default, skip_serializing_if = "is_false")]
    pub replay: bool,
    /// Who made it.
    pub caller: u32,
    /// Over which connection.
    pub connection: u64,
    /// The first attempt with the very same bytes: method, target and body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
    /// The headers that identify the client and its retry count.
    #[serde(default, skip_serializing_if = "no_fields")]
    pub client: Cow<'a, Fields>,
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
        /// The service does it by itself some time after the request: a message is delivered a little later.
        Afterwards => "afterwards",
        /// It was still in force when the trial was over, and should have been ended: held money, a lock.
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
    /// Who ended the silence of a `hang`.
    pub enum SilenceEnd {
        /// The caller closed the connection: its timeout was reached, or it ended.
        Caller => "caller",
        /// The service closed the connection after the time that the fault gives (`release`), and the caller
        /// was still waiting.
        Released => "released",
        /// The service stopped waiting: the silence was to last until the caller's timeout, which was not
        /// reached in the time that there was.
        Limit => "limit",
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
        /// The caller wrote after the barrier had opened without it.
        Late => "late",
    }
}

/// Ledgers of the first format have no number.
const fn first_format() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::ptr_arg, reason = "serde hands over the field as it is")]
fn no_fields(fields: &Cow<'_, Fields>) -> bool {
    fields.is_empty()
}
