//! The engine around a service, the same for all of them: it writes the attempt down, asks the fault plan,
//! applies what was decided now, later, twice, in part or never, and says how the answer goes to the wire.

mod core;
mod door;
mod gate;
mod gone;
mod job;
mod late;
mod moments;
mod pause;
mod reason;
mod refuse;
mod reply;
mod still;
mod strike;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;

use self::core::{Cause, Core, Judgement, Setting};
use crate::clock::Clock;
use crate::fault::{After, Commit, Fault, IntendedEffects, Reply, ReplyKind, SharedPlan};
use crate::idempotency::Idempotency;
use crate::ledger::{AttemptId, ClosedBy, Event, Ledger, Received};
use crate::service::{Answer, Context, IdSource, Kind, Request, Service};
use crate::wire::{Delivery, DeliveryMode, PendingReply};
use crate::yaml::write_duration;
pub use door::BarrierOptions;
pub(crate) use door::StartBarrier;
use gate::Gate;
pub(crate) use gone::ClientGone;
use job::Job;
pub(crate) use job::Origin;
use moments::Moments;
pub use moments::{Held, Listener, Moment, MomentKind};
pub(crate) use pause::Pause;
pub(crate) use still::Paused;

/// Which API keys a service takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Access {
    /// This one; any other is answered with the service's 401.
    Key(String),
    /// Any, but one must be shown.
    AnyKey,
}

/// What an engine needs to know beside its service.
pub(crate) struct EngineOptions {
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) callers: u32,
    pub(crate) access: Access,
    /// How keys are treated; the service's own way where there is none.
    pub(crate) idempotency: Option<Idempotency>,
    pub(crate) ledger: Ledger,
    pub(crate) plan: Arc<SharedPlan>,
    /// Which effects faults are about; all where there is none.
    pub(crate) intended: Option<IntendedEffects>,
    pub(crate) door: Option<Arc<StartBarrier>>,
    /// How long a `hang: until-timeout` waits for the caller to leave; as long as the service runs where
    /// there is none.
    pub(crate) longest_silence: Option<Duration>,
}

/// A service at work.
pub(crate) struct Engine<S: Service> {
    setting: Arc<Setting<S>>,
    access: Access,
    idempotency: Idempotency,
    /// Whether keys are treated in the service's own way, in which not every API looks at them.
    own_way: bool,
    plan: Arc<SharedPlan>,
    door: Option<Arc<StartBarrier>>,
    longest_silence: Option<Duration>,
    core: Mutex<Core<S>>,
    gate: Gate,
    moments: Moments,
    /// How many requests each caller has made.
    requests: Box<[AtomicU64]>,
    timers: Mutex<JoinSet<()>>,
    late: late::LateCounts,
}

/// An attempt that was written down, with the fault that strikes it.
struct Struck<Effect> {
    attempt: AttemptId,
    /// What it turned out to be, by its place among the operations.
    operation: usize,
    fault: Option<Fault>,
    judgement: Judgement<Effect>,
}

enum First<Effect> {
    Refused(Delivery<'static>, Vec<Cause>),
    /// A listener wants the service to stand still before anything is committed.
    Standing(Struck<Effect>),
    Done(Done),
}

struct Done {
    attempt: AttemptId,
    operation: usize,
    fault: Option<Fault>,
    answer: Answer,
    /// Whether the true answer was a replay.
    replay: bool,
    /// The commits of which a listener wants to hear; the gate is closed where there are any.
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
            door,
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
            door,
            longest_silence,
            gate: Gate::default(),
            moments: Moments::default(),
            requests: (0..callers).map(|_| AtomicU64::new(0)).collect(),
            timers: Mutex::new(JoinSet::new()),
            late: late::LateCounts::default(),
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

    /// Whether this secret opens the service.
    pub(crate) fn admits(&self, secret: Option<&str>) -> bool {
        match &self.access {
            Access::Key(key) => secret == Some(key.as_str()),
            Access::AnyKey => secret.is_some_and(|secret| !secret.is_empty()),
        }
    }

    /// Whether a caller must show a secret before anything else.
    pub(crate) fn wants_minted_key(&self) -> bool {
        matches!(self.access, Access::Key(_))
    }

    /// Writes down that a connection which carried requests ends.
    pub(crate) fn closed(&self, origin: Origin, by: ClosedBy) {
        let Origin { caller, connection } = origin;
        self.ledger().append(&Event::Closed {
            service: self.service().name().into(),
            connection,
            caller,
            by,
        });
    }

    /// Makes the service stand still at moments of this kind until the listener lets go.
    pub(crate) fn listen(&self, kind: MomentKind) -> Listener {
        self.moments.listen(kind)
    }

    /// Commits all that is outstanding; nothing is in flight afterwards.
    pub(crate) async fn settle(&self) {
        self.enter(Core::settle).await;
        self.timers.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    /// Writes down what was begun and not ended: money that is held, locks.
    pub(crate) async fn record_left_behind(&self) {
        self.enter(|core| core.record_left_behind()).await;
    }

    /// Makes the service stand still until what is given back is dropped.
    pub(crate) async fn pause(self: Arc<Self>) -> Paused<S> {
        self.enter(|_| self.gate.close()).await;
        Paused(self)
    }

    /// Takes a request all the way to what is to be sent.
    pub(crate) async fn handle(
        self: &Arc<Self>,
        request: Request,
        origin: Origin,
        gone: &ClientGone,
    ) -> Delivery<'_> {
        let service = self.service();
        let number = self.next_number(origin.caller);
        let context = self.context(origin, number);
        // Over SMTP the session has asked for the secret before it took the message.
        if request.envelope().is_none() && !self.admits(request.credential().as_deref()) {
            // Whoever asks the wrong service has a key for another one, and must not be sent to look for the
            // mistake there.
            let answer = service.no_endpoint(&request, &context);
            let answer = answer.unwrap_or_else(|| service.unauthorized(&request, &context));
            return self.turned_away(&request, origin, &context, answer).await;
        }
        let recognised = match service.recognize(&request, &context) {
            Ok(recognised) => recognised,
            Err(answer) => return self.turned_away(&request, origin, &context, answer).await,
        };
        let operation = &service.operations()[recognised.operation];
        if let Some(door) = &self.door
            && !door.pass(origin.caller, &operation.name, operation.kind == Kind::Write, gone).await
        {
            return Delivery::abandoned();
        }
        let looks_at_keys = !self.own_way || service.honours_key(&request);
        let profile = Some(self.idempotency.profile).filter(|_| looks_at_keys);
        let job = Arc::new(Job::new(service, profile, request, recognised, origin, number));
        let first = self.enter(|core| self.receive(core, &job)).await;
        let done = match first {
            First::Refused(delivery, committed) => {
                self.stand_still(&committed).await;
                return delivery;
            }
            First::Done(done) => done,
            First::Standing(struck) => {
                self.moments
                    .hold(&self.moment(MomentKind::Received, cause(&job, struck.attempt, struck.operation)))
                    .await;
                let done = self.while_standing(|core| {
                    let judgement = core.judge(&job, 0);
                    self.finish(core, &job, Struck { judgement, ..struck })
                });
                self.gate.open();
                done
            }
        };
        self.start_timers();
        self.stand_still(&done.committed).await;
        if self.moments.wanted(MomentKind::BeforeReply) {
            // Closed while the core is held, so that nobody slips in between.
            self.enter(|_| self.gate.close()).await;
            self.moments
                .hold(&self.moment(MomentKind::BeforeReply, cause(&job, done.attempt, done.operation)))
                .await;
            self.gate.open();
        } else {
            self.gate.passed().await;
        }
        self.delivery(&job, &context, done)
    }

    /// Refuses a request before the state is looked at. It has come all the same, so whatever waits for
    /// requests counts it.
    async fn turned_away(
        &self,
        request: &Request,
        origin: Origin,
        context: &Context,
        answer: Answer,
    ) -> Delivery<'static> {
        let (delivery, committed) = self
            .enter(|core| {
                core.count();
                // Written down before what it makes due: it still found that undone.
                (self.refusal(None, request, origin, context, answer), self.ripened(core, None))
            })
            .await;
        self.stand_still(&committed).await;
        delivery
    }

    /// Judges a request, writes it down and, unless a listener wants it to wait, carries it out.
    fn receive(&self, core: &mut Core<S>, job: &Arc<Job<S>>) -> First<S::Effect> {
        core.count();
        let judgement = core.judge(job, 0);
        let stale =
            if matches!(judgement, Judgement::Refused(_)) { self.strike_refused(core, job) } else { None };
        let judgement = match judgement {
            Judgement::Refused(refusal) if stale.is_none() => {
                let answer = core.refused(job, refusal);
                let context = core.context(job, 0);
                let operation = &job.operation(self.service()).name;
                let delivery = self.refusal(Some(operation), &job.request, job.origin, &context, answer);
                return First::Refused(delivery, self.ripened(core, None));
            }
            acceptable => acceptable,
        };
        let service = self.service();
        let place = core.operation(job, &judgement);
        let operation = &service.operations()[place];
        let (attempt, struck) = match stale {
            Some((attempt, index, fault)) => (attempt, Some((index, fault))),
            None => self.strike(core, job, operation, &judgement),
        };
        core.count_read(operation.kind);
        let repeats = core.repeats(job, attempt.number);
        self.ledger().append(&Event::Received(Received {
            attempt: attempt.number,
            operation: Cow::Borrowed(operation.name.as_ref()),
            method: Cow::Borrowed(job.request.method()),
            path: job::shown(job.request.path()),
            fields: Cow::Borrowed(&job.recognised.fields),
            key: job.shown_key(service, self.idempotency.profile),
            replay: matches!(judgement, Judgement::Replay(_)),
            caller: job.origin.caller,
            connection: job.origin.connection,
            repeats,
            client: Cow::Borrowed(&job.client),
        }));
        if let Some((index, fault)) = &struck {
            self.ledger().append(&Event::Fault {
                attempt: attempt.number,
                fault: *index,
                commit: fault.commit.kind(),
                reply: fault.reply.kind(),
                drawn: self.drawn(*index, fault).map(Cow::Owned),
            });
        }
        let struck = Struck { attempt, operation: place, fault: struck.map(|(_, fault)| fault), judgement };
        if self.moments.wanted(MomentKind::Received) {
            // Closed while the core is held, so that nobody slips in between.
            self.gate.close();
            return First::Standing(struck);
        }
        First::Done(self.finish(core, job, struck))
    }

    /// After which time a fault commits, where that was drawn from the seed.
    fn drawn(&self, index: usize, fault: &Fault) -> Option<String> {
        match fault.commit {
            Commit::Later(After::Time(time)) if self.plan.lock().draws(index) => Some(write_duration(time)),
            _ => None,
        }
    }

    /// Commits what is to be committed and settles which answer the caller would get.
    fn finish(&self, core: &mut Core<S>, job: &Arc<Job<S>>, struck: Struck<S::Effect>) -> Done {
        let Struck { attempt, operation, fault, judgement } = struck;
        let cause = cause(job, attempt, operation);
        if let Some(Reply::Stale(lag)) = fault.as_ref().map(|fault| &fault.reply) {
            // A read, so there is nothing to commit; nor is it refused where the present state would refuse
            // it.
            let answer = core.stale(job, *lag);
            let committed = self.ripened(core, None);
            return Done { attempt, operation, fault, answer, replay: false, committed };
        }
        let context = core.context(job, 0);
        let status = match fault.as_ref().map(|fault| &fault.reply) {
            Some(Reply::Status(status)) => Some(status),
            _ => None,
        };
        let with_status = |truth: &Answer| {
            status.map(|status| reply::with_status(self.service(), status, truth, &job.request, &context))
        };
        let kept = match (&judgement, status) {
            (Judgement::Fresh(accepted), Some(status)) if status.kept => with_status(&accepted.answer),
            (Judgement::Rest { answer, .. }, Some(status)) if status.kept => with_status(answer),
            _ => None,
        };
        let commit = fault.as_ref().map_or(Commit::Now, |fault| fault.commit);
        let carried = core.carry_out(job, cause, judgement, commit, kept);
        let answer = with_status(&carried.answer).unwrap_or(carried.answer);
        let committed = self.ripened(core, carried.committed.then_some(cause));
        Done { attempt, operation, fault, answer, replay: carried.replay, committed }
    }

    /// Commits what has become due. Where a listener wants to hear of commits, `own` among them, the gate is
    /// closed until [`Engine::stand_still`] has told it.
    fn ripened(&self, core: &mut Core<S>, own: Option<Cause>) -> Vec<Cause> {
        let late = core.commit_due();
        if (own.is_none() && late.is_empty()) || !self.moments.wanted(MomentKind::Committed) {
            return Vec::new();
        }
        self.gate.close();
        own.into_iter().chain(late).collect()
    }

    /// Holds the service at each of these commits, and lets it go on.
    async fn stand_still(&self, committed: &[Cause]) {
        if !committed.is_empty() {
            for cause in committed {
                self.moments.hold(&self.moment(MomentKind::Committed, *cause)).await;
            }
            self.gate.open();
        }
    }

    fn delivery(&self, job: &Job<S>, context: &Context, done: Done) -> Delivery<'_> {
        let Done { attempt, operation, fault, mut answer, replay, .. } = done;
        let is_own =
            !matches!(fault.as_ref().map(|fault| &fault.reply), Some(Reply::Status(_) | Reply::Stale(_)));
        let shows_replay = replay && is_own;
        if shows_replay {
            reply::mark_replayed(&mut answer, self.idempotency.profile);
        }
        self.service().add_standard_headers(&mut answer, &job.request, context);
        let longest = self.longest_silence;
        let silence = fault.as_ref().and_then(|fault| reply::silence(&fault.reply));
        let (manner, word) = fault.map_or((DeliveryMode::Whole, ReplyKind::Ok), |fault| {
            (reply::manner(&fault.reply, longest), fault.reply.kind())
        });
        let pause = self.moments.wanted(MomentKind::LastByte).then(|| {
            let moment = self.moment(MomentKind::LastByte, cause(job, attempt, operation));
            Pause { moments: &self.moments, gate: &self.gate, moment }
        });
        let ticket = PendingReply::new(self.ledger(), attempt, word, &answer, shows_replay, pause);
        let ticket = match silence {
            Some(end) => ticket.silent(end),
            None => ticket,
        };
        Delivery { answer, manner, ticket: Some(ticket) }
    }

    fn moment(&self, kind: MomentKind, cause: Cause) -> Moment {
        let operation = self.service().operations()[cause.operation].name.to_string();
        Moment { kind, operation, attempt: cause.attempt, caller: cause.caller, sent: false }
    }

    fn next_number(&self, caller: u32) -> u64 {
        // Callers are numbered from 1, and there is a port for each of them alone.
        let index = usize::try_from(caller.saturating_sub(1)).unwrap_or_default();
        self.requests.get(index).map_or(0, |count| count.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn context(&self, origin: Origin, number: u64) -> Context {
        let setting = &self.setting;
        Context { now: setting.clock.wall(), ids: setting.ids.ids(origin.caller, number, 0) }
    }

    /// Takes the core once nobody holds the gate.
    async fn enter<R>(&self, step: impl FnOnce(&mut Core<S>) -> R) -> R {
        loop {
            self.gate.passed().await;
            let mut core = self.lock();
            if !self.gate.is_closed() {
                // The ledger is written while the core is held: it has everything in the order in which it was
                // decided.
                return step(&mut core);
            }
        }
    }

    /// Takes the core for the one who holds the gate.
    fn while_standing<R>(&self, step: impl FnOnce(&mut Core<S>) -> R) -> R {
        step(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Core<S>> {
        let mut core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        core.look_at_clock();
        core
    }

    /// Starts a timer for each thing that was put off by the clock since the last time.
    fn start_timers(self: &Arc<Self>) {
        // Looked at before it is taken, because hardly anything is ever put off, and what is only read need
        // not be passed around.
        let wait = &self.setting.timers_wait;
        if !wait.load(Ordering::Acquire) || !wait.swap(false, Ordering::AcqRel) {
            return;
        }
        for (time, id) in self.lock().take_timers() {
            let engine = Arc::downgrade(self);
            let mut timers = self.timers.lock().unwrap_or_else(PoisonError::into_inner);
            // Those that have rung are let go, or a service that runs for long would keep them all.
            while timers.try_join_next().is_some() {}
            timers.spawn(async move {
                tokio::time::sleep(time).await;
                if let Some(engine) = engine.upgrade() {
                    let committed = engine
                        .enter(|core| {
                            core.timer_fired(id);
                            engine.ripened(core, None)
                        })
                        .await;
                    engine.stand_still(&committed).await;
                    engine.start_timers();
                }
            });
        }
    }
}

fn cause<S: Service>(job: &Job<S>, attempt: AttemptId, operation: usize) -> Cause {
    Cause { attempt: attempt.number, operation, caller: job.origin.caller }
}
