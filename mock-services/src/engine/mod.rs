//! The engine around a service, the same for all of them: it records the attempt, asks the fault plan,
//! commits what was decided now, later, twice, in part or never, and decides how the answer is sent.

mod barrier;
mod choose;
mod core;
mod handle;
mod happen;
mod history;
mod job;
mod keys;
mod late_requests;
mod message;
mod paused;
mod reason;
mod refuse;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;

use self::core::{Cause, Core, Setting};
use crate::clock::Clock;
use crate::delivery::{Gate, Listener, Moment, MomentKind, Moments, Origin};
use crate::fault::{IntendedEffects, SharedPlan};
use crate::idempotency::Idempotency;
use crate::ledger::{ClosedBy, Event, Ledger};
use crate::service::{Context, IdSource, Service, TaskShare};
pub(crate) use barrier::StartBarrier;
pub use barrier::{AwaitedCallers, BarrierOptions};
pub(crate) use happen::SCENARIO;
pub use history::HistoryReport;
pub(crate) use late_requests::LateOrigin;
pub use late_requests::{LateCall, LateSenders};
pub(crate) use paused::Paused;

/// Which API keys a service accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Access {
    /// This one; any other is answered with the service's 401.
    Key(String),
    /// Any, but the request must have one.
    AnyKey,
    /// Any or none.
    Open,
}

/// What an engine needs in addition to its service.
pub(crate) struct EngineOptions {
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) callers: u32,
    pub(crate) access: Access,
    /// How keys are treated; `None`: as the service itself says.
    pub(crate) idempotency: Option<Idempotency>,
    pub(crate) ledger: Ledger,
    pub(crate) plan: Arc<SharedPlan>,
    /// Which effects faults apply to; `None`: all.
    pub(crate) intended: Option<IntendedEffects>,
    pub(crate) barrier: Option<Arc<StartBarrier>>,
    /// The maximum time that a `hang: until-timeout` waits for the caller to leave; `None`: as long as the
    /// service runs.
    pub(crate) longest_silence: Option<Duration>,
    /// Whether what callers ask and see is recorded, for [`Engine::check_history`].
    pub(crate) records_history: bool,
    /// Who sent what comes after the end; `None`: always the subject.
    pub(crate) late_senders: Option<LateSenders>,
}

/// A running service.
pub(crate) struct Engine<S: Service> {
    setting: Arc<Setting<S>>,
    access: Access,
    idempotency: Idempotency,
    /// Whether keys are treated as the service itself says; it may not use them in every API.
    follows_service: bool,
    plan: Arc<SharedPlan>,
    barrier: Option<Arc<StartBarrier>>,
    longest_silence: Option<Duration>,
    core: Mutex<Core<S>>,
    gate: Gate,
    moments: Moments,
    /// The number of requests that each caller has made.
    requests: Box<[AtomicU64]>,
    /// The number of requests that the scenario itself has made.
    scenario_requests: AtomicU64,
    timers: Mutex<JoinSet<()>>,
    late: late_requests::LateCounts,
    late_senders: Option<LateSenders>,
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
            records_history,
            late_senders,
        } = options;
        let follows_service = idempotency.is_none();
        let idempotency = idempotency.unwrap_or_else(|| service.idempotency());
        let ids = IdSource::new(seed, service.name());
        let timers_wait = AtomicBool::new(false);
        let changed = Notify::new();
        let setting = Arc::new(Setting {
            service,
            ids,
            clock,
            ledger,
            intended,
            timers_wait,
            changed,
            records_history,
        });
        let engine = Arc::new(Engine {
            core: Mutex::new(Core::new(Arc::clone(&setting))),
            setting,
            access,
            idempotency,
            follows_service,
            plan,
            barrier,
            longest_silence,
            gate: Gate::default(),
            moments: Moments::default(),
            requests: (0..callers).map(|_| AtomicU64::new(0)).collect(),
            scenario_requests: AtomicU64::new(0),
            timers: Mutex::new(JoinSet::new()),
            late: late_requests::LateCounts::default(),
            late_senders,
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
            Access::Open => true,
        }
    }

    /// Whether a caller must authenticate before anything else.
    pub(crate) fn requires_generated_key(&self) -> bool {
        matches!(self.access, Access::Key(_))
    }

    /// Records that a connection which carried requests ends.
    pub(crate) fn record_closed(&self, origin: Origin, by: ClosedBy) {
        let Origin { caller, connection } = origin;
        if caller == SCENARIO {
            return;
        }
        self.ledger().append(Event::Closed { service: self.service().name().into(), connection, caller, by });
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

    fn moment(&self, kind: MomentKind, cause: Cause) -> Moment {
        let operation = self.service().operations()[cause.operation].name.to_string();
        Moment {
            kind,
            operation,
            attempt: cause.attempt,
            caller: cause.caller,
            sent: false,
            share: TaskShare::Full,
        }
    }

    /// Counts a request of a caller, and returns its number.
    fn next_number(&self, caller: u32) -> u64 {
        // Callers are numbered from 1, and each has a port of its own.
        let index = usize::try_from(caller.saturating_sub(1)).unwrap_or_default();
        self.requests.get(index).map_or(0, |count| count.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// What a decision about this request may use.
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

    /// Locks the core without waiting for the gate, which the caller of this function keeps closed.
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
