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
            // Each of these faults fires once more, on the attempt that carries the task, and costs a retry.
            let early =
                history.fired_too_early(&terms.faults).filter(|(_, early)| *early == operation).count();
            let early = u32::try_from(early).unwrap_or(u32::MAX);
            AttemptsMade {
                operation: operation.to_owned(),
                made,
                refused,
                at_least: budgets.iter().map(|budget| budget.at_least).max().unwrap_or_default(),
                layers: cost_of(operation).and_then(|term| retry_layers(history, term)),
                budget: budgets
                    .iter()
                    .filter_map(|budget| budget.at_most)
                    .min()
                    .map(|most| most.saturating_add(early)),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use mock_services::fault::{CommitKind, ReplyKind};
    use mock_services::ledger::{CommitTiming, Event, RefusedRequest};
    use mock_services::service::TaskShare;

    use super::*;
    use crate::scenario::{ClaimedOutcome, ControlOutcome, Planned};
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
            declared_answer: None,
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
    fn a_fault_that_also_met_an_attempt_with_a_part_of_the_task_costs_no_budget() {
        let terms = Terms {
            faults: vec![Planned {
                text: String::new(),
                operation: "payment.charge".to_owned(),
                optional: false,
                fault: None,
            }],
            attempts: vec![Budget { operation: "payment.charge".to_owned(), at_least: 0, at_most: Some(1) }],
            ..terms([due("o1", 10, 1)])
        };
        let mut planned = LedgerScript::new();
        planned.started(1);
        planned.share = TaskShare::Part;
        let first = planned.received("payment.charge", None, &charge("o1", 10));
        planned.fault(first, 0, CommitKind::Never, ReplyKind::Status);
        planned.replied(first, Sees::Status(503));
        let only_in_part = score(&terms, &planned.clone().end(), None);
        assert_ne!(only_in_part.result, TrialStatus::Void, "a caller that never acts");
        planned.share = TaskShare::Full;
        let with_second = |has_fault: bool| {
            let mut script = planned.clone();
            let second = script.received("payment.charge", None, &charge("o1", 10));
            if has_fault {
                script.fault(second, 0, CommitKind::Now, ReplyKind::Ok);
            }
            script.committed(second, "payment.charge", &charge("o1", 10), CommitTiming::Now);
            script.replied(second, Sees::Ok);
            script.claims(1, ClaimedOutcome::Done);
            score(&terms, &script.end(), None)
        };
        let spent = with_second(false);
        assert_eq!(spent.result, TrialStatus::Void, "the fault did not meet the attempt that acts");
        let verdict = with_second(true);
        assert_eq!(verdict.result, TrialStatus::Pass, "{:?}", verdict.findings);
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
