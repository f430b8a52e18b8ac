//! The door: the first write of each caller waits until every caller has come or has ended, then all are let
//! in at once.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::gone::ClientGone;
use crate::ledger::{BarrierEvent, Event, Ledger};

/// Who meets where, and for how long those who came wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BarrierOptions {
    /// The operation at which the callers meet; the first write of each where there is none.
    pub meet: Option<String>,
    /// How long the first to come waits at most. Longer than the usual timeouts of clients by default: a
    /// client that gives up at the moment at which the door opens would leave open what became of its
    /// request.
    pub within: Duration,
}

impl Default for BarrierOptions {
    fn default() -> Self {
        BarrierOptions { meet: None, within: Duration::from_secs(25) }
    }
}

/// The door of one trial, in front of all its services.
#[derive(Debug)]
pub(crate) struct StartBarrier {
    options: BarrierOptions,
    ledger: Ledger,
    hall: Mutex<BarrierState>,
    opened: Notify,
}

#[derive(Debug)]
struct BarrierState {
    expected: BTreeSet<u32>,
    come: BTreeSet<u32>,
    gave_up: BTreeSet<u32>,
    ended: BTreeSet<u32>,
    deadline: Option<Instant>,
    open: bool,
}

impl StartBarrier {
    pub(crate) fn new(options: BarrierOptions, callers: u32, ledger: Ledger) -> Self {
        let hall = BarrierState {
            expected: (1..=callers).collect(),
            come: BTreeSet::new(),
            gave_up: BTreeSet::new(),
            ended: BTreeSet::new(),
            deadline: None,
            open: false,
        };
        StartBarrier { options, ledger, hall: Mutex::new(hall), opened: Notify::new() }
    }

    /// A caller has ended: nobody waits for it any more.
    pub(crate) fn ended(&self, caller: u32) {
        let mut hall = self.hall();
        let has_come = hall.come.contains(&caller) || hall.gave_up.contains(&caller);
        if hall.ended.insert(caller) && !has_come && !hall.open {
            self.note(caller, BarrierEvent::Absent);
        }
        self.open_if_complete(&mut hall);
    }

    /// Waits where the caller has to; `false` when its client gave up meanwhile.
    pub(crate) async fn pass(&self, caller: u32, operation: &str, is_write: bool, gone: &ClientGone) -> bool {
        let concerned = self.options.meet.as_deref().map_or(is_write, |meet| meet == operation);
        if !concerned {
            return true;
        }
        let deadline = {
            let mut hall = self.hall();
            let is_first = hall.come.insert(caller);
            if hall.open {
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
            let deadline = *hall.deadline.get_or_insert_with(|| Instant::now() + within);
            self.open_if_complete(&mut hall);
            deadline
        };
        let opened = tokio::select! {
            biased;
            () = self.wait(deadline) => true,
            () = gone.happened() => false,
        };
        // A client that gave up just before the opening must not have an effect.
        let still_there = opened && !gone.has_happened().await;
        if still_there {
            self.note(caller, BarrierEvent::Admitted);
        } else {
            // When it tries again it is held again, so that it still meets the others.
            let mut hall = self.hall();
            hall.come.remove(&caller);
            hall.gave_up.insert(caller);
            self.note(caller, BarrierEvent::GaveUp);
        }
        still_there
    }

    async fn wait(&self, deadline: Instant) {
        loop {
            let opened = self.opened.notified();
            tokio::pin!(opened);
            opened.as_mut().enable();
            if self.hall().open {
                return;
            }
            if tokio::time::timeout_at(deadline, opened).await.is_err() {
                let mut hall = self.hall();
                hall.open = true;
                self.opened.notify_waiters();
            }
        }
    }

    fn open_if_complete(&self, hall: &mut BarrierState) {
        let complete =
            hall.expected.iter().all(|caller| hall.come.contains(caller) || hall.ended.contains(caller));
        if complete && !hall.open {
            hall.open = true;
            self.opened.notify_waiters();
        }
    }

    fn note(&self, caller: u32, event: BarrierEvent) {
        self.ledger.append(&Event::Barrier { caller, event });
    }

    fn hall(&self) -> MutexGuard<'_, BarrierState> {
        self.hall.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use std::sync::Arc;

    fn door(callers: u32, meet: Option<&str>) -> (Arc<StartBarrier>, Ledger) {
        let ledger = Ledger::new("t", 1, Clock::default());
        let options = BarrierOptions { meet: meet.map(str::to_owned), within: Duration::from_secs(10) };
        (Arc::new(StartBarrier::new(options, callers, ledger.clone())), ledger)
    }

    fn seen(ledger: &Ledger) -> Vec<(u32, BarrierEvent)> {
        let of_door = |event| match event {
            Event::Barrier { caller, event } => Some((caller, event)),
            _ => None,
        };
        ledger.entries().into_iter().filter_map(|entry| of_door(entry.event)).collect()
    }

    async fn comes(door: &Arc<StartBarrier>, caller: u32) -> tokio::task::JoinHandle<bool> {
        let door = Arc::clone(door);
        tokio::spawn(async move { door.pass(caller, "payment.charge", true, &ClientGone::default()).await })
    }

    #[tokio::test]
    async fn all_wait_for_the_last_and_retries_are_not_held() {
        let (door, ledger) = door(3, None);
        let (one, two) = (comes(&door, 1).await, comes(&door, 2).await);
        while seen(&ledger).len() < 2 {
            tokio::task::yield_now().await;
        }
        assert!(!one.is_finished() && !two.is_finished());
        assert!(comes(&door, 1).await.await.unwrap(), "a retry passes");
        assert!(comes(&door, 3).await.await.unwrap());
        assert!(one.await.unwrap() && two.await.unwrap());
        let admitted = seen(&ledger).iter().filter(|(_, what)| *what == BarrierEvent::Admitted).count();
        assert_eq!(admitted, 3);
    }

    #[tokio::test]
    async fn one_who_ended_is_not_waited_for_and_is_late_if_it_writes_after_all() {
        let (door, ledger) = door(2, None);
        let one = comes(&door, 1).await;
        while seen(&ledger).is_empty() {
            tokio::task::yield_now().await;
        }
        door.ended(2);
        assert!(one.await.unwrap());
        assert!(comes(&door, 2).await.await.unwrap());
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
    async fn a_client_that_gives_up_while_it_is_held_is_told_apart_and_held_again_when_it_comes_again() {
        let (door, ledger) = door(2, None);
        let gone = ClientGone::default();
        gone.set();
        assert!(!door.pass(1, "payment.charge", true, &gone).await);
        assert_eq!(seen(&ledger), [(1, BarrierEvent::Held), (1, BarrierEvent::GaveUp)]);
        let again = comes(&door, 1).await;
        while seen(&ledger).len() < 3 {
            tokio::task::yield_now().await;
        }
        assert!(!again.is_finished());
        assert!(comes(&door, 2).await.await.unwrap() && again.await.unwrap());
        let met: Vec<u32> = seen(&ledger)
            .iter()
            .filter(|(_, what)| *what == BarrierEvent::Admitted)
            .map(|(caller, _)| *caller)
            .collect();
        assert_eq!(met.len(), 2);
    }

    #[tokio::test]
    async fn one_whose_client_has_left_when_the_door_opens_is_not_let_in() {
        let (door, ledger) = door(1, None);
        let gone = ClientGone::attended();
        let connection = async {
            gone.asked().await;
            gone.set();
        };
        let (passed, ()) = tokio::join!(door.pass(1, "payment.charge", true, &gone), connection);
        assert!(!passed);
        assert_eq!(seen(&ledger), [(1, BarrierEvent::Held), (1, BarrierEvent::GaveUp)]);
    }

    #[tokio::test]
    async fn only_the_operation_that_is_named_is_held() {
        let (door, ledger) = door(2, Some("payment.list"));
        assert!(door.pass(1, "payment.charge", true, &ClientGone::default()).await);
        assert!(seen(&ledger).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_came_are_let_in_when_the_time_is_over() {
        let (door, ledger) = door(2, None);
        assert!(door.pass(1, "payment.charge", true, &ClientGone::default()).await);
        assert_eq!(seen(&ledger), [(1, BarrierEvent::Held), (1, BarrierEvent::Admitted)]);
    }
}
