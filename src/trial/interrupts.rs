//! Strikes the subject at the named moment of the ledger. The service stands still until the blow has landed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mock_services::{Held, MockServices, Moment, MomentKind};
use tokio::task::JoinHandle;

use super::notes_write::Notes;
use crate::scenario::{Blow, Interrupt, Reached, Then};
use crate::subject::Handle;

/// Watches the services of one trial and strikes.
pub(super) struct Striker {
    shared: Arc<Shared>,
    watchers: Vec<JoinHandle<()>>,
}

struct Shared {
    interrupts: Vec<Interrupt>,
    notes: Notes,
    slots: Vec<Slot>,
    seen: Mutex<Seen>,
}

/// One caller as the striker knows it.
#[derive(Default)]
struct Slot {
    /// Held while a blow lands, so that the caller's end stands behind the blow in the ledger.
    landing: tokio::sync::Mutex<()>,
    handle: Mutex<Option<Handle>>,
    /// What comes after the blows that struck this start.
    then: Mutex<Vec<Then>>,
}

#[derive(Default)]
struct Seen {
    /// How many attempts each interrupt has counted.
    counts: Vec<u32>,
    struck: Vec<bool>,
    /// The attempts that interrupts wait for, with the number of the interrupt.
    meant: HashMap<u64, Vec<usize>>,
    /// Interrupts that strike with the caller's next request, or at its end: who, which, and the attempt that was answered.
    armed: Vec<(u32, usize, u64)>,
}

impl Striker {
    pub(super) fn watch(interrupts: &[Interrupt], services: &Arc<MockServices>, callers: u32, notes: &Notes) -> Self {
        let seen = Seen { counts: vec![0; interrupts.len()], struck: vec![false; interrupts.len()], ..Seen::default() };
        let shared = Arc::new(Shared {
            interrupts: interrupts.to_vec(),
            notes: notes.clone(),
            slots: (0..callers).map(|_| Slot::default()).collect(),
            seen: Mutex::new(seen),
        });
        let mut watchers = Vec::new();
        if !interrupts.is_empty() {
            let names: Vec<String> = services.names().map(str::to_owned).collect();
            for (name, kind) in names.iter().flat_map(|name| KINDS.map(|kind| (name, kind))) {
                let Some(mut listener) = services.listen(name, kind) else { continue };
                let shared = Arc::clone(&shared);
                watchers.push(tokio::spawn(async move {
                    while let Some(held) = listener.recv().await {
                        shared.meet(held).await;
                    }
                }));
            }
        }
        Striker { shared, watchers }
    }

    /// A start of a caller runs: this is how it is struck.
    pub(super) fn started(&self, caller: u32, handle: Handle) {
        if let Some(slot) = self.shared.slot(caller) {
            *lock(&slot.handle) = Some(handle);
            lock(&slot.then).clear();
        }
    }

    /// A start of a caller has ended. Waits until a blow that is under way has landed, lets fall what was to fall at its end, and
    /// says what comes next; `None` where nothing struck that says so.
    pub(super) async fn ended(&self, caller: u32) -> Option<Then> {
        let slot = self.shared.slot(caller)?;
        let _landed = slot.landing.lock().await;
        *lock(&slot.handle) = None;
        for (interrupt, attempt) in self.shared.take_armed(caller) {
            let planned = &self.shared.interrupts[interrupt];
            lock(&slot.then).push(planned.then.clone());
            self.shared.notes.struck(caller, interrupt, planned.blow, attempt);
        }
        lock(&slot.then).drain(..).next_back()
    }

    /// Nothing strikes any more.
    pub(super) fn end(&self) {
        self.watchers.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for Striker {
    fn drop(&mut self) {
        self.end();
    }
}

const KINDS: [MomentKind; 3] = [MomentKind::Received, MomentKind::Committed, MomentKind::BeforeReply];

impl Shared {
    fn slot(&self, caller: u32) -> Option<&Slot> {
        self.slots.get(usize::try_from(caller).ok()?.checked_sub(1)?)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }

    /// The service stands still until this returns.
    async fn meet(&self, held: Held) {
        let moment = &held.moment;
        for (interrupt, attempt) in self.due(moment) {
            self.strike(interrupt, moment.caller, attempt).await;
        }
        drop(held);
    }

    /// Which interrupts strike at this moment, each with the attempt that it is about.
    fn due(&self, moment: &Moment) -> Vec<(usize, u64)> {
        match moment.kind {
            MomentKind::Received => {
                let mut due = self.take_armed(moment.caller);
                due.extend(self.count(moment).into_iter().map(|interrupt| (interrupt, moment.attempt)));
                due
            }
            MomentKind::Committed => self.take_meant(moment, Reached::Committed),
            MomentKind::BeforeReply => {
                let replied = self.take_meant(moment, Reached::Replied);
                let armed = replied.into_iter().map(|(interrupt, attempt)| (moment.caller, interrupt, attempt));
                self.seen().armed.extend(armed);
                Vec::new()
            }
        }
    }

    /// Counts an attempt that has come in; gives the interrupts that strike before it is committed.
    fn count(&self, moment: &Moment) -> Vec<usize> {
        let mut seen = self.seen();
        let mut now = Vec::new();
        for (index, interrupt) in self.interrupts.iter().enumerate() {
            let when = &interrupt.when;
            if when.operation != moment.operation || when.caller.is_some_and(|caller| caller != moment.caller) {
                continue;
            }
            seen.counts[index] += 1;
            if seen.counts[index] != when.attempt {
                continue;
            }
            match when.reached {
                Reached::Received => {
                    seen.struck[index] = true;
                    now.push(index);
                }
                Reached::Committed | Reached::Replied => seen.meant.entry(moment.attempt).or_default().push(index),
            }
        }
        now
    }

    fn take_meant(&self, moment: &Moment, reached: Reached) -> Vec<(usize, u64)> {
        let mut seen = self.seen();
        let candidates = seen.meant.get(&moment.attempt).cloned().unwrap_or_default();
        let mut due = Vec::new();
        for index in candidates {
            // A request that was delivered twice commits twice, and is struck once.
            if self.interrupts[index].when.reached == reached && !std::mem::replace(&mut seen.struck[index], true) {
                due.push((index, moment.attempt));
            }
        }
        due
    }

    fn take_armed(&self, caller: u32) -> Vec<(usize, u64)> {
        let mut seen = self.seen();
        let (due, kept) = seen.armed.drain(..).partition::<Vec<_>, _>(|(whose, _, _)| *whose == caller);
        seen.armed = kept;
        due.into_iter().map(|(_, interrupt, attempt)| (interrupt, attempt)).collect()
    }

    async fn strike(&self, interrupt: usize, caller: u32, attempt: u64) {
        let (Some(planned), Some(slot)) = (self.interrupts.get(interrupt), self.slot(caller)) else { return };
        let _landing = slot.landing.lock().await;
        // Nobody is left to be struck when the request outlived its sender.
        let Some(handle) = lock(&slot.handle).clone() else { return };
        if !matches!(planned.blow, Blow::Freeze(_)) {
            lock(&slot.then).push(planned.then.clone());
        }
        match planned.blow {
            Blow::Kill => handle.kill().await,
            Blow::Stop => handle.stop().await,
            Blow::Cancel => handle.cancel().await,
            Blow::Freeze(time) => {
                handle.freeze().await;
                tokio::spawn(async move {
                    tokio::time::sleep(time).await;
                    handle.thaw().await;
                });
            }
        }
        self.notes.struck(caller, interrupt, planned.blow, attempt);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
