//! How many trials run at once. Most of them wait: for a reply that hangs, for a start barrier, for a program
//! to start. No verdict depends on it.

pub(super) mod limits;
mod policy;
mod usage;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use policy::{AdmissionPolicy, Load};
use usage::Usage;

use crate::trial::StartingCallers;

/// The minimum time between two looks at the load.
const LOOK_INTERVAL: Duration = Duration::from_millis(25);
/// Looking takes at most this part of the time: one in forty.
const LOOK_SHARE: u32 = 40;
/// hapax itself has too much to do if it looks later than planned by more than this. The processes that wait
/// for its services use no core then, and the next trial would make them wait longer.
const MAX_LATENESS: Duration = Duration::from_millis(100);
/// The number of callers at most, and at least the maximum for each core: hapax itself needs about 200 KB for each.
const MAX_CALLERS: usize = 512;
const MAX_CALLERS_PER_CORE: usize = 16;
/// For each core, the number of callers if the system does not show the load.
const CALLERS_PER_CORE: usize = 4;

/// Admits trials. Several runs can share one.
#[derive(Debug)]
pub struct ConcurrencyLimiter {
    /// Held by the trial that waits next: first come, first served.
    turn: tokio::sync::Mutex<()>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// A caller has ended.
    changed: Notify,
    starting: StartingCallers,
}

#[derive(Debug)]
struct State {
    policy: AdmissionPolicy,
    usage: Usage,
    next_look: Instant,
}

impl ConcurrencyLimiter {
    /// At most this many callers at once, or as many as keep the cores busy; limited by open files, processes
    /// and ports.
    #[must_use]
    pub fn new(jobs: Option<usize>) -> Self {
        let (cores, maximum) = (cores(), limits::callers_at_once());
        Self::with(match jobs {
            Some(jobs) => AdmissionPolicy::fixed(jobs.min(maximum)),
            None if cfg!(target_os = "linux") => {
                AdmissionPolicy::adaptive(cores, maximum.min(MAX_CALLERS.max(cores * MAX_CALLERS_PER_CORE)))
            }
            None => AdmissionPolicy::fixed((cores * CALLERS_PER_CORE).min(maximum)),
        })
    }

    fn with(policy: AdmissionPolicy) -> Self {
        let state = State { policy, usage: Usage::default(), next_look: Instant::now() + LOOK_INTERVAL };
        let shared =
            Shared { state: Mutex::new(state), changed: Notify::new(), starting: StartingCallers::default() };
        ConcurrencyLimiter { turn: tokio::sync::Mutex::default(), shared: Arc::new(shared) }
    }

    /// Counts the callers that are admitted and have no process yet.
    pub(super) fn starting(&self) -> &StartingCallers {
        &self.shared.starting
    }

    /// Waits until this many more callers can start.
    pub(super) async fn admit(&self, callers: u32) -> Admitted {
        let callers = usize::try_from(callers).unwrap_or(usize::MAX);
        let _turn = self.turn.lock().await;
        let waits_since = Instant::now();
        loop {
            let next_look = {
                let mut state = self.shared.state();
                if state.policy.admit(callers) {
                    return Admitted { shared: Arc::clone(&self.shared), callers };
                }
                state.policy.is_adaptive().then(|| state.next_look.max(waits_since))
            };
            let look = async {
                match next_look {
                    Some(at) => {
                        sleep_until(at).await;
                        at.elapsed()
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.shared.changed.notified() => {}
                lateness = look => self.shared.look(lateness),
            }
        }
    }
}

/// The number of cores that this process can use.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, lateness: Duration) {
        let began = Instant::now();
        let mut state = self.state();
        let running = state.policy.running();
        if let Some(load) = state.usage.look(running) {
            let starting = self.starting.count();
            tracing::trace!(running, starting, ?load, ?lateness, "load");
            let is_late = lateness > MAX_LATENESS;
            state.policy.looked(if is_late { Load { room_for: 0, ..load } } else { load }, starting);
        }
        state.next_look = Instant::now() + LOOK_INTERVAL.max(began.elapsed() * LOOK_SHARE);
    }
}

/// The callers of a trial that was admitted. They have ended when this is dropped.
#[derive(Debug)]
pub(super) struct Admitted {
    shared: Arc<Shared>,
    callers: usize,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.shared.state().policy.ended(self.callers);
        self.shared.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_more_callers_run_at_once_than_were_asked_for() {
        let limiter = ConcurrencyLimiter::new(Some(3));
        let first = limiter.admit(2).await;
        assert!(!limiter.shared.state().policy.admit(2));
        drop(limiter.admit(1).await);
        let (crowd, ()) = tokio::join!(limiter.admit(12), async {
            tokio::task::yield_now().await;
            drop(first);
        });
        assert!(!limiter.shared.state().policy.admit(1), "more callers than were asked for run alone");
        drop(crowd);
        drop(limiter.admit(3).await);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn no_trial_starts_while_hapax_itself_is_late() {
        let limiter = ConcurrencyLimiter::with(AdmissionPolicy::adaptive(1_000, usize::MAX));
        let _running = limiter.admit(1).await;
        limiter.shared.look(MAX_LATENESS + Duration::from_millis(1));
        assert!(!limiter.shared.state().policy.admit(1));
        limiter.shared.look(MAX_LATENESS);
        assert!(limiter.shared.state().policy.admit(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_trial_waits_for_the_next_look_if_the_cores_are_busy() {
        let limiter = ConcurrencyLimiter::with(AdmissionPolicy::adaptive(1_000, usize::MAX));
        let _running = limiter.admit(1).await;
        let busy = Load { runnable: 1_000_000, room_for: 10 };
        limiter.shared.state().policy.looked(busy, 0);
        assert!(!limiter.shared.state().policy.admit(1));
        // This process and those below it are fewer than a thousand.
        drop(limiter.admit(1).await);
    }
}
