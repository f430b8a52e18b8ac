//! Scores the ledgers of a saved run again, and replaces the verdicts of its report.

use crate::results::{Report, SavedRun};
use crate::score::{TrialStatus, score};

/// Replaces every verdict by that of its ledger. The trial of a missing or torn ledger is void, and a run
/// with missing trials was interrupted.
pub fn rescore(run: &mut SavedRun) {
    // The cases of a certification have different numbers of trials.
    let made: usize = run.report.cases.iter().map(|case| case.trials.len()).sum();
    run.report.interrupted |= (made as u64) < run.report.planned;
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

/// Scores a run that has just ended again, and keeps the worse of both verdicts: the one from the trial,
/// because a subject may have changed the file, and the one from the file, because entries may be missing in
/// it.
pub fn confirm(run: &mut SavedRun) {
    let seen = run.report.clone();
    rescore(run);
    keep_worse(&mut run.report, &seen);
    for trial in run.report.cases.iter_mut().flat_map(|case| &mut case.trials) {
        trial.seal = run.ledgers.get(&trial.ledger).map(|saved| saved.seal.clone()).unwrap_or_default();
    }
}

fn keep_worse(report: &mut Report, seen: &Report) {
    for (case, seen) in report.cases.iter_mut().zip(&seen.cases) {
        for (trial, seen) in case.trials.iter_mut().zip(&seen.trials) {
            if severity(seen.verdict.result) > severity(trial.verdict.result) {
                trial.verdict = seen.verdict.clone();
            }
        }
    }
}

const fn severity(result: TrialStatus) -> u8 {
    match result {
        TrialStatus::Pass => 0,
        TrialStatus::Void => 1,
        TrialStatus::Fail => 2,
    }
}
