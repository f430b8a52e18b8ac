//! How the result of a run is decided: by every verdict, by a required pass rate, or against a baseline of
//! known failures.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use yaml_reader::{Problems, Source};

use crate::ExitStatus;
use crate::report::{
    Baseline, Report, Requirement, StoreError, UnknownCases, View, baseline_line, baseline_text, write_file,
};
use crate::scenario::{self, Case, LoadError, read_text};
use crate::score::TrialStatus;

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

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measurement {
    /// The text to show instead of the result of the verdicts; empty if these decide.
    pub text: String,
    /// The result in one line; empty if the verdicts decide.
    pub line: String,
    /// The ids of cases that failed as it was known.
    pub known: BTreeSet<String>,
    /// The exit status.
    pub status: ExitStatus,
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
    pub fn judge(&self, report: &Report, view: &View) -> Result<Measurement, MeasureError> {
        match self {
            Measure::Verdicts => Ok(Measurement {
                text: String::new(),
                line: String::new(),
                known: BTreeSet::new(),
                status: complete(of_verdicts(report), report),
            }),
            Measure::Rate(required) => {
                let text = required.text(report, view);
                let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let status = complete(required.judge(report).into(), report);
                Ok(Measurement { text, line, known: BTreeSet::new(), status })
            }
            Measure::Baseline { path, known, update: true } if !report.interrupted => {
                let updated = known.updated(report);
                write_file(path, updated.written().as_bytes())?;
                let mut measurement = by_baseline(&updated, path, report, view);
                measurement.text.insert_str(0, &format!("Wrote the known failures to {}.\n", path.display()));
                Ok(measurement)
            }
            Measure::Baseline { path, known, update } => {
                let mut measurement = by_baseline(known, path, report, view);
                if *update {
                    measurement
                        .text
                        .insert_str(0, "The run was interrupted, so the known failures were not written.\n");
                }
                Ok(measurement)
            }
        }
    }
}

fn by_baseline(known: &Baseline, path: &Path, report: &Report, view: &View) -> Measurement {
    let measured = known.measure(report);
    Measurement {
        text: baseline_text(&measured, &path.display().to_string(), view),
        line: baseline_line(&measured, view),
        status: measured.result().into(),
        known: measured.known.into_iter().map(|case| case.id).collect(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    const VIEW: View = View { width: 90, color: false, verbose: false };

    fn with_baseline(folder: &Path, update: bool) -> Measure {
        Measure::Baseline { path: folder.join("known.yaml"), known: Baseline::default(), update }
    }

    #[test]
    fn an_updated_baseline_decides_the_line_and_what_is_known_too() {
        let folder = tempfile::tempdir().unwrap();
        let (report, _) = sample::run_of(vec![sample::lost()]);
        let failed = with_baseline(folder.path(), false).judge(&report, &VIEW).unwrap();
        assert_eq!(failed.status, ExitStatus::Failed);
        let updated = with_baseline(folder.path(), true).judge(&report, &VIEW).unwrap();
        assert_eq!(updated.status, ExitStatus::Success);
        assert_eq!(updated.line, "PASSED  nothing is worse, 1 known to fail, 0 better");
        assert_eq!(updated.known, BTreeSet::from([report.cases[0].id.clone()]));
    }

    #[test]
    fn an_interrupted_run_is_not_called_passed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut report, _) = sample::run_of(vec![sample::pass(1)]);
        report.interrupted = true;
        let measured = with_baseline(folder.path(), true).judge(&report, &VIEW).unwrap();
        assert_eq!(measured.status, ExitStatus::Unproven);
        assert_eq!(
            measured.line,
            "VOID  not every case was run, nothing is worse, 0 known to fail, 0 better"
        );
        assert!(measured.text.ends_with(&format!("{}\n", measured.line)), "{}", measured.text);
        assert!(!folder.path().join("known.yaml").exists());
    }
}
