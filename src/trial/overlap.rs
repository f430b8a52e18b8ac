//! Two deliveries that overlap. The first caller is frozen when its request has arrived, and only this request is
//! held. Then the second caller starts with the same task. When it has ended, or waits for a lock of the first, the
//! request is released and the first continues, as a worker does that was believed dead.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mock_services::{Listener, MockServices, Moment, MomentKind};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::event_log::EventLog;
use super::locked_out;
use crate::domain::{SecondCopy, SubjectEvent};
use crate::scenario;
use crate::subject::{Handle, InterruptResult, SupervisorId};

/// The number of the caller that is frozen.
const FIRST: u32 = 1;
/// The number of the caller that starts meanwhile.
const SECOND: u32 = 2;

/// The overlap of one trial.
pub(super) struct OverlapWatcher {
    shared: Arc<OverlapState>,
    watcher: Option<JoinHandle<()>>,
}

struct OverlapState {
    planned: scenario::Overlap,
    /// How long the first is frozen at most.
    within: Duration,
    /// Whether the process of the first can be stopped. If not, only its request is held.
    can_freeze: bool,
    log: EventLog,
    /// How the first is frozen, while it runs.
    first: Mutex<Option<Handle>>,
    supervisors: [SupervisorId; 2],
    stage: watch::Sender<Stage>,
}

/// How far the overlap is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The first has not sent the request.
    Awaited,
    /// The request is held.
    Frozen,
    /// A caller has ended, so there is nothing to wait for.
    Over,
}

impl OverlapWatcher {
    pub(super) fn watch(
        planned: &scenario::Overlap,
        services: &MockServices,
        supervisors: [SupervisorId; 2],
        (time_limit, can_freeze): (Duration, bool),
        log: &EventLog,
    ) -> Self {
        let shared = Arc::new(OverlapState {
            within: planned.within.min(time_limit),
            planned: planned.clone(),
            can_freeze,
            log: log.clone(),
            first: Mutex::new(None),
            supervisors,
            stage: watch::Sender::new(Stage::Awaited),
        });
        let service = planned.operation.split('.').next().unwrap_or_default();
        let watcher = services.listen(service, MomentKind::Arrived).map(|arrived| {
            let shared = Arc::clone(&shared);
            tokio::spawn(async move { shared.watch(arrived).await })
        });
        OverlapWatcher { shared, watcher }
    }

    /// Whether this caller starts only when the other one is frozen.
    pub(super) fn is_second(&self, caller: u32) -> bool {
        caller == SECOND
    }

    /// Waits until the caller may start; `false` if it must not, because the first was never frozen.
    pub(super) async fn may_start(&self, caller: u32) -> bool {
        if !self.is_second(caller) {
            return true;
        }
        let mut stage = self.shared.stage.subscribe();
        stage.wait_for(|stage| *stage != Stage::Awaited).await.is_ok_and(|stage| *stage == Stage::Frozen)
    }

    /// A start of a caller runs.
    pub(super) fn started(&self, caller: u32, handle: Handle) {
        if caller == FIRST {
            *self.shared.first() = Some(handle);
        }
    }

    /// A caller has ended.
    pub(super) fn ended(&self, caller: u32) {
        if caller == FIRST {
            *self.shared.first() = None;
        }
        self.shared.stage.send_replace(Stage::Over);
    }
}

impl Drop for OverlapWatcher {
    fn drop(&mut self) {
        if let Some(watcher) = &self.watcher {
            watcher.abort();
        }
    }
}

impl OverlapState {
    fn first(&self) -> std::sync::MutexGuard<'_, Option<Handle>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases every request at once, except the planned one.
    async fn watch(&self, mut arrived: Listener) {
        let mut count = 0;
        while let Some(held) = arrived.recv().await {
            if !self.is_meant(&held.moment) {
                continue;
            }
            count += 1;
            if count != self.planned.attempt || !self.freeze().await {
                continue;
            }
            self.stage.send_replace(Stage::Frozen);
            let second = {
                let second = self.second();
                tokio::pin!(second);
                loop {
                    tokio::select! {
                        second = &mut second => break second,
                        Some(other) = arrived.recv() => drop(other),
                    }
                }
            };
            self.log.write(FIRST, &SubjectEvent::Unfrozen { second });
            // The reply is in the socket of the first when it continues: the timeout of its client plays no part.
            drop(held);
            let first = self.first().clone();
            if let Some(first) = first.filter(|_| self.can_freeze) {
                first.thaw().await;
            }
        }
    }

    /// As for faults: a request about something else is not the one that is meant.
    fn is_meant(&self, moment: &Moment) -> bool {
        moment.caller == FIRST && moment.operation == self.planned.operation && moment.share.is_full()
    }

    /// Freezes the first; `false` if that was not possible.
    async fn freeze(&self) -> bool {
        let first = self.first().clone();
        let result = match first {
            Some(_) if !self.can_freeze => InterruptResult::Applied,
            Some(first) => first.freeze().await,
            None => InterruptResult::Missed("the caller had ended before its request was held".to_owned()),
        };
        let operation = self.planned.operation.clone();
        let event = match result {
            InterruptResult::Applied => SubjectEvent::Frozen { operation },
            InterruptResult::Missed(reason) => SubjectEvent::FreezeMissed { operation, reason },
        };
        self.log.write(FIRST, &event);
        matches!(event, SubjectEvent::Frozen { .. })
    }

    /// Waits until the second has ended, or waits for the first.
    async fn second(&self) -> SecondCopy {
        let [first, second] = &self.supervisors;
        let mut stage = self.stage.subscribe();
        tokio::select! {
            _ = stage.wait_for(|stage| *stage == Stage::Over) => SecondCopy::Ended,
            () = locked_out::until_locked_out(first, second) => SecondCopy::WaitsForLock,
            () = tokio::time::sleep(self.within) => SecondCopy::Running,
        }
    }
}
