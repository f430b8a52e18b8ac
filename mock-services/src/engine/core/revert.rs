//! Takes back what an attempt committed, as a fail-over that loses a write or a refund that fails later.

use std::sync::Arc;

use super::outstanding::DeferredChange;
use super::{Cause, Core};
use crate::engine::job::Job;
use crate::ledger::Event;
use crate::service::{After, Answer, Service};

/// What has to be taken back.
pub(super) struct Revert<S: Service> {
    job: Arc<Job<S>>,
    /// How many requests had come when its answer was stored under its key.
    stored_at: u64,
    /// What remains to be done under the key, if the attempt did the rest of a list.
    rest: Option<(Vec<S::Effect>, Answer)>,
}

impl<S: Service> Core<S> {
    pub(super) fn revert_later(
        &mut self,
        after: After,
        cause: Cause,
        job: Arc<Job<S>>,
        rest: Option<(Vec<S::Effect>, Answer)>,
    ) {
        let revert = Revert { job, stored_at: self.requests, rest };
        self.defer(after, cause, DeferredChange::Revert(revert));
    }

    /// Takes back everything that an attempt committed, and its key: from now on it is as if it had not come.
    pub(super) fn revert(&mut self, Revert { job, stored_at, rest }: Revert<S>, cause: Cause) {
        // What the service was still to do because of it is not done.
        self.outstanding.retain(|outstanding| outstanding.cause.attempt != cause.attempt);
        let now = (self.reads, self.setting.clock.elapsed());
        let setting = &self.setting;
        let own = |past: &&mut super::CommittedChange<S::Effect>| {
            past.attempt == cause.attempt && past.reverted.is_none()
        };
        for past in self.history.iter_mut().filter(own) {
            past.reverted = Some(now);
            if let Some(facts) = setting.service.describe(&past.effect) {
                setting.ledger.append(Event::Reverted {
                    attempt: cause.attempt,
                    effect: facts.effect.as_ref().into(),
                    id: facts.id.into(),
                });
            }
        }
        self.state = S::State::default();
        for past in self.history.iter().filter(|past| past.reverted.is_none()) {
            setting.service.apply(&mut self.state, &past.effect);
        }
        if let Some(keyed) = job.keyed.as_ref().filter(|keyed| self.keys.is_stored_at(keyed, stored_at)) {
            match rest {
                Some((effects, answer)) => self.keys.partly(keyed, self.age(), effects, answer),
                None => self.keys.forget(keyed),
            }
        }
    }
}
