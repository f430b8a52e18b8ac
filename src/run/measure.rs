//! How the result of a run is decided: by every verdict, by a required pass rate, or against a baseline of
//! known failures.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mock_services::yaml::{Problems, Source};

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
        let (text, status) = match self {
            Measure::Verdicts => (String::new(), of_verdicts(report)),
            Measure::Rate(required) => (required.text(report, view), required.judge(report).into()),
            Measure::Baseline { path, known, update: true } if !report.interrupted => {
                let updated = known.updated(report);
                write_file(path, updated.written().as_bytes())?;
                let text = baseline_text(&updated.measure(report), &path.display().to_string(), view);
                let text = format!("Wrote the known failures to {}.\n{text}", path.display());
                (text, of_baseline(&updated, report))
            }
            Measure::Baseline { path, known, update } => {
                let mut text = baseline_text(&known.measure(report), &path.display().to_string(), view);
                if *update {
                    text.push_str("The run was interrupted, so the file was not changed.\n");
                }
                (text, of_baseline(known, report))
            }
        };
        let is_unproven = report.interrupted || nothing_ran(report);
        let status = if status == ExitStatus::Success && is_unproven { ExitStatus::Unproven } else { status };
        let (line, known) = match self {
            Measure::Verdicts => (String::new(), BTreeSet::new()),
            Measure::Rate(_) => (text.split_whitespace().collect::<Vec<_>>().join(" "), BTreeSet::new()),
            Measure::Baseline { known, .. } => {
                let measured = known.measure(report);
                let line = baseline_line(&measured, view);
                (line, measured.known.into_iter().map(|case| case.id).collect())
            }
        };
        Ok(Measurement { text, line, known, status })
    }
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

/// Whether nothing ran, although trials were planned.
fn nothing_ran(report: &Report) -> bool {
    report.cases.iter().all(|case| case.trials.is_empty()) && !report.is_empty_part()
}

fn of_verdicts(report: &Report) -> ExitStatus {
    let results = || report.cases.iter().flat_map(|case| &case.trials).map(|trial| trial.verdict.result);
    let worst = [TrialStatus::Fail, TrialStatus::Void]
        .into_iter()
        .find(|result| results().any(|found| found == *result));
    worst.unwrap_or(TrialStatus::Pass).into()
}

fn of_baseline(known: &Baseline, report: &Report) -> ExitStatus {
    let measured = known.measure(report);
    match (measured.worse.is_empty(), measured.void.is_empty()) {
        (false, _) => ExitStatus::Failed,
        (true, false) => ExitStatus::Unproven,
        (true, true) => ExitStatus::Success,
    }
}
