//! What is seen while a run goes on: a bar on a terminal, plain lines elsewhere, all of it on standard error.

use std::io::IsTerminal;
use std::time::Duration;

use anstream::eprintln;
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mock_services::yaml::shown;

use super::print::say;
use crate::report::TrialReport;
use crate::run::RunEvent;
use crate::scenario::Case;
use crate::score::TrialStatus;

/// So many trials are named while they run; the end of the run says the rest.
const NAMED: usize = 40;

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const GREEN: Style = AnsiColor::Green.on_default();

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    /// Nothing.
    Quiet,
    /// How far it is.
    Progress,
    /// What failed or is void, and how far it is.
    Normal,
    /// Every trial.
    Verbose,
}

/// Shows a run as it goes on.
pub(super) struct Live {
    detail: Detail,
    bar: ProgressBar,
    on_terminal: bool,
    total: usize,
    ended: usize,
    failed: usize,
    void: usize,
    /// How many trials were named so far.
    named: usize,
}

impl Live {
    pub(super) fn new(detail: Detail) -> Self {
        let on_terminal = std::io::stderr().is_terminal() && std::env::var_os("CI").is_none();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Live { detail, bar, on_terminal, total: 0, ended: 0, failed: 0, void: 0, named: 0 }
    }

    pub(super) fn happened(&mut self, happened: &RunEvent<'_>) {
        match happened {
            RunEvent::Planned(total) => self.planned(*total),
            RunEvent::Ended(case, trial) => self.trial_ended(case, trial),
        }
    }

    fn planned(&mut self, total: usize) {
        self.total += total;
        if self.on_terminal && self.detail != Detail::Quiet {
            let template = "{bar:30} {pos}/{len} trials  {elapsed}  {msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.bar.set_style(style);
            }
            self.bar.set_length(self.total as u64);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(Duration::from_millis(200));
        }
    }

    fn trial_ended(&mut self, case: &Case, trial: &TrialReport) {
        self.ended += 1;
        let result = trial.verdict.result;
        self.failed += usize::from(result == TrialStatus::Fail);
        self.void += usize::from(result == TrialStatus::Void);
        let is_worth_it = match self.detail {
            Detail::Quiet | Detail::Progress => false,
            Detail::Normal => result != TrialStatus::Pass,
            Detail::Verbose => true,
        };
        if is_worth_it {
            self.name(case, trial);
        }
        self.bar.set_position(self.ended as u64);
        let counts = if self.detail == Detail::Progress {
            String::new()
        } else {
            format!("{} failed, {} void", self.failed, self.void)
        };
        self.bar.set_message(counts.clone());
        // Ten times in a run, so that whoever reads a log knows that it goes on.
        let step = self.total.div_ceil(10).max(1);
        if !self.on_terminal
            && self.detail != Detail::Quiet
            && (self.ended.is_multiple_of(step) || self.ended == self.total)
        {
            eprintln!("{}/{} trials done  {counts}", self.ended, self.total);
        }
    }

    fn name(&mut self, case: &Case, trial: &TrialReport) {
        self.named += 1;
        let line = match self.named {
            _ if self.detail == Detail::Verbose => line(case, trial),
            ..=NAMED => line(case, trial),
            // Said once, where the names end.
            more if more == NAMED + 1 => {
                "more are counted here and told at the end; -v names each as it ends".to_owned()
            }
            _ => return,
        };
        self.bar.suspend(|| say(&line));
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn line(case: &Case, trial: &TrialReport) -> String {
    let (style, word) = match trial.verdict.result {
        TrialStatus::Pass => (GREEN, "pass"),
        TrialStatus::Fail => (RED, "FAIL"),
        TrialStatus::Void => (YELLOW, "void"),
    };
    let number = if trial.trial > 1 { format!(" (trial {})", trial.trial) } else { String::new() };
    // What it came to fits beside the name; how it came to it is told at the end, with what proves it.
    let came = match trial.verdict.result {
        TrialStatus::Pass => String::new(),
        TrialStatus::Fail => format!("  {}", trial.verdict.control_outcome().word()),
        TrialStatus::Void => {
            trial.verdict.void_because.first().map(|why| format!("  {}", shown(why))).unwrap_or_default()
        }
    };
    format!("{style}{word}{style:#} {}{number}{came}", case.id)
}
