//! The model that a history is checked against: the service's own `decide` and `apply`, and the rules of its keys.
//! It has no faults, no clock and no callers: each call brings the time at which it was decided.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::engine::core::{RequestAssessment, Situation};
use crate::engine::job::Job;
use crate::engine::keys::{Age, KeyStore, Keyed};
use crate::history::{HistoryModel, Touched};
use crate::idempotency::{Lifetime, ReplayRule};
use crate::service::{Answer, Decision, IdSource, OperationKind, Refusal, Service};

/// The number of characters of a request and of an answer that a drawing shows.
const SHOWN: usize = 100;

/// A service and its keys without concurrency.
pub(super) struct ServiceModel<'s, S: Service> {
    pub(super) service: &'s S,
    pub(super) ids: IdSource,
}

/// What the model remembers.
pub(super) struct ModelledState<S: Service> {
    state: S::State,
    keys: KeyStore<S::Effect>,
}

/// One step of the model.
pub(super) enum RecordedStep<S: Service> {
    /// A delivery of a request. `kept` is stored under its key in place of its own answer.
    Request { job: Arc<Job<S>>, age: Age, delivery: u32, kept: Option<Answer> },
    /// A request has no effect, but this answer is stored under its key.
    Kept { job: Arc<Job<S>>, age: Age, answer: Answer },
    /// A request begins, and its key is taken.
    InFlight { job: Arc<Job<S>>, age: Age },
    /// A request that was deferred is committed.
    Late { job: Arc<Job<S>>, age: Age },
    /// Changes without a request.
    Change { effects: Arc<[S::Effect]> },
}

/// What a caller saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenAnswer {
    pub(super) answer: Answer,
    /// Whether it was marked as a replay.
    pub(super) replay: bool,
}

impl<S: Service> RecordedStep<S> {
    pub(super) fn request(job: &Arc<Job<S>>, age: Age, delivery: u32, kept: Option<Answer>) -> Self {
        RecordedStep::Request { job: Arc::clone(job), age, delivery, kept }
    }

    /// Who called; 0 if nobody did.
    pub(super) fn caller(&self) -> u32 {
        self.job().map_or(0, |job| job.origin.caller)
    }

    fn job(&self) -> Option<&Arc<Job<S>>> {
        match self {
            RecordedStep::Request { job, .. }
            | RecordedStep::Kept { job, .. }
            | RecordedStep::InFlight { job, .. }
            | RecordedStep::Late { job, .. } => Some(job),
            RecordedStep::Change { .. } => None,
        }
    }
}

impl<S: Service> Clone for ModelledState<S> {
    fn clone(&self) -> Self {
        ModelledState { state: self.state.clone(), keys: self.keys.clone() }
    }
}

impl<S: Service> ServiceModel<'_, S> {
    fn situation<'a>(&'a self, from: &'a ModelledState<S>, age: Age) -> Situation<'a, S> {
        Situation { service: self.service, ids: self.ids, state: &from.state, keys: &from.keys, age }
    }

    /// The state with these changes.
    fn changed<'e>(
        &self,
        from: &ModelledState<S>,
        effects: impl IntoIterator<Item = &'e S::Effect>,
    ) -> ModelledState<S>
    where
        S::Effect: 'e,
    {
        let mut next = from.clone();
        effects.into_iter().for_each(|effect| self.service.apply(&mut next.state, effect));
        next
    }

    /// Stores an answer under the key of a request, if it has one.
    fn keep(&self, next: &mut ModelledState<S>, job: &Job<S>, age: Age, answer: &Answer, refused: bool) {
        if let Some(keyed) = &job.keyed {
            let kept = self.situation(next, age).to_keep(job, answer);
            next.keys.answered(keyed, age, kept, refused);
        }
    }

    /// The state after a refusal.
    fn refused(
        &self,
        from: &ModelledState<S>,
        job: &Job<S>,
        age: Age,
        refusal: &Refusal<S::Effect>,
    ) -> ModelledState<S> {
        let mut next = self.changed(from, &refusal.traces);
        if refusal.begun {
            self.keep(&mut next, job, age, &refusal.answer, true);
        }
        next
    }

    /// The answer to a delivery of a request, and the state after it.
    pub(super) fn requested(
        &self,
        from: &ModelledState<S>,
        (job, age, delivery): (&Job<S>, Age, u32),
        kept: Option<&Answer>,
    ) -> (SeenAnswer, ModelledState<S>) {
        let seen = |answer: Answer, replay: bool| SeenAnswer { answer, replay };
        let committed = |effects: &[S::Effect], answer: &Answer| {
            let mut next = self.changed(from, effects);
            self.keep(&mut next, job, age, kept.unwrap_or(answer), false);
            next
        };
        match self.situation(from, age).assess(job, delivery) {
            RequestAssessment::Refused(refusal) => {
                let next = self.refused(from, job, age, &refusal);
                (seen(refusal.answer, false), next)
            }
            RequestAssessment::Replay(answer) => (seen(Answer::clone(&answer), true), from.clone()),
            RequestAssessment::Rest { effects, answer } => {
                let next = committed(&effects, &answer);
                (seen(Answer::clone(&answer), false), next)
            }
            RequestAssessment::Fresh(accepted) => {
                let next = committed(&accepted.effects, &accepted.answer);
                (seen(accepted.answer, false), next)
            }
        }
    }

    /// The state after a deferred request is committed; `None` if it has not begun.
    fn late(&self, from: &ModelledState<S>, job: &Job<S>, age: Age) -> Option<ModelledState<S>> {
        if stored_key(job).is_some_and(|keyed| !from.keys.is_in_flight(keyed)) {
            return None;
        }
        Some(match self.situation(from, age).decide(job, 0) {
            Decision::Accept(accepted) => {
                let mut next = self.changed(from, &accepted.effects);
                self.keep(&mut next, job, age, &accepted.answer, false);
                next
            }
            Decision::Refuse(refusal) => {
                let mut released = from.clone();
                if let Some(keyed) = &job.keyed {
                    released.keys.forget(keyed);
                }
                self.refused(&released, job, age, &refusal)
            }
        })
    }
}

impl<S: Service> HistoryModel for ServiceModel<'_, S> {
    type Input = RecordedStep<S>;
    type Seen = SeenAnswer;
    type State = ModelledState<S>;
    type Digest = blake3::Hash;

    fn start(&self) -> ModelledState<S> {
        let empty = ModelledState { state: S::State::default(), keys: KeyStore::new() };
        self.changed(&empty, &self.service.at_start().0)
    }

    fn step(
        &self,
        state: &ModelledState<S>,
        step: &RecordedStep<S>,
        seen: Option<&SeenAnswer>,
    ) -> Option<ModelledState<S>> {
        match step {
            RecordedStep::Request { job, age, delivery, kept } => {
                let (answer, next) = self.requested(state, (job, *age, *delivery), kept.as_ref());
                seen.is_none_or(|seen| *seen == answer).then_some(next)
            }
            RecordedStep::Kept { job, age, answer } => {
                let mut next = state.clone();
                self.keep(&mut next, job, *age, answer, false);
                Some(next)
            }
            RecordedStep::InFlight { job, age } => {
                let mut next = state.clone();
                if let Some(keyed) = &job.keyed {
                    next.keys.in_flight(keyed, *age);
                }
                Some(next)
            }
            RecordedStep::Late { job, age } => self.late(state, job, *age),
            RecordedStep::Change { effects } => Some(self.changed(state, effects.iter())),
        }
    }

    fn digest(&self, state: &ModelledState<S>) -> blake3::Hash {
        let mut hashed = HashedText(blake3::Hasher::new());
        // Hashing cannot fail.
        let _ = write!(hashed, "{:?}", state.state).and_then(|()| state.keys.write_digest(&mut hashed));
        hashed.0.finalize()
    }

    fn touched(&self, step: &RecordedStep<S>) -> Touched {
        let Some(job) = step.job() else { return Touched::Everything };
        let Some(object) = self.service.object(&job.recognized.call) else { return Touched::Everything };
        let Some(keyed) = stored_key(job) else { return Touched::Objects(vec![object]) };
        let rules = keyed.rules.rules();
        // How many keys are stored, or what an object is like now, can depend on any call.
        let is_wide = rules.budget.is_some()
            || rules.replay == ReplayRule::Latest
            || matches!(rules.lifetime, Lifetime::WhileOpen(_));
        if is_wide {
            Touched::Everything
        } else {
            Touched::Objects(vec![object, format!("key {}", keyed.slot)])
        }
    }

    fn can_change(&self, step: &RecordedStep<S>) -> bool {
        step.job().is_none_or(|job| job.operation(self.service).kind == OperationKind::Write)
    }

    fn words(&self, step: &RecordedStep<S>, seen: Option<&SeenAnswer>) -> String {
        let Some(job) = step.job() else {
            let RecordedStep::Change { effects } = step else { return String::new() };
            let names = effects.iter().filter_map(|effect| Some(self.service.describe(effect)?.effect));
            return format!("made by itself: {}", names.collect::<Vec<_>>().join(", "));
        };
        let mut asked = job.operation(self.service).name.to_string();
        for (name, value) in job.recognized.fields.iter() {
            let _ = write!(asked, " {name}={value}");
        }
        if let Some(keyed) = &job.keyed {
            let _ = write!(asked, ", idempotency key {}", keyed.key);
        }
        let Some(SeenAnswer { answer, replay }) = seen else {
            return format!("{} → any answer, or none", shown(&asked));
        };
        let mut body = Vec::new();
        answer.write_body(&mut body);
        let marked = if *replay { " as a replay" } else { "" };
        format!("{} → {}{marked} {}", shown(&asked), answer.status, shown(&String::from_utf8_lossy(&body)))
    }
}

/// The key of a request; `None` also if the rules ignore it, because nothing is stored under it then.
pub(super) fn stored_key<S: Service>(job: &Job<S>) -> Option<&Keyed> {
    job.keyed.as_ref().filter(|keyed| keyed.rules.takes_keys())
}

/// The text in one line, cut where it is long.
fn shown(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_cut = words.chars().nth(SHOWN).is_some();
    words.chars().take(SHOWN).chain(is_cut.then_some('…')).collect()
}

/// Text that is hashed and not kept.
struct HashedText(blake3::Hasher);

impl fmt::Write for HashedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}
