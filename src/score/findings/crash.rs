//! Starts that stopped by themselves: the cause of what is missing afterwards.

use super::FindingContext;
use super::words::nouns;
use crate::domain::{EndEvent, StartEnd};
use crate::score::history::{Attempt, PlacedEvent};

/// The fix for what is missing because of a crash.
pub(super) const FIX: &str =
    "The subject stopped by itself; the last lines of its standard error say why. Fix that first.";

/// The first end of a start that exited with another status than 0, or by a signal that hapax did not send.
pub(super) fn first<'s>(context: &'s FindingContext<'_, '_>) -> Option<PlacedEvent<'s, EndEvent>> {
    context.history.ends().find(|end| is_crash(context, *end))
}

/// The crash of the last start of a caller.
pub(super) fn of_caller<'s>(
    context: &'s FindingContext<'_, '_>,
    caller: u32,
) -> Option<PlacedEvent<'s, EndEvent>> {
    let ends = context.history.ends().filter(|end| end.caller == Some(caller));
    ends.max_by_key(|end| end.n).filter(|end| is_crash(context, *end))
}

fn is_crash(context: &FindingContext<'_, '_>, end: PlacedEvent<'_, EndEvent>) -> bool {
    match end.event.end {
        StartEnd::Exited(status) => status != 0,
        StartEnd::Signaled(_) => {
            !context.history.interruptions().any(|interruption| interruption.caller == end.caller)
        }
        StartEnd::Answered(_) | StartEnd::NoAnswer | StartEnd::TimeUp | StartEnd::OverLimit => false,
    }
}

/// How a start crashed: `exited with 1`.
pub(super) fn how(crash: PlacedEvent<'_, EndEvent>) -> String {
    match crash.event.end {
        StartEnd::Exited(status) => format!("exited with {status}"),
        StartEnd::Signaled(signal) => format!("was ended by signal {signal}"),
        StartEnd::Answered(_) | StartEnd::NoAnswer | StartEnd::TimeUp | StartEnd::OverLimit => {
            "ended".to_owned()
        }
    }
}

/// The last attempt of the caller before the crash.
pub(super) fn last_attempt<'s, 'a>(
    context: &'s FindingContext<'_, 'a>,
    crash: PlacedEvent<'_, EndEvent>,
) -> Option<&'s Attempt<'a>> {
    let attempts = context.history.attempts.iter();
    let before = attempts.filter(|attempt| Some(attempt.caller()) == crash.caller && attempt.n < crash.n);
    before.max_by_key(|attempt| attempt.n)
}

/// When a start crashed: ` after the charge (payment.charge#1)`; before any attempt it is empty.
pub(super) fn after(context: &FindingContext<'_, '_>, crash: PlacedEvent<'_, EndEvent>) -> String {
    let Some(last) = last_attempt(context, crash) else { return String::new() };
    if last.effects.is_empty() {
        format!(" after {}", last.name())
    } else {
        format!(" after the {} ({})", nouns(last.operation()).0, last.name())
    }
}
