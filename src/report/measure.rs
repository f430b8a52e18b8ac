//! The result of a run as text, if a required pass rate or a baseline decides it.

use std::fmt::Write as _;

use crate::domain::ControlOutcome;
use crate::report::formats::terminal::View;
use crate::results::measure::void_trials;
use crate::results::{
    BaselineChange, BaselineComparison, BaselineUpdate, DecidedBy, Measurement, Report, Requirement,
    is_better, pass_rate,
};
use crate::score::TrialStatus;
use crate::score::rate::Required;
use crate::text::TextStyle;
use crate::text::words::{counted, percent};
use crate::text::{line, wrap};

/// The text to show instead of the result of the verdicts; empty if these decide.
#[must_use]
pub fn measurement_text(measurement: &Measurement, report: &Report, view: &View) -> String {
    match &measurement.decided_by {
        DecidedBy::Verdicts => String::new(),
        DecidedBy::Rate(required) => requirement_text(*required, report, view),
        DecidedBy::Baseline { path, comparison, update } => {
            let path = path.display().to_string();
            let update = match update {
                BaselineUpdate::NotRequested => String::new(),
                BaselineUpdate::Written => format!("Wrote the known failures to {path}.\n"),
                BaselineUpdate::Interrupted => {
                    "The run was interrupted, so the known failures were not written.\n".to_owned()
                }
            };
            update + &baseline_text(comparison, &path, view)
        }
    }
}

/// The same in one line.
#[must_use]
pub fn measurement_line(measurement: &Measurement, report: &Report, view: &View) -> String {
    match &measurement.decided_by {
        DecidedBy::Verdicts => String::new(),
        DecidedBy::Rate(required) => {
            let text = requirement_text(*required, report, view);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        }
        DecidedBy::Baseline { comparison, .. } => baseline_result(comparison, view.style()),
    }
}

/// Whether a run meets a required pass rate, for the end of the run.
fn requirement_text(required: Requirement, report: &Report, view: &View) -> String {
    let (rate, style, void) = (pass_rate(report), view.style(), void_trials(report));
    let word = match required.judge(report) {
        TrialStatus::Pass => style.good("MET"),
        TrialStatus::Fail => style.bad("NOT MET"),
        TrialStatus::Void => style.void("INCONCLUSIVE"),
    };
    let passed = match rate.share() {
        Some(share) => format!("{} of {} passed ({})", rate.passes, rate.trials, percent(share)),
        None => "no trial has a verdict".to_owned(),
    };
    let ((low, high), sure) = (rate.bounds(required.confidence), percent(required.confidence));
    let (low, high) = (percent(low), percent(high));
    let mut said = vec![format!("{} of the trials must pass; {passed}.", percent(required.share))];
    said.extend(rate.share().map(|_| match rate.require(required.share, required.confidence) {
        Required::Met => format!("With {sure} confidence, at least {low} pass."),
        Required::NotMet => format!("With {sure} confidence, at most {high} pass."),
        Required::Inconclusive { enough } => {
            let hint = hint(enough, report.trials);
            format!("With {sure} confidence, between {low} and {high} pass, which does not decide it. {hint}")
        }
    }));
    said.extend((void > 0).then(|| format!("Not counted: {}.", counted(void, "void trial"))));
    said.extend(report.interrupted.then(|| "The run was interrupted.".to_owned()));
    let lines = wrap(&said.join(" "), view.width.clamp(40, 160).saturating_sub(6));
    let lines: Vec<String> = lines.iter().map(|line| format!("      {line}\n")).collect();
    format!("{word}\n{}", lines.concat())
}
fn hint(enough: Option<u32>, had: u32) -> String {
    match enough {
        Some(enough) if enough > had => {
            format!(
                "{} of each case would be enough at this pass rate: --trials {enough}.",
                counted(enough as usize, "trial")
            )
        }
        Some(_) => "The planned trials would be enough if none of them were void.".to_owned(),
        None => "More trials of these cases would not be enough: require less, fix the failures, or add \
            scenarios."
            .to_owned(),
    }
}

/// The worse, better and void cases, and the number of known ones; `file` is the name of the baseline.
fn baseline_text(measured: &BaselineComparison, file: &str, view: &View) -> String {
    let (style, file) = (view.style(), line(file, 200));
    let mut out = format!("Compared with the baseline {file}:\n");
    let groups = [
        (style.bad("WORSE"), &measured.worse),
        (style.void("VOID"), &measured.void),
        (style.good("BETTER"), &measured.better),
    ];
    for (word, cases) in groups {
        for moved in cases {
            let _ = writeln!(out, "{word}  {}  {}", line(&moved.id, 300), change(moved));
        }
    }
    if !measured.worse.is_empty() {
        let _ = writeln!(out, "Fix it, or add --update-baseline to accept it as a known failure.");
    } else if !measured.better.is_empty() {
        let _ = writeln!(out, "Add --update-baseline to record what got better.");
    }
    let _ = writeln!(out, "{}", baseline_result(measured, style));
    out
}

fn change(moved: &BaselineChange) -> String {
    match moved.was {
        Some(was) if was == moved.outcome => moved.outcome.as_str().to_owned(),
        Some(was) if moved.outcome < was && !is_better(moved.outcome, was) => {
            format!("{} → {}, another failure than the known one", was.as_str(), moved.outcome.as_str())
        }
        Some(was) => format!("{} → {}", was.as_str(), moved.outcome.as_str()),
        None if moved.outcome == ControlOutcome::Void => moved.outcome.as_str().to_owned(),
        None => format!("{}, not known to fail", moved.outcome.as_str()),
    }
}

fn baseline_result(measured: &BaselineComparison, style: TextStyle) -> String {
    let rest = format!("{} known to fail, {} better", measured.known.len(), measured.better.len());
    let void =
        if measured.void.is_empty() { String::new() } else { format!("{} void, ", measured.void.len()) };
    let (word, worse) = match measured.result() {
        TrialStatus::Fail => {
            (style.bad("FAILED"), format!("{} worse", counted(measured.worse.len(), "case")))
        }
        TrialStatus::Void if measured.unfinished => {
            (style.void("VOID"), "not every case was run, nothing is worse".to_owned())
        }
        TrialStatus::Void => (style.void("VOID"), "nothing is worse".to_owned()),
        TrialStatus::Pass => (style.good("PASSED"), "nothing is worse".to_owned()),
    };
    format!("{word}  {worse}, {void}{rest}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::results::{Baseline, Measure, sample};

    const VIEW: View = View { width: 90, color: false, verbose: false };

    fn with_baseline(folder: &Path, update: bool) -> Measure {
        Measure::Baseline { path: folder.join("known.yaml"), known: Baseline::default(), update }
    }

    #[test]
    fn an_updated_baseline_decides_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let (report, _) = sample::run_of(vec![sample::lost()]);
        let updated = with_baseline(folder.path(), true).judge(&report).unwrap();
        assert_eq!(
            measurement_line(&updated, &report, &VIEW),
            "PASSED  nothing is worse, 1 known to fail, 0 better"
        );
        let text = measurement_text(&updated, &report, &VIEW);
        assert!(text.starts_with("Wrote the known failures to "), "{text}");
    }

    #[test]
    fn an_interrupted_run_is_not_called_passed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut report, _) = sample::run_of(vec![sample::pass(1)]);
        report.interrupted = true;
        let measured = with_baseline(folder.path(), true).judge(&report).unwrap();
        let line = measurement_line(&measured, &report, &VIEW);
        assert_eq!(line, "VOID  not every case was run, nothing is worse, 0 known to fail, 0 better");
        let text = measurement_text(&measured, &report, &VIEW);
        assert!(
            text.starts_with("The run was interrupted") && text.ends_with(&format!("{line}\n")),
            "{text}"
        );
    }

    #[test]
    fn the_result_of_a_requirement_has_a_hint() {
        let text =
            |share, report: &Report| requirement_text(Requirement { share, confidence: 0.95 }, report, &VIEW);
        let run = sample::run_with_trials;
        let messages = [
            text(0.99, &run(150, 0, 0)),
            text(0.99, &run(80, 20, 0)),
            text(0.99, &run(10, 0, 3)),
            text(0.9, &run(9, 1, 0)),
            text(0.9, &run(0, 0, 2)),
            text(0.9, &run(150, 0, 1)),
        ];
        insta::assert_snapshot!(messages.join("\n"));
    }

    #[test]
    fn a_run_measured_against_a_baseline_in_words() {
        let (mut report, _) = sample::run();
        let baseline = Baseline::default().updated(&report);
        let known = baseline_text(&baseline.measure(&report), "known.yaml", &VIEW);
        let worse = baseline_text(&Baseline::default().measure(&report), "known.yaml", &VIEW);
        report.cases.retain(|case| case.trials[0].verdict.control_outcome() != ControlOutcome::Void);
        report.cases[0].trials = sample::pass(1).0.trials;
        let better = baseline_text(&baseline.measure(&report), "known.yaml", &VIEW);
        insta::assert_snapshot!([known, worse, better].join("\n"));
    }

    #[test]
    fn another_failure_than_the_known_one_is_called_so() {
        let moved = BaselineChange {
            id: "a".to_owned(),
            outcome: "lost".parse().unwrap(),
            was: Some("duplicated".parse().unwrap()),
        };
        assert_eq!(change(&moved), "duplicated → lost, another failure than the known one");
    }
}
