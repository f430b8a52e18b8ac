//! The verdicts of a saved run: scored again from its ledgers, or only if a ledger is not the one that was scored.

use mock_services::ledger::{Entry, SavedLedger};
use sha2::{Digest as _, Sha256};

use super::store::{JudgeTrial, TrialLedgers};
use super::{CaseReport, Report, SavedRun, TrialReport};
use crate::scenario::Terms;
use crate::score::{Verdict, score};

/// Identifies the entries that a verdict was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntriesDigest([u8; 32]);

impl EntriesDigest {
    /// `None` if an entry cannot be written: then nothing equals it.
    pub(crate) fn new(entries: &[Entry]) -> Option<Self> {
        let mut hasher = Sha256::new();
        for entry in entries {
            hasher.update(serde_json::to_vec(entry).ok()?);
        }
        Some(EntriesDigest(hasher.finalize().into()))
    }
}

/// Replaces every verdict by that of its ledger. The trial of a missing or torn ledger is void, and a run
/// with missing trials was interrupted.
pub fn rescore(run: &mut SavedRun) {
    judge_all(run, rescore_trial);
}

/// Completes the verdicts of a run that has just ended, each with its own ledgers.
pub fn confirm(run: &mut SavedRun) {
    judge_all(run, confirm_trial);
}

fn judge_all(run: &mut SavedRun, judge: JudgeTrial) {
    note_missing_trials(&mut run.report);
    for CaseReport { terms, trials, .. } in &mut run.report.cases {
        for trial in trials {
            judge(terms, trial, TrialLedgers::of(trial, &run.ledgers));
        }
    }
}

/// Replaces the verdict by that of the ledgers.
pub(super) fn rescore_trial(terms: &Terms, trial: &mut TrialReport, ledgers: TrialLedgers<'_>) {
    trial.verdict = verdict_of(terms, trial, ledgers);
}

/// Completes a trial. Its verdict stands if the ledger in the file is the one that it was made from. Otherwise the file is
/// scored, and the worse of both verdicts counts: late requests were added to the ledger after the trial, lines are
/// missing, the subject changed the file, or the verdict is from the journal of an interrupted run.
pub(super) fn confirm_trial(terms: &Terms, trial: &mut TrialReport, ledgers: TrialLedgers<'_>) {
    let seal_of = |saved: Option<&SavedLedger>| saved.map(|saved| saved.seal.clone()).unwrap_or_default();
    trial.seal = seal_of(ledgers.last);
    if let Some(first) = &mut trial.first_try {
        first.seal = seal_of(ledgers.first);
    }
    // A first try is not in memory any more.
    let is_scored = ledgers.last.is_some_and(|saved| is_scored(saved, trial.scored));
    if !is_scored || trial.first_try.is_some() {
        let verdict = verdict_of(terms, trial, ledgers);
        if verdict.result >= trial.verdict.result {
            trial.verdict = verdict;
        }
    }
}

/// Whether a verdict was made from this whole ledger.
fn is_scored(saved: &SavedLedger, scored: Option<EntriesDigest>) -> bool {
    saved.torn.is_none() && scored.is_some() && scored == EntriesDigest::new(&saved.entries)
}

pub(super) fn note_missing_trials(report: &mut Report) {
    // The cases of a certification have different numbers of trials.
    let made: usize = report.cases.iter().map(|case| case.trials.len()).sum();
    report.interrupted |= (made as u64) < report.planned;
}

fn verdict_of(terms: &Terms, trial: &TrialReport, ledgers: TrialLedgers<'_>) -> Verdict {
    let saved = ledgers.last;
    let torn = match saved {
        Some(saved) => saved.torn.as_ref().map(ToString::to_string),
        None => Some("it holds nothing of this trial".to_owned()),
    };
    let torn = torn.or_else(|| {
        trial.first_try.as_ref()?;
        let is_slow = ledgers.first.is_some_and(|first| first.torn.is_none() && was_slow_start(terms, first));
        (!is_slow).then(|| "its first try is not a complete one whose time went to starting".to_owned())
    });
    score(terms, saved.map_or(&[], |saved| &saved.entries), torn.as_deref()).shrunk()
}

/// Whether this is the ledger of a trial that is tried again.
pub(super) fn was_slow_start(terms: &Terms, saved: &SavedLedger) -> bool {
    score(terms, &saved.entries, None).is_slow_start()
}

#[cfg(test)]
mod tests {
    use mock_services::ledger::LedgerDamage;

    use super::*;
    use crate::results::{FirstTry, sample};
    use crate::score::TrialStatus;

    /// A run with one trial, whose verdict its ledger does not prove.
    fn passed_without_effect() -> SavedRun {
        let (mut report, ledgers) = sample::run_of(vec![sample::lost()]);
        let trial = &mut report.cases[0].trials[0];
        trial.verdict = sample::pass(1).0.trials[0].verdict.clone();
        trial.scored = EntriesDigest::new(&ledgers[&trial.ledger].entries);
        SavedRun { report, ledgers }
    }

    fn confirmed(mut run: SavedRun) -> TrialStatus {
        confirm(&mut run);
        run.report.cases[0].trials[0].verdict.result
    }

    #[test]
    fn the_verdict_of_an_unchanged_ledger_stands() {
        assert_eq!(confirmed(passed_without_effect()), TrialStatus::Pass);
    }

    #[test]
    fn a_ledger_that_is_not_the_scored_one_is_scored() {
        let mut run = passed_without_effect();
        run.report.cases[0].trials[0].scored = None;
        assert_eq!(confirmed(run), TrialStatus::Fail, "a verdict from a journal");
        let changes: [fn(&mut SavedLedger); 3] = [
            |saved| saved.entries.extend_from_within(saved.entries.len() - 1..),
            |saved| saved.entries[1].at += 1,
            |saved| saved.torn = Some(LedgerDamage::Unclosed { last: 1 }),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut run = passed_without_effect();
            run.ledgers.values_mut().for_each(change);
            assert_ne!(confirmed(run), TrialStatus::Pass, "change {index}");
        }
        let mut run = passed_without_effect();
        run.ledgers.clear();
        assert_eq!(confirmed(run), TrialStatus::Void, "no ledger");
    }

    #[test]
    fn a_second_try_counts_only_if_the_ledger_of_the_first_shows_a_slow_start() {
        let mut run = passed_without_effect();
        let trial = &mut run.report.cases[0].trials[0];
        let (seed, ledger) = (trial.seed, "first".to_owned());
        trial.first_try = Some(FirstTry { seed, ledger: ledger.clone(), seal: String::new() });
        let (_, pass) = sample::pass(1);
        run.ledgers.insert(trial.ledger.clone(), pass.clone());
        let without_first = run.clone();
        let mut slow = sample::LedgerBuilder::new();
        slow.started(0, 1, 1);
        slow.received(27_000, 1, "payment.charge", Some("k"), sample::charge("ord_1001"));
        slow.ended(3_000, 1, crate::domain::StartEnd::TimeUp);
        run.ledgers.insert(ledger.clone(), slow.closed());
        assert_eq!(confirmed(run.clone()), TrialStatus::Pass);
        run.ledgers.insert(ledger, pass);
        assert_eq!(confirmed(run), TrialStatus::Void, "the first try was not slow");
        assert_eq!(confirmed(without_first), TrialStatus::Void, "the first try is not there");
    }

    #[test]
    fn the_worse_verdict_counts_and_rescoring_takes_that_of_the_ledger() {
        let (mut report, ledgers) = sample::run_of(vec![sample::void()]);
        report.cases[0].trials[0].verdict.result = TrialStatus::Fail;
        let mut run = SavedRun { report, ledgers };
        assert_eq!(confirmed(run.clone()), TrialStatus::Fail);
        rescore(&mut run);
        assert_ne!(run.report.cases[0].trials[0].verdict.result, TrialStatus::Fail);
    }
}
