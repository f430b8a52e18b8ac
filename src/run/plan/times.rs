//! The time limit of a trial, how long it waits for the client's own timeout, and how long it probably takes.
//! Pure.

use std::time::Duration;

use mock_services::fault::Attempts;

use super::waits_for;
use crate::domain::InterruptAction;
use crate::scenario::{Case, Then};
use crate::subject::Subject;

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
    /// The timeout of the client.
    pub(in crate::run) client: Duration,
}

impl TrialTimes {
    /// `timeout` is the time of the command line, which is final; otherwise each hang adds to the time of the
    /// subject or of the case.
    pub(in crate::run) fn new(case: &Case, subject: &Subject, timeout: Option<Duration>) -> Self {
        let silences = silences(case);
        let client = client_timeout(case, subject);
        let silence = client.saturating_add((client / 4).max(CLIENT_TIMEOUT_SLACK));
        match timeout {
            // The rest of the time is for the next actions of the subject.
            Some(limit) => {
                TrialTimes { limit, silence: silence.min(limit / 4 * 3 / silences.max(1)), client }
            }
            None => {
                let usual = subject.settings.time.unwrap_or(case.timeout);
                TrialTimes { limit: usual.saturating_add(silence.saturating_mul(silences)), silence, client }
            }
        }
    }
}

/// The timeout of the subject's clients in this case.
fn client_timeout(case: &Case, subject: &Subject) -> Duration {
    let slowest = case.faults.iter().map(waits_for).max().unwrap_or_default();
    subject.client_timeout(slowest.max(at_barrier(case)), silences(case) > 0)
}

/// The longest time that a caller waits for others.
fn at_barrier(case: &Case) -> Duration {
    let meeting = case.barrier.as_ref().map(|barrier| barrier.within);
    meeting.or(case.overlap.as_ref().map(|overlap| overlap.within)).unwrap_or_default()
}

/// The longest time that a trial of the case waits: for timeouts, slow replies, late commits, restarts and
/// other callers.
pub(super) fn longest_wait(case: &Case, subject: &Subject) -> Duration {
    let silent = client_timeout(case, subject).saturating_mul(silences(case));
    let faults = case.faults.iter().map(waits_for);
    let interrupts = case.interrupts.iter().flat_map(|interrupt| {
        let frozen = match interrupt.action {
            InterruptAction::Freeze(time) => time,
            InterruptAction::Kill | InterruptAction::Stop | InterruptAction::Cancel => Duration::ZERO,
        };
        let pause = match &interrupt.then {
            Then::Restart { after, .. } => *after,
            Then::End => Duration::ZERO,
        };
        [frozen, pause]
    });
    faults.chain(interrupts).fold(silent.saturating_add(at_barrier(case)), Duration::saturating_add)
}

/// The number of attempts of a case that hang until the client's timeout.
fn silences(case: &Case) -> u32 {
    let silent = case.faults.iter().filter(|fault| fault.reply.waits_for_caller());
    let attempts = silent.map(|fault| match &fault.trigger.attempts {
        Attempts::Every => MAX_HANGS,
        Attempts::These(numbers) => u32::try_from(numbers.len()).unwrap_or(MAX_HANGS),
        Attempts::Span(first, last) => last.saturating_sub(*first).saturating_add(1),
    });
    attempts.map(|count| count.min(MAX_HANGS)).sum()
}

#[cfg(test)]
mod tests {
    use yaml_reader::Source;

    use super::*;
    use crate::scenario::read_scenario;
    use crate::subject::Settings;

    fn cases(more: &str) -> Vec<Case> {
        let text = format!(
            "about: A charge.\ntags: [payment]\ntask: Charge.\n\
         steps: [{{do: payment.charge, with: {{customer: cus_1, amount: 1, currency: usd, order: o1}}}}]\n\
         expect: {{effects: [{{effect: payment.charge, where: {{order: o1}}}}]}}\n{more}"
        );
        read_scenario(&Source::new("a.yaml", text), "a").unwrap()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn agent(settings: Settings) -> Subject {
        Subject { settings, ..Subject::command(vec!["agent".to_owned()]) }
    }

    #[test]
    fn a_case_that_waits_for_the_clients_timeout_has_time_for_it() {
        let case = &cases("faults: [{on: payment.charge, reply: {hang: until-timeout}}]\n")[0];
        let settings = Settings { client_timeout: Some(seconds(80)), ..Settings::default() };
        let slow = agent(settings.clone());
        let client = seconds(80);
        assert_eq!(
            TrialTimes::new(case, &slow, None),
            TrialTimes { limit: case.timeout + seconds(100), silence: seconds(100), client }
        );
        let own = agent(Settings { time: Some(seconds(10)), ..settings });
        assert_eq!(TrialTimes::new(case, &own, None).limit, seconds(110));
        let usual = agent(Settings::default());
        assert_eq!(TrialTimes::new(case, &usual, None).silence, seconds(30) + seconds(30) / 4);
        let quick = agent(Settings { client_timeout: Some(seconds(1)), ..Settings::default() });
        assert_eq!(TrialTimes::new(case, &quick, None).silence, seconds(6));
        // The command line has the last word, and leaves time for what comes after the silence.
        assert_eq!(
            TrialTimes::new(case, &slow, Some(seconds(20))),
            TrialTimes { limit: seconds(20), silence: seconds(15), client }
        );
    }

    #[test]
    fn a_control_gives_up_early_only_if_a_case_waits_for_that() {
        let timeout = |more: &str| TrialTimes::new(&cases(more)[0], &Subject::control("naive"), None).client;
        let with = |replies: &str| timeout(&format!("faults: [{replies}]\n"));
        let hang = "{on: payment.charge, reply: {hang: until-timeout}}";
        let late = |time: &str| format!("{{on: payment.charge, attempt: 2, reply: {{delay: {time}}}}}");
        assert_eq!(with(hang), seconds(10));
        assert_eq!(with(&format!("{hang}, {}", late("5s"))), seconds(10));
        assert_eq!(with(&format!("{hang}, {}", late("6s"))), seconds(30));
        assert_eq!(timeout(""), seconds(30), "nothing waits for it");
        assert_eq!(timeout("callers: 2\n"), seconds(30));
    }

    #[test]
    fn every_silence_counts_and_no_other_case_gets_more_time() {
        let three =
            &cases("faults: [{on: payment.charge, attempt: 1..3, reply: {hang: until-timeout}}]\n")[0];
        assert_eq!(silences(three), 3);
        let subject = agent(Settings { client_timeout: Some(seconds(4)), ..Settings::default() });
        assert_eq!(TrialTimes::new(three, &subject, None).limit, three.timeout + seconds(27));
        let other = &cases("faults: [{on: payment.charge, reply: {hang: {release: 1s}}}]\n")[0];
        assert_eq!(TrialTimes::new(other, &subject, None).limit, other.timeout);
    }
}
