//! The pass rate of a run, and what a required one comes to, in words.

use super::model::Report;
use super::tally::count;
use super::text::wrap;
use crate::report::formats::terminal::View;
use crate::report::text::style::Paint;
use crate::report::text::words::{counted, percent};
use crate::score::TrialStatus;
use crate::score::rate::{Rate, Required, Tried};

/// How often a trial is to pass, and how sure that must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requirement {
    /// The share of trials, from 0 to 1.
    pub share: f64,
    /// The confidence, from 0.5 to 1.
    pub confidence: f64,
}

/// How often the trials of a run pass. Void and skipped ones are none of them.
#[must_use]
pub fn pass_rate(report: &Report) -> Rate {
    Rate::of(report.cases.iter().map(|case| {
        let count = count(&case.trials);
        Tried { scenario: &case.scenario, passes: count.pass as u64, trials: count.judged() as u64 }
    }))
}

impl Requirement {
    /// What a run says about it: pass where it is met, fail where it is not, void where that cannot be told.
    /// A run that was interrupted or has void trials can miss it, but not meet it.
    #[must_use]
    pub fn judge(&self, report: &Report) -> TrialStatus {
        match pass_rate(report).require(self.share, self.confidence) {
            Required::NotMet => TrialStatus::Fail,
            Required::Met if void_trials(report) == 0 && !report.interrupted => TrialStatus::Pass,
            Required::Met | Required::Inconclusive { .. } => TrialStatus::Void,
        }
    }

    /// The same in words, for the end of a run.
    #[must_use]
    pub fn text(&self, report: &Report, view: &View) -> String {
        let (rate, paint, void) = (pass_rate(report), Paint { colour: view.colour }, void_trials(report));
        let word = match self.judge(report) {
            TrialStatus::Pass => paint.good("MET"),
            TrialStatus::Fail => paint.bad("NOT MET"),
            TrialStatus::Void => paint.unsure("INCONCLUSIVE"),
        };
        let passed = match rate.share() {
            Some(share) => format!("{} of {} did ({})", rate.passes, rate.trials, percent(share)),
            None => "none proves anything".to_owned(),
        };
        let ((low, high), sure) = (rate.bounds(self.confidence), percent(self.confidence));
        let (low, high) = (percent(low), percent(high));
        let mut said = vec![format!("{} of the trials must pass, and {passed}.", percent(self.share))];
        said.extend(rate.share().map(|_| match rate.require(self.share, self.confidence) {
            Required::Met => format!("With {sure} confidence at least {low} do."),
            Required::NotMet => format!("With {sure} confidence at most {high} do."),
            Required::Inconclusive { enough } => {
                let way_on = way_on(enough, report.trials);
                format!("With {sure} confidence at least {low} and at most {high} do, which does not tell. {way_on}")
            }
        }));
        said.extend((void > 0).then(|| {
            format!("Not counted: {}, which must prove something first.", counted(void, "void trial"))
        }));
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

fn way_on(enough: Option<u32>, had: u32) -> String {
    match enough {
        Some(enough) if enough > had => {
            format!(
                "{} of each case would do, if they go on like this: --trials {enough}.",
                counted(enough as usize, "trial")
            )
        }
        Some(_) => "The trials that were planned would do, if all of them prove something.".to_owned(),
        None => "More trials of these cases would not do: ask for less, mend what fails, or add scenarios."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests;
