//! One running service, and what the services of one trial share.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::delivery::{Listener, MomentKind};
use crate::engine::{Engine, HistoryReport, LateSenders, Paused, StartBarrier};
use crate::fault::{IntendedEffects, SharedPlan};
use crate::ledger::Ledger;
use crate::service::{Operation, Service, ServiceEvent};
use crate::wire::{Endpoint, Wire};

pub(super) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the services of one trial share.
pub(super) struct ServiceEnvironment {
    pub(super) seed: u64,
    pub(super) clock: Clock,
    pub(super) callers: u32,
    pub(super) any_key: bool,
    pub(super) scenario_port: bool,
    pub(super) ledger: Ledger,
    pub(super) plan: Arc<SharedPlan>,
    pub(super) intended: Option<IntendedEffects>,
    pub(super) barrier: Option<Arc<StartBarrier>>,
    pub(super) longest_silence: Option<Duration>,
    pub(super) records_histories: bool,
    pub(super) late_senders: Option<LateSenders>,
    pub(super) wire: Arc<Wire>,
}

/// One running service with its ports.
pub(super) struct RunningService {
    pub(super) name: String,
    pub(super) key: String,
    pub(super) operations: Vec<Operation>,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) control: Arc<dyn EngineControl>,
}

/// The functions of an engine that do not depend on the type of its service.
pub(super) trait EngineControl: Send + Sync {
    fn settle(&self) -> BoxFuture<'_, ()>;
    fn record_left_behind(&self) -> BoxFuture<'_, ()>;
    fn pause(self: Arc<Self>) -> BoxFuture<'static, Box<dyn PausedService>>;
    fn listen(&self, kind: MomentKind) -> Listener;
    fn events(&self) -> BoxFuture<'_, Vec<ServiceEvent>>;
    fn check_history(self: Arc<Self>, limit: Duration) -> BoxFuture<'static, Option<HistoryReport>>;
}

/// A service of any type that is paused until this is dropped.
pub(super) trait PausedService: Send + Sync {
    fn reset(&self);
}

impl<S: Service> PausedService for Paused<S> {
    fn reset(&self) {
        Paused::reset(self);
    }
}

impl<S: Service> EngineControl for Engine<S> {
    fn settle(&self) -> BoxFuture<'_, ()> {
        Box::pin(Engine::settle(self))
    }

    fn record_left_behind(&self) -> BoxFuture<'_, ()> {
        Box::pin(Engine::record_left_behind(self))
    }

    fn pause(self: Arc<Self>) -> BoxFuture<'static, Box<dyn PausedService>> {
        Box::pin(async move { Box::new(Engine::pause(self).await) as Box<dyn PausedService> })
    }

    fn listen(&self, kind: MomentKind) -> Listener {
        Engine::listen(self, kind)
    }

    fn events(&self) -> BoxFuture<'_, Vec<ServiceEvent>> {
        Box::pin(Engine::events(self))
    }

    fn check_history(self: Arc<Self>, limit: Duration) -> BoxFuture<'static, Option<HistoryReport>> {
        Box::pin(Engine::check_history(self, limit))
    }
}
