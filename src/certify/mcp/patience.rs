//! How long hapax waits for a server: for its answers, and for what it does without one. Both follow what the server needed
//! before, so that a slow machine is not a failure of the server.

use std::time::Duration;

use super::observed::ObservedTrial;

/// How long a server of which nothing is known can take for its first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(120);
/// The shortest limit of later answers.
const SHORTEST_LIMIT: Duration = Duration::from_secs(30);
/// How many times longer than before an answer can take.
const TIMES_LONGER: u32 = 10;
/// The shortest time for which a server is watched after its last answer. Trials that wait use no core, so others run
/// meanwhile.
const SHORTEST_WATCH: Duration = Duration::from_secs(2);
/// How many times as long as its slowest call a server is watched.
const WATCHED_CALLS: u32 = 4;
/// The longest time for which it is watched.
const LONGEST_WATCH: Duration = Duration::from_secs(30);
/// How long the backend hangs where a call is cancelled.
const HANG: Duration = Duration::from_secs(3);

/// How long a server can take for its start, and for each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerTimeout {
    /// As the user says.
    Given(Duration),
    /// By what it needed before.
    Measured,
}

impl ServerTimeout {
    /// The limit of the first start.
    pub(super) fn first(self) -> Duration {
        match self {
            ServerTimeout::Given(time) => time,
            ServerTimeout::Measured => FIRST_ANSWER,
        }
    }

    /// The limit after the slowest answer so far took this long.
    pub(super) fn after(self, slowest: Duration) -> Duration {
        match self {
            ServerTimeout::Given(time) => time,
            ServerTimeout::Measured => slowest.saturating_mul(TIMES_LONGER).max(SHORTEST_LIMIT),
        }
    }
}

/// How long is waited for what a server does without an answer, by its slowest call so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Patience {
    pub(super) slowest_call: Duration,
}

impl Patience {
    /// How long a server is watched after its last answer.
    pub(super) fn watch(self) -> Duration {
        self.slowest_call.saturating_mul(WATCHED_CALLS).clamp(SHORTEST_WATCH, LONGEST_WATCH)
    }

    /// How long a server is watched after a cancelled call: longer than the backend hangs.
    pub(super) fn after_cancel(self) -> Duration {
        HANG + self.watch() / 2
    }

    /// When the connection of a call is closed whose request nobody sees.
    pub(super) fn close_after(self) -> Duration {
        self.watch() / 2
    }
}

/// How long the slowest start and the slowest call of these trials took.
pub(super) fn slowest<'a>(trials: impl IntoIterator<Item = &'a ObservedTrial>) -> (Duration, Duration) {
    let (mut start, mut call) = (Duration::ZERO, Duration::ZERO);
    for seen in trials {
        start = start.max(seen.slowest_start);
        call = call.max(seen.slowest_call);
    }
    (start, call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_what_the_server_needed_unless_the_user_gives_one() {
        let seconds = Duration::from_secs;
        let given = ServerTimeout::Given(seconds(2));
        assert_eq!((given.first(), given.after(seconds(60))), (seconds(2), seconds(2)));
        let measured = ServerTimeout::Measured;
        assert!(measured.first() > seconds(60));
        assert_eq!(measured.after(Duration::from_millis(100)), seconds(30));
        assert_eq!(measured.after(seconds(20)), seconds(200));
    }

    #[test]
    fn a_server_with_slow_calls_is_watched_for_longer() {
        let watched = |seconds| Patience { slowest_call: Duration::from_secs(seconds) }.watch().as_secs();
        assert_eq!([0, 1, 3, 60].map(watched), [2, 4, 12, 30]);
        let quick = Patience::default();
        assert!(quick.after_cancel() > HANG && quick.close_after() == Duration::from_secs(1));
    }
}
