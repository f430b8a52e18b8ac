//! Outstanding changes: deferred by a fault, or by the service itself. They wait for a number of requests,
//! for a time, or for the end of the trial.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::revert::Revert;
use super::{Cause, Core};
use crate::engine::job::Job;
use crate::ledger::{CommitTiming, Event};
use crate::service::{After, Afterwards, Answer, Decision, Service};

pub(super) struct OutstandingChange<S: Service> {
    id: u64,
    /// The number of the request after which it happens; `None` if it waits for a time or the end.
    at_request: Option<u64>,
    pub(super) cause: Cause,
    what: DeferredChange<S>,
}

pub(super) enum DeferredChange<S: Service> {
    /// A whole request that was deferred: the service decides again when its time comes.
    Request {
        job: Arc<Job<S>>,
        /// What was decided when it came; recorded as withheld if it is not committed.
        decided: Vec<S::Effect>,
    },
    /// Changes that were decided before.
    Effects { effects: Vec<S::Effect>, timing: CommitTiming, key: Option<(Arc<Job<S>>, Answer)> },
    /// What a request committed is taken back.
    Revert(Revert<S>),
}

impl<S: Service> Core<S> {
    pub(super) fn afterwards(&mut self, afterwards: Afterwards<S::Effect>, cause: Cause) {
        for (after, effect) in afterwards {
            self.defer(
                after,
                cause,
                DeferredChange::Effects {
                    effects: vec![effect],
                    timing: CommitTiming::Afterwards,
                    key: None,
                },
            );
        }
    }

    pub(super) fn defer(&mut self, after: After, cause: Cause, what: DeferredChange<S>) {
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
        self.outstanding.push(OutstandingChange { id, at_request, cause, what });
    }

    /// Timers that the engine has to start.
    pub(in crate::engine) fn take_timers(&mut self) -> Vec<(Duration, u64)> {
        std::mem::take(&mut self.timers)
    }

    /// Commits the changes that are due after the requests so far, and returns their causes.
    pub(in crate::engine) fn commit_due(&mut self) -> Vec<Cause> {
        if self.outstanding.is_empty() {
            return Vec::new();
        }
        let requests = self.requests;
        let is_due =
            |outstanding: &OutstandingChange<S>| outstanding.at_request.is_some_and(|due| due <= requests);
        let mut causes = Vec::new();
        // A deferred change can be followed at once by another: a late message by its delivery.
        while self.outstanding.iter().any(is_due) {
            causes.extend(self.commit_outstanding(is_due));
        }
        causes
    }

    /// A request with the same key waits for its answer: the change is due. Returns whether there is one.
    pub(in crate::engine) fn hurry(&mut self, job: &Job<S>) -> bool {
        let Some(keyed) = job.keyed.as_ref().filter(|keyed| self.keys.waits(keyed)) else { return false };
        let now = self.requests;
        let is_same =
            |other: &Arc<Job<S>>| other.keyed.as_ref().is_some_and(|other| other.slot == keyed.slot);
        for outstanding in &mut self.outstanding {
            let of_key = match &outstanding.what {
                DeferredChange::Request { job, .. } => is_same(job),
                DeferredChange::Effects { key, .. } => key.as_ref().is_some_and(|(job, _)| is_same(job)),
                // Nobody waits for it.
                DeferredChange::Revert(_) => false,
            };
            if of_key {
                outstanding.at_request = Some(now);
            }
        }
        true
    }

    /// A timer has fired: the change that waited for it is due.
    pub(in crate::engine) fn timer_fired(&mut self, id: u64) {
        let now = self.requests;
        for outstanding in self.outstanding.iter_mut().filter(|outstanding| outstanding.id == id) {
            outstanding.at_request = Some(now);
        }
    }

    /// Commits everything that is outstanding, and what follows from it.
    pub(in crate::engine) fn settle(&mut self) {
        while !self.outstanding.is_empty() {
            self.commit_outstanding(|_| true);
        }
        self.timers.clear();
    }

    fn commit_outstanding(&mut self, due: impl Fn(&OutstandingChange<S>) -> bool) -> Vec<Cause> {
        let (due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.outstanding).into_iter().partition(due);
        self.outstanding = later;
        due.into_iter()
            .filter_map(|OutstandingChange { what, cause, .. }| {
                let committed = self.commit_late(what, cause);
                // Changes that the service makes without a request are not attempts.
                (committed && cause.attempt != Cause::NO_ATTEMPT.attempt).then_some(cause)
            })
            .collect()
    }

    /// Commits a deferred change; returns whether there was anything to commit.
    fn commit_late(&mut self, what: DeferredChange<S>, cause: Cause) -> bool {
        match what {
            DeferredChange::Effects { effects, timing, key } => {
                let committed = !effects.is_empty();
                if let Some(recording) = &mut self.recording {
                    recording.changed(&effects, self.setting.ledger.len());
                }
                self.commit_all(effects, cause, timing);
                if let Some((job, answer)) = key {
                    self.keep(&job, &answer);
                }
                committed
            }
            DeferredChange::Revert(revert) => {
                self.revert(revert, cause);
                false
            }
            DeferredChange::Request { job, decided } => {
                let age = self.age();
                if let Some(recording) = &mut self.recording {
                    recording.committed_late(&job, age);
                }
                match self.situation().decide(&job, 0) {
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
                            .append(Event::Lapsed { attempt: cause.attempt, status: refusal.answer.status });
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
