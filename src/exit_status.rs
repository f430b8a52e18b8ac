//! The exit status of the command.

use std::process::ExitCode;

use crate::score::TrialStatus;

/// The exit status of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Everything passed.
    Success = 0,
    /// A verdict failed, or something got worse.
    Failed = 1,
    /// The command line or a file is wrong, and nothing ran.
    Usage = 2,
    /// Nothing failed, but something is void, inconclusive or not finished.
    Unproven = 3,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        ExitCode::from(status as u8)
    }
}

impl From<TrialStatus> for ExitStatus {
    fn from(result: TrialStatus) -> Self {
        match result {
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
        let results = [TrialStatus::Pass, TrialStatus::Fail, TrialStatus::Void];
        assert_eq!(results.map(|result| ExitStatus::from(result) as u8), [0, 1, 3]);
        assert_eq!(ExitStatus::Usage as u8, 2);
    }
}
