//! The schedules by which real senders deliver an event again that was not answered with a 2xx.

use std::time::Duration;

use crate::word_enum;

word_enum! {
    /// When a sender delivers again.
    pub enum Schedule {
        /// Over three days, with growing pauses.
        Stripe => "stripe",
        /// At once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h.
        Svix => "svix",
        /// At once, after a minute and after five.
        Slack => "slack",
        /// After a minute, an hour and six hours.
        Linear => "linear",
        /// Only by hand.
        ByHand => "by-hand",
    }
}

/// The longest pause of a shortened schedule.
const LONGEST: Duration = Duration::from_millis(20);

impl Schedule {
    /// The schedules that deliver again by themselves.
    pub const AUTOMATIC: [Schedule; 4] =
        [Schedule::Stripe, Schedule::Svix, Schedule::Slack, Schedule::Linear];

    /// The pauses before each further copy.
    #[must_use]
    pub const fn pauses(self) -> &'static [Duration] {
        const fn s(seconds: u64) -> Duration {
            Duration::from_secs(seconds)
        }
        const HOUR: u64 = 3_600;
        const STRIPE: [Duration; 8] = [
            s(60),
            s(5 * 60),
            s(30 * 60),
            s(2 * HOUR),
            s(5 * HOUR),
            s(10 * HOUR),
            s(12 * HOUR),
            s(12 * HOUR),
        ];
        const SVIX: [Duration; 7] =
            [s(5), s(5 * 60), s(30 * 60), s(2 * HOUR), s(5 * HOUR), s(10 * HOUR), s(10 * HOUR)];
        const SLACK: [Duration; 3] = [s(0), s(60), s(5 * 60)];
        const LINEAR: [Duration; 3] = [s(60), s(HOUR), s(6 * HOUR)];
        match self {
            Schedule::Stripe => &STRIPE,
            Schedule::Svix => &SVIX,
            Schedule::Slack => &SLACK,
            Schedule::Linear => &LINEAR,
            Schedule::ByHand => &[],
        }
    }

    /// By how much a trial shortens the pauses.
    #[must_use]
    pub fn factor(self) -> u32 {
        let longest = self.pauses().iter().max().map_or(0, Duration::as_millis);
        u32::try_from((longest / LONGEST.as_millis()).max(1)).unwrap_or(u32::MAX)
    }

    /// The pause before a further copy, from 0, as a trial makes it; `None` if no further one is sent.
    #[must_use]
    pub fn shortened(self, further: usize) -> Option<Duration> {
        self.pauses().get(further).map(|pause| *pause / self.factor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_schedule_keeps_the_order_of_its_pauses_and_ends() {
        for schedule in Schedule::AUTOMATIC {
            let count = schedule.pauses().len();
            let pauses: Vec<Duration> = (0..count).filter_map(|at| schedule.shortened(at)).collect();
            assert!(pauses.is_sorted(), "{pauses:?}");
            assert!(pauses.iter().all(|pause| *pause <= LONGEST), "{pauses:?}");
            assert_eq!((pauses.len(), schedule.shortened(count)), (count, None));
        }
        assert_eq!(Schedule::Slack.factor(), 15_000);
        assert_eq!(Schedule::ByHand.shortened(0), None);
    }
}
