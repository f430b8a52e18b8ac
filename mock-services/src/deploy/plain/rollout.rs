//! When the steps of a roll-out come.

use crate::deploy::deployment::Progress;
use crate::deploy::options::Rollout;
use crate::service::After;

/// How many steps are told apart at most.
const MOST_STEPS: u32 = 1000;

/// The first step, and when the further ones come; `begin` is when the first one does, where that is not at
/// once.
pub(crate) fn steps(rollout: Rollout, begin: Option<After>) -> (Progress, Vec<(After, Progress)>) {
    let Rollout::Steps { count, each } = rollout else { return (Progress::WHOLE, Vec::new()) };
    let of = count.clamp(1, MOST_STEPS);
    let step = |done: u32| (put_off(begin, each, done - 1), Progress { done, of });
    (Progress { done: 1, of }, (2..=of).map(step).collect())
}

/// So many times `each` after `begin`.
fn put_off(begin: Option<After>, each: After, times: u32) -> After {
    match (begin, each) {
        (None, After::Requests(count)) => After::Requests(count.saturating_mul(times)),
        (None, After::Time(time)) => After::Time(time.saturating_mul(times)),
        (Some(After::Requests(begin)), After::Requests(count)) => {
            After::Requests(begin.saturating_add(count.saturating_mul(times)))
        }
        (Some(After::Time(begin)), After::Time(time)) => {
            After::Time(begin.saturating_add(time.saturating_mul(times)))
        }
        _ => After::Settled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn further(rollout: Rollout, begin: Option<After>) -> Vec<After> {
        steps(rollout, begin).1.into_iter().map(|(after, _)| after).collect()
    }

    #[test]
    fn each_step_comes_so_much_after_the_one_before() {
        let by_requests = Rollout::Steps { count: 4, each: After::Requests(2) };
        assert_eq!(further(by_requests, None), [2, 4, 6].map(After::Requests));
        assert_eq!(further(by_requests, Some(After::Requests(3))), [5, 7, 9].map(After::Requests));
        let by_clock = Rollout::Steps { count: 3, each: After::Time(Duration::from_secs(1)) };
        assert_eq!(further(by_clock, None), [1, 2].map(|seconds| After::Time(Duration::from_secs(seconds))));
        assert_eq!(further(by_clock, Some(After::Requests(1))), [After::Settled; 2]);
    }

    #[test]
    fn one_step_or_none_is_the_whole_and_a_number_without_end_is_bounded() {
        assert_eq!(steps(Rollout::AtOnce, None), (Progress::WHOLE, Vec::new()));
        assert_eq!(
            steps(Rollout::Steps { count: 0, each: After::Settled }, None),
            (Progress::WHOLE, Vec::new())
        );
        assert_eq!(
            further(Rollout::Steps { count: u32::MAX, each: After::Requests(u32::MAX) }, None).len(),
            999
        );
    }
}
