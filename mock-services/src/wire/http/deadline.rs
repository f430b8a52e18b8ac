//! The deadline of the next input.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// A deadline that moves with every request. Its timer is not reset each time: it can fire early, and is set
/// again then.
#[derive(Debug)]
pub(super) struct Deadline {
    until: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Deadline {
    pub(super) fn new(time: Duration) -> Self {
        let until = Instant::now() + time;
        Deadline { until, timer: Box::pin(sleep_until(until)) }
    }

    /// Sets the deadline to this time from now.
    pub(super) fn begin(&mut self, time: Duration) {
        self.until = Instant::now() + time;
        if self.until < self.timer.deadline() {
            self.timer.as_mut().reset(self.until);
        }
    }

    /// Waits until the time is over.
    pub(super) async fn is_over(&mut self) {
        loop {
            self.timer.as_mut().await;
            if self.timer.deadline() >= self.until {
                return;
            }
            self.timer.as_mut().reset(self.until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long after `begun` it was over.
    async fn took(deadline: &mut Deadline, begun: Instant) -> Duration {
        deadline.is_over().await;
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_that_was_moved_ends_at_the_later_time() {
        let begun = Instant::now();
        let mut deadline = Deadline::new(Duration::from_secs(10));
        for _ in 0..3 {
            tokio::time::advance(Duration::from_secs(8)).await;
            deadline.begin(Duration::from_secs(10));
            let waits = tokio::time::timeout(Duration::from_secs(5), deadline.is_over());
            assert!(waits.await.is_err(), "{:?}", begun.elapsed());
        }
        assert_eq!(took(&mut deadline, begun).await.as_secs(), 8 + 13 + 13 + 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_shorter_time_applies_at_once_and_so_does_a_longer_one_after_it() {
        let begun = Instant::now();
        let mut deadline = Deadline::new(Duration::from_secs(300));
        deadline.begin(Duration::from_secs(10));
        assert_eq!(took(&mut deadline, begun).await.as_secs(), 10);
        deadline.begin(Duration::from_secs(5));
        deadline.begin(Duration::from_secs(60));
        assert_eq!(took(&mut deadline, begun).await.as_secs(), 70);
    }
}
