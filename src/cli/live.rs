//! What is seen while a run goes on: a bar on a terminal, plain lines elsewhere, all of it on standard error.

use std::io::IsTerminal;
use std::time::Duration;

use anstream::eprintln;
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mock_services::yaml::shown;

use crate::report::TrialReport;
use crate::run::Happened;
use crate::scenario::Case;
use crate::score::Result3;

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
}

impl Live {
    pub(super) fn new(detail: Detail) -> Self {
        let on_terminal = std::io::stderr().is_terminal() && std::env::var_os("CI").is_none();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Live { detail, bar, on_terminal, total: 0, ended: 0, failed: 0, void: 0 }
    }

    pub(super) fn happened(&mut self, happened: &Happened<'_>) {
        match happened {
            Happened::Planned(total) => self.planned(*total),
            Happened::Ended(case, trial) => self.trial_ended(case, trial),
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
        self.failed += usize::from(result == Result3::Fail);
        self.void += usize::from(result == Result3::Void);
        let is_shown = match self.detail {
            Detail::Quiet | Detail::Progress => false,
            Detail::Normal => result != Result3::Pass,
            Detail::Verbose => true,
        };
        if is_shown {
            let line = line(case, trial);
            self.bar.suspend(|| eprintln!("{line}"));
        }
        self.bar.set_position(self.ended as u64);
        let counts =
            if self.detail == Detail::Progress { String::new() } else { format!("{} failed, {} void", self.failed, self.void) };
        self.bar.set_message(counts.clone());
        // Ten times in a run, so that whoever reads a log knows that it goes on.
        let step = self.total.div_ceil(10).max(1);
        if !self.on_terminal && self.detail != Detail::Quiet && (self.ended.is_multiple_of(step) || self.ended == self.total) {
            eprintln!("{}/{} trials done  {counts}", self.ended, self.total);
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn line(case: &Case, trial: &TrialReport) -> String {
    let (style, word) = match trial.verdict.result {
        Result3::Pass => (GREEN, "pass"),
        Result3::Fail => (RED, "FAIL"),
        Result3::Void => (YELLOW, "void"),
    };
    let number = if trial.trial > 1 { format!(" (trial {})", trial.trial) } else { String::new() };
    let why = trial.verdict.findings.iter().find(|finding| finding.fails).map(|finding| finding.message.as_str());
    let why = why.or(trial.verdict.void_because.first().map(String::as_str)).unwrap_or_default();
    let why = if trial.verdict.result == Result3::Pass { String::new() } else { format!("\n     {}", shown(why)) };
    format!("{style}{word}{style:#} {}{number}{why}", case.id)
}
