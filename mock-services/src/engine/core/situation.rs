//! How a service treats a request in a state, with what is stored under its key. Pure: the core asks it for the
//! present state, and a history is checked against it.

use std::sync::Arc;

use serde_json::Value;

use super::RequestAssessment;
use crate::engine::job::Job;
use crate::engine::keys::{Age, KeyLookup, KeyRefusal, KeyStore, made_id, mark_replayed};
use crate::idempotency::{ReplayRule, StorageRule};
use crate::service::{Answer, Context, Decision, IdSource, OperationKind, Refusal, Request, Service};

/// The states of an object that is no longer open.
const CLOSED: [&str; 6] = ["resolved", "closed", "canceled", "cancelled", "completed", "done"];

/// Everything that the treatment of a request depends on.
pub(in crate::engine) struct Situation<'a, S: Service> {
    pub(in crate::engine) service: &'a S,
    pub(in crate::engine) ids: IdSource,
    pub(in crate::engine) state: &'a S::State,
    pub(in crate::engine) keys: &'a KeyStore<S::Effect>,
    pub(in crate::engine) age: Age,
}

impl<S: Service> Situation<'_, S> {
    /// What a decision about a delivery of a request may use.
    pub(in crate::engine) fn context(&self, job: &Job<S>, delivery: u32) -> Context {
        Context { now: self.age.now, ids: self.ids.ids(job.origin.caller, job.number, delivery) }
    }

    /// How the service treats the request.
    pub(in crate::engine) fn assess(&self, job: &Job<S>, delivery: u32) -> RequestAssessment<S::Effect> {
        if let Some(rules) = &job.rules {
            let is_closed = |answer: &Answer| self.is_closed(job, answer);
            match self.keys.lookup(rules, job.keyed.as_ref(), self.age, is_closed) {
                KeyLookup::New => {}
                KeyLookup::Refused { why, id } => {
                    return RequestAssessment::Refused(without_traces(self.key_refused(job, &why, &id)));
                }
                KeyLookup::Replay { answer, refused: true } => {
                    let mut answer = Answer::clone(&answer);
                    self.mark_replayed(job, &mut answer);
                    return RequestAssessment::Refused(without_traces(answer));
                }
                KeyLookup::Replay { answer, refused: false } => {
                    return RequestAssessment::Replay(self.replayed(job, answer));
                }
                KeyLookup::Rest { effects, answer } => return RequestAssessment::Rest { effects, answer },
            }
        }
        match self.decide(job, delivery) {
            Decision::Refuse(refusal) => {
                let keeps_all =
                    job.rules.as_ref().is_some_and(|rules| rules.rules().stores == StorageRule::All);
                RequestAssessment::Refused(Refusal { begun: refusal.begun || keeps_all, ..refusal })
            }
            Decision::Accept(accepted) => RequestAssessment::Fresh(accepted),
        }
    }

    /// What the service decides without regard to keys.
    pub(in crate::engine) fn decide(&self, job: &Job<S>, delivery: u32) -> Decision<S::Effect> {
        self.service.decide(self.state, &job.recognized.call, &self.context(job, delivery))
    }

    /// The answer in the form in which it is stored and replayed.
    pub(in crate::engine) fn to_keep(&self, job: &Job<S>, answer: &Answer) -> Answer {
        let mut answer = answer.clone_with_capacity();
        self.service.mark_kept(&mut answer, &self.context(job, 0));
        answer
    }

    /// The answer to a repeated request: the first one, or the object as it is now.
    fn replayed(&self, job: &Job<S>, first: Arc<Answer>) -> Arc<Answer> {
        let Some(rules) = job.rules.as_ref().map(|rules| rules.rules()) else { return first };
        let latest = match rules.replay {
            ReplayRule::Latest => self.latest(job, &first).map(Arc::new),
            ReplayRule::First | ReplayRule::Refuse => None,
        };
        let mut answer = latest.unwrap_or(first);
        if let Some(status) = rules.replay_status.filter(|_| answer.status < 300) {
            Arc::make_mut(&mut answer).status = status;
        }
        answer
    }

    /// Marks an answer as replayed, if the rules do so.
    fn mark_replayed(&self, job: &Job<S>, answer: &mut Answer) {
        if let (Some(rules), Some(keyed)) = (&job.rules, &job.keyed) {
            mark_replayed(answer, rules, &keyed.key, &self.context(job, 0));
        }
    }

    fn key_refused(&self, job: &Job<S>, refusal: &KeyRefusal, id: &str) -> Answer {
        let (key, endpoint) = job.keyed.as_ref().map_or(("", ""), |keyed| (&*keyed.key, &*keyed.endpoint));
        let context = self.context(job, 0);
        let answer = job.rules.as_ref().and_then(|rules| {
            refusal.answer(rules, (key, endpoint, id), |error| self.service.key_error(error, &context))
        });
        answer.unwrap_or_else(|| self.service.failure(500, &job.request, &context))
    }

    /// The object that an answer is about, as it is now; `None` if it cannot be read.
    fn latest(&self, job: &Job<S>, first: &Answer) -> Option<Answer> {
        match self.read_again(job, first)? {
            Decision::Accept(accepted) => Some(accepted.answer),
            Decision::Refuse(_) => None,
        }
    }

    /// Whether the object that an answer is about is gone, or is shown as closed.
    fn is_closed(&self, job: &Job<S>, first: &Answer) -> bool {
        match self.read_again(job, first) {
            Some(Decision::Accept(accepted)) => {
                let mut body = Vec::new();
                accepted.answer.write_body(&mut body);
                let body: Value = serde_json::from_slice(&body).unwrap_or_default();
                let status = body.get("status").and_then(Value::as_str);
                status.is_some_and(|status| CLOSED.contains(&status))
            }
            Some(Decision::Refuse(_)) => true,
            None => false,
        }
    }

    /// Reads what an answer is about: the path of a `POST` with the id of what it made, otherwise the path itself.
    fn read_again(&self, job: &Job<S>, first: &Answer) -> Option<Decision<S::Effect>> {
        let path = job.request.path().trim_end_matches('/');
        let path = match job.request.method() {
            "POST" => format!("{path}/{}", made_id(first)?),
            _ => path.to_owned(),
        };
        let headers =
            job.request.headers().filter(|(name, _)| !name.to_ascii_lowercase().starts_with("content-"));
        let request =
            headers.fold(Request::new("GET", &path), |request, (name, value)| request.header(name, value));
        let context = self.context(job, 0);
        let recognized = self.service.recognize(&request, &context).ok()?;
        let is_read = self.service.operations()[recognized.operation].kind == OperationKind::Read;
        is_read.then(|| self.service.decide(self.state, &recognized.call, &context))
    }
}

/// A refusal that changes nothing and is not stored under a key.
fn without_traces<Effect>(answer: Answer) -> Refusal<Effect> {
    Refusal { answer, traces: Vec::new(), begun: false }
}
