//! The fix for a duplicate, by what happened between the first effect and the second.

use super::words::{identity, nouns};
use crate::scenario::Intent;
use crate::score::Remedy;

/// What happened between an effect and its duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Between {
    /// The same caller, another key, no read.
    NewKey {
        /// Whether the reply to the first attempt was an error, which a service can store under its key.
        after_error: bool,
    },
    /// The same caller, no key, no read.
    NoKey {
        /// As above.
        after_error: bool,
    },
    /// The same caller and key, no read: the service ignores keys.
    SameKey,
    /// A stale read.
    StaleRead {
        /// Whether both attempts have the same key, which did not prevent the second effect.
        same_key: bool,
    },
    /// A read before the commit.
    InFlight {
        /// As above.
        same_key: bool,
    },
    /// A read that showed the effect.
    Ignored,
    /// The end of a start in the middle of the work.
    Crash,
    /// The end of a start that had finished its work.
    NewStart,
    /// Different callers.
    Callers {
        /// As above.
        same_key: bool,
    },
    /// Different callers, one of which was frozen while the other one acted.
    FrozenCaller,
    /// The network delivered the request twice, and it had no key.
    Network,
    /// The network delivered the request twice, with a key that the service ignores.
    NetworkDespiteKey,
    /// One attempt caused the effect more than once.
    OneAttempt,
    /// Nothing is known.
    Unknown,
}

impl Between {
    /// What kind of change prevents the duplicate.
    pub(super) const fn remedy(self) -> Remedy {
        match self {
            Between::NewKey { .. }
            | Between::NoKey { .. }
            | Between::Callers { same_key: false }
            | Between::FrozenCaller
            | Between::Network => Remedy::SameKey,
            Between::SameKey
            | Between::StaleRead { .. }
            | Between::InFlight { .. }
            | Between::Ignored
            | Between::NetworkDespiteKey => Remedy::CheckBeforeRetry,
            Between::Crash | Between::NewStart => Remedy::KeepRecord,
            Between::Callers { same_key: true } | Between::OneAttempt | Between::Unknown => {
                Remedy::ProcessOnce
            }
        }
    }
}

/// How to keep an intent, one of these, from happening again.
pub(super) fn fix(
    intent: &Intent,
    intents: &[Intent],
    between: Between,
    differs: bool,
    undone: bool,
) -> String {
    let (identity, (noun, plural)) = (identity(intent, intents), nouns(&intent.effect));
    let mut advice = match between {
        Between::NewKey { after_error } => format!(
            "Derive the key from the {identity}, not from the attempt. If the service takes no key{}, check \
             whether the {noun} exists, and check again after a while, before you retry.",
            key_warning(after_error)
        ),
        Between::NoKey { after_error } => format!(
            "Send an Idempotency-Key that is derived from the {identity}. If the service takes none{}, check \
             whether the {noun} exists, and check again after a while, before you retry.",
            key_warning(after_error)
        ),
        Between::SameKey => {
            format!(
                "This service ignores the key: check whether the {noun} exists, and check again after a \
                 while, before you retry. If your provider honors keys, say so with --assume, and such cases \
                 are skipped."
            )
        }
        Between::StaleRead { same_key: true } => {
            format!(
                "{ACCEPTED_TWICE}, and a single read can be stale: wait and check again before you retry."
            )
        }
        Between::StaleRead { same_key: false } => format!(
            "A single read can be stale: wait and read again, and retry only with a key that is derived \
             from the {identity}."
        ),
        Between::InFlight { same_key: true } => format!(
            "{ACCEPTED_TWICE}, and a write that a read does not show may still be in flight: wait until it \
             can no longer commit, and check again before you retry."
        ),
        Between::InFlight { same_key: false } => {
            let ways = "retry with the key of the first attempt, or wait until it can no longer commit.";
            format!("A write that a read does not show may still be in flight: {ways}")
        }
        Between::Ignored => {
            format!("Use the result of the read: if the {noun} exists, do not retry.")
        }
        Between::Crash => format!(
            "Derive the key from the {identity}, and store it before the request. After a restart, check that \
             record and the service before you continue."
        ),
        Between::NewStart => {
            format!(
                "Store what is done, by the {identity}, and check that record before you do the same task again."
            )
        }
        Between::Callers { same_key: true } => format!(
            "{ACCEPTED_TWICE}, so it cannot prevent this: let one caller lock the {identity} in shared storage, \
             and let every caller check whether the {noun} exists before it acts."
        ),
        Between::Callers { same_key: false } => format!(
            "Derive the idempotency key from the {identity}, so that every caller sends the same key; or let \
             one caller lock the {identity} in shared storage before any of them acts."
        ),
        Between::FrozenCaller => format!(
            "Send a key that is derived from the {identity} with the write, or a condition on the state that was \
             read: a lease or a lock that expires does not stop a worker that continues late."
        ),
        Between::Network => format!(
            "Send an Idempotency-Key that is derived from the {identity}, so that a request that arrives \
             twice takes effect once. If the service takes none, count afterwards how many {plural} exist, \
             and undo the surplus."
        ),
        Between::NetworkDespiteKey => format!(
            "This service ignores the key, so the request cannot prevent this: count afterwards how many \
             {plural} exist, and undo the surplus."
        ),
        Between::OneAttempt => "Remove duplicates from the request before you send it.".to_owned(),
        Between::Unknown => {
            format!("Identify each piece of work by the {identity}, and process it only once.")
        }
    };
    if differs {
        advice.push_str(
            " Decide all values before the first attempt, and send the same values in every retry.",
        );
    }
    if undone {
        advice.push_str(
            " The surplus was undone, but this scenario accepts that only with `expect.allow: \
             [compensation]`.",
        );
    }
    advice
}

/// A key does not help if the service ignores it or has forgotten it.
const ACCEPTED_TWICE: &str = "The service accepted the same key twice";

/// A key does not help if the service stores the error under it.
fn key_warning(after_error: bool) -> &'static str {
    if after_error { ", or returns the same error again for it" } else { "" }
}
