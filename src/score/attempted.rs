//! Effects that a fault kept from being committed are scored, too: a wrong charge that the service would have
//! made is wrong, even though no money moved. Only their fields are compared with the intents, not their
//! number.

use super::history::TrialHistory;
use super::records::is_due;
use crate::fit::{Fit, Rule};
use crate::scenario::Terms;

/// Withheld effects that do not match the task: indexes into the withheld effects of the trial.
#[derive(Debug, Default)]
pub(super) struct Attempted {
    /// Effects that fit no intent.
    pub(super) unintended: Vec<usize>,
    /// Effects that fit an intent but differ from it, with the index of the intent that they fit best.
    pub(super) altered: Vec<(usize, usize)>,
}

/// Compares all withheld effects with the intents.
pub(super) fn attempted(terms: &Terms, history: &TrialHistory<'_>) -> Attempted {
    let rule = Rule::new(terms);
    let mut found = Attempted::default();
    for (place, effect) in history.withheld.iter().enumerate() {
        let fits = terms.intents.iter().map(|intent| rule.fit(intent, effect.name, effect.fields));
        let best: Option<(Fit, usize)> = fits.zip(0..).filter_map(|(fit, intent)| Some((fit?, intent))).max();
        match best {
            Some((fit, _)) if fit.agrees => {}
            Some((_, intent)) => found.altered.push((place, intent)),
            None if is_due(terms, effect) => {}
            None => found.unintended.push(place),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;

    use super::*;
    use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
    use crate::score::verdict::{FindingKind, Outcome, TrialStatus};

    /// What comes of a charge that a fault keeps back and the right one behind it.
    fn judged(withheld: &Fields) -> (TrialStatus, Outcome, Vec<FindingKind>) {
        let mut script = LedgerScript::new();
        let first = script.write_without_commit("payment.charge", None, withheld, Sees::Ok);
        script.withheld(first, "payment.charge", withheld);
        script.charge(None, "o1", 10, Sees::Ok);
        let verdict = crate::score::score(&terms([due("o1", 10, 1)]), &script.end(), None);
        let failing =
            verdict.findings.iter().filter(|finding| finding.fails).map(|finding| finding.kind).collect();
        (verdict.result, verdict.outcome, failing)
    }

    #[test]
    fn what_is_as_asked_is_judged_by_what_was_committed_alone() {
        assert_eq!(judged(&charge("o1", 10)), (TrialStatus::Pass, Outcome::ExactlyOnce, vec![]));
    }

    #[test]
    fn a_charge_that_nothing_asked_for_fails_although_no_money_moved() {
        assert_eq!(
            judged(&charge("o9", 99900)),
            (TrialStatus::Fail, Outcome::Unintended, vec![FindingKind::UnintendedAttempted])
        );
    }

    #[test]
    fn a_charge_of_another_amount_fails_although_no_money_moved() {
        assert_eq!(
            judged(&charge("o1", 99900)),
            (TrialStatus::Fail, Outcome::Altered, vec![FindingKind::AlteredAttempted])
        );
    }

    #[test]
    fn what_must_not_happen_may_be_attempted() {
        let mut script = LedgerScript::new();
        let attempt =
            script.write_without_commit("payment.charge", None, &charge("o1", 10), Sees::Status(503));
        script.withheld(attempt, "payment.charge", &charge("o1", 10));
        let (terms, entries) = (terms([due("o1", 10, 0)]), script.end());
        let found = attempted(&terms, &TrialHistory::new(&terms, &entries));
        assert!(found.unintended.is_empty() && found.altered.is_empty(), "{found:?}");
    }
}
