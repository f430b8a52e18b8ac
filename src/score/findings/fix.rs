//! The way to mend a repetition, by what lay between the first time and the second.

use super::words::{handle, nouns};
use crate::scenario::Intent;

/// What lay between an effect and its repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Between {
    /// The same caller, another key, no look.
    NewKey {
        /// Whether the first attempt was answered with an error, which a service can keep under its key.
        after_error: bool,
    },
    /// The same caller, no key, no look.
    NoKey {
        /// As above.
        after_error: bool,
    },
    /// The same caller and key, no look: the service does not honour keys.
    SameKey,
    /// A look at an older state.
    StaleRead,
    /// A look before the commit came.
    InFlight,
    /// A look that showed it.
    Ignored,
    /// The end of a start in the middle of the work.
    Crash,
    /// The end of a start that had finished its work.
    NewStart,
    /// Different callers.
    Callers,
    /// The network delivered it twice, and it had no key.
    Network,
    /// The network delivered it twice, with a key that the service does not honour.
    NetworkDespiteKey,
    /// One attempt did it more than once.
    OneAttempt,
    /// Nothing is known of it.
    Unknown,
}

/// How to keep an intent from happening again.
pub(super) fn fix(intent: &Intent, between: Between, differs: bool, undone: bool) -> String {
    let (handle, noun) = (handle(intent), nouns(&intent.effect).0);
    let mut advice = match between {
        Between::NewKey { after_error } => format!(
            "Derive the key from the {handle}, not from the attempt; where the service takes no key{}, look whether the {noun} is there, and once more after a while, before you repeat it.",
            kept(after_error)
        ),
        Between::NoKey { after_error } => format!(
            "Send an Idempotency-Key that is derived from the {handle}; where the service takes none{}, look whether the {noun} is there, and once more after a while, before you repeat it.",
            kept(after_error)
        ),
        Between::SameKey => {
            format!(
                "This service does not honour the key: look whether the {noun} is there, and once more after a while, before you repeat it."
            )
        }
        Between::StaleRead => format!(
            "One read that shows nothing proves nothing: wait and read again, and repeat only with a key that is derived from the {handle}."
        ),
        Between::InFlight => {
            let ways = "repeat with the key of the first attempt, or wait it out before you repeat.";
            format!("What a read does not show may still be in flight: {ways}")
        }
        Between::Ignored => {
            format!("Look at what the read shows: where the {noun} is there, do not repeat it.")
        }
        Between::Crash => format!(
            "Write the {handle} and its key down before the effect, and after a new start look there and at the service before you go on."
        ),
        Between::NewStart => {
            format!(
                "Keep a record of what is done, by {handle}, and look at it before the same task is done again."
            )
        }
        Between::Callers => format!(
            "Let all callers derive the same key from the {handle}, or let one claim the {handle} in a place that all of them share before any acts."
        ),
        Between::Network => format!(
            "Send an Idempotency-Key that is derived from the {handle}, so that a request that arrives twice counts once; where the service takes none, count afterwards how often the {noun} is there, and take back what is surplus."
        ),
        Between::NetworkDespiteKey => format!(
            "This service does not honour the key, so nothing that is sent prevents this: count afterwards how often the {noun} is there, and take back what is surplus."
        ),
        Between::OneAttempt => "Remove what is in the request more than once before it is sent.".to_owned(),
        Between::Unknown => {
            format!("Make sure that each {handle} is acted on once, whoever asks and however often.")
        }
    };
    if differs {
        advice.push_str(" Fix what is to be done before the first attempt, and repeat exactly that.");
    }
    if undone {
        advice.push_str(
            " This scenario does not accept that it was undone: `expect.allow: [compensation]` would.",
        );
    }
    advice
}

/// A key does not help where the service keeps the error under it.
fn kept(after_error: bool) -> &'static str {
    if after_error { ", or gives the same error again under it" } else { "" }
}
