//! The only clock of the package. Services do not read it: the engine passes them the time with each call.

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The source of the time.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    /// The machine's clocks; monotonic time counts from the given instant.
    Machine(Instant),
    /// A fixed time, for tests that compare bytes.
    Pinned(Timestamp),
}

impl Default for Clock {
    fn default() -> Self {
        Clock::Machine(Instant::now())
    }
}

impl Clock {
    /// The time of day.
    #[must_use]
    pub fn wall(&self) -> Timestamp {
        match self {
            Clock::Machine(_) => Timestamp::now(),
            Clock::Pinned(at) => *at,
        }
    }

    /// The time since the clock was created; it never goes back.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        match self {
            Clock::Machine(start) => start.elapsed(),
            Clock::Pinned(_) => Duration::ZERO,
        }
    }
}
