//! The times of the steps of a rollout.

use crate::deploy::deployment::Progress;
use crate::deploy::options::Rollout;
use crate::service::After;

/// The maximum number of separate steps.
const MAX_STEPS: u32 = 1000;

/// The first step, and when the further ones happen; `start` is when the first one happens, if not at once.
pub(crate) fn steps(rollout: Rollout, start: Option<After>) -> (Progress, Vec<(After, Progress)>) {
    let Rollout::Steps { count, each } = rollout else { return (Progress::COMPLETE, Vec::new()) };
    let of = count.clamp(1, MAX_STEPS);
    let step = |done: u32| (delay(start, each, done - 1), Progress { done, of });
    (Progress { done: 1, of }, (2..=of).map(step).collect())
}

/// `times` delays of `each` after `start`.
fn delay(start: Option<After>, each: After, times: u32) -> After {
    match (start, each) {
        (None, After::Requests(count)) => After::Requests(count.saturating_mul(times)),
        (None, After::Time(time)) => After::Time(time.saturating_mul(times)),
        (Some(After::Requests(start)), After::Requests(count)) => {
            After::Requests(start.saturating_add(count.saturating_mul(times)))
        }
        (Some(After::Time(start)), After::Time(time)) => {
            After::Time(start.saturating_add(time.saturating_mul(times)))
        }
        _ => After::Settled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn later_steps(rollout: Rollout, start: Option<After>) -> Vec<After> {
        steps(rollout, start).1.into_iter().map(|(after, _)| after).collect()
    }

    #[test]
    fn each_step_follows_the_previous_one_after_the_delay() {
        let by_requests = Rollout::Steps { count: 4, each: After::Requests(2) };
        assert_eq!(later_steps(by_requests, None), [2, 4, 6].map(After::Requests));
        assert_eq!(later_steps(by_requests, Some(After::Requests(3))), [5, 7, 9].map(After::Requests));
        let by_clock = Rollout::Steps { count: 3, each: After::Time(Duration::from_secs(1)) };
        assert_eq!(
            later_steps(by_clock, None),
            [1, 2].map(|seconds| After::Time(Duration::from_secs(seconds)))
        );
        assert_eq!(later_steps(by_clock, Some(After::Requests(1))), [After::Settled; 2]);
    }

    #[test]
    fn a_rollout_has_at_least_one_and_at_most_a_thousand_steps() {
        assert_eq!(steps(Rollout::AtOnce, None), (Progress::COMPLETE, Vec::new()));
        assert_eq!(
            steps(Rollout::Steps { count: 0, each: After::Settled }, None),
            (Progress::COMPLETE, Vec::new())
        );
        assert_eq!(
            later_steps(Rollout::Steps { count: u32::MAX, each: After::Requests(u32::MAX) }, None).len(),
            999
        );
    }
}
