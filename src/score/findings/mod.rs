//! Findings: what the ledger shows to be wrong, with the entries that prove it and the fix. Each
//! file describes one kind of finding; the verdict is already decided.

mod approvals;
mod claims;
mod copies;
mod crash;
mod duplicates;
mod early_retry;
mod end_state;
mod fix;
mod limits;
mod lists;
mod lost;
mod order;
pub(super) mod outside;
mod recovered;
mod unacknowledged;
mod unexpected;
mod words;

pub(super) use words::duration_text;

use super::assignment::Assignment;
use super::end_state::{BrokenInvariant, NotLive};
use super::history::{Attempt, TrialHistory};
use super::outcome::Attempted;
use super::records::Mismatch;
use super::verdict::{AttemptsMade, Claim, Finding, FindingKind, IntentOutcome, Remedy};
use crate::scenario::Terms;

/// No finding names more entries than this.
const MAX_ENTRIES: usize = 32;

/// The results of scoring that findings describe.
pub(super) struct FindingContext<'s, 'a> {
    pub(super) terms: &'s Terms,
    pub(super) history: &'s TrialHistory<'a>,
    pub(super) assignment: &'s Assignment,
    pub(super) attempted: &'s Attempted,
    pub(super) intents: &'s [IntentOutcome],
    pub(super) mismatches: &'s [Mismatch<'s>],
    pub(super) broken: &'s [BrokenInvariant<'s>],
    pub(super) not_live: &'s [NotLive<'s>],
    pub(super) claims: &'s [Claim],
    /// Those of earlier starts.
    pub(super) earlier: &'s [Claim],
    pub(super) attempts: &'s [AttemptsMade],
    /// Whether a caller could not be started: what was not done is not its fault.
    pub(super) unstartable: bool,
    /// Whether lost effects pass, because the subject promises only at most once.
    pub(super) permits_loss: bool,
}

/// All findings, before anything excuses them.
pub(super) fn findings(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let mut found = lists::of_intents(context);
    found.extend(unexpected::unintended(context));
    found.extend(duplicates::undone_unintended(context));
    found.extend(unexpected::withheld(context));
    found.extend(unexpected::records(context));
    found.extend(end_state::broken(context));
    found.extend(end_state::not_live(context));
    found.extend(claims::findings(context));
    found.extend(limits::findings(context));
    found.extend(outside::escaped(context));
    found.extend(outside::late_requests(context));
    found.extend(early_retry::finding(context));
    found.extend(recovered::finding(context));
    found.extend(order::findings(context));
    found.extend(approvals::findings(context));
    found.extend(unacknowledged::finding(context));
    for finding in &mut found {
        copies::name(context, finding);
        finding.entries.sort_unstable();
        finding.entries.dedup();
        finding.entries.truncate(MAX_ENTRIES);
    }
    found
}

/// Sorts findings, worst first, and leaves out the claim that a crash kept from being made if another finding tells of
/// the crash: never the last one that fails the trial.
pub(super) fn arrange(findings: &mut Vec<Finding>) {
    let tells_of_crash = |finding: &Finding| finding.remedy == Remedy::FixCrash;
    let is_claim = |finding: &Finding| finding.kind == FindingKind::MissingClaim;
    let told: Vec<bool> = findings
        .iter()
        .filter(|finding| tells_of_crash(finding) && !is_claim(finding))
        .map(|finding| finding.fails)
        .collect();
    let is_told = |claim: &Finding| told.iter().any(|fails| *fails || !claim.fails);
    findings.retain(|finding| !(tells_of_crash(finding) && is_claim(finding) && is_told(finding)));
    findings.sort_by_key(|finding| (!finding.fails, finding.kind));
}

/// The entries of an attempt: the request, the reply, the interrupt.
fn entries_of(attempt: &Attempt<'_>) -> Vec<u64> {
    let answer = attempt.answer.map(|answer| answer.n);
    let interruption = attempt.interruption.map(|interruption| interruption.n);
    let unsent = attempt.unsent.map(|(n, _)| n);
    [Some(attempt.n), answer, interruption, unsent].into_iter().flatten().collect()
}

/// The text with its first letter in upper case.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests;
