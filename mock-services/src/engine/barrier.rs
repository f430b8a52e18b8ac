//! The start barrier: the first write of each caller waits until every caller has arrived or has ended, then all
//! continue at once. A caller that waits for a lock of a caller at the barrier cannot arrive; who knows the
//! processes of the callers says so, and the barrier opens without it. Otherwise it opens when its time is
//! over.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::delivery::ClientGone;
use crate::ledger::{BarrierEvent, Event, Ledger};

/// Where the callers wait for each other, and how long.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct BarrierOptions {
    /// The operation at which the callers wait; `None`: the first write of each.
    pub meet: Option<String>,
    /// The maximum time that the first caller waits. The default is longer than the usual timeouts of
    /// clients: if a client gave up at the moment at which the barrier opens, it would not be known whether
    /// its request was processed.
    pub within: Duration,
    /// Whether it passes requests until it is closed, instead of holding them from the beginning.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub closed_later: bool,
}

impl Default for BarrierOptions {
    fn default() -> Self {
        BarrierOptions { meet: None, within: Duration::from_secs(25), closed_later: false }
    }
}

/// The start barrier of one trial, before all its services.
#[derive(Debug)]
pub(crate) struct StartBarrier {
    options: BarrierOptions,
    ledger: Ledger,
    state: Mutex<BarrierState>,
    opened: Notify,
}

#[derive(Debug)]
struct BarrierState {
    expected: BTreeSet<u32>,
    arrived: BTreeSet<u32>,
    gave_up: BTreeSet<u32>,
    ended: BTreeSet<u32>,
    deadline: Option<Instant>,
    /// Whether it holds requests, or has done so.
    closed: bool,
    open: bool,
}

impl BarrierState {
    /// The callers that have neither arrived nor ended.
    fn absent(&self) -> impl Iterator<Item = u32> {
        self.expected
            .iter()
            .copied()
            .filter(|caller| !self.arrived.contains(caller) && !self.ended.contains(caller))
    }
}

/// Who waits at a closed start barrier, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedCallers {
    /// The callers that have neither arrived nor ended.
    pub absent: BTreeSet<u32>,
    /// The callers that wait for them.
    pub held: BTreeSet<u32>,
}

impl StartBarrier {
    pub(crate) fn new(options: BarrierOptions, callers: u32, ledger: Ledger) -> Self {
        let state = BarrierState {
            expected: (1..=callers).collect(),
            arrived: BTreeSet::new(),
            gave_up: BTreeSet::new(),
            ended: BTreeSet::new(),
            deadline: None,
            closed: !options.closed_later,
            open: false,
        };
        StartBarrier { options, ledger, state: Mutex::new(state), opened: Notify::new() }
    }

    /// Holds requests from now on.
    pub(crate) fn close(&self) {
        self.state().closed = true;
    }

    /// A caller has ended: the others no longer wait for it.
    pub(crate) fn ended(&self, caller: u32) {
        let mut state = self.state();
        let has_arrived = state.arrived.contains(&caller) || state.gave_up.contains(&caller);
        if state.ended.insert(caller) && !has_arrived && !state.open {
            self.note(caller, BarrierEvent::Absent);
        }
        self.open_if_complete(&mut state);
    }

    /// The callers that the barrier waits for, and those that wait there; `None` if nobody waits.
    pub(crate) fn awaited(&self) -> Option<AwaitedCallers> {
        let state = self.state();
        let is_waiting = !state.open && !state.arrived.is_empty();
        is_waiting.then(|| AwaitedCallers { absent: state.absent().collect(), held: state.arrived.clone() })
    }

    /// These callers now wait for locks of callers at the barrier. It opens if it waits for no other.
    pub(crate) fn locked_out(&self, callers: &BTreeSet<u32>) {
        let mut state = self.state();
        if !state.open && !state.arrived.is_empty() && state.absent().all(|caller| callers.contains(&caller))
        {
            self.open(&mut state, BarrierEvent::Locked);
        }
    }

    /// Waits if the caller has to; `false` if its client gave up in the meantime.
    pub(crate) async fn pass(&self, caller: u32, operation: &str, is_write: bool, gone: &ClientGone) -> bool {
        let concerned = self.options.meet.as_deref().map_or(is_write, |meet| meet == operation);
        if !concerned {
            return true;
        }
        let deadline = {
            let mut state = self.state();
            if !state.closed {
                return true;
            }
            let is_first = state.arrived.insert(caller);
            if state.open {
                if is_first {
                    self.note(caller, BarrierEvent::Late);
                }
                return true;
            }
            if !is_first {
                return true;
            }
            self.note(caller, BarrierEvent::Held);
            let within = self.options.within;
            let deadline = *state.deadline.get_or_insert_with(|| Instant::now() + within);
            self.open_if_complete(&mut state);
            deadline
        };
        let opened = tokio::select! {
            biased;
            () = self.wait(deadline) => true,
            () = gone.happened() => false,
        };
        // The request of a client that gave up just before the opening must not have an effect.
        let still_there = opened && !gone.has_happened().await;
        if still_there {
            self.note(caller, BarrierEvent::Admitted);
        } else {
            // When it tries again it is held again, so that it still starts together with the others.
            let mut state = self.state();
            state.arrived.remove(&caller);
            state.gave_up.insert(caller);
            self.note(caller, BarrierEvent::GaveUp);
        }
        still_there
    }

    async fn wait(&self, deadline: Instant) {
        loop {
            let opened = self.opened.notified();
            tokio::pin!(opened);
            opened.as_mut().enable();
            if self.state().open {
                return;
            }
            if tokio::time::timeout_at(deadline, opened).await.is_err() {
                self.open(&mut self.state(), BarrierEvent::Missing);
            }
        }
    }

    fn open_if_complete(&self, state: &mut BarrierState) {
        if state.absent().next().is_none() {
            self.open(state, BarrierEvent::Missing);
        }
    }

    /// Opens the barrier; `why` is why it does not wait for those that are absent.
    fn open(&self, state: &mut BarrierState, why: BarrierEvent) {
        if !std::mem::replace(&mut state.open, true) {
            state.absent().for_each(|caller| self.note(caller, why));
            self.opened.notify_waiters();
        }
    }

    fn note(&self, caller: u32, event: BarrierEvent) {
        self.ledger.append(Event::Barrier { caller, event });
    }

    fn state(&self) -> MutexGuard<'_, BarrierState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use std::sync::Arc;

    fn barrier(callers: u32, meet: Option<&str>) -> (Arc<StartBarrier>, Ledger) {
        let ledger = Ledger::new("t", 1, Clock::default());
        let within = Duration::from_secs(10);
        let options = BarrierOptions { meet: meet.map(str::to_owned), within, closed_later: false };
        (Arc::new(StartBarrier::new(options, callers, ledger.clone())), ledger)
    }

    fn seen(ledger: &Ledger) -> Vec<(u32, BarrierEvent)> {
        let of_barrier = |event| match event {
            Event::Barrier { caller, event } => Some((caller, event)),
            _ => None,
        };
        ledger.entries().into_iter().filter_map(|entry| of_barrier(entry.event)).collect()
    }

    async fn arrives(barrier: &Arc<StartBarrier>, caller: u32) -> tokio::task::JoinHandle<bool> {
        let barrier = Arc::clone(barrier);
        tokio::spawn(
            async move { barrier.pass(caller, "payment.charge", true, &ClientGone::default()).await },
        )
    }

    #[tokio::test]
    async fn all_wait_for_the_last_and_retries_are_not_held() {
        let (barrier, ledger) = barrier(3, None);
        let (one, two) = (arrives(&barrier, 1).await, arrives(&barrier, 2).await);
        while seen(&ledger).len() < 2 {
            tokio::task::yield_now().await;
        }
        assert!(!one.is_finished() && !two.is_finished());
        assert!(arrives(&barrier, 1).await.await.unwrap(), "a retry passes");
        assert!(arrives(&barrier, 3).await.await.unwrap());
        assert!(one.await.unwrap() && two.await.unwrap());
        let admitted = seen(&ledger).iter().filter(|(_, what)| *what == BarrierEvent::Admitted).count();
        assert_eq!(admitted, 3);
    }

    #[tokio::test]
    async fn callers_do_not_wait_for_a_caller_that_ended_and_its_later_write_is_late() {
        let (barrier, ledger) = barrier(2, None);
        let one = arrives(&barrier, 1).await;
        while seen(&ledger).is_empty() {
            tokio::task::yield_now().await;
        }
        barrier.ended(2);
        assert!(one.await.unwrap());
        assert!(arrives(&barrier, 2).await.await.unwrap());
        assert_eq!(
            seen(&ledger),
            [
                (1, BarrierEvent::Held),
                (2, BarrierEvent::Absent),
                (1, BarrierEvent::Admitted),
                (2, BarrierEvent::Late)
            ]
        );
    }

    #[tokio::test]
    async fn a_client_that_gives_up_at_the_barrier_is_recorded_and_held_again_when_it_retries() {
        let (barrier, ledger) = barrier(2, None);
        let gone = ClientGone::default();
        gone.set();
        assert!(!barrier.pass(1, "payment.charge", true, &gone).await);
        assert_eq!(seen(&ledger), [(1, BarrierEvent::Held), (1, BarrierEvent::GaveUp)]);
        let again = arrives(&barrier, 1).await;
        while seen(&ledger).len() < 3 {
            tokio::task::yield_now().await;
        }
        assert!(!again.is_finished());
        assert!(arrives(&barrier, 2).await.await.unwrap() && again.await.unwrap());
        let met: Vec<u32> = seen(&ledger)
            .iter()
            .filter(|(_, what)| *what == BarrierEvent::Admitted)
            .map(|(caller, _)| *caller)
            .collect();
        assert_eq!(met.len(), 2);
    }

    #[tokio::test]
    async fn a_caller_whose_client_has_left_when_the_barrier_opens_is_not_admitted() {
        let (barrier, ledger) = barrier(1, None);
        let gone = ClientGone::watched();
        let connection = async {
            gone.asked().await;
            gone.set();
        };
        let (passed, ()) = tokio::join!(barrier.pass(1, "payment.charge", true, &gone), connection);
        assert!(!passed);
        assert_eq!(seen(&ledger), [(1, BarrierEvent::Held), (1, BarrierEvent::GaveUp)]);
    }

    #[tokio::test]
    async fn only_the_operation_that_is_named_is_held() {
        let (barrier, ledger) = barrier(2, Some("payment.list"));
        assert!(barrier.pass(1, "payment.charge", true, &ClientGone::default()).await);
        assert!(seen(&ledger).is_empty());
    }

    #[tokio::test]
    async fn a_barrier_that_is_closed_later_passes_requests_before_and_holds_the_next_one_of_each_caller() {
        let ledger = Ledger::new("t", 1, Clock::default());
        let options = BarrierOptions { closed_later: true, ..BarrierOptions::default() };
        let barrier = Arc::new(StartBarrier::new(options, 2, ledger.clone()));
        assert!(arrives(&barrier, 1).await.await.unwrap());
        assert!(seen(&ledger).is_empty());
        barrier.close();
        let one = arrives(&barrier, 1).await;
        while seen(&ledger).is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(!one.is_finished());
        assert!(arrives(&barrier, 2).await.await.unwrap() && one.await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn the_callers_that_came_are_admitted_when_the_time_is_over() {
        let (barrier, ledger) = barrier(2, None);
        assert!(barrier.pass(1, "payment.charge", true, &ClientGone::default()).await);
        assert_eq!(
            seen(&ledger),
            [(1, BarrierEvent::Held), (2, BarrierEvent::Missing), (1, BarrierEvent::Admitted)]
        );
    }

    #[tokio::test]
    async fn callers_do_not_wait_for_those_that_wait_for_their_locks() {
        let (barrier, ledger) = barrier(4, None);
        assert_eq!(barrier.awaited(), None);
        barrier.locked_out(&BTreeSet::from([1, 2, 3, 4]));
        let one = arrives(&barrier, 1).await;
        while seen(&ledger).is_empty() {
            tokio::task::yield_now().await;
        }
        barrier.ended(4);
        let awaited = AwaitedCallers { absent: BTreeSet::from([2, 3]), held: BTreeSet::from([1]) };
        assert_eq!(barrier.awaited(), Some(awaited));
        barrier.locked_out(&BTreeSet::from([2]));
        assert!(!one.is_finished(), "the third can still arrive");
        barrier.locked_out(&BTreeSet::from([2, 3]));
        assert!(one.await.unwrap());
        assert_eq!(barrier.awaited(), None);
        assert!(arrives(&barrier, 3).await.await.unwrap());
        let events: Vec<_> = seen(&ledger).split_off(2);
        assert_eq!(
            events,
            [
                (2, BarrierEvent::Locked),
                (3, BarrierEvent::Locked),
                (1, BarrierEvent::Admitted),
                (3, BarrierEvent::Late)
            ]
        );
    }
}
