//! Whether the promise of a subject allows a lost effect.

use super::claim::was_ended_by_interrupt;
use super::history::TrialHistory;
use super::verdict::{Claim, Honesty};
use crate::scenario::{Promise, Terms};

/// Whether a lost effect passes: the subject promises only at most once, it tried, and no caller claimed that
/// it was done. A caller that an interrupt ended cannot make a claim.
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
