//! How the subject recovered from the first ambiguous reply.

use super::follow_ups::{FollowUp, RetriedWrite, follow_ups, recoverable};
use super::history::{Attempt, TrialHistory};
use super::verdict::Recovery;
use crate::scenario::Terms;

/// How the subject recovered from the first ambiguous reply.
pub(super) fn recovery(terms: &Terms, history: &TrialHistory<'_>) -> Recovery {
    let Some(first) = recoverable(terms, history).into_iter().next() else { return Recovery::NoneNeeded };
    of(first.attempt, &follow_ups(terms, history, first))
}

/// The name of this action after an ambiguous write.
pub(super) fn of(first: &Attempt<'_>, next: &[FollowUp<'_, '_>]) -> Recovery {
    match next.first() {
        None => Recovery::GaveUp,
        Some(FollowUp::Read(_)) if next.iter().any(|next| matches!(next, FollowUp::RetriedWrite(_))) => {
            Recovery::VerifiedThenRetried
        }
        Some(FollowUp::Read(_)) => Recovery::VerifiedThenSkipped,
        Some(FollowUp::RetriedWrite(again)) => by_key(first, again),
    }
}

fn by_key(first: &Attempt<'_>, again: &RetriedWrite<'_, '_>) -> Recovery {
    match (first.received.key.as_deref(), again.key) {
        (_, None) => Recovery::Blind,
        (Some(one), Some(other)) if one == other => Recovery::SameKey,
        (_, Some(_)) => Recovery::NewKey,
    }
}

#[cfg(test)]
mod tests;
