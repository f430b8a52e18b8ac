//! The outcome of a verdict in one word, as scenarios write it for their controls.

use super::verdict::{FindingKind, Outcome, TrialStatus, Verdict};
use crate::scenario::ControlOutcome;

impl Verdict {
    /// Pass, void, the outcome if it is not exactly-once, otherwise the worst finding that fails.
    #[must_use]
    pub fn control_outcome(&self) -> ControlOutcome {
        match self.result {
            TrialStatus::Pass => return ControlOutcome::Pass,
            TrialStatus::Void => return ControlOutcome::Void,
            TrialStatus::Fail => {}
        }
        match self.outcome {
            Outcome::Altered => ControlOutcome::Altered,
            Outcome::Lost => ControlOutcome::Lost,
            Outcome::Unintended => ControlOutcome::Unintended,
            Outcome::Duplicated => ControlOutcome::Duplicated,
            Outcome::Diverged => ControlOutcome::Diverged,
            Outcome::ExactlyOnce => {
                // Findings are sorted, worst first; a trial that failed has one that fails.
                self.findings
                    .iter()
                    .find(|finding| finding.fails)
                    .map_or(ControlOutcome::Altered, |finding| of_kind(finding.kind))
            }
        }
    }
}

fn of_kind(kind: FindingKind) -> ControlOutcome {
    match kind {
        FindingKind::Diverged => ControlOutcome::Diverged,
        FindingKind::Duplicated | FindingKind::Compensated => ControlOutcome::Duplicated,
        FindingKind::Unintended | FindingKind::UnintendedAttempted => ControlOutcome::Unintended,
        FindingKind::Lost => ControlOutcome::Lost,
        FindingKind::Altered | FindingKind::AlteredAttempted | FindingKind::Record => ControlOutcome::Altered,
        FindingKind::Overclaimed => ControlOutcome::Overclaimed,
        FindingKind::Underclaimed => ControlOutcome::Underclaimed,
        FindingKind::UnexpectedClaim => ControlOutcome::UnexpectedClaim,
        FindingKind::MissingClaim => ControlOutcome::MissingClaim,
        FindingKind::OverBudget => ControlOutcome::OverBudget,
        FindingKind::NotAttempted => ControlOutcome::NotAttempted,
        FindingKind::Escaped => ControlOutcome::Escaped,
        FindingKind::TimeUp => ControlOutcome::TimeUp,
        FindingKind::OverLimit => ControlOutcome::OverLimit,
        FindingKind::LateWrite | FindingKind::LateRead => ControlOutcome::LateWrite,
        FindingKind::EarlyRetry => ControlOutcome::EarlyRetry,
        FindingKind::UnexpectedRecovery => ControlOutcome::UnexpectedRecovery,
        // This finding never fails.
        FindingKind::TimeoutNotReached => ControlOutcome::Void,
    }
}

#[cfg(test)]
mod tests;
