//! Commits of an attempt what its fault lets be committed: all of it, nothing, twice, a part, or all of it
//! later.

use std::sync::Arc;

use super::late::Late;
use super::{Carried, Cause, Core, Judgement};
use crate::engine::job::Job;
use crate::fault::Commit;
use crate::ledger::{CommitTiming, Event};
use crate::service::{Accepted, Afterwards, Answer, Service};

impl<S: Service> Core<S> {
    /// Commits what the fault lets be committed. `kept` is an answer that the service keeps in place of its
    /// own.
    pub(in crate::engine) fn carry_out(
        &mut self,
        job: &Arc<Job<S>>,
        cause: Cause,
        judgement: Judgement<S::Effect>,
        commit: Commit,
        kept: Option<Answer>,
    ) -> Carried {
        match judgement {
            Judgement::Refused(refusal) => {
                // It was acceptable when it came, and is no longer: the world moved while it was held.
                let answer = self.refused(job, refusal);
                self.setting.ledger.append(&Event::Lapsed { attempt: cause.attempt, status: answer.status });
                Carried { answer, replay: false, committed: false }
            }
            Judgement::Replay(answer) => {
                Carried { answer: Answer::clone(&answer), replay: true, committed: false }
            }
            Judgement::Rest { effects, answer } => self.do_rest(job, cause, (effects, &answer), commit, kept),
            Judgement::Fresh(accepted) => {
                self.remember_for_replays(job, &accepted);
                self.do_fresh(job, cause, accepted, commit, kept)
            }
        }
    }

    fn do_fresh(
        &mut self,
        job: &Arc<Job<S>>,
        cause: Cause,
        accepted: Accepted<S::Effect>,
        commit: Commit,
        kept: Option<Answer>,
    ) -> Carried {
        let Accepted { effects, afterwards, answer, .. } = accepted;
        let mut committed = false;
        match commit {
            Commit::Now | Commit::Twice => {
                committed = !effects.is_empty();
                self.commit_all(effects, cause, CommitTiming::Now);
                self.afterwards(afterwards, cause);
                self.keep(job, kept.as_ref().unwrap_or(&answer));
                if commit == Commit::Twice {
                    self.deliver_again(job, cause);
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
                self.put_off(commit.put_off_until(), cause, Late::Request { job: Arc::clone(job), decided });
            }
            Commit::Part(fraction) => {
                committed = true;
                let rest = self.do_part(effects, afterwards, cause, fraction);
                self.keep_part(job, rest, &answer, kept);
            }
        }
        Carried { answer, replay: false, committed }
    }

    /// The rest of a list, under the key of its first part.
    fn do_rest(
        &mut self,
        job: &Arc<Job<S>>,
        cause: Cause,
        (effects, answer): (Vec<S::Effect>, &Answer),
        commit: Commit,
        kept: Option<Answer>,
    ) -> Carried {
        let mut committed = false;
        match commit {
            Commit::Now | Commit::Twice => {
                committed = !effects.is_empty();
                self.commit_all(effects, cause, CommitTiming::Rest);
                self.keep(job, kept.as_ref().unwrap_or(answer));
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
                self.put_off(
                    commit.put_off_until(),
                    cause,
                    Late::Effects { effects, timing: CommitTiming::Later, key },
                );
            }
            Commit::Part(fraction) => {
                committed = true;
                let rest = self.do_part(effects, Vec::new(), cause, fraction);
                self.keep_part(job, rest, answer, kept);
            }
        }
        Carried { answer: answer.clone(), replay: false, committed }
    }

    /// The network delivered the request a second time: the service's own idempotency judges it.
    fn deliver_again(&mut self, job: &Arc<Job<S>>, cause: Cause) {
        if let Judgement::Fresh(second) = self.judge(job, 1) {
            self.commit_all(second.effects, cause, CommitTiming::Twice);
            self.afterwards(second.afterwards, cause);
            self.keep(job, &second.answer);
        }
    }

    /// Commits at least one and not all of the effects that count, and gives the rest back.
    fn do_part(
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
        // The list is cut once: bookkeeping that stands behind the cut belongs to the rest.
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

    /// Keeps what is left of a list under its key, unless the service is finished with it.
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
