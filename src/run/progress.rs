//! Decides what is shown during a run: which trials are named, and when a log gets a line. The command line
//! prints it. Pure.

use crate::score::TrialStatus;

/// The number of trials that are named while they run; the end of the run lists them all.
const MAX_NAMED_TRIALS: usize = 40;
/// The number of lines that a log gets in one run.
const MILESTONES: usize = 10;

/// How much is shown during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Nothing.
    Quiet,
    /// The number of trials that have ended.
    Progress,
    /// Trials that failed or are void, and the number of trials that have ended.
    Normal,
    /// Every trial.
    Verbose,
}

/// Counts the trials of a run as they end.
#[derive(Debug, Clone)]
pub struct Progress {
    /// How much is shown.
    pub verbosity: Verbosity,
    /// How many trials are planned.
    pub total: usize,
    /// How many have ended.
    pub ended: usize,
    failed: usize,
    void: usize,
    named: usize,
}

/// What to show when a trial has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgressUpdate {
    /// The line about this trial.
    pub line: Option<ProgressLine>,
    /// Whether a log gets a line with the counts.
    pub is_milestone: bool,
}

/// A line about a trial that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressLine {
    /// The trial is named.
    Trial,
    /// A line says, once, that further trials are only counted.
    OnlyCounted,
}

impl Progress {
    /// Nothing has run yet.
    #[must_use]
    pub const fn new(verbosity: Verbosity) -> Self {
        Progress { verbosity, total: 0, ended: 0, failed: 0, void: 0, named: 0 }
    }

    /// Counts a trial that has ended.
    pub fn trial_ended(&mut self, result: TrialStatus) -> ProgressUpdate {
        self.ended += 1;
        self.failed += usize::from(result == TrialStatus::Fail);
        self.void += usize::from(result == TrialStatus::Void);
        let is_shown = match self.verbosity {
            Verbosity::Quiet | Verbosity::Progress => false,
            Verbosity::Normal => result != TrialStatus::Pass,
            Verbosity::Verbose => true,
        };
        self.named += usize::from(is_shown);
        let line = match self.named {
            _ if !is_shown => None,
            _ if self.verbosity == Verbosity::Verbose => Some(ProgressLine::Trial),
            ..=MAX_NAMED_TRIALS => Some(ProgressLine::Trial),
            more if more == MAX_NAMED_TRIALS + 1 => Some(ProgressLine::OnlyCounted),
            _ => None,
        };
        let step = self.total.div_ceil(MILESTONES).max(1);
        let is_milestone = self.verbosity != Verbosity::Quiet
            && (self.ended.is_multiple_of(step) || self.ended == self.total);
        ProgressUpdate { line, is_milestone }
    }

    /// The numbers of failed and void trials; empty if only the progress is shown.
    #[must_use]
    pub fn counts(&self) -> String {
        match self.verbosity {
            Verbosity::Progress => String::new(),
            Verbosity::Quiet | Verbosity::Normal | Verbosity::Verbose => {
                format!("{} failed, {} void", self.failed, self.void)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(verbosity: Verbosity, result: TrialStatus, trials: usize) -> Vec<Option<ProgressLine>> {
        let mut progress = Progress { total: trials, ..Progress::new(verbosity) };
        (0..trials).map(|_| progress.trial_ended(result).line).collect()
    }

    #[test]
    fn failures_are_named_up_to_a_limit_and_then_only_counted() {
        let shown = lines(Verbosity::Normal, TrialStatus::Fail, 50);
        assert!(shown[..MAX_NAMED_TRIALS].iter().all(|line| *line == Some(ProgressLine::Trial)));
        assert_eq!(shown[MAX_NAMED_TRIALS], Some(ProgressLine::OnlyCounted));
        assert!(shown[MAX_NAMED_TRIALS + 1..].iter().all(Option::is_none));
    }

    #[test]
    fn passes_are_named_only_where_everything_is_shown() {
        assert!(lines(Verbosity::Normal, TrialStatus::Pass, 3).iter().all(Option::is_none));
        let shown = lines(Verbosity::Verbose, TrialStatus::Pass, 50);
        assert!(shown.iter().all(|line| *line == Some(ProgressLine::Trial)));
        assert!(lines(Verbosity::Progress, TrialStatus::Fail, 3).iter().all(Option::is_none));
    }

    #[test]
    fn a_log_gets_ten_lines_and_the_last_trial_is_one_of_them() {
        let mut progress = Progress { total: 100, ..Progress::new(Verbosity::Progress) };
        let milestones: Vec<bool> =
            (0..100).map(|_| progress.trial_ended(TrialStatus::Pass).is_milestone).collect();
        assert_eq!(milestones.iter().filter(|is| **is).count(), 10);
        assert!(milestones[99]);
        let mut quiet = Progress { total: 1, ..Progress::new(Verbosity::Quiet) };
        assert!(!quiet.trial_ended(TrialStatus::Pass).is_milestone);
    }
}
