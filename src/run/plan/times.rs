//! The time limit of a trial, and how long it waits for the client's own timeout. Pure.

use std::time::Duration;

use mock_services::fault::{Attempts, Reply};

use crate::scenario::Case;
use crate::subject::Settings;

/// The assumed timeout of the client if `client_timeout` is not set.
const DEFAULT_CLIENT_TIMEOUT: Duration = Duration::from_secs(30);
/// The minimum additional time that hapax waits for a client after its timeout.
const CLIENT_TIMEOUT_SLACK: Duration = Duration::from_secs(5);
/// The maximum number of hangs that are waited for if every attempt hangs.
const MAX_HANGS: u32 = 3;

/// The times of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::run) struct TrialTimes {
    /// The time limit of one start.
    pub(in crate::run) limit: Duration,
    /// How long a `hang: until-timeout` waits for the client to disconnect.
    pub(in crate::run) silence: Duration,
}

impl TrialTimes {
    /// `asked` is the time of the command line, which is final; otherwise each hang adds to the time of the
    /// subject or of the case.
    pub(in crate::run) fn of(case: &Case, settings: &Settings, asked: Option<Duration>) -> Self {
        let silences = silences(case);
        let client = settings.client_timeout.unwrap_or(DEFAULT_CLIENT_TIMEOUT);
        let silence = client.saturating_add((client / 4).max(CLIENT_TIMEOUT_SLACK));
        match asked {
            // The rest of the time is for the next actions of the subject.
            Some(limit) => TrialTimes { limit, silence: silence.min(limit / 4 * 3 / silences.max(1)) },
            None => {
                let usual = settings.time.unwrap_or(case.timeout);
                TrialTimes { limit: usual.saturating_add(silence.saturating_mul(silences)), silence }
            }
        }
    }
}

/// The number of attempts of a case that hang until the client's timeout.
pub(in crate::run) fn silences(case: &Case) -> u32 {
    let silent = case.faults.iter().filter(|fault| matches!(fault.reply, Reply::Hang { release: None }));
    let attempts = silent.map(|fault| match &fault.trigger.attempts {
        Attempts::Every => MAX_HANGS,
        Attempts::These(numbers) => u32::try_from(numbers.len()).unwrap_or(MAX_HANGS),
        Attempts::Span(first, last) => last.saturating_sub(*first).saturating_add(1),
    });
    attempts.map(|count| count.min(MAX_HANGS)).sum()
}

#[cfg(test)]
mod tests;
