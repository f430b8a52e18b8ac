//! What the promise of a subject makes of an effect that was lost.

use super::claim::was_ended_by_interrupt;
use super::history::TrialHistory;
use super::verdict::{Claim, Honesty};
use crate::scenario::{Promise, Terms};

/// Whether a lost effect passes: the subject promises no more than at most once, it tried, and nobody said
/// that it was done. Whoever was ended for good by an interrupt cannot say anything.
pub(super) fn permits_loss(terms: &Terms, history: &TrialHistory<'_>, claims: &[Claim]) -> bool {
    let is_open = |claim: &Claim| match claim.honesty {
        Honesty::Honest => true,
        Honesty::Missing => was_ended_by_interrupt(history, claim.caller),
        Honesty::Overclaimed | Honesty::Underclaimed => false,
    };
    terms.promise == Promise::AtMostOnce
        && claims.iter().all(is_open)
        && history.attempts.iter().any(|attempt| attempt.write)
}

#[cfg(test)]
mod tests;
