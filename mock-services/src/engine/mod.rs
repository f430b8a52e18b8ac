//! The engine around a service, the same for all of them: it records the attempt, asks the fault plan,
//! commits what was decided now, later, twice, in part or never, and decides how the answer is sent.

mod barrier;
mod choose;
mod core;
mod job;
mod late_requests;
mod paused;
mod reason;
mod refuse;
mod reply;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;

use self::core::{Cause, Core, RequestAssessment, Setting};
use crate::clock::Clock;
use crate::delivery::{
    ClientGone, Delivery, DeliveryMode, Gate, LastByteHold, Listener, Moment, MomentKind, Moments, Origin,
    PendingReply,
};
use crate::fault::{After, Commit, Fault, IntendedEffects, Reply, ReplyKind, SharedPlan};
use crate::idempotency::Idempotency;
use crate::ledger::{AttemptId, ClosedBy, Event, Ledger, Received};
use crate::service::{Answer, Context, IdSource, Kind, Request, Service};
use crate::yaml::write_duration;
pub use barrier::BarrierOptions;
pub(crate) use barrier::StartBarrier;
use job::Job;
pub(crate) use paused::Paused;

/// Which API keys a service takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Access {
    /// This one; any other is answered with the service's 401.
    Key(String),
    /// Any, but one must be shown.
    AnyKey,
}

/// What an engine needs beside its service.
pub(crate) struct EngineOptions {
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) callers: u32,
    pub(crate) access: Access,
    /// How keys are treated; as the real service does where there is none.
    pub(crate) idempotency: Option<Idempotency>,
    pub(crate) ledger: Ledger,
    pub(crate) plan: Arc<SharedPlan>,
    /// Which effects faults apply to; all where there is none.
    pub(crate) intended: Option<IntendedEffects>,
    pub(crate) barrier: Option<Arc<StartBarrier>>,
    /// How long a `hang: until-timeout` waits for the caller to leave; as long as the service runs where
    /// there is none.
    pub(crate) longest_silence: Option<Duration>,
}

/// A running service.
pub(crate) struct Engine<S: Service> {
    setting: Arc<Setting<S>>,
    access: Access,
    idempotency: Idempotency,
    /// Whether keys are treated as the real service does, which does not use them in every API.
    own_way: bool,
    plan: Arc<SharedPlan>,
    barrier: Option<Arc<StartBarrier>>,
    longest_silence: Option<Duration>,
    core: Mutex<Core<S>>,
    gate: Gate,
    moments: Moments,
    /// How many requests each caller has made.
    requests: Box<[AtomicU64]>,
    timers: Mutex<JoinSet<()>>,
    late: late_requests::LateCounts,
}

/// An attempt that was recorded, with the fault that applies to it.
struct AcceptedAttempt<Effect> {
    attempt: AttemptId,
    /// Its operation, as an index into those of the service.
    operation: usize,
    fault: Option<Fault>,
    assessment: RequestAssessment<Effect>,
}

enum ReceiveOutcome<Effect> {
    Refused(Delivery<'static>, Vec<Cause>),
    /// A listener pauses the service before anything is committed.
    Held(AcceptedAttempt<Effect>),
    Finished(FinishedAttempt),
}

struct FinishedAttempt {
    attempt: AttemptId,
    operation: usize,
    fault: Option<Fault>,
    answer: Answer,
    /// Whether the true answer was a replay.
    replay: bool,
    /// The commits that a listener waits for; the gate is closed where there are any.
    committed: Vec<Cause>,
}

impl<S: Service> Engine<S> {
    pub(crate) fn new(service: S, options: EngineOptions) -> Arc<Self> {
        let EngineOptions {
            seed,
            clock,
            callers,
            access,
            idempotency,
            ledger,
            plan,
            intended,
            barrier,
            longest_silence,
        } = options;
        let own_way = idempotency.is_none();
        let idempotency = idempotency.unwrap_or_else(|| service.idempotency());
        let ids = IdSource::new(seed, service.name());
        let setting =
            Arc::new(Setting { service, ids, clock, ledger, intended, timers_wait: AtomicBool::new(false) });
        let engine = Arc::new(Engine {
            core: Mutex::new(Core::new(Arc::clone(&setting), idempotency)),
            setting,
            access,
            idempotency,
            own_way,
            plan,
            barrier,
            longest_silence,
            gate: Gate::default(),
            moments: Moments::default(),
            requests: (0..callers).map(|_| AtomicU64::new(0)).collect(),
            timers: Mutex::new(JoinSet::new()),
            late: late_requests::LateCounts::default(),
        });
        engine.start_timers();
        engine
    }

    pub(crate) fn service(&self) -> &S {
        &self.setting.service
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.setting.ledger
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.setting.clock
    }

    /// Whether this secret gives access to the service.
    pub(crate) fn admits(&self, secret: Option<&str>) -> bool {
        match &self.access {
            Access::Key(key) => secret == Some(key.as_str()),
            Access::AnyKey => secret.is_some_and(|secret| !secret.is_empty()),
        }
    }

    /// Whether a caller must authenticate before anything else.
    pub(crate) fn requires_minted_key(&self) -> bool {
        matches!(self.access, Access::Key(_))
    }

    /// Records that a connection which carried requests ends.
    pub(crate) fn record_closed(&self, origin: Origin, by: ClosedBy) {
        let Origin { caller, connection } = origin;
        self.ledger().append(&Event::Closed {
            service: self.service().name().into(),
            connection,
            caller,
            by,
        });
    }

    /// Pauses the service at moments of this kind until the listener releases it.
    pub(crate) fn listen(&self, kind: MomentKind) -> Listener {
        self.moments.listen(kind)
    }

    /// Commits everything that is outstanding; nothing is in flight afterwards.
    pub(crate) async fn settle(&self) {
        self.enter(Core::settle).await;
        self.timers.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// Records what was begun and not ended: held money, locks.
    pub(crate) async fn record_left_behind(&self) {
        self.enter(|core| core.record_left_behind()).await;
    }

    /// Pauses the service until the returned value is dropped.
    pub(crate) async fn pause(self: Arc<Self>) -> Paused<S> {
        self.enter(|_| self.gate.close()).await;
        Paused(self)
    }

    /// Processes a request up to the answer that is to be sent.
    pub(crate) async fn handle(
        self: &Arc<Self>,
        request: Request,
        origin: Origin,
        gone: &ClientGone,
    ) -> Delivery<'_> {
        let service = self.service();
        let number = self.next_number(origin.caller);
        let context = self.context(origin, number);
        // Over SMTP the session has checked the secret before it took the message.
        if request.envelope().is_none() && !self.admits(request.credential().as_deref()) {
            // A client of another service has a key for that one: the key is not its mistake.
            let answer = service.no_endpoint(&request, &context);
            let answer = answer.unwrap_or_else(|| service.unauthorized(&request, &context));
            return self.refuse_early(&request, origin, &context, answer).await;
        }
        let recognized = match service.recognize(&request, &context) {
            Ok(recognized) => recognized,
            Err(answer) => return self.refuse_early(&request, origin, &context, answer).await,
        };
        let operation = &service.operations()[recognized.operation];
        if let Some(barrier) = &self.barrier
            && !barrier.pass(origin.caller, &operation.name, operation.kind == Kind::Write, gone).await
        {
            return Delivery::abandoned();
        }
        let looks_at_keys = !self.own_way || service.honours_key(&request);
        let profile = Some(self.idempotency.profile).filter(|_| looks_at_keys);
        let job = Arc::new(Job::new(service, profile, request, recognized, origin, number));
        let first = self.enter(|core| self.receive(core, &job)).await;
        let finished = match first {
            ReceiveOutcome::Refused(delivery, committed) => {
                self.hold_at_commits(&committed).await;
                return delivery;
            }
            ReceiveOutcome::Finished(finished) => finished,
            ReceiveOutcome::Held(held) => {
                self.moments
                    .hold(&self.moment(MomentKind::Received, cause(&job, held.attempt, held.operation)))
                    .await;
                let finished = self.while_paused(|core| {
                    let assessment = core.assess(&job, 0);
                    self.finish(core, &job, AcceptedAttempt { assessment, ..held })
                });
                self.gate.open();
                finished
            }
        };
        self.start_timers();
        self.hold_at_commits(&finished.committed).await;
        if self.moments.wanted(MomentKind::BeforeReply) {
            // Closed while the core is locked, so that no other request gets in between.
            self.enter(|_| self.gate.close()).await;
            self.moments
                .hold(
                    &self.moment(MomentKind::BeforeReply, cause(&job, finished.attempt, finished.operation)),
                )
                .await;
            self.gate.open();
        } else {
            self.gate.passed().await;
        }
        self.delivery(&job, &context, finished)
    }

    /// Refuses a request before the state is read. It is still counted as a request.
    async fn refuse_early(
        &self,
        request: &Request,
        origin: Origin,
        context: &Context,
        answer: Answer,
    ) -> Delivery<'static> {
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
        let assessment = core.assess(job, 0);
        let stale = if matches!(assessment, RequestAssessment::Refused(_)) {
            self.choose_stale_fault(core, job)
        } else {
            None
        };
        let assessment = match assessment {
            RequestAssessment::Refused(refusal) if stale.is_none() => {
                let answer = core.refused(job, refusal);
                let context = core.context(job, 0);
                let operation = &job.operation(self.service()).name;
                let delivery = self.refusal(Some(operation), &job.request, job.origin, &context, answer);
                return ReceiveOutcome::Refused(delivery, self.commit_due(core, None));
            }
            acceptable => acceptable,
        };
        let service = self.service();
        let place = core.operation(job, &assessment);
        let operation = &service.operations()[place];
        let (attempt, chosen) = match stale {
            Some((attempt, index, fault)) => (attempt, Some((index, fault))),
            None => self.choose_fault(core, job, operation, &assessment),
        };
        core.count_read(operation.kind);
        let repeats = core.repeats(job, attempt.number);
        self.ledger().append(&Event::Received(Received {
            attempt: attempt.number,
            operation: Cow::Borrowed(operation.name.as_ref()),
            method: Cow::Borrowed(job.request.method()),
            path: job::shown(job.request.path()),
            fields: Cow::Borrowed(&job.recognized.fields),
            key: job.shown_key(service, self.idempotency.profile),
            replay: matches!(assessment, RequestAssessment::Replay(_)),
            caller: job.origin.caller,
            connection: job.origin.connection,
            repeats,
            client: Cow::Borrowed(&job.client),
        }));
        if let Some((index, fault)) = &chosen {
            self.ledger().append(&Event::Fault {
                attempt: attempt.number,
                fault: *index,
                commit: fault.commit.kind(),
                reply: fault.reply.kind(),
                drawn: self.drawn(*index, fault).map(Cow::Owned),
            });
        }
        let accepted =
            AcceptedAttempt { attempt, operation: place, fault: chosen.map(|(_, fault)| fault), assessment };
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
        let AcceptedAttempt { attempt, operation, fault, assessment } = accepted;
        let cause = cause(job, attempt, operation);
        if let Some(Reply::Stale(lag)) = fault.as_ref().map(|fault| &fault.reply) {
            // A read, so there is nothing to commit; and it is not refused where the present state would
            // refuse it.
            let answer = core.stale(job, *lag);
            let committed = self.commit_due(core, None);
            return FinishedAttempt { attempt, operation, fault, answer, replay: false, committed };
        }
        let context = core.context(job, 0);
        let status = match fault.as_ref().map(|fault| &fault.reply) {
            Some(Reply::Status(status)) => Some(status),
            _ => None,
        };
        let with_status = |truth: &Answer| {
            status.map(|status| reply::with_status(self.service(), status, truth, &job.request, &context))
        };
        let kept = match (&assessment, status) {
            (RequestAssessment::Fresh(accepted), Some(status)) if status.kept => {
                with_status(&accepted.answer)
            }
            (RequestAssessment::Rest { answer, .. }, Some(status)) if status.kept => with_status(answer),
            _ => None,
        };
        let commit = fault.as_ref().map_or(Commit::Now, |fault| fault.commit);
        let outcome = core.commit_attempt(job, cause, assessment, commit, kept);
        let answer = with_status(&outcome.answer).unwrap_or(outcome.answer);
        let committed = self.commit_due(core, outcome.committed.then_some(cause));
        FinishedAttempt { attempt, operation, fault, answer, replay: outcome.replay, committed }
    }

    /// Commits what has become due. Where a listener waits for commits, `own` among them, the gate is closed
    /// until [`Engine::hold_at_commits`] has notified it.
    fn commit_due(&self, core: &mut Core<S>, own: Option<Cause>) -> Vec<Cause> {
        let late = core.commit_due();
        if (own.is_none() && late.is_empty()) || !self.moments.wanted(MomentKind::Committed) {
            return Vec::new();
        }
        self.gate.close();
        own.into_iter().chain(late).collect()
    }

    /// Holds the service at each of these commits, then lets it continue.
    async fn hold_at_commits(&self, committed: &[Cause]) {
        if !committed.is_empty() {
            for cause in committed {
                self.moments.hold(&self.moment(MomentKind::Committed, *cause)).await;
            }
            self.gate.open();
        }
    }

    fn delivery(&self, job: &Job<S>, context: &Context, finished: FinishedAttempt) -> Delivery<'_> {
        let FinishedAttempt { attempt, operation, fault, mut answer, replay, .. } = finished;
        let is_own =
            !matches!(fault.as_ref().map(|fault| &fault.reply), Some(Reply::Status(_) | Reply::Stale(_)));
        let shows_replay = replay && is_own;
        if shows_replay {
            reply::mark_replayed(&mut answer, self.idempotency.profile);
        }
        self.service().add_standard_headers(&mut answer, &job.request, context);
        let longest = self.longest_silence;
        let silence = fault.as_ref().and_then(|fault| reply::silence(&fault.reply));
        let (mode, word) = fault.map_or((DeliveryMode::Whole, ReplyKind::Ok), |fault| {
            (reply::delivery_mode(&fault.reply, longest), fault.reply.kind())
        });
        let last_byte = self.moments.wanted(MomentKind::LastByte).then(|| {
            let moment = self.moment(MomentKind::LastByte, cause(job, attempt, operation));
            LastByteHold { moments: &self.moments, gate: &self.gate, moment }
        });
        let pending = PendingReply::new(self.ledger(), attempt, word, &answer, shows_replay, last_byte);
        let pending = match silence {
            Some(end) => pending.silent(end),
            None => pending,
        };
        Delivery { answer, mode, pending: Some(pending) }
    }

    fn moment(&self, kind: MomentKind, cause: Cause) -> Moment {
        let operation = self.service().operations()[cause.operation].name.to_string();
        Moment { kind, operation, attempt: cause.attempt, caller: cause.caller, sent: false }
    }

    fn next_number(&self, caller: u32) -> u64 {
        // Callers are numbered from 1, and each has a port of its own.
        let index = usize::try_from(caller.saturating_sub(1)).unwrap_or_default();
        self.requests.get(index).map_or(0, |count| count.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn context(&self, origin: Origin, number: u64) -> Context {
        let setting = &self.setting;
        Context { now: setting.clock.wall(), ids: setting.ids.ids(origin.caller, number, 0) }
    }

    /// Locks the core once the gate is open.
    async fn enter<R>(&self, step: impl FnOnce(&mut Core<S>) -> R) -> R {
        loop {
            self.gate.passed().await;
            let mut core = self.lock();
            if !self.gate.is_closed() {
                // The ledger is written while the core is held: it has everything in the order in which it
                // was decided.
                return step(&mut core);
            }
        }
    }

    /// Locks the core for the one who keeps the gate closed.
    fn while_paused<R>(&self, step: impl FnOnce(&mut Core<S>) -> R) -> R {
        step(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Core<S>> {
        let mut core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        core.read_clock();
        core
    }

    /// Starts a timer for each change that was deferred by time since the last call.
    fn start_timers(self: &Arc<Self>) {
        let wait = &self.setting.timers_wait;
        if !wait.swap(false, Ordering::AcqRel) {
            return;
        }
        for (time, id) in self.lock().take_timers() {
            let engine = Arc::downgrade(self);
            let mut timers = self.timers.lock().unwrap_or_else(PoisonError::into_inner);
            // Those that have fired are removed, or a service that runs for long would keep them all.
            while timers.try_join_next().is_some() {}
            timers.spawn(async move {
                tokio::time::sleep(time).await;
                if let Some(engine) = engine.upgrade() {
                    let committed = engine
                        .enter(|core| {
                            core.timer_fired(id);
                            engine.commit_due(core, None)
                        })
                        .await;
                    engine.hold_at_commits(&committed).await;
                    engine.start_timers();
                }
            });
        }
    }
}

fn cause<S: Service>(job: &Job<S>, attempt: AttemptId, operation: usize) -> Cause {
    Cause { attempt: attempt.number, operation, caller: job.origin.caller }
}
