//! What the subject did after the first ambiguous answer.

use super::history::{Attempt, TrialHistory};
use super::retries::{Again, Next, afterwards, recoverable};
use super::verdict::Recovery;
use crate::scenario::Terms;

/// What the subject did after the first ambiguous answer.
pub(super) fn recovery(terms: &Terms, history: &TrialHistory<'_>) -> Recovery {
    let Some(first) = recoverable(terms, history).into_iter().next() else { return Recovery::NoneNeeded };
    of(first.attempt, &afterwards(terms, history, first))
}

/// What doing this after a doubted write is called.
pub(super) fn of(first: &Attempt<'_>, next: &[Next<'_, '_>]) -> Recovery {
    match next.first() {
        None => Recovery::GaveUp,
        Some(Next::Looked(_)) if next.iter().any(|next| matches!(next, Next::Again(_))) => {
            Recovery::VerifiedThenRetried
        }
        Some(Next::Looked(_)) => Recovery::VerifiedThenSkipped,
        Some(Next::Again(again)) => by_key(first, again),
    }
}

fn by_key(first: &Attempt<'_>, again: &Again<'_, '_>) -> Recovery {
    match (first.received.key.as_deref(), again.key) {
        (_, None) => Recovery::Blind,
        (Some(one), Some(other)) if one == other => Recovery::SameKey,
        (_, Some(_)) => Recovery::NewKey,
    }
}

#[cfg(test)]
mod tests;
