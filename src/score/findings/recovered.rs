//! A recovery from an ambiguous reply that the scenario does not permit, even if it had no bad effect.

use super::words::seen;
use super::{FindingContext, entries_of};
use crate::scenario::Recovery;
use crate::score::Remedy;
use crate::score::claim::was_ended_by_interrupt;
use crate::score::follow_ups::{AmbiguousWrite, FollowUp, follow_ups, recoverable};
use crate::score::recovery::of;
use crate::score::verdict::{Finding, FindingKind};

/// The maximum number of ambiguous writes that are checked.
const MAX_AMBIGUOUS_WRITES: usize = 64;

/// One finding for all recoveries that the scenario does not permit.
pub(super) fn finding(context: &FindingContext<'_, '_>) -> Option<Finding> {
    let permitted = &context.terms.recovery;
    if permitted.is_empty() {
        return None;
    }
    let recovered = |ambiguous: AmbiguousWrite<'_, '_>| {
        of(ambiguous.attempt, &follow_ups(context.terms, context.history, ambiguous))
    };
    let is_wrong = |ambiguous: &AmbiguousWrite<'_, '_>| {
        let how = recovered(*ambiguous);
        // No start was left that could have continued.
        let is_over =
            how == Recovery::GaveUp && was_ended_by_interrupt(context.history, ambiguous.attempt.caller());
        !permitted.contains(&how) && !is_over
    };
    let wrong: Vec<AmbiguousWrite<'_, '_>> = recoverable(context.terms, context.history)
        .into_iter()
        .take(MAX_AMBIGUOUS_WRITES)
        .filter(is_wrong)
        .collect();
    let first = *wrong.first()?;
    let how = recovered(first);
    let words: Vec<&str> = permitted.iter().map(|recovery| recovery.word()).collect();
    let ways: Vec<&str> = permitted.iter().map(|recovery| advice(*recovery)).collect();
    let more = match wrong.len() {
        1 => String::new(),
        number => format!(" The same is true of {} more ambiguous replies.", number - 1),
    };
    let next = follow_ups(context.terms, context.history, first).into_iter().next();
    let next = next.map(|next| match next {
        FollowUp::Read(read) => read.n,
        FollowUp::RetriedWrite(again) => again.n,
    });
    Some(Finding {
        kind: FindingKind::UnexpectedRecovery,
        remedy: Remedy::of(FindingKind::UnexpectedRecovery),
        fails: true,
        message: format!(
            "After {}, where {}, the subject {} ({}). The scenario permits {}.{more}",
            first.attempt.name(),
            seen(first.attempt),
            done(how),
            how.word(),
            words.join(" and "),
        ),
        fix: format!("After an ambiguous reply, {}.", ways.join(", or ")),
        entries: entries_of(first.attempt).into_iter().chain(next).collect(),
    })
}

/// What the subject did, as a clause.
fn done(how: Recovery) -> &'static str {
    match how {
        Recovery::NoneNeeded => "had nothing to recover from",
        Recovery::SameKey => "retried with the same key",
        Recovery::NewKey => "retried with another key and without a read",
        Recovery::Blind => "retried without a key and without a read",
        Recovery::VerifiedThenSkipped => "read the state and did not retry",
        Recovery::VerifiedThenRetried => "read the state and retried",
        Recovery::GaveUp => "neither read the state nor retried",
    }
}

/// What the subject should do instead.
fn advice(permitted: Recovery) -> &'static str {
    match permitted {
        Recovery::NoneNeeded | Recovery::GaveUp => "stop and claim unknown",
        Recovery::SameKey => "retry with the key of the first attempt",
        Recovery::NewKey => "retry with a new key",
        Recovery::Blind => "retry",
        Recovery::VerifiedThenSkipped => "read the state and do not retry",
        Recovery::VerifiedThenRetried => "read the state and retry only what is missing",
    }
}

#[cfg(test)]
mod tests;
