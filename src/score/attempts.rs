//! The number of attempts of each operation, and the budgets.

use std::collections::BTreeMap;

use super::history::TrialHistory;
use super::retry_layers::retry_layers;
use super::verdict::AttemptsMade;
use crate::scenario::{Budget, Terms};

/// The attempts of each operation that was used or has a budget, by name. Requests that a service refused are
/// counted separately.
pub(super) fn attempts(terms: &Terms, history: &TrialHistory<'_>) -> Vec<AttemptsMade> {
    let mut made: BTreeMap<&str, (u32, u32)> =
        terms.attempts.iter().map(|budget| (budget.operation.as_str(), (0, 0))).collect();
    for attempt in &history.attempts {
        let (count, _) = made.entry(attempt.operation()).or_default();
        *count = count.saturating_add(1);
    }
    for operation in history.refusals.iter().filter_map(|refusal| refusal.operation) {
        // An operation that was only refused and has no budget is not listed.
        if let Some((_, refused)) = made.get_mut(operation) {
            *refused = refused.saturating_add(1);
        }
    }
    let cost_of = |name: &str| terms.operations.iter().find(|term| term.cost && term.name == name);
    made.into_iter()
        .map(|(operation, (made, refused))| {
            let budgets: Vec<&Budget> =
                terms.attempts.iter().filter(|budget| budget.operation == operation).collect();
            AttemptsMade {
                operation: operation.to_owned(),
                made,
                refused,
                at_least: budgets.iter().map(|budget| budget.at_least).max().unwrap_or_default(),
                layers: cost_of(operation).and_then(|term| retry_layers(history, term)),
                budget: budgets.iter().filter_map(|budget| budget.at_most).min(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use mock_services::ledger::{Event, RefusedRequest};

    use super::*;
    use crate::scenario::{ClaimedOutcome, ControlOutcome};
    use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
    use crate::score::{FindingKind, TrialStatus, score};

    /// A declined charge is expected: nothing is due, and it must be tried.
    fn declined(at_least: u32, at_most: Option<u32>) -> Terms {
        let budget = Budget { operation: "payment.charge".to_owned(), at_least, at_most };
        Terms { attempts: vec![budget], claim: vec![ClaimedOutcome::NotDone], ..terms([due("o1", 10, 0)]) }
    }

    fn refuse(script: &mut LedgerScript, operation: &'static str) {
        script.add(Event::Refused(Box::new(RefusedRequest {
            service: "payment".into(),
            operation: Some(operation.into()),
            method: "POST".into(),
            path: "/v1/charges".into(),
            status: 402,
            caller: 1,
            connection: 1,
            key: None,
            reason: None,
            unsupported: None,
            undecided: None,
            message: None,
            answer: None,
        })));
    }

    fn control_outcome(terms: &Terms, tell: impl FnOnce(&mut LedgerScript)) -> ControlOutcome {
        let mut script = LedgerScript::new();
        script.started(1);
        tell(&mut script);
        script.claims(1, ClaimedOutcome::NotDone);
        score(terms, &script.end(), None).control_outcome()
    }

    #[test]
    fn one_read_and_not_done_is_not_an_attempt() {
        let terms = declined(1, Some(3));
        assert_eq!(
            control_outcome(&terms, |script| _ = script.read("payment.list")),
            ControlOutcome::Failed(FindingKind::NotAttempted)
        );
        assert_eq!(
            control_outcome(&declined(0, Some(3)), |script| _ = script.read("payment.list")),
            ControlOutcome::Pass
        );
    }

    #[test]
    fn the_lower_bound_counts_attempts_and_refusals_and_the_upper_one_attempts() {
        let terms = declined(2, Some(2));
        let write_without_commit = |script: &mut LedgerScript| {
            _ = script.write_without_commit("payment.charge", None, &charge("o1", 10), Sees::Status(503))
        };
        assert_eq!(
            control_outcome(&terms, |script| refuse(script, "payment.charge")),
            ControlOutcome::Failed(FindingKind::NotAttempted)
        );
        let both = |script: &mut LedgerScript| {
            refuse(script, "payment.charge");
            write_without_commit(script);
        };
        assert_eq!(control_outcome(&terms, both), ControlOutcome::Pass);
        let many_refusals = |script: &mut LedgerScript| (0..5).for_each(|_| refuse(script, "payment.charge"));
        assert_eq!(control_outcome(&terms, many_refusals), ControlOutcome::Pass);
        assert_eq!(
            control_outcome(&terms, |script| (0..3).for_each(|_| write_without_commit(script))),
            ControlOutcome::Failed(FindingKind::OverBudget)
        );
        assert_eq!(
            control_outcome(&declined(1, None), |script| (0..9).for_each(|_| write_without_commit(script))),
            ControlOutcome::Pass
        );
    }

    #[test]
    fn a_refusal_of_another_operation_is_no_attempt() {
        assert_eq!(
            control_outcome(&declined(1, Some(3)), |script| refuse(script, "payment.refund")),
            ControlOutcome::Failed(FindingKind::NotAttempted)
        );
    }

    #[test]
    fn a_torn_ledger_may_have_held_the_attempt() {
        let mut script = LedgerScript::new();
        script.read("payment.list");
        script.claims(1, ClaimedOutcome::NotDone);
        let verdict = score(&declined(1, None), &script.end(), Some("a line is missing"));
        let finding =
            verdict.findings.iter().find(|finding| finding.kind == FindingKind::NotAttempted).unwrap();
        assert!(!finding.fails);
        assert_eq!(verdict.result, TrialStatus::Void);
    }
}
