//! The sequential heart of an engine: state, keys and what is still outstanding. Whoever holds it decides and
//! commits alone; nothing here waits.

mod carry;
mod late;
mod left;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Timestamp;

use self::late::Outstanding;
use super::job::Job;
use super::reply::mark_replayed;
use crate::clock::Clock;
use crate::fault::{IntendedEffects, Lag};
use crate::idempotency::{Age, Found, Idempotency, KeyRefusal, KeyStore};
use crate::ledger::{CommitTiming, Event, Ledger};
use crate::service::{Accepted, Answer, Context, Decision, EffectFacts, IdSource, Kind, Refusal, Service};

/// The bytes of so many writes are remembered. A trial has far fewer, and a service that runs for long must
/// not grow.
const MOST_SENT: usize = 4_096;

/// What is the same for all that happens in one engine.
pub(super) struct Setting<S> {
    pub(super) service: S,
    pub(super) ids: IdSource,
    pub(super) clock: Clock,
    pub(super) ledger: Ledger,
    /// Which effects faults are about; all where there is none.
    pub(super) intended: Option<IntendedEffects>,
    /// Whether the core holds timers that nobody has started.
    pub(super) timers_wait: AtomicBool,
}

pub(super) struct Core<S: Service> {
    setting: Arc<Setting<S>>,
    state: S::State,
    /// Everything that was committed, so that a stale read can look at an older state.
    history: Vec<Past<S::Effect>>,
    keys: KeyStore<S::Effect>,
    /// What requests with these keys turned out to be, where that is not what requests usually are: so are
    /// their replays.
    turned_out: HashMap<String, TurnedOut>,
    /// The first attempts with the bytes of the latest writes.
    sent: HashMap<u64, u64>,
    /// The time of day, taken when somebody takes the core: all that is done in one go happens at one time.
    now: Timestamp,
    requests: u64,
    reads: u64,
    outstanding: Vec<Outstanding<S>>,
    last_id: u64,
    /// Outstanding things that wait for the clock and have no timer yet.
    timers: Vec<(Duration, u64)>,
}

struct Past<Effect> {
    effect: Effect,
    /// The attempt that caused it; 0 for what nobody attempted and for what a refusal left.
    attempt: u64,
    /// How many reads had come when it was committed; `None` for what was there from the start.
    reads: Option<u64>,
    at: Duration,
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

/// What is remembered of a request under its key, for the replays of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TurnedOut {
    /// Its operation, by its place, where that was another than it looked like.
    operation: Option<usize>,
    /// Whether one of its effects was intended, or it had none that count.
    intended: bool,
}

/// What a request is to the service, before anything is done about it.
pub(super) enum Judgement<Effect> {
    Refused(Refusal<Effect>),
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

    /// Forgets everything. Timers of what was outstanding may still ring, so their numbers are not used
    /// again.
    pub(super) fn restart(&mut self, idempotency: Idempotency) {
        *self = Core::begin(Arc::clone(&self.setting), idempotency, self.last_id);
    }

    fn begin(setting: Arc<Setting<S>>, idempotency: Idempotency, last_id: u64) -> Self {
        let mut core = Core {
            state: S::State::default(),
            history: Vec::new(),
            keys: KeyStore::new(idempotency),
            turned_out: HashMap::new(),
            sent: HashMap::new(),
            now: setting.clock.wall(),
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
            core.history.push(Past { effect, attempt: 0, reads: None, at: Duration::ZERO });
        }
        // Nobody attempted what the world does by itself.
        core.afterwards(afterwards, Cause::NOBODY);
        core
    }

    /// Looks at the clock.
    pub(super) fn look_at_clock(&mut self) {
        self.now = self.setting.clock.wall();
    }

    /// Counts a request that has come.
    pub(super) fn count(&mut self) {
        self.requests += 1;
    }

    /// The first attempt with the bytes of this one, where it is not this one.
    pub(super) fn repeats(&mut self, job: &Job<S>, attempt: u64) -> Option<u64> {
        let bytes = job.bytes?;
        if self.sent.len() >= MOST_SENT {
            self.sent.clear();
        }
        let first = *self.sent.entry(bytes).or_insert(attempt);
        (first != attempt).then_some(first)
    }

    /// Counts a read; stale reads lag behind by so many of them.
    pub(super) fn count_read(&mut self, kind: Kind) {
        if kind == Kind::Read {
            self.reads += 1;
        }
    }

    fn age(&self) -> Age {
        Age { now: self.now, requests: self.requests }
    }

    pub(super) fn context(&self, job: &Job<S>, delivery: u32) -> Context {
        Context { now: self.now, ids: self.setting.ids.ids(job.origin.caller, job.number, delivery) }
    }

    /// What the request is to the service as things stand.
    pub(super) fn judge(&self, job: &Job<S>, delivery: u32) -> Judgement<S::Effect> {
        let service = &self.setting.service;
        if job.operation(service).kind == Kind::Write
            && job.request.envelope().is_none()
            && job.request.method() != "DELETE"
        {
            match self.keys.look(job.keyed.as_ref(), self.age()) {
                Found::New => {}
                Found::Refused(refusal) => {
                    return Judgement::Refused(without_traces(self.key_refused(job, &refusal)));
                }
                Found::Replay { answer, refused: true } => {
                    let mut answer = Answer::clone(&answer);
                    mark_replayed(&mut answer, self.keys.profile());
                    return Judgement::Refused(without_traces(answer));
                }
                Found::Replay { answer, refused: false } => return Judgement::Replay(answer),
                Found::Rest { effects, answer } => return Judgement::Rest { effects, answer },
            }
        }
        match service.decide(&self.state, &job.recognised.call, &self.context(job, delivery)) {
            Decision::Refuse(refusal) => Judgement::Refused(refusal),
            Decision::Accept(accepted) => Judgement::Fresh(accepted),
        }
    }

    /// The operation that the request turned out to be, by its place.
    pub(super) fn operation(&self, job: &Job<S>, judgement: &Judgement<S::Effect>) -> usize {
        let turned_out = match judgement {
            Judgement::Fresh(accepted) => accepted.operation,
            Judgement::Replay(_) => self.remembered(job).and_then(|known| known.operation),
            Judgement::Refused(_) | Judgement::Rest { .. } => None,
        };
        turned_out.unwrap_or(job.recognised.operation)
    }

    fn key_refused(&self, job: &Job<S>, refusal: &KeyRefusal) -> Answer {
        let (key, endpoint) = job.keyed.as_ref().map_or(("", ""), |keyed| (&*keyed.key, &*keyed.endpoint));
        refusal.answer(self.keys.profile(), key, endpoint, |error| {
            self.setting.service.key_error(error, &self.context(job, 0))
        })
    }

    /// Remembers what a refusal leaves, keeps it under its key where the service had begun, and gives its
    /// answer.
    pub(super) fn refused(&mut self, job: &Job<S>, refusal: Refusal<S::Effect>) -> Answer {
        let Refusal { answer, traces, begun } = refusal;
        for trace in traces {
            self.remember(trace, 0);
        }
        if let Some(keyed) = job.keyed.as_ref().filter(|_| begun) {
            self.keys.answered(keyed, self.age(), self.to_keep(job, &answer), true);
        }
        answer
    }

    /// What is remembered of the request that had this key first.
    fn remembered(&self, job: &Job<S>) -> Option<TurnedOut> {
        job.keyed.as_ref().and_then(|keyed| self.turned_out.get(&*keyed.key).copied())
    }

    /// What the ledger would say of the effects that a judgement leaves, of those that count.
    fn decided(&self, judgement: &Judgement<S::Effect>) -> Vec<EffectFacts> {
        match judgement {
            Judgement::Fresh(accepted) => self.accepted_effects(accepted),
            Judgement::Rest { effects, .. } => self.facts(effects),
            Judgement::Refused(_) | Judgement::Replay(_) => Vec::new(),
        }
    }

    fn accepted_effects(&self, accepted: &Accepted<S::Effect>) -> Vec<EffectFacts> {
        self.facts(accepted.effects.iter().chain(accepted.afterwards.iter().map(|(_, effect)| effect)))
    }

    fn facts<'e>(&self, effects: impl IntoIterator<Item = &'e S::Effect>) -> Vec<EffectFacts>
    where
        S::Effect: 'e,
    {
        effects.into_iter().filter_map(|effect| self.setting.service.describe(effect)).collect()
    }

    /// How many effects a judgement would leave, of those that count.
    pub(super) fn countable(&self, judgement: &Judgement<S::Effect>) -> usize {
        self.decided(judgement).len()
    }

    /// Whether faults are about the attempt: one of the effects that were decided for it is intended, or it
    /// has none that count. A replay is what the request was that had its key first.
    pub(super) fn is_intended(&self, job: &Job<S>, judgement: &Judgement<S::Effect>) -> bool {
        match judgement {
            Judgement::Replay(_) => self.remembered(job).is_none_or(|known| known.intended),
            decided => self.are_intended(|| self.decided(decided)),
        }
    }

    fn are_intended(&self, decided: impl FnOnce() -> Vec<EffectFacts>) -> bool {
        self.setting.intended.as_ref().is_none_or(|intended| {
            let decided = decided();
            decided.is_empty() || decided.iter().any(|facts| intended(facts))
        })
    }

    /// Remembers under its key what a request turned out to be.
    fn remember_for_replays(&mut self, job: &Job<S>, accepted: &Accepted<S::Effect>) {
        let Some(keyed) = &job.keyed else { return };
        let intended = self.are_intended(|| self.accepted_effects(accepted));
        if accepted.operation.is_some() || !intended {
            self.turned_out
                .insert(keyed.key.to_string(), TurnedOut { operation: accepted.operation, intended });
        } else if !self.turned_out.is_empty() {
            // The key stood for something else before it expired.
            self.turned_out.remove(&*keyed.key);
        }
    }

    /// Writes down effects that were decided and that a fault kept back.
    fn withhold<'e>(&self, effects: impl IntoIterator<Item = &'e S::Effect>, cause: Cause)
    where
        S::Effect: 'e,
    {
        for facts in self.facts(effects) {
            self.setting.ledger.append(&Event::Withheld {
                attempt: cause.attempt,
                effect: facts.effect,
                id: facts.id.into(),
                fields: std::borrow::Cow::Owned(facts.fields),
            });
        }
    }

    fn keep(&mut self, job: &Job<S>, answer: &Answer) {
        if let Some(keyed) = &job.keyed {
            self.keys.answered(keyed, self.age(), self.to_keep(job, answer), false);
        }
    }

    /// The answer with what its replays say beside it.
    fn to_keep(&self, job: &Job<S>, answer: &Answer) -> Answer {
        let mut answer = answer.with_room();
        self.setting.service.mark_kept(&mut answer, &self.context(job, 0));
        answer
    }

    fn commit_all(&mut self, effects: Vec<S::Effect>, cause: Cause, timing: CommitTiming) {
        for effect in effects {
            self.commit(effect, cause, timing);
        }
    }

    fn commit(&mut self, effect: S::Effect, cause: Cause, timing: CommitTiming) {
        let setting = &self.setting;
        if let Some(facts) = setting.service.describe(&effect) {
            setting.ledger.append(&Event::Committed {
                attempt: cause.attempt,
                effect: facts.effect,
                id: facts.id.into(),
                fields: std::borrow::Cow::Owned(facts.fields),
                timing,
            });
        }
        self.remember(effect, cause.attempt);
    }

    /// Changes the state without a word in the ledger.
    fn remember(&mut self, effect: S::Effect, attempt: u64) {
        self.setting.service.apply(&mut self.state, &effect);
        self.history.push(Past {
            effect,
            attempt,
            reads: Some(self.reads),
            at: self.setting.clock.elapsed(),
        });
    }

    /// The answer to a read from the state that lags behind.
    pub(super) fn stale(&self, job: &Job<S>, lag: Lag) -> Answer {
        // This very read has been counted, and does not count as one that missed a change.
        match self.decide_behind(job, lag, self.reads.saturating_sub(1)) {
            Decision::Accept(accepted) => accepted.answer,
            Decision::Refuse(refusal) => refusal.answer,
        }
    }

    /// Whether the state that lags behind would answer a read that has not been counted.
    pub(super) fn would_answer(&self, job: &Job<S>, lag: Lag) -> bool {
        matches!(self.decide_behind(job, lag, self.reads), Decision::Accept(_))
    }

    fn decide_behind(&self, job: &Job<S>, lag: Lag, earlier_reads: u64) -> Decision<S::Effect> {
        let service = &self.setting.service;
        let now = self.setting.clock.elapsed();
        let is_seen = |past: &&Past<S::Effect>| match (past.reads, lag) {
            (None, _) => true,
            (Some(reads), Lag::Reads(missed)) => earlier_reads.saturating_sub(reads) >= u64::from(missed),
            (Some(_), Lag::Time(time)) => now.saturating_sub(past.at) >= time,
        };
        let mut older = S::State::default();
        for past in self.history.iter().take_while(is_seen) {
            service.apply(&mut older, &past.effect);
        }
        service.decide(&older, &job.recognised.call, &self.context(job, 0))
    }
}

/// A refusal that changes nothing and that no key keeps.
fn without_traces<Effect>(answer: Answer) -> Refusal<Effect> {
    Refusal { answer, traces: Vec::new(), begun: false }
}
