//! Interrupts the subject at the named moment of the ledger. The service waits until the interrupt has taken
//! effect.
//!
//! `received` and `committed` interrupt at once. `replied` has two steps, so that the complete reply is in
//! the subject's socket and the subject has not acted on it: all processes are stopped before the last byte
//! of the reply, then the byte is sent, then the interrupt follows. If the subject called a tool over MCP,
//! the interrupt waits until the reply of the tool has been sent, too. An interrupt that did not take effect
//! is written as missed, and the trial is void.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mock_services::{Held, MockServices, Moment, MomentKind};
use tokio::task::JoinHandle;

use super::event_log::EventLog;
use super::mcp::OpenCalls;
use crate::domain::{InterruptAction, InterruptEvent, SubjectEvent};
use crate::scenario::{Interrupt, Reached, Then};
use crate::subject::{Handle, InterruptResult};

/// Watches the services of one trial and interrupts its callers.
pub(super) struct Interrupter {
    shared: Arc<InterrupterState>,
    watchers: Vec<JoinHandle<()>>,
}

struct InterrupterState {
    interrupts: Vec<Interrupt>,
    log: EventLog,
    slots: Vec<CallerSlot>,
    progress: Mutex<InterruptProgress>,
}

/// One caller, as the interrupter sees it.
#[derive(Default)]
struct CallerSlot {
    /// Its calls of tools; `None` if it has no tools.
    calls: Option<OpenCalls>,
    /// Held during an interrupt, so that the end of the caller comes after the interrupt in the ledger.
    interrupting: tokio::sync::Mutex<()>,
    handle: Mutex<Option<Handle>>,
    /// What comes after the interrupts of this start.
    then: Mutex<Vec<Then>>,
}

#[derive(Default)]
struct InterruptProgress {
    /// How many attempts each interrupt has counted.
    counts: Vec<u32>,
    triggered: Vec<bool>,
    /// The attempts that interrupts wait for, with the number of the interrupt.
    waiting: HashMap<u64, Vec<usize>>,
    /// Interrupts whose caller is stopped, and which follow when the last byte of the reply to this attempt
    /// has been sent.
    stopped: Vec<StoppedCaller>,
}

/// A caller that was stopped before the last byte of a reply.
struct StoppedCaller {
    interrupt: usize,
    attempt: u64,
    /// Whether the attempt may be the call of a tool.
    is_calling_a_tool: bool,
}

/// How long an interrupt waits for the reply of a tool. Only if the subject has several calls open, one of
/// which hangs, it is not the time that the reply takes.
const TOOL_REPLY_TIMEOUT: Duration = Duration::from_secs(2);

impl Interrupter {
    pub(super) fn watch(
        interrupts: &[Interrupt],
        services: &Arc<MockServices>,
        calls: Vec<Option<OpenCalls>>,
        log: &EventLog,
    ) -> Self {
        let progress = InterruptProgress {
            counts: vec![0; interrupts.len()],
            triggered: vec![false; interrupts.len()],
            ..InterruptProgress::default()
        };
        let shared = Arc::new(InterrupterState {
            interrupts: interrupts.to_vec(),
            log: log.clone(),
            slots: calls.into_iter().map(|calls| CallerSlot { calls, ..CallerSlot::default() }).collect(),
            progress: Mutex::new(progress),
        });
        let mut watchers = Vec::new();
        if !interrupts.is_empty() {
            let names: Vec<String> = services.names().map(str::to_owned).collect();
            let replied = interrupts.iter().any(|interrupt| interrupt.when.reached == Reached::Replied);
            let kinds = if replied { &KINDS[..] } else { &KINDS[..2] };
            for (name, kind) in names.iter().flat_map(|name| kinds.iter().map(move |kind| (name, *kind))) {
                let Some(mut listener) = services.listen(name, kind) else { continue };
                let shared = Arc::clone(&shared);
                watchers.push(tokio::spawn(async move {
                    while let Some(held) = listener.recv().await {
                        shared.handle_moment(held).await;
                    }
                }));
            }
        }
        Interrupter { shared, watchers }
    }

    /// A start of a caller runs: `handle` interrupts it.
    pub(super) fn started(&self, caller: u32, handle: Handle) {
        if let Some(slot) = self.shared.slot(caller) {
            *lock(&slot.handle) = Some(handle);
            lock(&slot.then).clear();
        }
    }

    /// A start of a caller has ended. Waits for an interrupt that is under way, and returns what comes next;
    /// `None` if there was no interrupt.
    pub(super) async fn ended(&self, caller: u32) -> Option<Then> {
        let slot = self.shared.slot(caller)?;
        let _interrupting = slot.interrupting.lock().await;
        *lock(&slot.handle) = None;
        lock(&slot.then).drain(..).next_back()
    }

    /// Stops watching.
    pub(super) fn end(&self) {
        self.watchers.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for Interrupter {
    fn drop(&mut self) {
        self.end();
    }
}

/// The moments that are listened for; the last two only if an interrupt follows a reply.
const KINDS: [MomentKind; 4] =
    [MomentKind::Received, MomentKind::Committed, MomentKind::LastByte, MomentKind::AfterReply];

impl InterrupterState {
    fn slot(&self, caller: u32) -> Option<&CallerSlot> {
        self.slots.get(usize::try_from(caller).ok()?.checked_sub(1)?)
    }

    fn progress(&self) -> MutexGuard<'_, InterruptProgress> {
        lock(&self.progress)
    }

    /// The service waits until this returns.
    async fn handle_moment(&self, held: Held) {
        let moment = &held.moment;
        match moment.kind {
            MomentKind::Received => {
                for interrupt in self.count(moment) {
                    self.interrupt_caller(interrupt, moment).await;
                }
            }
            MomentKind::Committed => {
                for interrupt in self.take_waiting(moment, Reached::Committed) {
                    self.interrupt_caller(interrupt, moment).await;
                }
            }
            MomentKind::LastByte => {
                for interrupt in self.take_waiting(moment, Reached::Replied) {
                    self.stop(interrupt, moment).await;
                }
            }
            MomentKind::AfterReply => {
                for stopped in self.take_stopped(moment) {
                    if moment.sent && self.tool_replied(&stopped, moment.caller).await {
                        self.interrupt_caller(stopped.interrupt, moment).await;
                    } else {
                        self.resume(stopped.interrupt, moment).await;
                    }
                }
            }
            MomentKind::Queued | MomentKind::Arrived | MomentKind::Announced | MomentKind::BeforeReply => {}
        }
        drop(held);
    }

    /// Counts a received attempt; returns the interrupts that come before its commit.
    fn count(&self, moment: &Moment) -> Vec<usize> {
        // As for faults: a request about something else is not the attempt that is to be interrupted.
        if !moment.share.is_full() {
            return Vec::new();
        }
        let mut progress = self.progress();
        let mut now = Vec::new();
        for (index, interrupt) in self.interrupts.iter().enumerate() {
            let when = &interrupt.when;
            if when.operation != moment.operation || when.caller.is_some_and(|caller| caller != moment.caller)
            {
                continue;
            }
            progress.counts[index] += 1;
            if progress.counts[index] != when.attempt {
                continue;
            }
            match when.reached {
                Reached::Received => {
                    progress.triggered[index] = true;
                    now.push(index);
                }
                Reached::Committed | Reached::Replied => {
                    progress.waiting.entry(moment.attempt).or_default().push(index)
                }
            }
        }
        now
    }

    fn take_waiting(&self, moment: &Moment, reached: Reached) -> Vec<usize> {
        let mut progress = self.progress();
        let candidates = progress.waiting.get(&moment.attempt).cloned().unwrap_or_default();
        let mut due = Vec::new();
        for index in candidates {
            // A request that was delivered twice commits twice, and is interrupted once.
            if self.interrupts[index].when.reached == reached
                && !std::mem::replace(&mut progress.triggered[index], true)
            {
                due.push(index);
            }
        }
        due
    }

    fn take_stopped(&self, moment: &Moment) -> Vec<StoppedCaller> {
        let mut progress = self.progress();
        let (due, kept) =
            progress.stopped.drain(..).partition::<Vec<_>, _>(|stopped| stopped.attempt == moment.attempt);
        progress.stopped = kept;
        due
    }

    /// Waits until the caller has the reply of the tool that it called, if it called one; `false` if it had
    /// left.
    async fn tool_replied(&self, stopped: &StoppedCaller, caller: u32) -> bool {
        match self.slot(caller).and_then(|slot| slot.calls.as_ref()) {
            Some(calls) if stopped.is_calling_a_tool => {
                tokio::time::timeout(TOOL_REPLY_TIMEOUT, calls.replied()).await.unwrap_or(true)
            }
            _ => true,
        }
    }

    /// Stops everything of the caller, before the last byte of the reply is sent to it.
    async fn stop(&self, interrupt: usize, moment: &Moment) {
        let Some(slot) = self.slot(moment.caller) else { return };
        let _interrupting = slot.interrupting.lock().await;
        let handle = lock(&slot.handle).clone();
        let result = match handle {
            Some(handle) => handle.hold().await,
            None => already_ended(),
        };
        match result {
            InterruptResult::Applied => self.progress().stopped.push(StoppedCaller {
                interrupt,
                attempt: moment.attempt,
                is_calling_a_tool: slot.calls.as_ref().is_some_and(OpenCalls::any),
            }),
            InterruptResult::Missed(why) => self.missed(interrupt, moment, &why),
        }
    }

    /// The reply did not reach the caller that was stopped for it: the caller continues.
    async fn resume(&self, interrupt: usize, moment: &Moment) {
        let handle = self.slot(moment.caller).and_then(|slot| lock(&slot.handle).clone());
        if let Some(handle) = handle {
            handle.thaw().await;
        }
        self.missed(
            interrupt,
            moment,
            "the caller had closed its connection before the whole reply was sent",
        );
    }

    async fn interrupt_caller(&self, interrupt: usize, moment: &Moment) {
        let (Some(planned), Some(slot)) = (self.interrupts.get(interrupt), self.slot(moment.caller)) else {
            return;
        };
        let _interrupting = slot.interrupting.lock().await;
        // The caller may have ended before its request.
        let Some(handle) = lock(&slot.handle).clone() else {
            let InterruptResult::Missed(why) = already_ended() else { return };
            return self.missed(interrupt, moment, &why);
        };
        let result = match planned.action {
            InterruptAction::Kill => handle.kill().await,
            InterruptAction::Stop => handle.stop().await,
            InterruptAction::Cancel => handle.cancel().await,
            InterruptAction::Freeze(_) => handle.freeze().await,
        };
        if let InterruptResult::Missed(why) = result {
            return self.missed(interrupt, moment, &why);
        }
        match planned.action {
            InterruptAction::Freeze(time) => {
                tokio::spawn(async move {
                    tokio::time::sleep(time).await;
                    handle.thaw().await;
                });
            }
            InterruptAction::Kill | InterruptAction::Stop | InterruptAction::Cancel => {
                lock(&slot.then).push(planned.then.clone());
            }
        }
        let event = interrupt_event(interrupt, planned, moment);
        self.log.write(moment.caller, &SubjectEvent::Interrupted(event));
    }

    fn missed(&self, interrupt: usize, moment: &Moment, why: &str) {
        if let Some(planned) = self.interrupts.get(interrupt) {
            let event = interrupt_event(interrupt, planned, moment);
            self.log.interrupt_missed(moment.caller, event, why);
        }
    }
}

fn interrupt_event(index: usize, planned: &Interrupt, moment: &Moment) -> InterruptEvent {
    let interrupt = u32::try_from(index).unwrap_or(u32::MAX);
    InterruptEvent { interrupt, action: planned.action.kind(), attempt: moment.attempt }
}

/// The result of an interrupt whose caller has ended.
fn already_ended() -> InterruptResult {
    InterruptResult::Missed(
        "the caller had ended by itself before the interrupt could take effect".to_owned(),
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
