//! How the sender reaches the subject. A command is started for each delivery. An agent over HTTP is started once, gets
//! all deliveries, and is started again for the next one if it has ended.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::{CallerResult, FIRST};
use crate::domain::CapturedOutput;
use crate::scenario::{Then, Work};
use crate::subject::{DeliveryQueue, EndReason, HttpDelivery, Limits, ReceivedEvent, Start, SupervisorId};
use crate::trial::callers::{Caller, OneStart};

/// How long to wait for the end of an agent that gave no answer.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// How often an agent over HTTP is started again for one delivery.
const MAX_TRIES: u32 = 3;
/// Why a delivery to an agent over HTTP is given up.
const UNREACHED: &str = "it did not accept a connection; let it listen at HAPAX_PORT for as long as it runs";
/// The status of an answer of a command that failed.
const FAILED: u16 = 500;

pub(super) struct Link<'a> {
    callers: Vec<ReceivingCaller<'a>>,
    is_served: bool,
    /// Where new runs of an agent over HTTP are asked for.
    open: Mutex<Option<mpsc::UnboundedSender<DeliveryQueue>>>,
    /// The deliveries to the agent that runs.
    current: Mutex<Option<mpsc::UnboundedSender<HttpDelivery>>>,
    /// How many runs of the agent have ended.
    ended: watch::Sender<u32>,
    /// Why the agent cannot be started.
    unstartable: Mutex<Option<String>>,
}

struct ReceivingCaller<'a> {
    caller: Caller<'a>,
    starts: Mutex<Starts>,
}

/// The starts of a caller.
#[derive(Default)]
struct Starts {
    count: u32,
    outputs: Vec<CapturedOutput>,
    cpu: Duration,
}

/// Runs the agent over HTTP whenever it is asked for.
pub(super) struct AgentRuns {
    asked: mpsc::UnboundedReceiver<DeliveryQueue>,
}

impl AgentRuns {
    pub(super) async fn run(mut self, link: &Link<'_>) {
        while let Some(asked) = self.asked.recv().await {
            let lane = &link.callers[FIRST];
            let mut next = Some(asked);
            while let Some(queue) = next.take() {
                let start = lane.next_start();
                let given = lane.caller.start(start, &lane.caller.first_work());
                // It is one start for all deliveries.
                let time = given.limits.time.saturating_mul(link.deliveries());
                let limits = Limits { time, ..given.limits };
                let given = Start { deliveries: Some(queue), limits, ..given };
                let one = lane.caller.one_start(given, 0, None).await;
                lane.ended(start, &one);
                if let EndReason::Unstartable(why) = &one.ended.reason {
                    *lock(&link.unstartable) = Some(why.clone());
                }
                link.ended.send_modify(|count| *count += 1);
                // What it has answered is not sent again: it must find by itself what it has taken.
                if lane.follows(one.then).await {
                    next = Some(self.asked.try_recv().unwrap_or_else(|_| link.queue_of_restart()));
                }
            }
        }
    }
}

impl<'a> Link<'a> {
    pub(super) fn new(mut callers: Vec<Caller<'a>>) -> (Self, AgentRuns) {
        callers.sort_by_key(|caller| caller.number);
        let is_served = callers.first().is_some_and(|caller| caller.subject.is_served());
        let (open, asked) = mpsc::unbounded_channel();
        let lane = |caller| ReceivingCaller { caller, starts: Mutex::default() };
        let link = Link {
            callers: callers.into_iter().map(lane).collect(),
            is_served,
            open: Mutex::new(Some(open)),
            current: Mutex::default(),
            ended: watch::Sender::new(0),
            unstartable: Mutex::default(),
        };
        (link, AgentRuns { asked })
    }

    /// No more deliveries come.
    pub(super) fn close(&self) {
        lock(&self.current).take();
        lock(&self.open).take();
    }

    pub(super) fn results(self) -> Vec<CallerResult> {
        let result = |lane: ReceivingCaller<'_>| {
            lane.caller.services.caller_ended(lane.caller.number);
            let starts = lane.starts.into_inner().unwrap_or_else(PoisonError::into_inner);
            (starts.outputs, Some(starts.cpu))
        };
        self.callers.into_iter().map(result).collect()
    }

    /// The number of the caller that gets deliveries of this lane.
    pub(super) fn caller(&self, lane: usize) -> u32 {
        self.lane(lane).caller.number
    }

    pub(super) fn supervisors(&self) -> Vec<SupervisorId> {
        self.callers.iter().map(|lane| lane.caller.supervisor.clone()).collect()
    }

    pub(super) fn time_limit(&self) -> Duration {
        self.callers[FIRST].caller.limits().time
    }

    /// How many deliveries there are at most.
    fn deliveries(&self) -> u32 {
        let events = &self.callers[FIRST].caller.case.events;
        let copies = events.iter().map(|event| {
            let scheduled = event.schedule.map_or(0, |schedule| schedule.pauses().len());
            u32::try_from(event.copies.len() * 2 + scheduled)
                .unwrap_or(u32::MAX)
                .saturating_mul(event.workers)
        });
        copies.fold(1, u32::saturating_add)
    }

    /// An agent over HTTP has one process, which is the first caller.
    fn lane(&self, lane: usize) -> &ReceivingCaller<'a> {
        let lane = if self.is_served { FIRST } else { lane };
        self.callers.get(lane).unwrap_or(&self.callers[FIRST])
    }

    /// The subject gets the task, and again after an interrupt that restarts it.
    pub(super) async fn task(&self, lane: usize) {
        let lane = self.lane(lane);
        if self.is_served {
            // Without it, no event about it follows.
            let _ = self.post(lane, None, |_| {}).await;
            return;
        }
        loop {
            let start = lane.next_start();
            let given = lane.caller.start(start, &lane.caller.first_work());
            let one = lane.caller.one_start(given, 0, None).await;
            lane.ended(start, &one);
            if !lane.follows(one.then).await {
                break;
            }
        }
    }

    /// Delivers to a lane, and calls `delivered` with the number of the start that gets it. Returns the status of the
    /// answer, if there is one.
    ///
    /// # Errors
    /// Why the subject could not be reached.
    pub(super) async fn deliver(
        &self,
        lane: usize,
        work: &Work,
        event: Option<ReceivedEvent>,
        delivered: impl Fn(u32) + Clone + Send + 'static,
    ) -> Result<Option<u16>, String> {
        let lane = self.lane(lane);
        if self.is_served {
            return self.post(lane, event, delivered).await;
        }
        let start = lane.next_start();
        delivered(start);
        let given = Start { event, ..lane.caller.start(start, work) };
        let one = lane.caller.one_start(given, 0, None).await;
        let status = match one.ended.reason {
            EndReason::Exited(0) => Ok(Some(200)),
            EndReason::Exited(_) => Ok(Some(FAILED)),
            EndReason::Unstartable(ref why) => Err(why.clone()),
            EndReason::Signaled(_)
            | EndReason::TimeUp
            | EndReason::OverLimit(_)
            | EndReason::Answered(_)
            | EndReason::NoAnswer(_) => Ok(None),
        };
        lane.ended(start, &one);
        lane.follows(one.then).await;
        status
    }

    /// Sends a request to the agent over HTTP, which is started if it does not run.
    async fn post(
        &self,
        lane: &ReceivingCaller<'_>,
        event: Option<ReceivedEvent>,
        delivered: impl Fn(u32) + Clone + Send + 'static,
    ) -> Result<Option<u16>, String> {
        for _ in 0..MAX_TRIES {
            let mut ended = self.ended.subscribe();
            ended.mark_unchanged();
            let (answer, answered) = oneshot::channel();
            let (signal, reached) = oneshot::channel();
            let (delivered, event) = (delivered.clone(), event.clone());
            let delivery = move |start| {
                let reached = Box::new(move || {
                    delivered(start);
                    // It waits for this signal.
                    let _ = signal.send(());
                });
                HttpDelivery { event, reached, answer }
            };
            self.send(lane, delivery);
            if reached.await.is_ok() {
                let answered = tokio::time::timeout(self.time_limit(), answered).await;
                if let Ok(Err(_)) = answered {
                    // It may have been killed, and the next delivery must not be sent to what is left of it.
                    let _ = tokio::time::timeout(END_TIMEOUT, ended.changed()).await;
                }
                return Ok(answered.ok().and_then(Result::ok));
            }
            let _ = tokio::time::timeout(END_TIMEOUT, ended.changed()).await;
            if let Some(why) = lock(&self.unstartable).clone() {
                return Err(why);
            }
        }
        Err(UNREACHED.to_owned())
    }

    /// Puts a delivery into the queue of the agent that runs, or of a new run. It gets the number of its start. If no more
    /// can be delivered, it is dropped.
    fn send(&self, lane: &ReceivingCaller<'_>, delivery: impl FnOnce(u32) -> HttpDelivery) {
        let mut current = lock(&self.current);
        let started = lock(&lane.starts).count;
        if let Some(queue) = current.as_ref().filter(|queue| !queue.is_closed()) {
            let _ = queue.send(delivery(started.max(1)));
            return;
        }
        let (sender, queue) = DeliveryQueue::new(self.time_limit());
        let _ = sender.send(delivery(started + 1));
        let is_open = lock(&self.open).as_ref().is_some_and(|open| open.send(queue).is_ok());
        *current = is_open.then_some(sender);
    }

    /// The queue of an agent that is started again after an interrupt; deliveries that come from now on are put into it.
    fn queue_of_restart(&self) -> DeliveryQueue {
        let mut current = lock(&self.current);
        let (sender, queue) = DeliveryQueue::new(self.time_limit());
        // A new run is asked for already.
        let is_asked = current.as_ref().is_some_and(|queue| !queue.is_closed());
        if !is_asked && lock(&self.open).is_some() {
            *current = Some(sender);
        }
        queue
    }
}

impl ReceivingCaller<'_> {
    fn next_start(&self) -> u32 {
        let mut starts = lock(&self.starts);
        starts.count += 1;
        starts.count
    }

    fn ended(&self, start: u32, one: &OneStart) {
        let mut starts = lock(&self.starts);
        let caller = self.caller.number;
        starts.outputs.push(CapturedOutput { caller, start, ..one.ended.output.clone() });
        starts.cpu += one.ended.cpu.unwrap_or_default();
    }

    /// Does what follows an interrupt; returns whether the subject is started again. It gets events again only if the
    /// sender sends them.
    async fn follows(&self, then: Option<Then>) -> bool {
        let Some(Then::Restart { after, empty_state, next_day, .. }) = then else { return false };
        tokio::time::sleep(after).await;
        if empty_state && let Err(error) = self.caller.directories.empty_machine(1) {
            tracing::warn!(%error, "the state directory cannot be emptied");
        }
        if next_day {
            self.caller.directories.begin_next_day(1);
        }
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
