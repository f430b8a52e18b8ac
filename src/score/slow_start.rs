//! Starts whose time limit ended soon after their first request: the time went to starting, and what they would have
//! done shows nothing about them.

use super::history::TrialHistory;
use crate::domain::StartEnd;

/// The reason for which such a trial is void, as a word.
pub(super) const SLOW_START: &str = "slow-start";

/// A start is slow if its first request comes after this part of its time: numerator and denominator.
const SLOW: (u64, u64) = (2, 3);
/// A start whose first request comes earlier is never slow, in microseconds.
const QUICK: u64 = 1_000_000;

/// A start that was stopped soon after its first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlowStart {
    /// When its first request came, in seconds after the start.
    pub(super) first_request: u64,
    /// When it was stopped, in seconds after the start.
    pub(super) stopped: u64,
}

/// The slowest, if all starts that were stopped at their time limit are slow.
pub(super) fn slow_start(history: &TrialHistory<'_>) -> Option<SlowStart> {
    let is_idle =
        |end: &crate::domain::EndEvent| end.claimed_before_limit.is_some_and(|times| times.is_final());
    let stopped = history.ends().filter(|end| end.event.end == StartEnd::TimeUp && !is_idle(end.event));
    let slow = stopped.map(|end| {
        let started = history
            .starts()
            .find(|start| start.caller == end.caller && start.event.start == end.event.start)?;
        let requests = history.attempts.iter().filter(|attempt| Some(attempt.received.caller) == end.caller);
        let first = requests.map(|attempt| attempt.at).find(|at| (started.at..end.at).contains(at))?;
        let (first, whole) = (first - started.at, end.at - started.at);
        (first >= QUICK && first * SLOW.1 >= whole * SLOW.0)
            .then_some(SlowStart { first_request: first / 1_000_000, stopped: whole / 1_000_000 })
    });
    slow.collect::<Option<Vec<SlowStart>>>()?.into_iter().max_by_key(|slow| slow.first_request)
}

#[cfg(test)]
mod tests {
    use crate::domain::FindingKind;
    use crate::score::testing::{LedgerScript, Sees, due, terms};
    use crate::score::{TrialStatus, score};

    use super::*;

    fn verdict(first_request_ms: u64) -> crate::score::Verdict {
        let mut script = LedgerScript::new();
        script.started(1);
        script.wait(first_request_ms).charge(Some("k1"), "o1", 10, Sees::Ok);
        script.wait(30_000 - first_request_ms).ended(1, StartEnd::TimeUp);
        score(&terms([due("o1", 10, 1)]), &script.end(), None)
    }

    #[test]
    fn a_start_that_got_no_time_after_its_first_request_is_void_and_not_failed() {
        let late = verdict(27_000);
        assert_eq!(late.result, TrialStatus::Void, "{late:#?}");
        assert!(late.void_because[0].contains("27 of 30 s"), "{:?}", late.void_because);
        let early = verdict(2_000);
        assert_eq!(early.result, TrialStatus::Fail);
        assert!(early.findings.iter().any(|finding| finding.kind == FindingKind::TimeUp && finding.fails));
    }
}
