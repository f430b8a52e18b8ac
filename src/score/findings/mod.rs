//! Findings: what the ledger shows to be wrong, with the entries that prove it and the way to mend it. Each
//! file knows one kind of thing and only puts into words what was judged before.

mod asked;
mod attempted;
mod early;
mod ends;
pub(super) mod escaped;
mod fix;
mod late;
mod lists;
mod lost;
mod often;
mod overtime;
mod recovered;
mod said;
mod silence;
mod words;

pub(super) use words::stretch;

use super::assignment::Assignment;
use super::attempted::Attempted;
use super::history::{Attempt, TrialHistory};
use super::records::Mismatch;
use super::verdict::{AttemptsMade, Claim, Finding, IntentOutcome};
use crate::scenario::Terms;

/// No finding names more entries than this.
const MOST_ENTRIES: usize = 32;

/// All that was judged, for those who put it into words.
pub(super) struct FindingContext<'s, 'a> {
    pub(super) terms: &'s Terms,
    pub(super) history: &'s TrialHistory<'a>,
    pub(super) assignment: &'s Assignment,
    pub(super) attempted: &'s Attempted,
    pub(super) intents: &'s [IntentOutcome],
    pub(super) mismatches: &'s [Mismatch<'s>],
    pub(super) claims: &'s [Claim],
    /// Those of earlier starts.
    pub(super) earlier: &'s [Claim],
    pub(super) attempts: &'s [AttemptsMade],
    /// Whether a caller could not be started: what was not done is not its fault.
    pub(super) unstartable: bool,
    /// Whether what was lost passes, because the subject promises no more than at most once.
    pub(super) permits_loss: bool,
}

/// All findings, worst first.
pub(super) fn findings(scene: &FindingContext<'_, '_>) -> Vec<Finding> {
    let mut found = lists::of_intents(scene);
    found.extend(asked::unintended(scene));
    found.extend(often::undone_unintended(scene));
    found.extend(attempted::findings(scene));
    found.extend(asked::records(scene));
    found.extend(said::findings(scene));
    found.extend(ends::findings(scene));
    found.extend(escaped::findings(scene));
    found.extend(late::findings(scene));
    found.extend(early::finding(scene));
    found.extend(recovered::finding(scene));
    found.extend(silence::finding(scene));
    for finding in &mut found {
        finding.entries.sort_unstable();
        finding.entries.dedup();
        finding.entries.truncate(MOST_ENTRIES);
    }
    found.sort_by_key(|finding| (!finding.fails, finding.kind));
    found
}

/// The entries that tell of an attempt: that it came, how it was answered, what struck.
fn entries_of(attempt: &Attempt<'_>) -> Vec<u64> {
    let answer = attempt.answer.map(|answer| answer.n);
    let interruption = attempt.interruption.map(|interruption| interruption.n);
    let unsent = attempt.unsent.map(|(n, _)| n);
    [Some(attempt.n), answer, interruption, unsent].into_iter().flatten().collect()
}

/// The first letter made large: sentences begin so.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests;
