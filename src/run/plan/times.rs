//! How long a trial may take, and how long it waits for the client's own timeout. Pure.

use std::time::Duration;

use mock_services::fault::{Attempts, Reply};

use crate::scenario::Case;
use crate::subject::Settings;

/// What is taken for the client's timeout where `client_timeout` is not set.
const USUAL: Duration = Duration::from_secs(30);
/// A client is waited for so much longer than its timeout, at least.
const SLACK: Duration = Duration::from_secs(5);
/// How often a silence on every attempt is waited out.
const EVERY: u32 = 3;

/// The time of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::run) struct TrialTimes {
    /// How long one start may take.
    pub(in crate::run) limit: Duration,
    /// How long a `hang: until-timeout` waits for the client to leave.
    pub(in crate::run) silence: Duration,
}

impl TrialTimes {
    /// `asked` is what the command line sets, which is final; otherwise each silence adds to the time of the
    /// subject or of the case.
    pub(in crate::run) fn of(case: &Case, settings: &Settings, asked: Option<Duration>) -> Self {
        let silences = silences(case);
        let client = settings.client_timeout.unwrap_or(USUAL);
        let silence = client.saturating_add((client / 4).max(SLACK));
        match asked {
            // The rest of the time is for what the subject does afterwards.
            Some(limit) => TrialTimes { limit, silence: silence.min(limit / 4 * 3 / silences.max(1)) },
            None => {
                let usual = settings.time.unwrap_or(case.timeout);
                TrialTimes { limit: usual.saturating_add(silence.saturating_mul(silences)), silence }
            }
        }
    }
}

/// How many attempts of a case get a silence that lasts until the client's timeout.
pub(in crate::run) fn silences(case: &Case) -> u32 {
    let silent = case.faults.iter().filter(|fault| matches!(fault.reply, Reply::Hang { release: None }));
    let attempts = silent.map(|fault| match &fault.trigger.attempts {
        Attempts::Every => EVERY,
        Attempts::These(numbers) => u32::try_from(numbers.len()).unwrap_or(EVERY),
        Attempts::Span(first, last) => last.saturating_sub(*first).saturating_add(1),
    });
    attempts.map(|count| count.min(EVERY)).sum()
}

#[cfg(test)]
mod tests;
