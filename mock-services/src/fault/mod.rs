//! Faults: two independent choices, what is committed and what the caller sees, and the trigger that selects
//! the attempt. Plain data; the engine applies it.

mod builder;
mod check;
mod line;
mod plan;
mod read;
mod shadow;
mod shared;
pub mod words;
mod write;

use std::sync::Arc;
use std::time::Duration;

pub use crate::service::{After, CutPlace};
use crate::service::{EffectFacts, Fields};
use crate::word_enum;
pub use check::{FaultPart, Objection, Objections};
pub(crate) use check::{check, check_all, check_behind};
pub use line::read_line;
pub use plan::Fired;
pub(crate) use plan::{Application, Attempt, Plan};
pub use read::{
    FaultPlaces, PlacedFault, check_placed, read_fault, read_fault_list, read_faults, read_fields,
};
pub(crate) use shared::SharedPlan;

/// One fault: which attempt, what is committed, what the caller sees.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Which attempts it applies to.
    pub trigger: Trigger,
    /// What the service commits.
    pub commit: Commit,
    /// What the caller sees.
    pub reply: Reply,
    /// Whether a trial in which it did not fire may pass.
    pub optional: bool,
}

/// Which attempts a fault applies to. Only attempts that match all other conditions are counted, so `attempt:
/// 1` with a caller is the first attempt of that caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    /// The full name of the operation: `payment.charge`.
    pub on: String,
    /// Which of the attempts that match the other conditions.
    pub attempts: Attempts,
    /// The values that the fields of the request must have.
    pub fields: Fields,
    /// Whether it also applies to attempts with effects that are not intended (`where: any`); see
    /// [`IntendedEffects`].
    pub any_effect: bool,
    /// The caller; `None`: any caller.
    pub caller: Option<u32>,
    /// The probability that it fires, drawn from the seed; `None`: always.
    pub chance: Option<f64>,
}

/// Whether the task intends an effect. A fault on a write applies to an attempt only if this holds for at
/// least one of its effects; otherwise a subject could use the fault up with a write that the task does not
/// ask for. Attempts without effects are not filtered.
pub type IntendedEffects = Arc<dyn Fn(&EffectFacts) -> bool + Send + Sync>;

/// Attempt numbers, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempts {
    /// Each one.
    Every,
    /// These.
    These(Vec<u32>),
    /// From the first to the last, both included.
    Span(u32, u32),
}

impl Attempts {
    /// Whether the attempt with this number is one of them.
    #[must_use]
    pub fn include(&self, number: u32) -> bool {
        match self {
            Attempts::Every => true,
            Attempts::These(numbers) => numbers.contains(&number),
            Attempts::Span(first, last) => (*first..=*last).contains(&number),
        }
    }

    /// Those that remain after `seen` attempts, counted from the next attempt on.
    pub(crate) fn behind(&self, seen: u32) -> Attempts {
        match self {
            Attempts::Every => Attempts::Every,
            Attempts::These(numbers) => Attempts::These(
                numbers.iter().filter(|number| **number > seen).map(|number| number - seen).collect(),
            ),
            Attempts::Span(_, last) if *last <= seen => Attempts::These(Vec::new()),
            Attempts::Span(first, last) => Attempts::Span(first.saturating_sub(seen).max(1), last - seen),
        }
    }
}

/// What a service commits of an attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Commit {
    /// All of it, before the reply.
    Now,
    /// Nothing.
    Never,
    /// All of it, afterwards; the attempt is in flight until then.
    Later(After),
    /// All of it, after a time between these two that is drawn from the seed.
    LaterWithin(Duration, Duration),
    /// The request reaches the service twice; the service's own idempotency handles the second.
    Twice,
    /// This fraction of a list, at least one and not all.
    Part(f64),
}

impl Commit {
    /// The latest time at which a deferred commit happens.
    pub(crate) fn deferred_until(self) -> After {
        match self {
            Commit::Later(after) => after,
            Commit::LaterWithin(_, last) => After::Time(last),
            Commit::Now | Commit::Never | Commit::Twice | Commit::Part(_) => After::Settled,
        }
    }

    /// Its kind, without details.
    #[must_use]
    pub const fn kind(self) -> CommitKind {
        match self {
            Commit::Now => CommitKind::Now,
            Commit::Never => CommitKind::Never,
            Commit::Later(_) | Commit::LaterWithin(..) => CommitKind::Later,
            Commit::Twice => CommitKind::Twice,
            Commit::Part(_) => CommitKind::Part,
        }
    }
}

word_enum! {
    /// What a service commits of an attempt, without the details that [`Commit`] has.
    pub enum CommitKind {
        /// All of it, before the reply.
        Now => "now",
        /// Nothing.
        Never => "never",
        /// All of it, afterwards.
        Later => "later",
        /// All of it, twice.
        Twice => "twice",
        /// A part of a list.
        Part => "part",
    }
}

/// What the caller sees.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The true answer.
    Ok,
    /// The true answer, late.
    Delay(Duration),
    /// The status and the headers at once, and the body late.
    DelayBody(Duration),
    /// The connection is closed and no byte is sent.
    Drop,
    /// The connection is reset.
    Reset,
    /// No byte until the caller leaves or the time is over; then the connection is closed.
    Hang {
        /// How long the connection stays open; `None`: until the caller leaves.
        release: Option<Duration>,
    },
    /// Status, headers and a part of the body, then the connection is closed.
    Truncate(Truncation),
    /// The right status and headers, and a body that does not parse.
    Garble,
    /// The true answer, its body spread over this time.
    Drip(Duration),
    /// A status other than the true one.
    Status(StatusReply),
    /// The true answer to a read, from an older state.
    Stale(Lag),
    /// The true answer, its body padded to this many bytes.
    Oversize(u64),
}

impl Reply {
    /// The place at which the body is cut, where the service has to find it.
    #[must_use]
    pub const fn cut_place(&self) -> Option<CutPlace> {
        match self {
            Reply::Truncate(Truncation::At(place)) => Some(*place),
            _ => None,
        }
    }

    /// The status that it has instead of the true one.
    #[must_use]
    pub const fn forced_status(&self) -> Option<u16> {
        match self {
            Reply::Status(reply) => Some(reply.status),
            _ => None,
        }
    }

    /// Its kind, without details.
    #[must_use]
    pub const fn kind(&self) -> ReplyKind {
        match self {
            Reply::Ok => ReplyKind::Ok,
            Reply::Delay(_) | Reply::DelayBody(_) => ReplyKind::Delay,
            Reply::Drop => ReplyKind::Drop,
            Reply::Reset => ReplyKind::Reset,
            Reply::Hang { .. } => ReplyKind::Hang,
            Reply::Truncate(_) => ReplyKind::Truncate,
            Reply::Garble => ReplyKind::Garble,
            Reply::Drip(_) => ReplyKind::Drip,
            Reply::Status(_) => ReplyKind::Status,
            Reply::Stale(_) => ReplyKind::Stale,
            Reply::Oversize(_) => ReplyKind::Oversize,
        }
    }
}

word_enum! {
    /// What the caller sees, without the details that [`Reply`] has.
    pub enum ReplyKind {
        /// The true answer.
        Ok => "ok",
        /// The true answer, late.
        Delay => "delay",
        /// The connection is closed and no byte is sent.
        Drop => "drop",
        /// The connection is reset.
        Reset => "reset",
        /// No byte is sent, and the connection stays open.
        Hang => "hang",
        /// Half of the answer.
        Truncate => "truncate",
        /// A body that does not parse.
        Garble => "garble",
        /// The true answer, its body sent slowly.
        Drip => "drip",
        /// A status other than the true one.
        Status => "status",
        /// The answer to a read, from an older state.
        Stale => "stale",
        /// The true answer, its body too large.
        Oversize => "oversize",
    }
}

impl ReplyKind {
    /// Whether a client can parse the body of this reply, where all of it arrives.
    #[must_use]
    pub const fn can_be_parsed(self) -> bool {
        match self {
            ReplyKind::Garble => false,
            ReplyKind::Ok
            | ReplyKind::Delay
            | ReplyKind::Drop
            | ReplyKind::Reset
            | ReplyKind::Hang
            | ReplyKind::Truncate
            | ReplyKind::Drip
            | ReplyKind::Status
            | ReplyKind::Stale
            | ReplyKind::Oversize => true,
        }
    }
}

/// The default time of a `hang`.
pub const DEFAULT_RELEASE: Duration = Duration::from_secs(3);
/// The default time of a `drip`.
pub const DEFAULT_DRIP: Duration = Duration::from_secs(1);

/// Where an answer is truncated, and how it declares a length that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    /// In the middle of its body, with `Content-Length`.
    Length,
    /// In the middle of its body, with `Transfer-Encoding: chunked`.
    Chunked,
    /// At this place of what a model generated, with the length that the answer always has.
    At(CutPlace),
}

/// A status in place of the true one, with the body that the real service sends with it or with another one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatusReply {
    /// The status.
    pub status: u16,
    /// Headers in addition to those that the service sends.
    pub headers: Vec<(String, String)>,
    /// A body in place of the service's own.
    pub body: Option<String>,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// Whether the service stores it under the idempotency key and replays it.
    pub kept: bool,
}

/// How far a stale read lags behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lag {
    /// A change is seen once this many reads have missed it.
    Reads(u32),
    /// A change is seen once it is this old.
    Time(Duration),
}
