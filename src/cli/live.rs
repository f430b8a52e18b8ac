//! Shows the progress of a run on standard error: a bar on a terminal, lines elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use anstream::eprintln;
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use yaml_reader::shown;

use super::print::message;
use crate::process_env;
use crate::report::TrialReport;
use crate::run::{Progress, ProgressLine, RunEvent, Verbosity};
use crate::scenario::Case;
use crate::score::TrialStatus;

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const GREEN: Style = AnsiColor::Green.on_default();

/// Shows the progress of a run.
pub(super) struct Live {
    progress: Progress,
    bar: ProgressBar,
    on_terminal: bool,
    /// Whether a log gets a line for a trial that failed.
    is_named_in_logs: bool,
}

impl Live {
    pub(super) fn new(verbosity: Verbosity) -> Self {
        let on_terminal = std::io::stderr().is_terminal() && !process_env::is_ci();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Live { progress: Progress::new(verbosity), bar, on_terminal, is_named_in_logs: true }
    }

    /// For a run whose report follows and names the failures: a log with both says them once.
    pub(super) fn before_report(verbosity: Verbosity) -> Self {
        Live { is_named_in_logs: verbosity == Verbosity::Verbose, ..Live::new(verbosity) }
    }

    pub(super) fn show(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Planned(total) => self.planned(*total),
            RunEvent::Ended(case, trial) => self.trial_ended(case, trial),
        }
    }

    fn planned(&mut self, total: usize) {
        self.progress.total += total;
        if self.on_terminal && self.progress.verbosity != Verbosity::Quiet {
            let template = "{bar:30} {pos}/{len} trials  {elapsed}  {msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.bar.set_style(style);
            }
            self.bar.set_length(self.progress.total as u64);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(Duration::from_millis(200));
        }
    }

    fn trial_ended(&mut self, case: &Case, trial: &TrialReport) {
        let update = self.progress.trial_ended(trial.verdict.result);
        let line = update.line.map(|line| match line {
            ProgressLine::Trial => trial_line(case, trial),
            ProgressLine::OnlyCounted => {
                "further failures are counted here and listed at the end; -v shows each trial".to_owned()
            }
        });
        if let Some(line) = line.filter(|_| self.on_terminal || self.is_named_in_logs) {
            self.bar.suspend(|| message(&line));
        }
        let counts = self.progress.counts();
        self.bar.set_position(self.progress.ended as u64);
        self.bar.set_message(counts.clone());
        if !self.on_terminal && update.is_milestone {
            eprintln!("{}/{} trials done  {counts}", self.progress.ended, self.progress.total);
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn trial_line(case: &Case, trial: &TrialReport) -> String {
    let (style, word) = match trial.verdict.result {
        TrialStatus::Pass => (GREEN, "pass"),
        TrialStatus::Fail => (RED, "FAIL"),
        TrialStatus::Void => (YELLOW, "void"),
    };
    let number = if trial.trial > 1 { format!(" (trial {})", trial.trial) } else { String::new() };
    // The findings follow at the end of the run, with their evidence.
    let outcome = match trial.verdict.result {
        TrialStatus::Pass => String::new(),
        TrialStatus::Fail => format!("  {}", trial.verdict.control_outcome().as_str()),
        TrialStatus::Void => {
            trial.verdict.void_because.first().map(|why| format!("  {}", shown(why))).unwrap_or_default()
        }
    };
    format!("{style}{word}{style:#} {}{number}{outcome}", case.id)
}
