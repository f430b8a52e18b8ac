//! What the callers of a service asked and saw, and whether it can be explained by the service's own rules. The
//! ledger does not have enough for that: it has no secrets and cuts what is long. So the requests and answers
//! themselves are recorded in memory, and the ledger says when a reply was sent, and whether all of it was.
//!
//! An answer that a fault made is left out: its call is open. A fault that commits later, twice or never makes other
//! calls of it.

mod model;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::model::{RecordedStep, SeenAnswer, ServiceModel, stored_key};
use super::Engine;
use super::core::Core;
use super::job::Job;
use super::keys::Age;
use crate::fault::Commit;
use crate::history::{HistoryCall, HistoryConclusion, check};
use crate::ledger::{Entry, Event, Ledger};
use crate::service::{Answer, Service};

/// Whether what the callers of a service saw can be explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryReport {
    /// The name of the service.
    pub service: String,
    /// How many callers it had.
    pub callers: usize,
    /// The result.
    pub conclusion: HistoryConclusion,
}

/// What the callers of a service asked and saw.
pub(super) struct Recording<S: Service> {
    calls: Vec<RecordedCall<S>>,
    /// Why this history cannot be checked.
    set_aside: Option<&'static str>,
}

impl<S: Service> Default for Recording<S> {
    fn default() -> Self {
        Recording { calls: Vec::new(), set_aside: None }
    }
}

/// A call, or a change that the service made by itself.
struct RecordedCall<S: Service> {
    /// How many entries the ledger had before it.
    came_after: u64,
    step: RecordedStep<S>,
    seen: Option<(SeenAt, SeenAnswer)>,
}

/// When a caller saw an answer.
#[derive(Debug, Clone, Copy)]
enum SeenAt {
    /// With the reply to this attempt, if all of it was sent.
    Reply(u64),
    /// When the ledger had this many entries.
    Entries(u64),
}

impl<S: Service> Recording<S> {
    /// The service refused a request; the ledger has this many entries since.
    pub(super) fn refused(&mut self, job: &Arc<Job<S>>, age: Age, answer: Answer, entries: u64) {
        let seen = Some((SeenAt::Entries(entries), SeenAnswer { answer, replay: false }));
        self.add(job, RecordedStep::request(job, age, 0, None), seen);
    }

    /// A fault, if there is one, committed an attempt so. The answer is missing if the fault made it; `kept` is what it
    /// stored under the key in place of the true one.
    pub(super) fn attempted(
        &mut self,
        job: &Arc<Job<S>>,
        age: Age,
        (attempt, answer): (u64, Option<(Answer, bool)>),
        commit: Commit,
        kept: Option<Answer>,
    ) {
        let seen = answer
            .map(|(answer, replay)| (SeenAt::Reply(attempt), SeenAnswer { answer, replay }))
            .filter(|_| matches!(commit, Commit::Now | Commit::Twice));
        match commit {
            Commit::Now => self.add(job, RecordedStep::request(job, age, 0, kept), seen),
            Commit::Twice => {
                self.add(job, RecordedStep::request(job, age, 0, kept), seen);
                self.add(job, RecordedStep::request(job, age, 1, None), None);
            }
            Commit::Never => {
                if let Some(answer) = kept {
                    self.add(job, RecordedStep::Kept { job: Arc::clone(job), age, answer }, None);
                }
            }
            Commit::Later(_) | Commit::LaterWithin(..) => {
                if stored_key(job).is_some() {
                    self.add(job, RecordedStep::InFlight { job: Arc::clone(job), age }, None);
                }
                self.add(job, RecordedStep::Late { job: Arc::clone(job), age }, None);
            }
            Commit::Part(_) => self.set_aside = Some("a fault committed a part of a request"),
            Commit::Reverts(_) => self.set_aside = Some("a fault took back what was committed"),
        }
    }

    /// A request that a fault deferred is decided now: it takes effect after all that was recorded.
    pub(super) fn committed_late(&mut self, job: &Arc<Job<S>>, now: Age) {
        let is_late = |call: &RecordedCall<S>| matches!(&call.step, RecordedStep::Late { job: late, .. } if Arc::ptr_eq(late, job));
        if let Some(place) = self.calls.iter().position(is_late) {
            let came_after = self.calls.remove(place).came_after;
            let step = RecordedStep::Late { job: Arc::clone(job), age: now };
            self.calls.push(RecordedCall { came_after, step, seen: None });
        }
    }

    /// The service, or the scenario, makes these changes, after this many entries of the ledger.
    pub(super) fn changed(&mut self, effects: &[S::Effect], came_after: u64) {
        let step = RecordedStep::Change { effects: effects.into() };
        let seen =
            Some((SeenAt::Entries(came_after), SeenAnswer { answer: Answer::empty(0), replay: false }));
        self.calls.push(RecordedCall { came_after, step, seen });
    }

    fn add(&mut self, job: &Job<S>, step: RecordedStep<S>, seen: Option<(SeenAt, SeenAnswer)>) {
        self.calls.push(RecordedCall { came_after: job.came_after, step, seen });
    }
}

impl<S: Service> Engine<S> {
    /// Whether what the callers saw can be explained, found out within this time; `None` where it is not recorded.
    pub(crate) async fn check_history(self: Arc<Self>, limit: Duration) -> Option<HistoryReport> {
        let taken = |core: &mut Core<S>| {
            let Recording { calls, set_aside } = core.recording()?;
            Some((std::mem::take(calls), *set_aside))
        };
        let (calls, set_aside) = self.enter(taken).await?;
        let callers: BTreeSet<u32> =
            calls.iter().map(|call| call.step.caller()).filter(|caller| *caller > 0).collect();
        let conclusion = match set_aside {
            Some(why) => {
                self.put_back(calls).await;
                HistoryConclusion::Unknown { why: why.to_owned() }
            }
            None => {
                let (engine, deadline) = (Arc::clone(&self), Instant::now() + limit);
                // The search computes for up to the limit, and the other tasks of the runtime must go on meanwhile.
                let search = tokio::task::spawn_blocking(move || (engine.explained(&calls, deadline), calls));
                match search.await {
                    Ok((conclusion, calls)) => {
                        self.put_back(calls).await;
                        conclusion
                    }
                    Err(_) => HistoryConclusion::Unknown { why: "the search was stopped".to_owned() },
                }
            }
        };
        Some(HistoryReport { service: self.service().name().to_owned(), callers: callers.len(), conclusion })
    }

    /// Records these calls again, before those that came since they were taken.
    async fn put_back(&self, mut calls: Vec<RecordedCall<S>>) {
        self.enter(|core| {
            if let Some(recording) = core.recording() {
                calls.append(&mut recording.calls);
                recording.calls = calls;
            }
        })
        .await;
    }

    fn explained(&self, calls: &[RecordedCall<S>], deadline: Instant) -> HistoryConclusion {
        let replies = whole_replies(&self.ledger().entries());
        let history: Vec<HistoryCall<'_, ServiceModel<'_, S>>> = calls
            .iter()
            .map(|call| HistoryCall {
                caller: call.step.caller(),
                called: after(call.came_after),
                input: &call.step,
                answer: call.seen.as_ref().and_then(|(at, seen)| match at {
                    SeenAt::Reply(attempt) => Some((at_entry(*replies.get(attempt)?), seen)),
                    SeenAt::Entries(entries) => Some((at_entry(*entries).max(after(call.came_after)), seen)),
                }),
            })
            .collect();
        let model = ServiceModel { service: self.service(), ids: self.setting.ids };
        match check(&model, &history, deadline) {
            HistoryConclusion::Unexplained { drawing } => {
                HistoryConclusion::Unexplained { drawing: redacted(self.ledger(), &drawing) }
            }
            other => other,
        }
    }
}

/// The position of an entry of the ledger.
fn at_entry(entry: u64) -> u64 {
    2 * entry
}

/// The position after this many entries, and before the next one.
fn after(entries: u64) -> u64 {
    at_entry(entries) + 1
}

/// The entries of the replies that were sent as a whole, by attempt.
fn whole_replies(entries: &[Entry]) -> HashMap<u64, u64> {
    let mut replies = HashMap::new();
    for Entry { n, event, .. } in entries {
        match event {
            Event::Replied { attempt, whole: true, .. } => {
                replies.insert(*attempt, *n);
            }
            Event::Unsent { attempt, .. } => {
                replies.remove(attempt);
            }
            _ => {}
        }
    }
    replies
}

/// The drawing without secrets. It is searched line by line, so that its form stays.
fn redacted(ledger: &Ledger, drawing: &str) -> String {
    drawing.lines().map(|line| ledger.redacted(line) + "\n").collect()
}
