//! How one request is processed: accepted or refused, recorded, committed as the fault says, and answered.

use std::sync::Arc;

use tokio::time::Instant;
use yaml_reader::write_duration;

use super::core::{Cause, Core, RequestAssessment};
use super::job::{self, Job};
use super::keys::mark_replayed;
use super::{Engine, SCENARIO, message};
use crate::delivery::{
    AnswerDelivery, ClientGone, Delivery, LastByteHold, Moment, MomentKind, Origin, PendingReply, QueuedEnd,
    QueuedFollowers,
};
use crate::fault::{After, Commit, Fault, StatusReply};
use crate::idempotency::Idempotency;
use crate::ledger::{AttemptId, Event, Received};
use crate::service::{Answer, Context, OperationKind, Request, Service, TaskShare};

/// An attempt that was recorded, with the fault that applies to it.
struct AcceptedAttempt<Effect> {
    attempt: AttemptId,
    /// Its operation, as its index among those of the service.
    operation: usize,
    share: TaskShare,
    fault: Option<Fault>,
    assessment: RequestAssessment<Effect>,
    /// The commits of an earlier request with its key, for which it waited.
    waited_for: Vec<Cause>,
}

/// What was done with a request when it was received.
enum ReceiveOutcome<Effect> {
    /// The service refused the request. The commits that it made due are those that a listener waits for.
    Refused(AnswerDelivery<'static>, Vec<Cause>),
    /// A listener pauses the service before anything is committed.
    Held(AcceptedAttempt<Effect>),
    /// It was processed up to its answer.
    Finished(FinishedAttempt),
}

/// An attempt whose answer was decided.
struct FinishedAttempt {
    attempt: AttemptId,
    operation: usize,
    fault: Option<Fault>,
    answer: Answer,
    /// Whether the true answer was a replay.
    replay: bool,
    /// The commits that a listener waits for; the gate is closed if there are any.
    committed: Vec<Cause>,
}

impl<S: Service> Engine<S> {
    /// Processes a request up to the answer that is to be sent.
    pub(crate) async fn handle(
        self: &Arc<Self>,
        request: Request,
        origin: Origin,
        gone: &ClientGone,
    ) -> AnswerDelivery<'_> {
        if origin.caller == SCENARIO {
            return self.happen(request, origin).await;
        }
        let service = self.service();
        let came_after = if self.setting.records_history { self.ledger().len() } else { 0 };
        let number = self.next_number(origin.caller);
        let context = self.context(origin, number);
        // Over SMTP the session has checked the secret before it took the message.
        if request.envelope().is_none() && !self.admits(service.credential(&request).as_deref()) {
            // A client of another service has a key for that one: the key is not its mistake.
            let answer = service.no_endpoint(&request, &context);
            let answer = answer.unwrap_or_else(|| service.unauthorized(&request, &context));
            return self.refuse_early(&request, origin, &context, answer).await;
        }
        if is_websocket(&request) {
            let answer = Answer::empty(501).unsupported("a WebSocket");
            return self.refuse_early(&request, origin, &context, answer).await;
        }
        let recognized = match service.recognize(&request, &context) {
            Ok(recognized) => recognized,
            Err(answer) => return self.refuse_early(&request, origin, &context, answer).await,
        };
        let operation = &service.operations()[recognized.operation];
        if let Some(barrier) = &self.barrier
            && !barrier
                .pass(origin.caller, &operation.name, operation.kind == OperationKind::Write, gone)
                .await
        {
            return AnswerDelivery::abandoned();
        }
        let rules = self.rules_for(&request);
        let job = Job { came_after, ..Job::new(service, rules, request, recognized, origin, number) };
        let job = Arc::new(job);
        self.wait_for_change(&job, gone).await;
        if !self.moments.wanted(MomentKind::Queued) {
            return self.process(&job, &context, gone).await;
        }
        let followers = tokio::select! {
            followers = self.hold_arrived(&job, MomentKind::Queued) => followers,
            () = gone.happened() => return AnswerDelivery::abandoned(),
        };
        if gone.has_happened().await {
            followers.notify(QueuedEnd::GivenUp);
            return AnswerDelivery::abandoned();
        }
        let delivery = self.process(&job, &context, gone).await;
        followers.notify(QueuedEnd::Answered);
        delivery
    }

    /// Processes a request that the service knows and that waits for nothing else.
    async fn process(
        self: &Arc<Self>,
        job: &Arc<Job<S>>,
        context: &Context,
        gone: &ClientGone,
    ) -> AnswerDelivery<'_> {
        if self.moments.wanted(MomentKind::Arrived) {
            self.hold_arrived(job, MomentKind::Arrived).await;
        }
        let first = self.enter(|core| self.receive(core, job)).await;
        let finished = match first {
            ReceiveOutcome::Refused(delivery, committed) => {
                self.hold_at_commits(&committed).await;
                return delivery;
            }
            ReceiveOutcome::Finished(finished) => finished,
            ReceiveOutcome::Held(held) => {
                let cause = cause(job, held.attempt, held.operation);
                let moment = Moment { share: held.share, ..self.moment(MomentKind::Received, cause) };
                self.moments.hold(&moment).await;
                let finished = self.while_paused(|core| {
                    let assessment = core.assess(job, 0);
                    self.finish(core, job, AcceptedAttempt { assessment, ..held })
                });
                self.gate.open();
                finished
            }
        };
        self.start_timers();
        self.hold_at_commits(&finished.committed).await;
        if [MomentKind::Received, MomentKind::Committed].iter().any(|kind| self.moments.wanted(*kind)) {
            // A listener may have ended the client, and the connection may not have noticed it yet.
            gone.has_happened().await;
        }
        if self.moments.wanted(MomentKind::Announced) {
            // The gate is open: others can act on what was committed before the caller knows of it.
            let moment = self.moment(MomentKind::Announced, cause(job, finished.attempt, finished.operation));
            self.moments.hold(&moment).await;
        }
        if self.moments.wanted(MomentKind::BeforeReply) {
            // Closed while the core is locked, so that no other request gets in between.
            self.enter(|_| self.gate.close()).await;
            self.moments
                .hold(&self.moment(MomentKind::BeforeReply, cause(job, finished.attempt, finished.operation)))
                .await;
            self.gate.open();
        } else {
            self.gate.passed().await;
        }
        self.delivery(job, context, finished)
    }

    /// Waits as long as the service wants to before it decides on a request, or until the client has left.
    async fn wait_for_change(&self, job: &Job<S>, gone: &ClientGone) {
        let began = Instant::now();
        loop {
            let changed = self.setting.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let Some(limit) = self.enter(|core| core.waits(job)).await else { return };
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(began + limit) => return,
                () = gone.happened() => return,
            }
        }
    }

    /// Holds a request that the service would accept now; in a queue also a read that it would refuse: what it looks for
    /// may be there when it is let in. No other one is held: who tries again for a lock that another one has makes no
    /// progress.
    async fn hold_arrived(&self, job: &Job<S>, kind: MomentKind) -> QueuedFollowers {
        let is_read = job.operation(self.service()).kind == OperationKind::Read;
        let held = self
            .enter(|core| {
                let assessment = core.assess(job, 0);
                if matches!(assessment, RequestAssessment::Refused(_)) {
                    let is_held = kind == MomentKind::Queued && is_read;
                    return is_held.then_some((job.recognized.operation, TaskShare::Full));
                }
                Some((core.operation(job, &assessment), core.task_share(job, &assessment)))
            })
            .await;
        let Some((operation, share)) = held else { return QueuedFollowers::default() };
        let cause = Cause { attempt: 0, operation, caller: job.origin.caller };
        self.moments.hold(&Moment { share, ..self.moment(kind, cause) }).await
    }

    /// How the key of a request is treated; `None` if it is ignored. Where the scenario says nothing, the service
    /// decides, and can know the provider of the host.
    pub(super) fn rules_for(&self, request: &Request) -> Option<Idempotency> {
        if !self.follows_service {
            return Some(self.idempotency.clone());
        }
        let service = self.service();
        service
            .honors_key(request)
            .then(|| service.idempotency_of(request).unwrap_or_else(|| self.idempotency.clone()))
    }

    /// Refuses a request before the state is read. It is still counted as a request.
    async fn refuse_early(
        &self,
        request: &Request,
        origin: Origin,
        context: &Context,
        answer: Answer,
    ) -> AnswerDelivery<'static> {
        let (delivery, committed) = self
            .enter(|core| {
                core.count();
                // Recorded before what it makes due: it still found that undone.
                (self.refusal(None, request, origin, context, answer), self.commit_due(core, None))
            })
            .await;
        self.hold_at_commits(&committed).await;
        delivery
    }

    /// Assesses a request, records it and, unless a listener holds it, commits it.
    fn receive(&self, core: &mut Core<S>, job: &Arc<Job<S>>) -> ReceiveOutcome<S::Effect> {
        core.count();
        let waited_for = if core.hurry(job) { self.commit_due(core, None) } else { Vec::new() };
        let assessment = core.assess(job, 0);
        let stale = if matches!(assessment, RequestAssessment::Refused(_)) {
            self.choose_stale_fault(core, job)
        } else {
            None
        };
        let assessment = match assessment {
            RequestAssessment::Refused(refusal) if stale.is_none() => {
                let (age, answer) = (core.age(), core.refused(job, refusal));
                let context = core.context(job, 0);
                let seen = core.recording().is_some().then(|| answer.clone());
                let delivery = self.refusal(Some(job), &job.request, job.origin, &context, answer);
                if let Some((recording, seen)) = core.recording().zip(seen) {
                    recording.refused(job, age, seen, self.ledger().len());
                }
                return ReceiveOutcome::Refused(delivery, [waited_for, self.commit_due(core, None)].concat());
            }
            acceptable => acceptable,
        };
        let service = self.service();
        let index = core.operation(job, &assessment);
        let operation = &service.operations()[index];
        let share = core.task_share(job, &assessment);
        let (attempt, chosen) = match stale {
            Some((attempt, index, fault)) => (attempt, Some((index, fault))),
            None => self.choose_fault(core, job, (operation, share), &assessment),
        };
        core.count_read(operation.kind);
        let repeats = core.repeats(job, attempt.number);
        self.ledger().append(Event::Received(Box::new(Received {
            attempt: attempt.number,
            operation: operation.name.as_ref().into(),
            method: job.request.method().into(),
            path: job::shown(job.request.path()),
            fields: job.recognized.fields.clone(),
            key: job.shown_key(service, job.rules.as_ref().unwrap_or(&self.idempotency)),
            replay: matches!(assessment, RequestAssessment::Replay(_)),
            share,
            caller: job.origin.caller,
            connection: job.origin.connection,
            repeats,
            declared_answer: service.declared_answer(&job.recognized.call),
            client: job.client.clone(),
            message: self.ledger().keeps_messages().then(|| message::of_request(&job.request)),
        })));
        if let Some((index, fault)) = &chosen {
            self.ledger().append(Event::Fault {
                attempt: attempt.number,
                fault: *index,
                commit: fault.commit.kind(),
                reply: fault.reply.kind(),
                status: fault.reply.forced_status(),
                drawn: self.drawn(*index, fault).map(Into::into),
            });
        }
        let accepted = AcceptedAttempt {
            attempt,
            operation: index,
            share,
            fault: chosen.map(|(_, fault)| fault),
            assessment,
            waited_for,
        };
        if self.moments.wanted(MomentKind::Received) {
            // Closed while the core is locked, so that no other request gets in between.
            self.gate.close();
            return ReceiveOutcome::Held(accepted);
        }
        ReceiveOutcome::Finished(self.finish(core, job, accepted))
    }

    /// The delay after which a fault commits, where it was drawn from the seed.
    fn drawn(&self, index: usize, fault: &Fault) -> Option<String> {
        match fault.commit {
            Commit::Later(After::Time(time)) if self.plan.lock().draws(index) => Some(write_duration(time)),
            _ => None,
        }
    }

    /// Commits what is to be committed and decides which answer the caller would get.
    fn finish(
        &self,
        core: &mut Core<S>,
        job: &Arc<Job<S>>,
        accepted: AcceptedAttempt<S::Effect>,
    ) -> FinishedAttempt {
        let AcceptedAttempt { attempt, operation, fault, assessment, waited_for, .. } = accepted;
        let cause = cause(job, attempt, operation);
        let reply = fault.as_ref().map(|fault| fault.reply.behavior());
        if let Some(lag) = reply.and_then(|reply| reply.lag()) {
            // A read, so there is nothing to commit; and it is not refused where the present state would
            // refuse it.
            let answer = core.stale(job, lag);
            let committed = [waited_for, self.commit_due(core, None)].concat();
            return FinishedAttempt { attempt, operation, fault, answer, replay: false, committed };
        }
        let context = core.context(job, 0);
        let status = reply.and_then(|reply| reply.status());
        let with_status = |truth: &Answer| {
            status.map(|status| with_status(self.service(), status, truth, &job.request, &context))
        };
        let kept = match (&assessment, status) {
            (RequestAssessment::Fresh(accepted), Some(status)) if status.kept => {
                with_status(&accepted.answer)
            }
            (RequestAssessment::Rest { answer, .. }, Some(status)) if status.kept => with_status(answer),
            _ => None,
        };
        let commit = fault.as_ref().map_or(Commit::Now, |fault| fault.commit);
        let (age, is_new) = (core.age(), assessment.is_new());
        let kept_for_history = core.recording().and_then(|_| kept.clone());
        let outcome = core.commit_attempt(job, cause, assessment, commit, kept);
        if let Some(recording) = core.recording() {
            let is_true = fault.as_ref().is_none_or(|fault| fault.reply.is_true());
            let attempt = (attempt.number, is_true.then(|| (outcome.answer.clone(), outcome.replay)));
            recording.attempted(
                job,
                age,
                attempt,
                if is_new { commit } else { Commit::Now },
                kept_for_history,
            );
        }
        let answer = with_status(&outcome.answer).unwrap_or(outcome.answer);
        let committed = [waited_for, self.commit_due(core, outcome.committed.then_some(cause))].concat();
        FinishedAttempt { attempt, operation, fault, answer, replay: outcome.replay, committed }
    }

    /// How the answer of an attempt is sent and recorded.
    fn delivery(&self, job: &Job<S>, context: &Context, finished: FinishedAttempt) -> AnswerDelivery<'_> {
        let FinishedAttempt { attempt, operation, fault, mut answer, replay, .. } = finished;
        let reply = fault.map(|fault| fault.reply).unwrap_or_default();
        let is_own = reply.behavior().status().is_none() && reply.behavior().lag().is_none();
        let shows_replay = replay && is_own;
        if let (true, Some(rules), Some(keyed)) = (shows_replay, &job.rules, &job.keyed) {
            mark_replayed(&mut answer, rules, &keyed.key, context);
        }
        self.service().add_standard_headers(&mut answer, &job.request, context);
        let cut = reply.cut_place().and_then(|place| self.service().cut(&answer, place));
        let last_byte = self.moments.wanted(MomentKind::LastByte).then(|| {
            let moment = self.moment(MomentKind::LastByte, cause(job, attempt, operation));
            LastByteHold { moments: &self.moments, gate: &self.gate, moment }
        });
        let kept = self.ledger().keeps_messages().then(|| message::of_answer(&answer));
        let pending = PendingReply::new(self.ledger(), attempt, &reply, &answer, shows_replay, last_byte)
            .with_message(kept);
        let how = Delivery { reply, cut, longest_silence: self.longest_silence };
        AnswerDelivery { answer, how, pending: Some(pending) }
    }
}

/// Whether the client wants to speak another protocol than HTTP. `Upgrade: h2c`, which some clients always send,
/// only offers one.
fn is_websocket(request: &Request) -> bool {
    let wanted = request.header_value("upgrade").unwrap_or_default();
    wanted.split(',').any(|protocol| protocol.trim().eq_ignore_ascii_case("websocket"))
}

fn cause<S: Service>(job: &Job<S>, attempt: AttemptId, operation: usize) -> Cause {
    Cause { attempt: attempt.number, operation, caller: job.origin.caller }
}

/// The answer with another status: the one that the real service would send, unless the fault brings its own.
fn with_status<S: Service>(
    service: &S,
    wanted: &StatusReply,
    truth: &Answer,
    request: &Request,
    context: &Context,
) -> Answer {
    let mut answer =
        if wanted.status < 300 { truth.clone() } else { service.failure(wanted.status, request, context) };
    if wanted.status < 300 {
        answer.status = wanted.status;
    }
    if let Some(body) = &wanted.body {
        answer.set_body(body.clone().into_bytes());
    }
    if let Some(seconds) = wanted.retry_after {
        answer.set_header("Retry-After", seconds.to_string());
    }
    for (name, value) in &wanted.headers {
        answer.set_header(name.clone(), value.clone());
    }
    answer
}
