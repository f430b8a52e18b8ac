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
mod tests {
    use mock_services::service::Fields;

    use crate::domain::SubjectEvent;
    use crate::scenario::{Budget, ClaimedOutcome, ControlOutcome, Terms};
    use crate::score::score;
    use crate::score::testing::{LedgerScript, Sees, due, terms};

    fn comes(terms: &Terms, go_on: impl FnOnce(&mut LedgerScript)) -> ControlOutcome {
        let mut script = LedgerScript::new();
        script.charge(None, "o1", 10, Sees::Ok);
        go_on(&mut script);
        score(terms, &script.end(), None).control_outcome()
    }

    #[test]
    fn the_outcome_comes_before_all_else_and_then_the_worst_finding() {
        let mut terms = terms([due("o1", 10, 1)]);
        terms.attempts =
            vec![Budget { operation: "payment.charge".to_owned(), at_least: 0, at_most: Some(1) }];
        assert_eq!(comes(&terms, |_| {}), ControlOutcome::Pass);
        let write_without_commit = |script: &mut LedgerScript| {
            _ = script.write_without_commit("payment.charge", None, &Fields::new(), Sees::Status(400))
        };
        assert_eq!(comes(&terms, write_without_commit), ControlOutcome::OverBudget);
        assert_eq!(
            comes(&terms, |script| (
                write_without_commit(script),
                _ = script.claims(1, ClaimedOutcome::NotDone)
            )
                .1),
            ControlOutcome::Underclaimed
        );
        assert_eq!(
            comes(&terms, |script| _ = script.charge(None, "o1", 10, Sees::Ok)),
            ControlOutcome::Duplicated
        );
        let escape = |script: &mut LedgerScript| _ = script.escaped("api.stripe.com");
        assert_eq!(comes(&terms, escape), ControlOutcome::Escaped);
        let over = |script: &mut LedgerScript| {
            _ = script.event(&SubjectEvent::OverLimit { limit: "output".to_owned() })
        };
        assert_eq!(comes(&terms, over), ControlOutcome::OverLimit);
    }

    #[test]
    fn every_word_is_its_own() {
        let words: std::collections::BTreeSet<_> =
            ControlOutcome::ALL.iter().map(|control_outcome| control_outcome.as_str()).collect();
        assert_eq!(words.len(), ControlOutcome::ALL.len());
        for control_outcome in ControlOutcome::ALL {
            assert_eq!(
                serde_json::to_value(control_outcome).unwrap(),
                control_outcome.as_str(),
                "the word is the one that files have"
            );
        }
    }
}
