//! The pass rate of a run, and whether it meets a required one.

use super::model::Report;
use super::tally::count;
use super::text::wrap;
use crate::report::formats::terminal::View;
use crate::report::text::style::TextStyle;
use crate::report::text::words::{counted, percent};
use crate::score::TrialStatus;
use crate::score::rate::{CaseTrials, Rate, Required};

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
    Rate::of(report.cases.iter().map(|case| {
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

    /// The same as text, for the end of a run.
    #[must_use]
    pub fn text(&self, report: &Report, view: &View) -> String {
        let (rate, style, void) = (pass_rate(report), TextStyle { color: view.color }, void_trials(report));
        let word = match self.judge(report) {
            TrialStatus::Pass => style.good("MET"),
            TrialStatus::Fail => style.bad("NOT MET"),
            TrialStatus::Void => style.void("INCONCLUSIVE"),
        };
        let passed = match rate.share() {
            Some(share) => format!("{} of {} passed ({})", rate.passes, rate.trials, percent(share)),
            None => "no trial has a verdict".to_owned(),
        };
        let ((low, high), sure) = (rate.bounds(self.confidence), percent(self.confidence));
        let (low, high) = (percent(low), percent(high));
        let mut said = vec![format!("{} of the trials must pass; {passed}.", percent(self.share))];
        said.extend(rate.share().map(|_| match rate.require(self.share, self.confidence) {
            Required::Met => format!("With {sure} confidence, at least {low} pass."),
            Required::NotMet => format!("With {sure} confidence, at most {high} pass."),
            Required::Inconclusive { enough } => {
                let hint = hint(enough, report.trials);
                format!(
                    "With {sure} confidence, between {low} and {high} pass, which does not decide it. {hint}"
                )
            }
        }));
        said.extend((void > 0).then(|| format!("Not counted: {}.", counted(void, "void trial"))));
        said.extend(report.interrupted.then(|| "The run was interrupted.".to_owned()));
        let lines = wrap(&said.join(" "), view.width.clamp(40, 160).saturating_sub(6));
        let lines: Vec<String> = lines.iter().map(|line| format!("      {line}\n")).collect();
        format!("{word}\n{}", lines.concat())
    }
}

fn void_trials(report: &Report) -> usize {
    report
        .cases
        .iter()
        .flat_map(|case| &case.trials)
        .filter(|trial| trial.verdict.result == TrialStatus::Void)
        .count()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    const VIEW: View = View { width: 90, color: false, verbose: false };

    /// Cases of two scenarios, with so many trials that pass, fail and are void in each.
    fn run(pass: usize, fail: usize, void: usize) -> Report {
        let (mut report, _) = sample::run_of(vec![sample::pass(1), sample::lost()]);
        let trials = |sampled: sample::SampleCase, times: usize| vec![sampled.0.trials[0].clone(); times];
        for case in &mut report.cases {
            case.trials =
                [trials(sample::pass(1), pass), trials(sample::lost(), fail), trials(sample::void(), void)]
                    .concat();
        }
        report.trials = u32::try_from(pass + fail + void).unwrap();
        report
    }

    fn asked(share: f64) -> Requirement {
        Requirement { share, confidence: 0.95 }
    }

    #[test]
    fn the_result_of_a_requirement_has_a_hint() {
        let messages = [
            asked(0.99).text(&run(150, 0, 0), &VIEW),
            asked(0.99).text(&run(80, 20, 0), &VIEW),
            asked(0.99).text(&run(10, 0, 3), &VIEW),
            asked(0.9).text(&run(9, 1, 0), &VIEW),
            asked(0.9).text(&run(0, 0, 2), &VIEW),
            asked(0.9).text(&run(150, 0, 1), &VIEW),
        ];
        insta::assert_snapshot!(messages.join("\n"));
    }

    #[test]
    fn void_trials_are_not_in_the_rate() {
        assert_eq!(pass_rate(&run(4, 1, 5)), pass_rate(&run(4, 1, 0)));
        assert_eq!(pass_rate(&run(0, 0, 5)).share(), None);
    }

    #[test]
    fn a_requirement_is_judged_by_the_rate_of_the_run() {
        assert_eq!(asked(0.99).judge(&run(150, 0, 0)), TrialStatus::Pass);
        assert_eq!(asked(0.99).judge(&run(80, 20, 0)), TrialStatus::Fail);
        assert_eq!(asked(0.99).judge(&run(10, 0, 0)), TrialStatus::Void);
    }

    #[test]
    fn what_proves_nothing_can_miss_a_requirement_but_not_meet_it() {
        assert_eq!(asked(0.99).judge(&run(150, 0, 1)), TrialStatus::Void);
        assert_eq!(asked(0.99).judge(&run(80, 20, 1)), TrialStatus::Fail);
        let interrupted = Report { interrupted: true, ..run(150, 0, 0) };
        assert_eq!(asked(0.99).judge(&interrupted), TrialStatus::Void);
    }
}
