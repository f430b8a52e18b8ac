//! Lets the requests of several callers in one at a time, in the order of the scenario. A request is held until every
//! other caller has one that is held, too, has ended, or sleeps. A caller that sleeps before it tries again can be
//! passed over, or not, depending on the machine: an order that was not reached for that is recorded as missed, and
//! what is judged is what happened. A request whose client gives up meanwhile has no effect.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use mock_services::{Held, MockServices, MomentKind, QueuedEnd};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::event_log::EventLog;
use crate::domain::{OrderMiss, SubjectEvent};
use crate::subject::{SupervisorId, processes_below};

/// The time between two looks at the processes of a caller.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The interleaving of the callers of one trial.
pub(super) struct Interleaver {
    signals: mpsc::UnboundedSender<TurnSignal>,
    listeners: Vec<JoinHandle<()>>,
    /// Until it is finished.
    turns: Option<JoinHandle<()>>,
}

/// What the interleaver waits for.
enum TurnSignal {
    /// A request has arrived and is held.
    Arrived(Held),
    /// This caller has ended.
    Ended(u32),
    /// All callers have ended, and each of them was reported.
    Finished,
}

impl Interleaver {
    /// Holds each request to the services from now on; nobody for longer than `longest`.
    pub(super) fn watch(
        order: &[u32],
        services: &Arc<MockServices>,
        supervisors: &[SupervisorId],
        longest: Duration,
        log: &EventLog,
    ) -> Self {
        let (signals, received) = mpsc::unbounded_channel();
        let mut listeners = Vec::new();
        let names: Vec<String> = services.names().map(str::to_owned).collect();
        for name in &names {
            let Some(mut listener) = services.listen(name, MomentKind::Queued) else { continue };
            let signals = signals.clone();
            listeners.push(tokio::spawn(async move {
                while let Some(held) = listener.recv().await {
                    // If nobody receives it, the request goes on.
                    let _ = signals.send(TurnSignal::Arrived(held));
                }
            }));
        }
        let turns = Turns {
            order: order.to_vec(),
            callers: (1..).zip(supervisors).map(|(number, id)| (number, TurnTaker::new(id))).collect(),
            let_in: 0,
            unanswered: FuturesUnordered::new(),
            last: None,
            missed: false,
            gave_up: BTreeSet::new(),
            longest,
            log: log.clone(),
        };
        let turns = Some(tokio::spawn(turns.take(received)));
        Interleaver { signals, listeners, turns }
    }

    /// A caller has ended.
    pub(super) fn ended(&self, caller: u32) {
        // The receiver lives as long as this.
        let _ = self.signals.send(TurnSignal::Ended(caller));
    }

    /// All callers have ended: records whether the whole order took place, and lets all others in that are held.
    pub(super) async fn finish(mut self) {
        // The signals are received in the order in which they were sent.
        let _ = self.signals.send(TurnSignal::Finished);
        if let Some(turns) = self.turns.take() {
            // It ends at that signal. If it panicked, the runtime has reported it.
            let _ = turns.await;
        }
    }
}

impl Drop for Interleaver {
    fn drop(&mut self) {
        self.listeners.iter().chain(&self.turns).for_each(JoinHandle::abort);
    }
}

/// One caller, as the interleaver sees it.
struct TurnTaker {
    supervisor: SupervisorId,
    held: VecDeque<(Held, Instant)>,
    /// How many of its requests were let in and are not answered: until then, it waits for the service.
    unanswered: usize,
    ended: bool,
    /// Its threads at the last look, if all of them slept.
    slept: Option<Vec<SleepingThread>>,
}

/// A thread, and how often it has run.
type SleepingThread = (String, u64);

impl TurnTaker {
    fn new(supervisor: &SupervisorId) -> Self {
        TurnTaker {
            supervisor: supervisor.clone(),
            held: VecDeque::new(),
            unanswered: 0,
            ended: false,
            slept: None,
        }
    }

    /// Whether it cannot send a request before others go on.
    fn is_settled(&self) -> bool {
        self.ended || !self.held.is_empty()
    }
}

/// Whose turn it is.
struct Turns {
    order: Vec<u32>,
    callers: BTreeMap<u32, TurnTaker>,
    /// How many requests were let in.
    let_in: usize,
    /// The ends of the requests that were let in and are not answered, with their callers.
    unanswered: FuturesUnordered<BoxFuture<'static, (u32, Option<QueuedEnd>)>>,
    last: Option<u32>,
    /// Whether the order was not kept.
    missed: bool,
    /// The callers whose clients gave up.
    gave_up: BTreeSet<u32>,
    longest: Duration,
    log: EventLog,
}

impl Turns {
    async fn take(mut self, mut signals: mpsc::UnboundedReceiver<TurnSignal>) {
        loop {
            while let Ok(signal) = signals.try_recv() {
                if self.note(signal).is_break() {
                    return;
                }
            }
            if self.callers.values().all(|taker| taker.is_settled() && taker.unanswered == 0) {
                self.let_next_in();
            }
            tokio::select! {
                signal = signals.recv() => {
                    if signal.is_none_or(|signal| self.note(signal).is_break()) {
                        return;
                    }
                }
                Some((caller, end)) = self.unanswered.next() => self.answered(caller, end),
                late = look_time() => {
                    if late > LOOK_INTERVAL {
                        // Who waits for hapax sleeps, too, while the machine has no time for hapax.
                        self.callers.values_mut().for_each(|taker| taker.slept = None);
                    }
                    self.look().await;
                }
            }
        }
    }

    fn note(&mut self, signal: TurnSignal) -> ControlFlow<()> {
        match signal {
            TurnSignal::Arrived(held) => {
                let caller = held.moment.caller;
                self.remove_abandoned();
                if let Some(taker) = self.callers.get_mut(&caller) {
                    taker.held.push_back((held, Instant::now()));
                    taker.slept = None;
                }
            }
            TurnSignal::Ended(caller) => {
                if let Some(taker) = self.callers.get_mut(&caller) {
                    taker.ended = true;
                }
            }
            TurnSignal::Finished => {
                self.remove_abandoned();
                if self.let_in < self.order.len() {
                    let (made, planned) = (number(self.let_in), number(self.order.len()));
                    self.miss(OrderMiss::RequestsMissing { made, planned });
                }
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// A request that was let in is answered, or its client had left before.
    fn answered(&mut self, caller: u32, end: Option<QueuedEnd>) {
        if let Some(taker) = self.callers.get_mut(&caller) {
            (taker.unanswered, taker.slept) = (taker.unanswered.saturating_sub(1), None);
        }
        if end == Some(QueuedEnd::GivenUp) {
            self.gave_up(caller);
        }
    }

    /// Looks at the callers that are expected to send a request. When each of them sleeps, another one is let in: it
    /// may be what they wait for.
    async fn look(&mut self) {
        self.remove_abandoned();
        let Some((held_longest, waited)) = self.held_longest() else { return };
        let expected: Vec<u32> =
            self.callers.iter().filter(|(_, taker)| !taker.is_settled()).map(|(caller, _)| *caller).collect();
        let mut all_sleep = true;
        for caller in &expected {
            let Some(taker) = self.callers.get_mut(caller) else { continue };
            let id = taker.supervisor.get().filter(|_| taker.unanswered == 0);
            let now = match id {
                Some(id) => tokio::task::spawn_blocking(move || sleeping_threads(id)).await.ok().flatten(),
                None => None,
            };
            all_sleep &= now.is_some() && now == taker.slept;
            taker.slept = now;
        }
        if all_sleep {
            self.let_next_in();
        } else if waited > self.longest {
            let held_ms = milliseconds(waited);
            self.miss(OrderMiss::HeldForAbsent { caller: held_longest, absent: expected, held_ms });
            self.let_next_in();
        }
    }

    /// The caller whose first request is held for the longest time, and that time.
    fn held_longest(&self) -> Option<(u32, Duration)> {
        let waited = |(caller, taker): (&u32, &TurnTaker)| Some((*caller, taker.held.front()?.1.elapsed()));
        self.callers.iter().filter_map(waited).max_by_key(|(_, waited)| *waited)
    }

    /// Lets the next request in, if one is held: that of the caller whose turn it is, or, after the order, of the
    /// caller that was let in last, or else of the first that waits. One that was held for too long comes before these.
    fn let_next_in(&mut self) {
        self.remove_abandoned();
        let held: BTreeSet<u32> = self
            .callers
            .iter()
            .filter(|(_, taker)| !taker.held.is_empty())
            .map(|(caller, _)| *caller)
            .collect();
        let Some((overdue, waited)) = self.held_longest() else { return };
        let planned = self.order.get(self.let_in).copied();
        if let Some(caller) = planned.filter(|caller| !held.contains(caller)) {
            let request = number(self.let_in + 1);
            self.miss(if self.callers.get(&caller).is_some_and(|taker| taker.ended) {
                OrderMiss::Ended { caller, request }
            } else {
                OrderMiss::Waited { caller, request }
            });
        }
        let next = [planned, self.last].into_iter().flatten().find(|caller| held.contains(caller));
        let mut caller = next.or(held.first().copied()).unwrap_or(overdue);
        if waited > self.longest && caller != overdue {
            // Its client would give up.
            self.miss(OrderMiss::HeldForOthers { caller: overdue, held_ms: milliseconds(waited) });
            caller = overdue;
        }
        let Some(taker) = self.callers.get_mut(&caller) else { return };
        let Some((request, _)) = taker.held.pop_front() else { return };
        (taker.unanswered, taker.slept) = (taker.unanswered + 1, None);
        self.let_in += 1;
        self.last = Some(caller);
        let event = SubjectEvent::LetIn {
            number: number(self.let_in),
            operation: request.moment.operation.clone(),
            held: held.into_iter().filter(|other| *other != caller).collect(),
        };
        self.log.write(caller, &event);
        let end = request.release();
        self.unanswered.push(Box::pin(async move { (caller, end.await) }));
    }

    /// Requests whose clients have left have no effect.
    fn remove_abandoned(&mut self) {
        let mut gave_up = Vec::new();
        for (caller, taker) in &mut self.callers {
            let before = taker.held.len();
            taker.held.retain(|(held, _)| !held.is_abandoned());
            if taker.held.len() < before {
                gave_up.push(*caller);
            }
        }
        gave_up.into_iter().for_each(|caller| self.gave_up(caller));
    }

    /// Records, once for each caller, that its client gave up: what follows from it is not held against the subject,
    /// whatever was missed before.
    fn gave_up(&mut self, caller: u32) {
        if self.gave_up.insert(caller) {
            self.missed = true;
            self.log.write(caller, &SubjectEvent::OrderMissed(OrderMiss::GaveUp { caller }));
        }
    }

    /// Records why the order was not kept. What comes later follows from the first miss.
    fn miss(&mut self, miss: OrderMiss) {
        if !std::mem::replace(&mut self.missed, true) {
            self.log.write(1, &SubjectEvent::OrderMissed(miss));
        }
    }
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Waits until it is time for a look; by how much that is late.
async fn look_time() -> Duration {
    let began = Instant::now();
    tokio::time::sleep(LOOK_INTERVAL).await;
    began.elapsed().saturating_sub(LOOK_INTERVAL)
}

/// The threads of all processes below a supervisor; `None` unless there are some and all of them sleep.
fn sleeping_threads(supervisor: u32) -> Option<Vec<SleepingThread>> {
    let mut threads = Vec::new();
    for pid in processes_below(supervisor) {
        for entry in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
            let status = fs::read_to_string(entry.path().join("status")).ok()?;
            threads.push((entry.file_name().to_string_lossy().into_owned(), switches_if_asleep(&status)?));
        }
    }
    threads.sort();
    Some(threads).filter(|threads| !threads.is_empty())
}

/// How often a thread that sleeps has run, from its `status` file.
fn switches_if_asleep(status: &str) -> Option<u64> {
    let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    // A caller that is frozen does not run, either.
    let is_asleep = value("State:")?.starts_with(['S', 'T', 'Z', 'X']);
    let count = |name: &str| value(name).and_then(|count| count.parse::<u64>().ok());
    is_asleep
        .then(|| count("voluntary_ctxt_switches:").zip(count("nonvoluntary_ctxt_switches:")))
        .flatten()
        .map(|(one, other)| one.saturating_add(other))
}

#[cfg(test)]
#[path = "interleaving_tests.rs"]
mod tests;
