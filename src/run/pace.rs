//! How many callers run at once. Most trials wait: for a line that hangs, for a door, for a program to start. So more are begun as
//! long as the machine is idle, and no more when it is not; no verdict depends on it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

use super::files;

/// For each core, to begin with.
const AT_FIRST: usize = 6;
/// For each core, at most.
const AT_MOST: usize = 64;
/// For each core, how many trials may wait for the timeout of a client beside the others: they do nothing meanwhile.
const SILENT: usize = 32;
/// How often the machine is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// More are begun when at least this part of the machine's time was idle.
const IDLE: f64 = 0.25;

/// How many callers run at once. Several runs can share one.
pub struct Pace {
    permits: Arc<Semaphore>,
    /// For trials that mostly wait; they share the others' where the number was asked for.
    silent: Arc<Semaphore>,
    most: usize,
    watcher: Option<JoinHandle<()>>,
}

impl Pace {
    /// So many callers at once, or as many as keep the machine busy; never more than there are files for. Must be made inside the
    /// runtime.
    #[must_use]
    pub fn new(jobs: Option<usize>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let bound = files::callers();
        match jobs.map(|jobs| jobs.min(bound)) {
            Some(jobs) => {
                let permits = Arc::new(Semaphore::new(jobs));
                Pace { silent: Arc::clone(&permits), permits, most: jobs, watcher: None }
            }
            None => {
                let first = (cores * AT_FIRST).min(bound);
                let permits = Arc::new(Semaphore::new(first));
                let watcher = tokio::spawn(raise(Arc::clone(&permits), first, cores, bound));
                let silent = Arc::new(Semaphore::new((cores * SILENT).min(bound)));
                Pace { permits, silent, most: first, watcher: Some(watcher) }
            }
        }
    }

    /// Waits until so many more callers may run; they leave when what is given back is dropped. `silent` are those that mostly wait for
    /// the timeout of their client.
    pub(super) async fn admit(&self, callers: u32, silent: bool) -> Option<OwnedSemaphorePermit> {
        let permits = if silent { &self.silent } else { &self.permits };
        // A trial with more callers than may run at once runs alone.
        let wanted = usize::try_from(callers).unwrap_or(usize::MAX).min(self.most).max(1);
        Arc::clone(permits).acquire_many_owned(u32::try_from(wanted).unwrap_or(u32::MAX)).await.ok()
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        if let Some(watcher) = &self.watcher {
            watcher.abort();
        }
    }
}

/// Lets more in as long as the machine has nothing to do and memory to spare.
async fn raise(permits: Arc<Semaphore>, first: usize, cores: usize, bound: usize) {
    let mut allowed = first;
    let mut last = cpu_times().await;
    while allowed + cores * 2 <= bound.min(cores * AT_MOST) {
        tokio::time::sleep(LOOK).await;
        let now = cpu_times().await;
        let idle = last.zip(now).and_then(|(last, now)| idle_part(last, now));
        last = now;
        // Only where all that may run does run.
        if permits.available_permits() == 0 && idle.is_some_and(|idle| idle > IDLE) && memory_to_spare().await {
            permits.add_permits(cores * 2);
            allowed += cores * 2;
        }
    }
}

/// Idle and whole time of all cores so far, in ticks; `None` where the system does not say.
async fn cpu_times() -> Option<(u64, u64)> {
    let text = tokio::fs::read_to_string("/proc/stat").await.ok()?;
    let ticks: Vec<u64> = text.lines().next()?.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    Some((ticks.get(3)? + ticks.get(4)?, ticks.iter().take(8).sum()))
}

fn idle_part((idle, whole): (u64, u64), (idle_now, whole_now): (u64, u64)) -> Option<f64> {
    let ticks = |from: u64, to: u64| u32::try_from(to.saturating_sub(from)).ok().map(f64::from);
    let passed = ticks(whole, whole_now).filter(|passed| *passed > 0.0)?;
    Some(ticks(idle, idle_now)? / passed)
}

async fn memory_to_spare() -> bool {
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

    #[test]
    fn the_idle_part_is_that_of_the_time_in_between() {
        assert_eq!(idle_part((100, 1000), (150, 1200)), Some(0.25));
        assert_eq!(idle_part((100, 1000), (100, 1000)), None);
    }

    #[tokio::test]
    async fn no_more_callers_run_at_once_than_were_allowed() {
        let pace = Pace::new(Some(3));
        let first = pace.admit(2, false).await;
        assert_eq!(pace.permits.available_permits(), 1);
        drop(first);
        // More callers than may run at once: they run, but alone.
        let crowd = pace.admit(12, false).await;
        assert!(crowd.is_some());
        assert_eq!(pace.permits.available_permits(), 0);
    }
}
