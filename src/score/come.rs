//! What a verdict comes to in one word, as a scenario names it for its controls.

use super::verdict::{FindingKind, Outcome, Result3, Verdict};
use crate::scenario::Come;

impl Verdict {
    /// What it comes to: pass, void, the outcome where that is not exactly-once, otherwise the worst thing that failed.
    #[must_use]
    pub fn come(&self) -> Come {
        match self.result {
            Result3::Pass => return Come::Pass,
            Result3::Void => return Come::Void,
            Result3::Fail => {}
        }
        match self.outcome {
            Outcome::Altered => Come::Altered,
            Outcome::Lost => Come::Lost,
            Outcome::Unintended => Come::Unintended,
            Outcome::Duplicated => Come::Duplicated,
            Outcome::Diverged => Come::Diverged,
            Outcome::ExactlyOnce => {
                // Findings stand worst first; a trial that failed has one that fails.
                self.findings.iter().find(|finding| finding.fails).map_or(Come::Altered, |finding| of_kind(finding.kind))
            }
        }
    }
}

fn of_kind(kind: FindingKind) -> Come {
    match kind {
        FindingKind::Diverged => Come::Diverged,
        FindingKind::Duplicated | FindingKind::Compensated => Come::Duplicated,
        FindingKind::Unintended | FindingKind::UnintendedAttempted => Come::Unintended,
        FindingKind::Lost => Come::Lost,
        FindingKind::Altered | FindingKind::AlteredAttempted | FindingKind::Record => Come::Altered,
        FindingKind::Overclaimed => Come::Overclaimed,
        FindingKind::Underclaimed => Come::Underclaimed,
        FindingKind::UnexpectedClaim => Come::UnexpectedClaim,
        FindingKind::MissingClaim => Come::MissingClaim,
        FindingKind::OverBudget => Come::OverBudget,
        FindingKind::NotAttempted => Come::NotAttempted,
        FindingKind::Escaped => Come::Escaped,
        FindingKind::TimeUp => Come::TimeUp,
        FindingKind::OverLimit => Come::OverLimit,
        FindingKind::LateWrite | FindingKind::LateRead => Come::LateWrite,
        FindingKind::EarlyRetry => Come::EarlyRetry,
        FindingKind::UnexpectedRecovery => Come::UnexpectedRecovery,
        // It is only ever noted.
        FindingKind::TimeoutNotReached => Come::Void,
    }
}

#[cfg(test)]
#[path = "come_tests.rs"]
mod tests;
