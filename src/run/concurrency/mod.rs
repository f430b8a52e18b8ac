//! How many callers run at once. Most trials wait: for a reply that hangs, for a start barrier, for a program
//! to start. So more are started while the machine is idle, up to a limit that follows from the cost of
//! finished trials. No verdict depends on it.

mod cost;
pub(super) mod machine;
pub(super) mod open_files;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::run::concurrency::cost::Cost;

/// For each core, before the cost of a trial is known and where it allows no more.
const MIN_PER_CORE: usize = 1;
/// For each core, as soon as the cost of a trial allows it.
const USUAL_PER_CORE: usize = 6;
/// For each core, at most.
const MAX_PER_CORE: usize = 64;
/// For each core, the number of trials that can wait for the timeout of a client in addition to the others:
/// they are idle meanwhile.
const SILENT_PER_CORE: usize = 32;
/// How often the load of the machine is read.
const LOAD_INTERVAL: Duration = Duration::from_millis(100);
/// More callers are admitted when at least this share of the processor time was idle.
const IDLE: f64 = 0.25;

/// How many callers run at once. Several runs can share one.
pub struct ConcurrencyLimiter {
    lane: Arc<PermitPool>,
    /// For trials that mostly wait; if the number of callers is set, all trials share one limit.
    silent: Arc<PermitPool>,
    watcher: Option<JoinHandle<()>>,
}

impl ConcurrencyLimiter {
    /// At most this many callers at once, or as many as keep the machine busy; limited by open files. It must
    /// be created in the runtime.
    #[must_use]
    pub fn new(jobs: Option<usize>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let bound = open_files::callers();
        match jobs.map(|jobs| jobs.min(bound)) {
            Some(jobs) => {
                let lane = Arc::new(PermitPool::fixed(jobs));
                ConcurrencyLimiter { silent: Arc::clone(&lane), lane, watcher: None }
            }
            None => {
                let lane = Arc::new(PermitPool::adaptive(cores, bound));
                let watcher = tokio::spawn(raise(Arc::clone(&lane), cores));
                ConcurrencyLimiter {
                    lane,
                    silent: Arc::new(PermitPool::fixed((cores * SILENT_PER_CORE).min(bound))),
                    watcher: Some(watcher),
                }
            }
        }
    }

    /// Waits until this many more callers can run; their permits are returned on drop. `silent` callers
    /// mostly wait for the timeout of their client.
    pub(super) async fn admit(&self, callers: u32, silent: bool) -> Admitted {
        let lane = if silent { &self.silent } else { &self.lane };
        // First come, first served.
        let _turn = lane.turn.lock().await;
        loop {
            if let Some(admitted) = lane.try_admit(usize::try_from(callers).unwrap_or(usize::MAX)) {
                return admitted;
            }
            lane.changed.notified().await;
        }
    }
}

impl Drop for ConcurrencyLimiter {
    fn drop(&mut self) {
        if let Some(watcher) = &self.watcher {
            watcher.abort();
        }
    }
}

/// Running callers. Their permits are returned when this is dropped.
pub(super) struct Admitted {
    lane: Arc<PermitPool>,
    callers: usize,
}

impl Admitted {
    /// Reports the cost of the trial: the CPU time of its starts, and its duration.
    pub(super) fn cost(&self, processor: Duration, took: Duration) {
        let callers = u32::try_from(self.callers).unwrap_or(u32::MAX);
        self.lane.add_cost(processor, took.saturating_mul(callers));
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.lane.state().running -= self.callers;
        self.lane.changed.notify_one();
    }
}

/// Callers that are counted together.
struct PermitPool {
    /// Held by the trial that waits next.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// A caller has ended, or more are allowed.
    changed: Notify,
    /// The minimum, the number as soon as the cost allows it, and the maximum. All are the same if the number
    /// is fixed.
    minimum: usize,
    usual: usize,
    maximum: usize,
}

struct State {
    allowed: usize,
    running: usize,
    cost: Cost,
}

impl PermitPool {
    fn fixed(number: usize) -> Self {
        PermitPool::new(number, number, number)
    }

    fn adaptive(cores: usize, bound: usize) -> Self {
        let of = |each: usize| (cores * each).min(bound).max(1);
        PermitPool::new(of(MIN_PER_CORE), of(USUAL_PER_CORE), of(MAX_PER_CORE))
    }

    fn new(minimum: usize, usual: usize, maximum: usize) -> Self {
        let state = State { allowed: minimum, running: 0, cost: Cost::default() };
        PermitPool {
            turn: tokio::sync::Mutex::new(()),
            state: Mutex::new(state),
            changed: Notify::new(),
            minimum,
            usual,
            maximum,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_admit(self: &Arc<Self>, callers: usize) -> Option<Admitted> {
        let mut state = self.state();
        // A trial with more callers than the limit runs alone.
        if state.running > 0 && state.running.saturating_add(callers) > state.allowed {
            return None;
        }
        state.running += callers;
        Some(Admitted { lane: Arc::clone(self), callers })
    }

    /// Adds the cost of a trial. Running trials continue, even if fewer are allowed now.
    fn add_cost(&self, processor: Duration, took: Duration) {
        let mut state = self.state();
        state.cost.add(processor, took);
        let fitting = self.fitting(&state);
        state.allowed = state.allowed.clamp(fitting.min(self.usual), fitting);
        drop(state);
        self.changed.notify_one();
    }

    /// The number of callers that the cost so far allows.
    fn fitting(&self, state: &State) -> usize {
        let cores = self.minimum;
        state.cost.fitting(cores).unwrap_or(self.maximum).clamp(self.minimum, self.maximum)
    }

    /// Allows more callers; if the cost is known, only as many as it allows.
    fn allow(&self, more: usize) {
        let mut state = self.state();
        state.allowed = (state.allowed + more).min(self.fitting(&state)).max(state.allowed);
        drop(state);
        self.changed.notify_one();
    }

    /// Whether the limit is reached.
    fn is_full(&self) -> bool {
        let state = self.state();
        state.running >= state.allowed || (state.running > 0 && self.turn.try_lock().is_err())
    }
}

/// Admits more callers as long as the machine is idle and has free memory.
async fn raise(lane: Arc<PermitPool>, cores: usize) {
    let mut last = cpu_times().await;
    loop {
        tokio::time::sleep(LOAD_INTERVAL).await;
        let now = cpu_times().await;
        let idle = last.zip(now).and_then(|(last, now)| idle_part(last, now));
        last = now;
        if lane.is_full() && idle.is_some_and(|idle| idle > IDLE) && has_free_memory().await {
            lane.allow(cores * 2);
        }
    }
}

/// Idle and total time of all cores, in ticks; `None` if the system does not provide it.
async fn cpu_times() -> Option<(u64, u64)> {
    let text = tokio::fs::read_to_string("/proc/stat").await.ok()?;
    let ticks: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    Some((ticks.get(3)? + ticks.get(4)?, ticks.iter().take(8).sum()))
}

fn idle_part((idle, whole): (u64, u64), (idle_now, whole_now): (u64, u64)) -> Option<f64> {
    let ticks = |from: u64, to: u64| u32::try_from(to.saturating_sub(from)).ok().map(f64::from);
    let passed = ticks(whole, whole_now).filter(|passed| *passed > 0.0)?;
    Some(ticks(idle, idle_now)? / passed)
}

async fn has_free_memory() -> bool {
    let Ok(text) = tokio::fs::read_to_string("/proc/meminfo").await else { return false };
    let of = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    of("MemAvailable:").zip(of("MemTotal:")).is_some_and(|(available, total)| available > total / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn allowed(lane: &PermitPool) -> usize {
        lane.state().allowed
    }

    #[test]
    fn the_idle_part_is_that_of_the_time_in_between() {
        assert_eq!(idle_part((100, 1000), (150, 1200)), Some(0.25));
        assert_eq!(idle_part((100, 1000), (100, 1000)), None);
    }

    #[tokio::test]
    async fn no_more_callers_run_at_once_than_were_allowed() {
        let pace = ConcurrencyLimiter::new(Some(3));
        let first = pace.admit(2, false).await;
        assert!(pace.lane.try_admit(2).is_none());
        drop(pace.lane.try_admit(1).unwrap());
        drop(first);
        // More callers than the limit: they run alone.
        let crowd = pace.admit(12, false).await;
        assert!(pace.lane.try_admit(1).is_none());
        drop(crowd);
        assert!(pace.lane.try_admit(3).is_some());
    }

    #[test]
    fn heavy_subjects_run_one_on_each_core_and_light_ones_run_many_at_once() {
        let lane = PermitPool::adaptive(2, 1000);
        assert_eq!(allowed(&lane), 2);
        // The machine was idle before a trial had ended, so more were admitted.
        lane.allow(4);
        lane.allow(4);
        assert_eq!(allowed(&lane), 10);
        for _ in 0..20 {
            lane.add_cost(SECOND * 2, SECOND * 2);
        }
        assert_eq!(allowed(&lane), 2);
        lane.allow(4);
        assert_eq!(allowed(&lane), 2);
        for _ in 0..50 {
            lane.add_cost(SECOND / 100, SECOND * 3);
        }
        assert_eq!(allowed(&lane), 12);
        lane.allow(4);
        assert_eq!(allowed(&lane), 16);
    }

    #[test]
    fn a_number_that_was_asked_for_does_not_change() {
        let lane = PermitPool::fixed(12);
        lane.add_cost(SECOND * 9, SECOND * 9);
        lane.allow(4);
        assert_eq!(allowed(&lane), 12);
    }

    #[tokio::test]
    async fn a_waiting_trial_is_admitted_when_more_are_allowed() {
        let pace = ConcurrencyLimiter {
            lane: Arc::new(PermitPool::adaptive(2, 1000)),
            silent: Arc::new(PermitPool::fixed(1)),
            watcher: None,
        };
        let _running = pace.admit(2, false).await;
        let (next, ()) = tokio::join!(pace.admit(2, false), async {
            tokio::task::yield_now().await;
            pace.lane.allow(2);
        });
        drop(next);
    }
}
