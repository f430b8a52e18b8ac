//! The ports of trials that have ended. They stay bound until the run ends, so that a late request is
//! recorded and no later trial gets the same port. Each costs a file descriptor: if there are too few, the
//! oldest ports are released.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::run::concurrency::limits;
use crate::trial::LatePorts;

/// The number of ports that all runs of this process keep.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// The ports that one run keeps.
#[derive(Debug, Default)]
pub(super) struct LateTrials {
    /// Oldest first.
    kept: Mutex<VecDeque<Counted>>,
    /// The number of trials whose ports were released before the run ended.
    released: AtomicUsize,
}

#[derive(Debug)]
struct Counted {
    count: usize,
    /// Dropping them releases them.
    _ports: LatePorts,
}

impl Counted {
    fn new(ports: LatePorts) -> Self {
        let count = ports.count();
        KEPT.fetch_add(count, Ordering::SeqCst);
        Counted { count, _ports: ports }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        KEPT.fetch_sub(self.count, Ordering::SeqCst);
    }
}

impl LateTrials {
    /// Keeps the ports of a trial that has ended.
    pub(super) fn keep(&self, ports: LatePorts) {
        self.keep_within(ports, limits::late_ports());
    }

    fn keep_within(&self, ports: LatePorts, limit: usize) {
        let mut kept = self.kept();
        kept.push_back(Counted::new(ports));
        while KEPT.load(Ordering::SeqCst) > limit && kept.pop_front().is_some() {
            self.released.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Releases all of them; returns the number of trials whose ports were released before.
    pub(super) fn release(&self) -> usize {
        self.kept().clear();
        self.released.load(Ordering::SeqCst)
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Counted>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
