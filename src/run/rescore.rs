//! Scores the ledgers of a saved run again: the verdicts of its report are replaced by those that the ledgers come to.

use crate::report::SavedRun;
use crate::score::score;

/// Replaces every verdict by what its ledger comes to now. A ledger that is missing or torn proves nothing, and a run that lacks trials was not
/// finished.
pub fn rescore(run: &mut SavedRun) {
    let due = usize::try_from(run.report.trials).unwrap_or(usize::MAX);
    run.report.interrupted |= run.report.cases.iter().any(|case| case.trials.len() < due);
    for case in &mut run.report.cases {
        for trial in &mut case.trials {
            let saved = run.ledgers.get(&trial.ledger);
            let torn = match saved {
                Some(saved) => saved.torn.as_ref().map(ToString::to_string),
                None => Some("it holds nothing of this trial".to_owned()),
            };
            trial.verdict = score(&case.terms, saved.map_or(&[], |saved| &saved.entries), torn.as_deref());
        }
    }
}
