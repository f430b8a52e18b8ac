//! Faults: two independent choices, what is committed and what the caller sees, and the trigger that selects
//! the attempt. Plain data; the engine applies it.

mod builder;
mod check;
mod line;
mod plan;
mod read;
mod replies;
mod reply;
mod shadow;
mod shared;
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
pub(crate) use read::{ANY, EVERY};
pub use read::{
    FAULT_FILE, FAULT_LIST, FaultPlaces, PlacedFault, check_placed, read_fault, read_fault_list, read_faults,
    read_fields,
};
pub use replies::{
    Delay, Drip, Hang, Lag, OtherObject, Oversize, Reply, ReplyKind, SESSION_HEADER, SilenceEnd, StatusReply,
    Truncation,
};
pub(crate) use reply::{AnswerBytes, Step};
pub use reply::{PlainWord, ReplyContent, ReplyFacts, ReplyValue, ReplyWords, SentReply};
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
/// least one of the effects that it asks for; otherwise a subject could use the fault up with a write that the
/// task does not ask for. Attempts that ask for no effect are not filtered.
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
    /// All of it, before the reply; afterwards it is gone again, with its key.
    Reverts(After),
}

impl Commit {
    /// The latest time at which a deferred commit, or the revert of one, happens.
    pub(crate) fn deferred_until(self) -> After {
        match self {
            Commit::Later(after) | Commit::Reverts(after) => after,
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
            Commit::Reverts(_) => CommitKind::Reverts,
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
        /// All of it, and it is gone afterwards.
        Reverts => "reverts",
    }
}
