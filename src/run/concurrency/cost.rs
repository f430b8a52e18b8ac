//! The cost of the trials of a run, and how many of them the machine can run at once. Pure.

use std::time::Duration;

/// The weight of earlier trials when another trial has ended, of 10 parts: the last trials count most.
const KEPT: (u64, u64) = (9, 10);
/// The share of the CPU time that subjects should use, as a fraction.
const USED: (u128, u128) = (9, 10);

/// The cost of trials.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    /// CPU time, in microseconds.
    processor: u64,
    /// Their duration, once for each caller, in microseconds.
    took: u64,
}

impl Cost {
    /// Adds a trial.
    pub(super) fn add(&mut self, processor: Duration, took: Duration) {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let kept = |sum: u64| sum / KEPT.1 * KEPT.0;
        self.processor = kept(self.processor).saturating_add(micros(processor));
        self.took = kept(self.took).saturating_add(micros(took));
    }

    /// The number of callers that keep this many cores busy; `None` if no cost is known. A caller that waits
    /// for a core takes longer and uses no more CPU time, so this number does not grow by itself.
    pub(super) fn fitting(&self, cores: usize) -> Option<usize> {
        if self.took == 0 || self.processor == 0 {
            return None;
        }
        let cores = u128::try_from(cores).unwrap_or(u128::MAX);
        let callers = cores.saturating_mul(self.took.into()) * USED.0 / (u128::from(self.processor) * USED.1);
        Some(usize::try_from(callers).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(processor: u64, took: u64) -> Cost {
        let mut cost = Cost::default();
        cost.add(Duration::from_millis(processor), Duration::from_millis(took));
        cost
    }

    #[test]
    fn as_many_fit_as_leave_the_cores_a_little_to_spare() {
        assert_eq!(Cost::default().fitting(2), None);
        assert_eq!(of(0, 100).fitting(2), None);
        assert_eq!(of(1000, 1000).fitting(2), Some(1));
        assert_eq!(of(500, 1000).fitting(2), Some(3));
        assert_eq!(of(20, 2000).fitting(2), Some(180));
    }

    #[test]
    fn twelve_that_wait_for_two_cores_are_not_taken_for_twelve_that_fit() {
        // Each needs a second of CPU time, and takes six because of the others.
        assert_eq!(of(1000, 6000).fitting(2), Some(10));
    }

    #[test]
    fn the_last_trials_count_most() {
        let mut cost = of(1000, 1000);
        for _ in 0..60 {
            cost.add(Duration::from_millis(10), Duration::from_millis(1000));
        }
        assert!(cost.fitting(2).is_some_and(|callers| callers > 100), "{cost:?}");
    }
}
