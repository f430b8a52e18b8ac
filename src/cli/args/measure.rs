//! What a run is measured by: every verdict, a required pass rate, or a baseline of what is known to fail.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anstream::{AutoStream, ColorChoice};
use mock_services::yaml::Source;

use crate::cli::ExitStatus;
use crate::report::{Baseline, Gone, Report, Requirement, View, baseline_text, write_file};
use crate::scenario::{Case, read_text};
use crate::score::TrialStatus;

/// What a run is measured by.
#[derive(clap::Args)]
pub(in crate::cli) struct MeasureArgs {
    /// The share of the trials that must pass, such as 0.99, where not all of them must
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with_all = ["baseline", "partition"])]
    require: Option<f64>,

    /// How sure that must be
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = confidence, requires = "require")]
    confidence: f64,

    /// A file of what is known to fail: only what is worse fails
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write what this run comes to into the file of --baseline
    #[arg(long, requires = "baseline")]
    update_baseline: bool,
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "write it as a number, such as 0.99".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    number(text).and_then(|share| {
        if share > 0.0 && share <= 1.0 {
            Ok(share)
        } else {
            Err("it must be above 0 and at most 1".to_owned())
        }
    })
}

fn confidence(text: &str) -> Result<f64, String> {
    let within = |sure: &f64| (0.5..=0.9999).contains(sure);
    number(text).and_then(|sure| {
        if within(&sure) { Ok(sure) } else { Err("it must be from 0.5 to 0.9999".to_owned()) }
    })
}

/// What a run is measured by, with what is needed for it.
pub(in crate::cli) enum Measure {
    /// Every verdict counts.
    Verdicts,
    /// So many must pass.
    Rate(Requirement),
    /// What is known to fail does not count.
    Baseline { path: PathBuf, known: Baseline, update: bool },
}

impl MeasureArgs {
    /// Reads what is needed, before anything runs. `cases` are those that were named.
    pub(in crate::cli) fn prepare(&self, cases: &[Case]) -> Result<Measure, String> {
        match (&self.baseline, self.require) {
            (Some(path), _) => {
                let known = self.known(path, cases)?;
                Ok(Measure::Baseline { path: path.clone(), known, update: self.update_baseline })
            }
            (None, Some(share)) => Ok(Measure::Rate(Requirement { share, confidence: self.confidence })),
            (None, None) => Ok(Measure::Verdicts),
        }
    }

    fn known(&self, path: &Path, cases: &[Case]) -> Result<Baseline, String> {
        let shown = path.display();
        if !path.exists() {
            let missing =
                format!("there is no file {shown}\n  add --update-baseline to write it from this run");
            return if self.update_baseline { Ok(Baseline::default()) } else { Err(missing) };
        }
        let text = read_text(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
        // A case that the filters leave out is not gone.
        let all = crate::cli::load(&[])?;
        let ids: BTreeSet<&str> = all.iter().chain(cases).map(|case| case.id.as_str()).collect();
        let gone = if self.update_baseline { Gone::Dropped } else { Gone::Refused };
        let colour = AutoStream::choice(&std::io::stderr()) != ColorChoice::Never;
        Baseline::read(&Source::new(shown.to_string(), text), &ids, gone)
            .map_err(|problems| problems.render(colour))
    }
}

impl Measure {
    /// What there is to say beyond the verdicts, and the exit status. Writes the baseline where it is to be
    /// updated.
    pub(in crate::cli) fn judge(&self, report: &Report, view: &View) -> Result<(String, ExitStatus), String> {
        let unfinished = report.interrupted || nothing_to_prove(report);
        let (text, status) = match self {
            Measure::Verdicts => (String::new(), of_verdicts(report)),
            Measure::Rate(required) => (required.text(report, view), of_result(required.judge(report))),
            Measure::Baseline { path, known, update: true } if !report.interrupted => {
                let updated = known.updated(report);
                write_file(path, updated.written().as_bytes())
                    .map_err(|error| format!("{error}\n  {}", error.help()))?;
                let text = baseline_text(&updated.measure(report), &path.display().to_string(), view);
                (
                    format!("Written to {}: what fails is known from now on.\n{text}", path.display()),
                    of_baseline(&updated, report),
                )
            }
            Measure::Baseline { path, known, update } => {
                let text = baseline_text(&known.measure(report), &path.display().to_string(), view);
                let left =
                    if *update { "The run was interrupted, so the file is left as it is.\n" } else { "" };
                (format!("{text}{left}"), of_baseline(known, report))
            }
        };
        Ok((text, if status == ExitStatus::Success && unfinished { ExitStatus::Unproven } else { status }))
    }
}

/// Whether nothing ran, although something was to.
fn nothing_to_prove(report: &Report) -> bool {
    report.cases.iter().all(|case| case.trials.is_empty()) && !report.is_empty_part()
}

fn of_verdicts(report: &Report) -> ExitStatus {
    let results = || report.cases.iter().flat_map(|case| &case.trials).map(|trial| trial.verdict.result);
    let worst = [TrialStatus::Fail, TrialStatus::Void]
        .into_iter()
        .find(|result| results().any(|found| found == *result));
    of_result(worst.unwrap_or(TrialStatus::Pass))
}

fn of_baseline(known: &Baseline, report: &Report) -> ExitStatus {
    let measured = known.measure(report);
    match (measured.worse.is_empty(), measured.void.is_empty()) {
        (false, _) => ExitStatus::Failed,
        (true, false) => ExitStatus::Unproven,
        (true, true) => ExitStatus::Success,
    }
}

const fn of_result(result: TrialStatus) -> ExitStatus {
    match result {
        TrialStatus::Pass => ExitStatus::Success,
        TrialStatus::Fail => ExitStatus::Failed,
        TrialStatus::Void => ExitStatus::Unproven,
    }
}
