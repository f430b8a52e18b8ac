//! The sequential heart of an engine: state, keys and what is still outstanding. Whoever holds it decides and commits alone;
//! nothing here waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::job::Job;
use super::reply::mark_replayed;
use crate::clock::Clock;
use crate::fault::{Commit, Lag};
use crate::idempotency::{Age, Found, Idempotency, KeyRefusal, KeyStore};
use crate::ledger::{Event, How, Ledger};
use crate::service::{Accepted, After, Afterwards, Answer, Context, Decision, Kind, Service};

/// What is the same for all that happens in one engine.
pub(super) struct Setting<S> {
    pub(super) service: S,
    pub(super) seed: u64,
    pub(super) clock: Clock,
    pub(super) ledger: Ledger,
    /// Whether the core holds timers that nobody has started.
    pub(super) timers_wait: AtomicBool,
}

pub(super) struct Core<S: Service> {
    setting: Arc<Setting<S>>,
    state: S::State,
    /// Everything that was committed, so that a stale read can look at an older state.
    history: Vec<Past<S::Effect>>,
    keys: KeyStore<S::Effect>,
    requests: u64,
    reads: u64,
    outstanding: Vec<Outstanding<S>>,
    last_id: u64,
    /// Outstanding things that wait for the clock and have no timer yet.
    timers: Vec<(Duration, u64)>,
}

struct Past<Effect> {
    effect: Effect,
    /// How many reads had come when it was committed; `None` for what was there from the start.
    reads: Option<u64>,
    at: Duration,
}

struct Outstanding<S: Service> {
    id: u64,
    /// The number of the request behind which it happens; none where the clock or the end decides.
    at_request: Option<u64>,
    cause: Cause,
    what: Late<S>,
}

/// The attempt that something comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cause {
    /// Its number in the ledger; 0 for what the world does by itself.
    pub(super) attempt: u64,
    /// Its place among the operations of the service.
    pub(super) operation: usize,
    pub(super) caller: u32,
}

impl Cause {
    const NOBODY: Cause = Cause { attempt: 0, operation: 0, caller: 0 };
}

enum Late<S: Service> {
    /// A whole request that was put off: the service decides again when its time comes.
    Request(Arc<Job<S>>),
    /// Changes that were decided before.
    Effects { effects: Vec<S::Effect>, how: How, key: Option<(Arc<Job<S>>, Answer)> },
}

/// What a request is to the service, before anything is done about it.
pub(super) enum Judgement<Effect> {
    Refused { answer: Answer, begun: bool },
    Fresh(Accepted<Effect>),
    Replay(Arc<Answer>),
    Rest { effects: Vec<Effect>, answer: Arc<Answer> },
}

/// The true answer of a request that was carried out.
pub(super) struct Carried {
    pub(super) answer: Answer,
    pub(super) replay: bool,
    /// Whether the attempt committed anything at once.
    pub(super) committed: bool,
}

impl<S: Service> Core<S> {
    pub(super) fn new(setting: Arc<Setting<S>>, idempotency: Idempotency) -> Self {
        Core::begin(setting, idempotency, 0)
    }

    /// Forgets everything. Timers of what was outstanding may still ring, so their numbers are not used again.
    pub(super) fn restart(&mut self, idempotency: Idempotency) {
        *self = Core::begin(Arc::clone(&self.setting), idempotency, self.last_id);
    }

    fn begin(setting: Arc<Setting<S>>, idempotency: Idempotency, last_id: u64) -> Self {
        let mut core = Core {
            state: S::State::default(),
            history: Vec::new(),
            keys: KeyStore::new(idempotency),
            requests: 0,
            reads: 0,
            outstanding: Vec::new(),
            last_id,
            timers: Vec::new(),
            setting,
        };
        let (effects, afterwards) = core.setting.service.at_start();
        for effect in effects {
            core.setting.service.apply(&mut core.state, &effect);
            core.history.push(Past { effect, reads: None, at: Duration::ZERO });
        }
        // Nobody attempted what the world does by itself.
        core.afterwards(afterwards, Cause::NOBODY);
        core
    }

    /// Counts a request that has come.
    pub(super) fn count(&mut self) {
        self.requests += 1;
    }

    /// Counts a read; stale reads lag behind by so many of them.
    pub(super) fn count_read(&mut self, kind: Kind) {
        if kind == Kind::Read {
            self.reads += 1;
        }
    }

    fn age(&self) -> Age {
        Age { now: self.setting.clock.wall(), requests: self.requests }
    }

    pub(super) fn context(&self, job: &Job<S>, delivery: u32) -> Context {
        let setting = &self.setting;
        Context { now: setting.clock.wall(), ids: job.ids(setting.seed, setting.service.name(), delivery) }
    }

    /// What the request is to the service as things stand.
    pub(super) fn judge(&self, job: &Job<S>, delivery: u32) -> Judgement<S::Effect> {
        let service = &self.setting.service;
        if job.operation(service).kind == Kind::Write && job.request.envelope().is_none() && job.request.method() != "DELETE" {
            match self.keys.look(job.keyed.as_ref(), self.age()) {
                Found::New => {}
                Found::Refused(refusal) => return Judgement::Refused { answer: self.key_refused(job, &refusal), begun: false },
                Found::Replay { answer, refused: true } => {
                    let mut answer = Answer::clone(&answer);
                    mark_replayed(&mut answer, self.keys.profile());
                    return Judgement::Refused { answer, begun: false };
                }
                Found::Replay { answer, refused: false } => return Judgement::Replay(answer),
                Found::Rest { effects, answer } => return Judgement::Rest { effects, answer },
            }
        }
        match service.decide(&self.state, &job.recognised.call, &self.context(job, delivery)) {
            Decision::Refuse(refusal) => Judgement::Refused { answer: refusal.answer, begun: refusal.begun },
            Decision::Accept(accepted) => Judgement::Fresh(accepted),
        }
    }

    fn key_refused(&self, job: &Job<S>, refusal: &KeyRefusal) -> Answer {
        let key = job.keyed.as_ref().map_or("", |keyed| keyed.key.as_str());
        refusal.answer(self.keys.profile(), key, job.keyed.as_ref().map_or("", |keyed| keyed.endpoint.as_str()))
    }

    /// Keeps a refusal under its key where the service had begun.
    pub(super) fn refused(&mut self, job: &Job<S>, answer: &Answer, begun: bool) {
        if let Some(keyed) = job.keyed.as_ref().filter(|_| begun) {
            self.keys.answered(keyed, self.age(), self.to_keep(job, answer), true);
        }
    }

    /// How many effects a judgement would leave, of those that count.
    pub(super) fn countable(&self, judgement: &Judgement<S::Effect>) -> usize {
        let counts = |effect: &&S::Effect| self.setting.service.describe(effect).is_some();
        match judgement {
            Judgement::Fresh(accepted) => {
                let afterwards = accepted.afterwards.iter().map(|(_, effect)| effect);
                accepted.effects.iter().chain(afterwards).filter(counts).count()
            }
            Judgement::Rest { effects, .. } => effects.iter().filter(counts).count(),
            Judgement::Refused { .. } | Judgement::Replay(_) => 0,
        }
    }

    /// Commits what the fault lets be committed. `kept` is an answer that the service keeps in place of its own.
    pub(super) fn carry_out(
        &mut self,
        job: &Arc<Job<S>>,
        cause: Cause,
        judgement: Judgement<S::Effect>,
        commit: Commit,
        kept: Option<Answer>,
    ) -> Carried {
        match judgement {
            Judgement::Refused { answer, begun } => {
                // It was acceptable when it came, and is no longer: the world moved while it was held.
                self.refused(job, &answer, begun);
                self.setting.ledger.append(&Event::Lapsed { attempt: cause.attempt, status: answer.status });
                Carried { answer, replay: false, committed: false }
            }
            Judgement::Replay(answer) => Carried { answer: Answer::clone(&answer), replay: true, committed: false },
            Judgement::Rest { effects, answer } => self.do_rest(job, cause, (effects, &answer), commit, kept),
            Judgement::Fresh(accepted) => self.do_fresh(job, cause, accepted, commit, kept),
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
        let Accepted { effects, afterwards, answer } = accepted;
        let mut committed = false;
        match commit {
            Commit::Now | Commit::Twice => {
                committed = !effects.is_empty();
                self.commit_all(effects, cause, How::Now);
                self.afterwards(afterwards, cause);
                self.keep(job, kept.as_ref().unwrap_or(&answer));
                if commit == Commit::Twice {
                    self.deliver_again(job, cause);
                }
            }
            Commit::Never => {
                if let Some(kept) = &kept {
                    self.keep(job, kept);
                }
            }
            Commit::Later(after) => {
                if let Some(keyed) = &job.keyed {
                    let age = self.age();
                    self.keys.in_flight(keyed, age);
                }
                self.put_off(after, cause, Late::Request(Arc::clone(job)));
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
                self.commit_all(effects, cause, How::Rest);
                self.keep(job, kept.as_ref().unwrap_or(answer));
            }
            Commit::Never => {
                if let Some(kept) = &kept {
                    self.keep(job, kept);
                }
            }
            Commit::Later(after) => {
                if let Some(keyed) = &job.keyed {
                    let age = self.age();
                    self.keys.in_flight(keyed, age);
                }
                let key = Some((Arc::clone(job), answer.clone()));
                self.put_off(after, cause, Late::Effects { effects, how: How::Later, key });
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
            self.commit_all(second.effects, cause, How::Twice);
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
        let all = effects.iter().chain(afterwards.iter().map(|(_, effect)| effect)).filter(|effect| counts(effect)).count();
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
        self.commit_all(now, cause, How::Part);
        self.afterwards(then, cause);
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

    fn keep(&mut self, job: &Job<S>, answer: &Answer) {
        if let Some(keyed) = &job.keyed {
            self.keys.answered(keyed, self.age(), self.to_keep(job, answer), false);
        }
    }

    /// The answer with what its replays say beside it.
    fn to_keep(&self, job: &Job<S>, answer: &Answer) -> Answer {
        let mut answer = answer.clone();
        self.setting.service.mark_kept(&mut answer, &self.context(job, 0));
        answer
    }

    fn commit_all(&mut self, effects: Vec<S::Effect>, cause: Cause, how: How) {
        for effect in effects {
            self.commit(effect, cause, how);
        }
    }

    fn commit(&mut self, effect: S::Effect, cause: Cause, how: How) {
        let setting = &self.setting;
        setting.service.apply(&mut self.state, &effect);
        if let Some(facts) = setting.service.describe(&effect) {
            setting.ledger.append(&Event::Committed {
                attempt: cause.attempt,
                effect: facts.effect,
                id: facts.id.into(),
                fields: std::borrow::Cow::Owned(facts.fields),
                how,
            });
        }
        self.history.push(Past { effect, reads: Some(self.reads), at: setting.clock.elapsed() });
    }

    fn afterwards(&mut self, afterwards: Afterwards<S::Effect>, cause: Cause) {
        for (after, effect) in afterwards {
            self.put_off(after, cause, Late::Effects { effects: vec![effect], how: How::Afterwards, key: None });
        }
    }

    fn put_off(&mut self, after: After, cause: Cause, what: Late<S>) {
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
    pub(super) fn take_timers(&mut self) -> Vec<(Duration, u64)> {
        std::mem::take(&mut self.timers)
    }

    /// Commits what the requests that have come so far make due, and says which attempts that concerned.
    pub(super) fn ripen(&mut self) -> Vec<Cause> {
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
    pub(super) fn rings(&mut self, id: u64) {
        let now = self.requests;
        for outstanding in self.outstanding.iter_mut().filter(|outstanding| outstanding.id == id) {
            outstanding.at_request = Some(now);
        }
    }

    /// Commits all that is outstanding, and what follows from it.
    pub(super) fn settle(&mut self) {
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
            Late::Effects { effects, how, key } => {
                let committed = !effects.is_empty();
                self.commit_all(effects, cause, how);
                if let Some((job, answer)) = key {
                    self.keep(&job, &answer);
                }
                committed
            }
            Late::Request(job) => {
                let context = self.context(&job, 0);
                match self.setting.service.decide(&self.state, &job.recognised.call, &context) {
                    Decision::Accept(accepted) => {
                        let committed = !accepted.effects.is_empty();
                        self.commit_all(accepted.effects, cause, How::Later);
                        self.afterwards(accepted.afterwards, cause);
                        self.keep(&job, &accepted.answer);
                        committed
                    }
                    Decision::Refuse(refusal) => {
                        self.setting.ledger.append(&Event::Lapsed { attempt: cause.attempt, status: refusal.answer.status });
                        if let Some(keyed) = &job.keyed {
                            self.keys.forget(keyed);
                        }
                        self.refused(&job, &refusal.answer, refusal.begun);
                        false
                    }
                }
            }
        }
    }

    /// The answer to a read from the state that lags behind.
    pub(super) fn stale(&self, job: &Job<S>, lag: Lag) -> Answer {
        let service = &self.setting.service;
        let now = self.setting.clock.elapsed();
        // This very read has been counted, and does not count as one that missed a change.
        let earlier_reads = self.reads.saturating_sub(1);
        let is_seen = |past: &&Past<S::Effect>| match (past.reads, lag) {
            (None, _) => true,
            (Some(reads), Lag::Reads(missed)) => earlier_reads.saturating_sub(reads) >= u64::from(missed),
            (Some(_), Lag::Time(time)) => now.saturating_sub(past.at) >= time,
        };
        let mut older = S::State::default();
        for past in self.history.iter().take_while(is_seen) {
            service.apply(&mut older, &past.effect);
        }
        match service.decide(&older, &job.recognised.call, &self.context(job, 0)) {
            Decision::Accept(accepted) => accepted.answer,
            Decision::Refuse(refusal) => refusal.answer,
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
