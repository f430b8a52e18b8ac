//! The sequential core of an engine: state, keys and outstanding changes. It is locked for each step, so
//! that one request at a time is decided and committed; nothing here waits.

mod commit;
mod left_behind;
mod outstanding;
mod revert;
mod situation;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;

use self::outstanding::OutstandingChange;
pub(super) use self::situation::Situation;
use super::happen::HAPPENED;
use super::history::Recording;
use super::job::Job;
use super::keys::{Age, KeyStore};
use crate::clock::Clock;
use crate::fault::{IntendedEffects, Lag};
use crate::ledger::{CommitTiming, Event, Ledger};
use crate::service::{
    Accepted, Answer, Context, Decision, EffectFacts, Fields, IdSource, OperationKind, Refusal, Service,
    ServiceEvent, TaskShare,
};

/// The maximum number of writes that are remembered by their bytes. A trial has far fewer, and a service that
/// runs for a long time must not grow.
const REMEMBERED_WRITES: usize = 4_096;

/// What does not change while an engine runs.
pub(super) struct Setting<S> {
    pub(super) service: S,
    pub(super) ids: IdSource,
    pub(super) clock: Clock,
    pub(super) ledger: Ledger,
    /// Which effects faults apply to; `None`: all.
    pub(super) intended: Option<IntendedEffects>,
    /// Whether the core has timers that are not started yet.
    pub(super) timers_wait: AtomicBool,
    /// Notified when the state has changed.
    pub(super) changed: Notify,
    /// Whether what callers ask and see is recorded.
    pub(super) records_history: bool,
}

pub(super) struct Core<S: Service> {
    setting: Arc<Setting<S>>,
    state: S::State,
    /// Everything that was committed, so that a stale read can see an older state.
    history: Vec<CommittedChange<S::Effect>>,
    keys: KeyStore<S::Effect>,
    /// By key: what is remembered of requests whose operation or intention is not the usual one, for their
    /// replays.
    remembered_requests: HashMap<String, RememberedRequest>,
    /// The first attempts with the bytes of the latest writes.
    sent: HashMap<u64, u64>,
    /// The time of day when the core was locked: everything in one step happens at one time.
    now: Timestamp,
    requests: u64,
    reads: u64,
    outstanding: Vec<OutstandingChange<S>>,
    last_id: u64,
    /// Outstanding changes that wait for a time and have no timer yet.
    timers: Vec<(Duration, u64)>,
    /// What callers asked and saw, where it is recorded.
    recording: Option<Recording<S>>,
}

struct CommittedChange<Effect> {
    effect: Effect,
    /// The attempt that caused it; 0 for changes without a request and for traces of a refusal.
    attempt: u64,
    /// How many reads had come when it was committed; `None` for the initial state.
    reads: Option<u64>,
    at: Duration,
    /// When it was reverted: how many reads had come, and the time.
    reverted: Option<(u64, Duration)>,
}

/// The attempt that caused a change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cause {
    /// Its number in the ledger; 0 for changes without a request.
    pub(super) attempt: u64,
    /// Its operation, as an index into those of the service.
    pub(super) operation: usize,
    pub(super) caller: u32,
}

impl Cause {
    const NO_ATTEMPT: Cause = Cause { attempt: 0, operation: 0, caller: 0 };
}

/// What is remembered of a request under its key, for the replays of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RememberedRequest {
    /// The index of its operation, where that was another than the request itself shows.
    operation: Option<usize>,
    /// How much of the task it carried.
    share: TaskShare,
}

/// How the service treats a request, before anything is committed.
pub(super) enum RequestAssessment<Effect> {
    Refused(Refusal<Effect>),
    Fresh(Accepted<Effect>),
    Replay(Arc<Answer>),
    Rest { effects: Vec<Effect>, answer: Arc<Answer> },
}

impl<Effect> RequestAssessment<Effect> {
    /// Whether there is something to commit, which a fault can prevent.
    pub(super) fn is_new(&self) -> bool {
        matches!(self, RequestAssessment::Fresh(_) | RequestAssessment::Rest { .. })
    }

    /// The changes that were decided.
    fn changes(&self) -> Vec<&Effect> {
        match self {
            RequestAssessment::Fresh(accepted) => accepted.changes().collect(),
            RequestAssessment::Rest { effects, .. } => effects.iter().collect(),
            RequestAssessment::Refused(_) | RequestAssessment::Replay(_) => Vec::new(),
        }
    }

    /// The true answer, if the request is accepted.
    pub(super) fn answer(&self) -> Option<&Answer> {
        match self {
            RequestAssessment::Refused(_) => None,
            RequestAssessment::Fresh(accepted) => Some(&accepted.answer),
            RequestAssessment::Replay(answer) | RequestAssessment::Rest { answer, .. } => Some(answer),
        }
    }
}

/// The true answer to an attempt.
pub(super) struct AttemptOutcome {
    pub(super) answer: Answer,
    pub(super) replay: bool,
    /// Whether the attempt committed anything at once.
    pub(super) committed: bool,
}

impl<S: Service> Core<S> {
    pub(super) fn new(setting: Arc<Setting<S>>) -> Self {
        Core::begin(setting, 0)
    }

    /// Forgets everything. Timers of outstanding changes may still fire, so their numbers are not used again.
    pub(super) fn restart(&mut self) {
        *self = Core::begin(Arc::clone(&self.setting), self.last_id);
    }

    fn begin(setting: Arc<Setting<S>>, last_id: u64) -> Self {
        let mut core = Core {
            state: S::State::default(),
            history: Vec::new(),
            keys: KeyStore::new(),
            remembered_requests: HashMap::new(),
            sent: HashMap::new(),
            now: setting.clock.wall(),
            requests: 0,
            reads: 0,
            outstanding: Vec::new(),
            last_id,
            timers: Vec::new(),
            recording: setting.records_history.then(Recording::default),
            setting,
        };
        let (effects, afterwards) = core.setting.service.at_start();
        for effect in effects {
            core.setting.service.apply(&mut core.state, &effect);
            let (reads, at, reverted) = (None, Duration::ZERO, None);
            core.history.push(CommittedChange { effect, attempt: 0, reads, at, reverted });
        }
        // These changes have no attempt as their cause.
        core.afterwards(afterwards, Cause::NO_ATTEMPT);
        core
    }

    /// Takes the time of day.
    pub(super) fn read_clock(&mut self) {
        self.now = self.setting.clock.wall();
    }

    /// Counts a request.
    pub(super) fn count(&mut self) {
        self.requests += 1;
    }

    /// The first attempt with the same bytes, if it is not this one.
    pub(super) fn repeats(&mut self, job: &Job<S>, attempt: u64) -> Option<u64> {
        let bytes = job.bytes?;
        if self.sent.len() >= REMEMBERED_WRITES {
            self.sent.clear();
        }
        let first = *self.sent.entry(bytes).or_insert(attempt);
        (first != attempt).then_some(first)
    }

    /// Counts a read; stale reads lag by a number of reads.
    pub(super) fn count_read(&mut self, kind: OperationKind) {
        if kind == OperationKind::Read {
            self.reads += 1;
        }
    }

    pub(super) fn age(&self) -> Age {
        Age { now: self.now, requests: self.requests }
    }

    pub(super) fn context(&self, job: &Job<S>, delivery: u32) -> Context {
        self.situation().context(job, delivery)
    }

    /// The present situation.
    pub(super) fn situation(&self) -> Situation<'_, S> {
        let Setting { service, ids, .. } = &*self.setting;
        Situation { service, ids: *ids, state: &self.state, keys: &self.keys, age: self.age() }
    }

    /// How the service treats the request in its present state.
    pub(super) fn assess(&self, job: &Job<S>, delivery: u32) -> RequestAssessment<S::Effect> {
        self.situation().assess(job, delivery)
    }

    /// How long a request waits before it is decided, if the state does not change.
    pub(super) fn waits(&self, job: &Job<S>) -> Option<Duration> {
        self.setting.service.waits(&self.state, &job.recognized.call)
    }

    /// The index of the operation of a request, which can depend on the state.
    pub(super) fn operation(&self, job: &Job<S>, assessment: &RequestAssessment<S::Effect>) -> usize {
        let remembered = match assessment {
            RequestAssessment::Fresh(accepted) => accepted.operation,
            RequestAssessment::Replay(_) => self.remembered_request(job).and_then(|known| known.operation),
            RequestAssessment::Refused(_) | RequestAssessment::Rest { .. } => None,
        };
        remembered.unwrap_or(job.recognized.operation)
    }

    /// Applies the traces of a refusal, stores its answer under its key if the call had begun to execute, and
    /// returns the answer.
    pub(super) fn refused(&mut self, job: &Job<S>, refusal: Refusal<S::Effect>) -> Answer {
        let Refusal { answer, traces, begun } = refusal;
        for trace in traces {
            self.remember(trace, 0);
        }
        if let Some(keyed) = job.keyed.as_ref().filter(|_| begun) {
            self.keys.answered(keyed, self.age(), self.situation().to_keep(job, &answer), true);
        }
        answer
    }

    /// What is remembered of the request that had this key first.
    fn remembered_request(&self, job: &Job<S>) -> Option<RememberedRequest> {
        job.keyed.as_ref().and_then(|keyed| self.remembered_requests.get(&*keyed.slot).copied())
    }

    fn facts<'e>(&self, effects: impl IntoIterator<Item = &'e S::Effect>) -> Vec<EffectFacts>
    where
        S::Effect: 'e,
    {
        effects.into_iter().filter_map(|effect| self.setting.service.describe(effect)).collect()
    }

    /// The number of effects that the ledger would record.
    pub(super) fn countable(&self, assessment: &RequestAssessment<S::Effect>) -> usize {
        self.facts(assessment.changes()).len()
    }

    /// How much of the task an attempt carries. For a replay, the first request with its key decides.
    pub(super) fn task_share(&self, job: &Job<S>, assessment: &RequestAssessment<S::Effect>) -> TaskShare {
        match assessment {
            RequestAssessment::Replay(_) => {
                self.remembered_request(job).map_or(TaskShare::Full, |known| known.share)
            }
            decided => self.share_of(&decided.changes()),
        }
    }

    /// Nothing if the changes ask for effects and none of them is intended.
    fn share_of(&self, changes: &[&S::Effect]) -> TaskShare {
        let Setting { service, intended, .. } = &*self.setting;
        let Some(intended) = intended else { return TaskShare::Full };
        let asked: Vec<(&S::Effect, EffectFacts)> = changes
            .iter()
            .flat_map(|change| service.asked_effects(change).into_iter().map(|facts| (*change, facts)))
            .collect();
        if asked.is_empty() {
            return TaskShare::Full;
        }
        let shares =
            asked.iter().filter(|(_, facts)| intended(facts)).map(|(change, _)| service.task_share(change));
        shares.max().unwrap_or(TaskShare::None)
    }

    /// Remembers under its key what a request was, for its replays.
    fn remember_for_replays(&mut self, job: &Job<S>, accepted: &Accepted<S::Effect>) {
        let Some(keyed) = &job.keyed else { return };
        let share = self.share_of(&accepted.changes().collect::<Vec<_>>());
        if accepted.operation.is_some() || share != TaskShare::Full {
            self.remembered_requests
                .insert(keyed.slot.to_string(), RememberedRequest { operation: accepted.operation, share });
        } else if !self.remembered_requests.is_empty() {
            // The key was used for another request before it expired.
            self.remembered_requests.remove(&*keyed.slot);
        }
    }

    /// Records effects that were decided and that a fault kept from being committed.
    fn withhold<'e>(&self, effects: impl IntoIterator<Item = &'e S::Effect>, cause: Cause)
    where
        S::Effect: 'e,
    {
        for facts in self.facts(effects) {
            self.setting.ledger.append(Event::Withheld {
                attempt: cause.attempt,
                effect: facts.effect.as_ref().into(),
                id: facts.id.into(),
                fields: facts.fields,
            });
        }
    }

    fn keep(&mut self, job: &Job<S>, answer: &Answer) {
        if let Some(keyed) = &job.keyed {
            self.keys.answered(keyed, self.age(), self.situation().to_keep(job, answer), false);
        }
    }

    fn commit_all(&mut self, effects: Vec<S::Effect>, cause: Cause, timing: CommitTiming) {
        for effect in effects {
            self.commit(effect, cause, timing);
        }
    }

    fn commit(&mut self, effect: S::Effect, cause: Cause, timing: CommitTiming) {
        let setting = &self.setting;
        if let Some(facts) = setting.service.describe(&effect) {
            setting.ledger.append(Event::Committed {
                attempt: cause.attempt,
                effect: facts.effect.as_ref().into(),
                id: facts.id.into(),
                fields: facts.fields,
                timing,
            });
        }
        self.remember(effect, cause.attempt);
    }

    /// Commits a change that the scenario makes happen.
    pub(super) fn happen(&mut self, effect: &S::Effect) {
        if let Some(facts) = self.setting.service.describe(effect) {
            // Plain data written into memory cannot fail.
            let fields = serde_json::to_string(&facts.fields).unwrap_or_default();
            self.setting.ledger.append(Event::Noted {
                name: HAPPENED.into(),
                caller: None,
                fields: Fields::new()
                    .with("effect", &*facts.effect)
                    .with("id", facts.id)
                    .with("fields", fields),
            });
        }
        if let Some(recording) = &mut self.recording {
            recording.changed(std::slice::from_ref(effect), self.setting.ledger.len());
        }
        self.remember(effect.clone(), 0);
    }

    /// What callers asked and saw, where it is recorded.
    pub(super) fn recording(&mut self) -> Option<&mut Recording<S>> {
        self.recording.as_mut()
    }

    /// Decides a call of the scenario.
    pub(super) fn decide(&self, call: &S::Call, context: &Context) -> Decision<S::Effect> {
        self.setting.service.decide(&self.state, call, context)
    }

    /// What the service has sent to the receivers of its events.
    pub(super) fn events(&self) -> Vec<ServiceEvent> {
        self.setting.service.events(&self.state)
    }

    /// Changes the state without an entry in the ledger.
    fn remember(&mut self, effect: S::Effect, attempt: u64) {
        self.setting.service.apply(&mut self.state, &effect);
        self.history.push(CommittedChange {
            effect,
            attempt,
            reads: Some(self.reads),
            at: self.setting.clock.elapsed(),
            reverted: None,
        });
        self.setting.changed.notify_waiters();
    }

    /// The answer to a read from the older state.
    pub(super) fn stale(&self, job: &Job<S>, lag: Lag) -> Answer {
        // This read itself has been counted, and does not count as one that missed a change.
        match self.decide_behind(job, lag, self.reads.saturating_sub(1)) {
            Decision::Accept(accepted) => accepted.answer,
            Decision::Refuse(refusal) => refusal.answer,
        }
    }

    /// Whether the older state would answer a read that has not been counted.
    pub(super) fn would_answer(&self, job: &Job<S>, lag: Lag) -> bool {
        matches!(self.decide_behind(job, lag, self.reads), Decision::Accept(_))
    }

    fn decide_behind(&self, job: &Job<S>, lag: Lag, earlier_reads: u64) -> Decision<S::Effect> {
        let service = &self.setting.service;
        let now = self.setting.clock.elapsed();
        let is_shown = |(reads, at): (u64, Duration)| match lag {
            Lag::Reads(missed) => earlier_reads.saturating_sub(reads) >= u64::from(missed),
            Lag::Time(time) => now.saturating_sub(at) >= time,
        };
        let is_seen =
            |past: &&CommittedChange<S::Effect>| past.reads.is_none_or(|reads| is_shown((reads, past.at)));
        let is_there = |past: &&CommittedChange<S::Effect>| !past.reverted.is_some_and(is_shown);
        let mut older = S::State::default();
        for past in self.history.iter().take_while(is_seen).filter(is_there) {
            service.apply(&mut older, &past.effect);
        }
        service.decide(&older, &job.recognized.call, &self.context(job, 0))
    }
}
