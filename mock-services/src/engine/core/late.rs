//! What is still outstanding: put off by a fault, or by the service itself. It waits for requests, for the
//! clock, or for the end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Cause, Core};
use crate::engine::job::Job;
use crate::ledger::{CommitTiming, Event};
use crate::service::{After, Afterwards, Answer, Decision, Service};

pub(super) struct Outstanding<S: Service> {
    id: u64,
    /// The number of the request behind which it happens; none where the clock or the end decides.
    at_request: Option<u64>,
    cause: Cause,
    what: Late<S>,
}

pub(super) enum Late<S: Service> {
    /// A whole request that was put off: the service decides again when its time comes.
    Request {
        job: Arc<Job<S>>,
        /// What was decided when it came; written down as withheld where nothing comes of it.
        decided: Vec<S::Effect>,
    },
    /// Changes that were decided before.
    Effects { effects: Vec<S::Effect>, timing: CommitTiming, key: Option<(Arc<Job<S>>, Answer)> },
}

impl<S: Service> Core<S> {
    pub(super) fn afterwards(&mut self, afterwards: Afterwards<S::Effect>, cause: Cause) {
        for (after, effect) in afterwards {
            self.put_off(
                after,
                cause,
                Late::Effects { effects: vec![effect], timing: CommitTiming::Afterwards, key: None },
            );
        }
    }

    pub(super) fn put_off(&mut self, after: After, cause: Cause, what: Late<S>) {
        self.last_id += 1;
        let id = self.last_id;
        let at_request = match after {
            After::Requests(requests) => Some(self.requests + u64::from(requests)),
            After::Time(time) => {
                self.timers.push((time, id));
                self.setting.timers_wait.store(true, Ordering::Release);
                None
            }
            After::Settled => None,
        };
        self.outstanding.push(Outstanding { id, at_request, cause, what });
    }

    /// Timers that the engine has to start.
    pub(in crate::engine) fn take_timers(&mut self) -> Vec<(Duration, u64)> {
        std::mem::take(&mut self.timers)
    }

    /// Commits what the requests that have come so far make due, and says which attempts that concerned.
    pub(in crate::engine) fn commit_due(&mut self) -> Vec<Cause> {
        if self.outstanding.is_empty() {
            return Vec::new();
        }
        let requests = self.requests;
        let is_due = |outstanding: &Outstanding<S>| outstanding.at_request.is_some_and(|due| due <= requests);
        let mut causes = Vec::new();
        // What was put off can be followed at once by something else: a late mail by its delivery.
        while self.outstanding.iter().any(is_due) {
            causes.extend(self.commit_outstanding(is_due));
        }
        causes
    }

    /// A timer rings: what waited for it is due.
    pub(in crate::engine) fn timer_fired(&mut self, id: u64) {
        let now = self.requests;
        for outstanding in self.outstanding.iter_mut().filter(|outstanding| outstanding.id == id) {
            outstanding.at_request = Some(now);
        }
    }

    /// Commits all that is outstanding, and what follows from it.
    pub(in crate::engine) fn settle(&mut self) {
        while !self.outstanding.is_empty() {
            self.commit_outstanding(|_| true);
        }
        self.timers.clear();
    }

    fn commit_outstanding(&mut self, due: impl Fn(&Outstanding<S>) -> bool) -> Vec<Cause> {
        let (ripe, green) = std::mem::take(&mut self.outstanding).into_iter().partition(due);
        self.outstanding = green;
        let ripe: Vec<Outstanding<S>> = ripe;
        ripe.into_iter()
            .filter_map(|Outstanding { what, cause, .. }| {
                let committed = self.commit_late(what, cause);
                // What the world does by itself is nobody's attempt.
                (committed && cause.attempt != Cause::NOBODY.attempt).then_some(cause)
            })
            .collect()
    }

    /// Commits what was put off; says whether there was anything to commit.
    fn commit_late(&mut self, what: Late<S>, cause: Cause) -> bool {
        match what {
            Late::Effects { effects, timing, key } => {
                let committed = !effects.is_empty();
                self.commit_all(effects, cause, timing);
                if let Some((job, answer)) = key {
                    self.keep(&job, &answer);
                }
                committed
            }
            Late::Request { job, decided } => {
                let context = self.context(&job, 0);
                match self.setting.service.decide(&self.state, &job.recognised.call, &context) {
                    Decision::Accept(accepted) => {
                        let committed = !accepted.effects.is_empty();
                        self.commit_all(accepted.effects, cause, CommitTiming::Later);
                        self.afterwards(accepted.afterwards, cause);
                        self.keep(&job, &accepted.answer);
                        committed
                    }
                    Decision::Refuse(refusal) => {
                        self.setting
                            .ledger
                            .append(&Event::Lapsed { attempt: cause.attempt, status: refusal.answer.status });
                        self.withhold(&decided, cause);
                        if let Some(keyed) = &job.keyed {
                            self.keys.forget(keyed);
                        }
                        self.refused(&job, refusal);
                        false
                    }
                }
            }
        }
    }
}
