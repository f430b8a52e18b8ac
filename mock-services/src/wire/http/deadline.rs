//! How long a caller is waited for.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// A deadline that moves with every request, and its timer, which does not: it fires at that time or before
/// it, and is set again then.
#[derive(Debug)]
pub(super) struct Deadline {
    until: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl Deadline {
    pub(super) fn new(time: Duration) -> Self {
        let until = Instant::now() + time;
        Deadline { until, alarm: Box::pin(sleep_until(until)) }
    }

    /// Waits for so long from now on, and no longer.
    pub(super) fn begin(&mut self, time: Duration) {
        self.until = Instant::now() + time;
        if self.until < self.alarm.deadline() {
            self.alarm.as_mut().reset(self.until);
        }
    }

    /// Waits until the time is over.
    pub(super) async fn is_over(&mut self) {
        loop {
            self.alarm.as_mut().await;
            if self.alarm.deadline() >= self.until {
                return;
            }
            self.alarm.as_mut().reset(self.until);
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
    async fn what_was_put_off_is_over_at_the_later_time_and_not_at_the_first() {
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
    async fn a_shorter_time_counts_at_once_and_a_longer_one_behind_it_too() {
        let begun = Instant::now();
        let mut deadline = Deadline::new(Duration::from_secs(300));
        deadline.begin(Duration::from_secs(10));
        assert_eq!(took(&mut deadline, begun).await.as_secs(), 10);
        deadline.begin(Duration::from_secs(5));
        deadline.begin(Duration::from_secs(60));
        assert_eq!(took(&mut deadline, begun).await.as_secs(), 70);
    }
}
