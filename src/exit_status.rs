//! The exit status of the command.

use std::process::ExitCode;

use crate::domain::TrialStatus;

/// The exit status of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Everything passed.
    Success = 0,
    /// A trial failed, or a case is worse than the baseline.
    Failed = 1,
    /// The command line or a file is wrong, and nothing ran.
    Usage = 2,
    /// No trial failed, but a trial is void, inconclusive or not finished.
    Unproven = 3,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        ExitCode::from(status as u8)
    }
}

impl From<TrialStatus> for ExitStatus {
    fn from(status: TrialStatus) -> Self {
        match status {
            TrialStatus::Pass => ExitStatus::Success,
            TrialStatus::Fail => ExitStatus::Failed,
            TrialStatus::Void => ExitStatus::Unproven,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_the_documented_ones() {
        let statuses = [TrialStatus::Pass, TrialStatus::Fail, TrialStatus::Void];
        assert_eq!(statuses.map(|status| ExitStatus::from(status) as u8), [0, 1, 3]);
        assert_eq!(ExitStatus::Usage as u8, 2);
    }
}
