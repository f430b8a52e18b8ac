//! How the result of a run is decided: by every verdict, by a required pass rate, or against a baseline of
//! known failures.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use yaml_reader::{Problems, Source};

use super::tally::count;
use super::{Baseline, BaselineComparison, Report, StoreError, UnknownCases, write_file};
use crate::ExitStatus;
use crate::scenario::{self, Case, LoadError, read_text};
use crate::score::TrialStatus;
use crate::score::rate::{CaseTrials, Rate, Required};

/// How the result of a run is decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Measure {
    /// Every verdict counts.
    Verdicts,
    /// A share of the trials must pass.
    Rate(Requirement),
    /// Known failures do not count.
    Baseline {
        /// The file of the baseline.
        path: PathBuf,
        /// Its contents.
        known: Baseline,
        /// Whether it is written again from this run.
        update: bool,
    },
}

/// The result of a run, and what decided it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// What decided it.
    pub decided_by: DecidedBy,
    /// The exit status.
    pub status: ExitStatus,
}

/// What decided the result of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum DecidedBy {
    /// Every verdict.
    Verdicts,
    /// A required pass rate.
    Rate(Requirement),
    /// A baseline of known failures.
    Baseline {
        /// The file of the baseline.
        path: PathBuf,
        /// The run compared with it.
        comparison: BaselineComparison,
        /// Whether the file was written again.
        update: BaselineUpdate,
    },
}

/// Whether a baseline was written from a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaselineUpdate {
    /// It was only read.
    NotRequested,
    /// It was written.
    Written,
    /// It was not written, because the run was interrupted.
    Interrupted,
}

impl Measurement {
    /// The ids of cases that failed as it was known.
    #[must_use]
    pub fn known(&self) -> BTreeSet<String> {
        match &self.decided_by {
            DecidedBy::Verdicts | DecidedBy::Rate(_) => BTreeSet::new(),
            DecidedBy::Baseline { comparison, .. } => {
                comparison.known.iter().map(|case| case.id.clone()).collect()
            }
        }
    }
}

/// Why a baseline cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// There is no such file.
    #[error("there is no file {path}", path = .0.display())]
    Missing(PathBuf),
    /// The file cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: String,
    },
    /// The file has problems.
    #[error("{0}")]
    Problems(Problems),
    /// The scenarios, whose cases the file names, cannot be loaded.
    #[error(transparent)]
    Scenarios(#[from] LoadError),
    /// The file cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MeasureError {
    /// What to do about it.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            MeasureError::Missing(_) => "add --update-baseline to write it from this run",
            MeasureError::Read { .. } => "check the path, and that you may read the file",
            MeasureError::Problems(_) => "fix the file, or add --update-baseline to write it again",
            MeasureError::Scenarios(_) => "fix the scenarios",
            MeasureError::Store(_) => "name a file that can be written",
        }
    }
}

impl Measure {
    /// Reads a baseline, before anything runs. `cases` are those that are run.
    ///
    /// # Errors
    /// When the file is missing and is not going to be written, cannot be read, or has problems.
    pub fn baseline(path: &Path, update: bool, cases: &[Case]) -> Result<Self, MeasureError> {
        let known = match (path.exists(), update) {
            (true, _) => read_baseline(path, update, cases)?,
            (false, true) => Baseline::default(),
            (false, false) => return Err(MeasureError::Missing(path.to_owned())),
        };
        Ok(Measure::Baseline { path: path.to_owned(), known, update })
    }

    /// The result of a run. Writes the baseline if it must be updated and the run is complete.
    ///
    /// # Errors
    /// When the baseline cannot be written.
    pub fn judge(&self, report: &Report) -> Result<Measurement, MeasureError> {
        match self {
            Measure::Verdicts => {
                let status = complete(of_verdicts(report), report);
                Ok(Measurement { decided_by: DecidedBy::Verdicts, status })
            }
            Measure::Rate(required) => {
                let status = complete(required.judge(report).into(), report);
                Ok(Measurement { decided_by: DecidedBy::Rate(*required), status })
            }
            Measure::Baseline { path, known, update: true } if !report.interrupted => {
                let updated = known.updated(report);
                write_file(path, updated.written().as_bytes())?;
                Ok(by_baseline(&updated, path, report, BaselineUpdate::Written))
            }
            Measure::Baseline { path, known, update } => {
                let update = if *update { BaselineUpdate::Interrupted } else { BaselineUpdate::NotRequested };
                Ok(by_baseline(known, path, report, update))
            }
        }
    }
}

fn by_baseline(known: &Baseline, path: &Path, report: &Report, update: BaselineUpdate) -> Measurement {
    let comparison = known.measure(report);
    let status = comparison.result().into();
    Measurement { decided_by: DecidedBy::Baseline { path: path.to_owned(), comparison, update }, status }
}

/// The status of a run; it is no success if planned trials were not run.
fn complete(status: ExitStatus, report: &Report) -> ExitStatus {
    if status == ExitStatus::Success && report.is_unfinished() { ExitStatus::Unproven } else { status }
}

fn read_baseline(path: &Path, update: bool, cases: &[Case]) -> Result<Baseline, MeasureError> {
    let text = read_text(path).map_err(|error| MeasureError::Read { path: path.to_owned(), error })?;
    // A case that the filters exclude still exists.
    let all = scenario::load(&[])?.cases;
    let ids: BTreeSet<&str> = all.iter().chain(cases).map(|case| case.id.as_str()).collect();
    let unknown = if update { UnknownCases::Drop } else { UnknownCases::Reject };
    Baseline::read(&Source::new(path.display().to_string(), text), &ids, unknown)
        .map_err(MeasureError::Problems)
}

fn of_verdicts(report: &Report) -> ExitStatus {
    let results = || report.cases.iter().flat_map(|case| &case.trials).map(|trial| trial.verdict.result);
    let worst = [TrialStatus::Fail, TrialStatus::Void]
        .into_iter()
        .find(|result| results().any(|found| found == *result));
    worst.unwrap_or(TrialStatus::Pass).into()
}

/// The required pass rate, and its confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requirement {
    /// The share of trials, from 0 to 1.
    pub share: f64,
    /// The confidence, from 0.5 to 1.
    pub confidence: f64,
}

/// The pass rate of a run. Void and skipped trials do not count.
#[must_use]
pub fn pass_rate(report: &Report) -> Rate {
    Rate::from_cases(report.cases.iter().map(|case| {
        let count = count(&case.trials);
        CaseTrials { scenario: &case.scenario, passes: count.pass as u64, trials: count.judged() as u64 }
    }))
}

impl Requirement {
    /// Whether a run meets it: pass, fail, or void if that is inconclusive. A run that was interrupted or has
    /// void trials can miss it, but not meet it.
    #[must_use]
    pub fn judge(&self, report: &Report) -> TrialStatus {
        match pass_rate(report).require(self.share, self.confidence) {
            Required::NotMet => TrialStatus::Fail,
            Required::Met if void_trials(report) == 0 && !report.interrupted => TrialStatus::Pass,
            Required::Met | Required::Inconclusive { .. } => TrialStatus::Void,
        }
    }
}

/// The number of void trials of a run.
pub(crate) fn void_trials(report: &Report) -> usize {
    report
        .cases
        .iter()
        .flat_map(|case| &case.trials)
        .filter(|trial| trial.verdict.result == TrialStatus::Void)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    fn with_baseline(folder: &Path, update: bool) -> Measure {
        Measure::Baseline { path: folder.join("known.yaml"), known: Baseline::default(), update }
    }

    #[test]
    fn an_updated_baseline_decides_what_is_known_too() {
        let folder = tempfile::tempdir().unwrap();
        let (report, _) = sample::run_of(vec![sample::lost()]);
        let failed = with_baseline(folder.path(), false).judge(&report).unwrap();
        assert_eq!(failed.status, ExitStatus::Failed);
        let updated = with_baseline(folder.path(), true).judge(&report).unwrap();
        assert_eq!(updated.status, ExitStatus::Success);
        assert_eq!(updated.known(), BTreeSet::from([report.cases[0].id.clone()]));
        assert!(folder.path().join("known.yaml").exists());
    }

    #[test]
    fn an_interrupted_run_is_no_success_and_writes_no_baseline() {
        let folder = tempfile::tempdir().unwrap();
        let (mut report, _) = sample::run_of(vec![sample::pass(1)]);
        report.interrupted = true;
        let measured = with_baseline(folder.path(), true).judge(&report).unwrap();
        assert_eq!(measured.status, ExitStatus::Unproven);
        assert!(!folder.path().join("known.yaml").exists());
    }

    fn required(share: f64) -> Requirement {
        Requirement { share, confidence: 0.95 }
    }

    #[test]
    fn void_trials_are_not_in_the_rate() {
        let run = sample::run_with_trials;
        assert_eq!(pass_rate(&run(4, 1, 5)), pass_rate(&run(4, 1, 0)));
        assert_eq!(pass_rate(&run(0, 0, 5)).share(), None);
    }

    #[test]
    fn a_requirement_is_judged_by_the_rate_of_the_run() {
        let run = sample::run_with_trials;
        assert_eq!(required(0.99).judge(&run(150, 0, 0)), TrialStatus::Pass);
        assert_eq!(required(0.99).judge(&run(80, 20, 0)), TrialStatus::Fail);
        assert_eq!(required(0.99).judge(&run(10, 0, 0)), TrialStatus::Void);
    }

    #[test]
    fn what_proves_nothing_can_miss_a_requirement_but_not_meet_it() {
        let run = sample::run_with_trials;
        assert_eq!(required(0.99).judge(&run(150, 0, 1)), TrialStatus::Void);
        assert_eq!(required(0.99).judge(&run(80, 20, 1)), TrialStatus::Fail);
        let interrupted = Report { interrupted: true, ..run(150, 0, 0) };
        assert_eq!(required(0.99).judge(&interrupted), TrialStatus::Void);
    }
}
