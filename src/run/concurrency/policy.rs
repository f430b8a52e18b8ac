//! Decides when the next trial starts. Pure.
//!
//! A trial that waits uses no core, so the number of running callers says little. What counts is the number
//! of processes of this run that are runnable: those that run, or wait for a core. As long as they are few,
//! the next trial starts; then all cores are busy until the last trial has started, and the run takes about
//! as long as its longest trial or as its processor time on all cores. Idle time of the machine is not asked
//! for: it also depends on the work of others.

/// How many runnable callers there can be for each core before the next trial waits, at first and at most.
/// More than one, so that a core has work if a caller begins to wait between two looks; more than that if all
/// of them begin to wait before the next look.
const RUNNABLE_PER_CORE: (usize, usize) = (3, 12);

/// What the processes of this run use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    /// Processes that run or wait for a core.
    pub(super) runnable: usize,
    /// How many more callers there is room for: memory, and time of hapax itself.
    pub(super) room_for: usize,
}

/// The callers that run, and what they use.
#[derive(Debug)]
pub(super) struct AdmissionPolicy {
    /// The maximum number of running callers.
    maximum: usize,
    running: usize,
    /// `None` if only the maximum counts.
    adaptive: Option<Adaptive>,
}

#[derive(Debug, Clone, Copy)]
struct Adaptive {
    cores: usize,
    /// The load at the last look, with the callers that have started or ended since.
    load: Load,
    /// How many runnable callers there can be.
    limit: usize,
    /// How many callers have started since the last look.
    started: usize,
}

impl Adaptive {
    fn new(cores: usize) -> Self {
        let load = Load { runnable: 0, room_for: usize::MAX };
        Adaptive { cores, load, limit: cores * RUNNABLE_PER_CORE.0, started: 0 }
    }

    fn looked(&mut self, load: Load) {
        if self.started >= self.limit && load.runnable < self.cores {
            self.limit = (self.limit * 2).min(self.cores * RUNNABLE_PER_CORE.1);
        } else if load.runnable >= self.limit / 2 {
            self.limit = (self.limit / 2).max(self.cores * RUNNABLE_PER_CORE.0);
        }
        (self.load, self.started) = (load, 0);
    }

    /// Whether the callers can start. More callers than can be runnable start if a core is idle.
    fn allows(&self, callers: usize) -> bool {
        let Load { runnable, room_for } = self.load;
        callers <= room_for && (runnable < self.cores || runnable + callers <= self.limit)
    }
}

impl AdmissionPolicy {
    /// At most this many callers at once, whatever they use.
    pub(super) fn fixed(maximum: usize) -> Self {
        AdmissionPolicy { maximum, running: 0, adaptive: None }
    }

    /// As many callers as keep these cores busy, at most this many.
    pub(super) fn adaptive(cores: usize, maximum: usize) -> Self {
        AdmissionPolicy { adaptive: Some(Adaptive::new(cores)), ..AdmissionPolicy::fixed(maximum) }
    }

    /// The number of callers that run.
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// Whether the load counts.
    pub(super) fn is_adaptive(&self) -> bool {
        self.adaptive.is_some()
    }

    /// The load has been read. `starting` callers have been admitted and have no process yet.
    pub(super) fn looked(&mut self, load: Load, starting: usize) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.looked(Load {
                runnable: load.runnable.saturating_add(starting),
                room_for: load.room_for.saturating_sub(starting),
            });
        }
    }

    /// Admits the callers of a trial if they can start now. A trial with more callers than the maximum runs
    /// alone.
    pub(super) fn admit(&mut self, callers: usize) -> bool {
        let fits = self.running.saturating_add(callers) <= self.maximum
            && self.adaptive.is_none_or(|adaptive| adaptive.allows(callers));
        let is_admitted = self.running == 0 || fits;
        if is_admitted {
            self.running += callers;
            if let Some(Adaptive { load, started, .. }) = &mut self.adaptive {
                *started += callers;
                load.runnable += callers;
                load.room_for = load.room_for.saturating_sub(callers);
            }
        }
        is_admitted
    }

    /// Callers have ended: others can start in their place before the next look.
    pub(super) fn ended(&mut self, callers: usize) {
        self.running = self.running.saturating_sub(callers);
        if let Some(Adaptive { load, .. }) = &mut self.adaptive {
            load.runnable = load.runnable.saturating_sub(callers);
        }
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
