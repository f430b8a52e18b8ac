//! Commits what the fault of an attempt allows: all of it, nothing, twice, a part, all of it later, or all of it for a
//! while.

use std::sync::Arc;

use super::outstanding::DeferredChange;
use super::{AttemptOutcome, Cause, Core, RequestAssessment};
use crate::engine::job::Job;
use crate::fault::Commit;
use crate::ledger::{CommitTiming, Event};
use crate::service::{Accepted, Afterwards, Answer, Service};

impl<S: Service> Core<S> {
    /// Commits what the fault allows. `kept` is an answer that the service stores under the key in place of
    /// its own.
    pub(in crate::engine) fn commit_attempt(
        &mut self,
        job: &Arc<Job<S>>,
        cause: Cause,
        assessment: RequestAssessment<S::Effect>,
        commit: Commit,
        kept: Option<Answer>,
    ) -> AttemptOutcome {
        match assessment {
            RequestAssessment::Refused(refusal) => {
                // It was acceptable when it came, and no longer is: the state changed while it was held.
                let answer = self.refused(job, refusal);
                self.setting.ledger.append(Event::Lapsed { attempt: cause.attempt, status: answer.status });
                AttemptOutcome { answer, replay: false, committed: false }
            }
            RequestAssessment::Replay(answer) => {
                AttemptOutcome { answer: Answer::clone(&answer), replay: true, committed: false }
            }
            RequestAssessment::Rest { effects, answer } => {
                self.commit_rest(job, cause, (effects, &answer), commit, kept)
            }
            RequestAssessment::Fresh(accepted) => {
                self.remember_for_replays(job, &accepted);
                self.commit_fresh(job, cause, accepted, commit, kept)
            }
        }
    }

    fn commit_fresh(
        &mut self,
        job: &Arc<Job<S>>,
        cause: Cause,
        accepted: Accepted<S::Effect>,
        commit: Commit,
        kept: Option<Answer>,
    ) -> AttemptOutcome {
        let Accepted { effects, afterwards, answer, .. } = accepted;
        let mut committed = false;
        match commit {
            Commit::Now | Commit::Twice | Commit::Reverts(_) => {
                committed = !effects.is_empty();
                self.commit_all(effects, cause, CommitTiming::Now);
                self.afterwards(afterwards, cause);
                self.keep(job, kept.as_ref().unwrap_or(&answer));
                if commit == Commit::Twice {
                    self.deliver_again(job, cause);
                }
                if let Commit::Reverts(after) = commit {
                    self.revert_later(after, cause, Arc::clone(job), None);
                }
            }
            Commit::Never => {
                self.withhold(effects.iter().chain(afterwards.iter().map(|(_, effect)| effect)), cause);
                if let Some(kept) = &kept {
                    self.keep(job, kept);
                }
            }
            Commit::Later(_) | Commit::LaterWithin(..) => {
                if let Some(keyed) = &job.keyed {
                    let age = self.age();
                    self.keys.in_flight(keyed, age);
                }
                let decided =
                    effects.into_iter().chain(afterwards.into_iter().map(|(_, effect)| effect)).collect();
                self.defer(
                    commit.deferred_until(),
                    cause,
                    DeferredChange::Request { job: Arc::clone(job), decided },
                );
            }
            Commit::Part(fraction) => {
                committed = true;
                let rest = self.commit_part(effects, afterwards, cause, fraction);
                self.keep_part(job, rest, &answer, kept);
            }
        }
        AttemptOutcome { answer, replay: false, committed }
    }

    /// The rest of a list, under the key of its first part.
    fn commit_rest(
        &mut self,
        job: &Arc<Job<S>>,
        cause: Cause,
        (effects, answer): (Vec<S::Effect>, &Answer),
        commit: Commit,
        kept: Option<Answer>,
    ) -> AttemptOutcome {
        let mut committed = false;
        match commit {
            Commit::Now | Commit::Twice | Commit::Reverts(_) => {
                committed = !effects.is_empty();
                let rest = matches!(commit, Commit::Reverts(_)).then(|| (effects.clone(), answer.clone()));
                self.commit_all(effects, cause, CommitTiming::Rest);
                self.keep(job, kept.as_ref().unwrap_or(answer));
                if let Commit::Reverts(after) = commit {
                    self.revert_later(after, cause, Arc::clone(job), rest);
                }
            }
            Commit::Never => {
                self.withhold(&effects, cause);
                if let Some(kept) = &kept {
                    self.keep(job, kept);
                }
            }
            Commit::Later(_) | Commit::LaterWithin(..) => {
                if let Some(keyed) = &job.keyed {
                    let age = self.age();
                    self.keys.in_flight(keyed, age);
                }
                let key = Some((Arc::clone(job), answer.clone()));
                self.defer(
                    commit.deferred_until(),
                    cause,
                    DeferredChange::Effects { effects, timing: CommitTiming::Later, key },
                );
            }
            Commit::Part(fraction) => {
                committed = true;
                let rest = self.commit_part(effects, Vec::new(), cause, fraction);
                self.keep_part(job, rest, answer, kept);
            }
        }
        AttemptOutcome { answer: answer.clone(), replay: false, committed }
    }

    /// The network delivered the request a second time: the service's own idempotency decides about it.
    fn deliver_again(&mut self, job: &Arc<Job<S>>, cause: Cause) {
        if let RequestAssessment::Fresh(second) = self.assess(job, 1) {
            self.commit_all(second.effects, cause, CommitTiming::Twice);
            self.afterwards(second.afterwards, cause);
            self.keep(job, &second.answer);
        }
    }

    /// Commits at least one and not all of the effects that count, and returns the rest.
    fn commit_part(
        &mut self,
        effects: Vec<S::Effect>,
        afterwards: Afterwards<S::Effect>,
        cause: Cause,
        fraction: f64,
    ) -> Vec<S::Effect> {
        let service = &self.setting.service;
        let counts = |effect: &S::Effect| service.describe(effect).is_some();
        let all = effects
            .iter()
            .chain(afterwards.iter().map(|(_, effect)| effect))
            .filter(|effect| counts(effect))
            .count();
        let mut left = share(all, fraction);
        let (mut now, mut rest, mut then) = (Vec::new(), Vec::new(), Vec::new());
        // The list is cut once: bookkeeping after the cut belongs to the rest.
        for effect in effects {
            match (counts(&effect), left) {
                (_, 0) => rest.push(effect),
                (is_counted, _) => {
                    left -= usize::from(is_counted);
                    now.push(effect);
                }
            }
        }
        for (after, effect) in afterwards {
            match (counts(&effect), left) {
                (true, 0) => rest.push(effect),
                (is_counted, _) => {
                    left -= usize::from(is_counted);
                    then.push((after, effect));
                }
            }
        }
        self.commit_all(now, cause, CommitTiming::Part);
        self.afterwards(then, cause);
        self.withhold(&rest, cause);
        rest
    }

    /// Keeps the rest of a list under its key, unless an answer is kept there.
    fn keep_part(&mut self, job: &Job<S>, rest: Vec<S::Effect>, answer: &Answer, kept: Option<Answer>) {
        match (&job.keyed, kept) {
            (Some(_), Some(kept)) => self.keep(job, &kept),
            (Some(keyed), None) => {
                let age = self.age();
                self.keys.partly(keyed, age, rest, answer.clone());
            }
            (None, _) => {}
        }
    }
}

/// How many of `all` a fraction comes to: at least one and not all.
fn share(all: usize, fraction: f64) -> usize {
    let wanted = (all as f64 * fraction).round();
    // Between 1 and all - 1, so nothing is lost in the conversion.
    (wanted as usize).clamp(1, all.saturating_sub(1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_at_least_one_and_not_all() {
        assert_eq!([share(2, 0.01), share(2, 0.99), share(10, 0.5), share(3, 0.5)], [1, 1, 5, 2]);
    }
}
