//! Watches one start of a subject until all its processes have ended: time limit, processes, orders, exit.

use std::io::{self, BufRead};
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::processes::{self, ProcessTree};
use super::protocol::{StartOrder, SupervisorMessage, SupervisorOrder};
use super::{signals, write_message};
use crate::subject::sealed::{NamespaceEvent, SealedSubject};
use crate::subject::{EndReason, Limits};

/// The interval for counting processes at first, and when there are many.
const COUNT_INTERVAL: Duration = Duration::from_millis(50);
/// The interval when there are few processes, so that many starts at once are cheap.
const SLOW_COUNT_INTERVAL: Duration = Duration::from_millis(200);
/// The interval for killing the rest again until nothing is left.
const KILL_INTERVAL: Duration = Duration::from_millis(2);
/// How long to try: processes of another user cannot be killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// How long processes that a subject leaves behind are watched before they are killed: long enough to see
/// what they do, or for them to exit.
const LEFTOVER_TIME: Duration = Duration::from_secs(1);

/// How long to wait until two reads of the processes agree, or the system reports that none is left, which can
/// take seconds on a busy machine.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(10);

/// An event while a subject runs.
pub(super) enum WatchEvent {
    /// An order of hapax.
    Order(SupervisorOrder),
    /// hapax has ended.
    Abandoned,
    /// A process below this one has ended.
    Ended(Pid, ProcessEnd),
    /// No process is left below this one.
    AllGone,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessEnd {
    /// It exited with this status.
    Exited(i32),
    /// This signal ended it.
    Signaled(i32),
}

impl From<WaitStatus> for ProcessEnd {
    fn from(status: WaitStatus) -> Self {
        match status.exit_status() {
            Some(code) => ProcessEnd::Exited(code),
            None => ProcessEnd::Signaled(status.terminating_signal().unwrap_or_default()),
        }
    }
}

/// Reads the orders of hapax, in its own thread.
pub(super) fn listen(events: Sender<WatchEvent>) {
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Some(order) = line.ok().and_then(|line| serde_json::from_str(&line).ok()) else { break };
            send(&events, WatchEvent::Order(order));
        }
        send(&events, WatchEvent::Abandoned);
    });
}

/// Reaps every process that ends, in its own thread, and counts them.
pub(super) fn reap(events: Sender<WatchEvent>, ended: Arc<AtomicU64>) {
    thread::spawn(move || reap_children(&events, &ended));
}

/// Does the same for a sealed start, whose init process reaps the processes of the subject.
pub(super) fn reap_sealed(mut subject: SealedSubject, events: Sender<WatchEvent>, ended: Arc<AtomicU64>) {
    thread::spawn(move || {
        let mut main_end = None;
        while let Some(event) = subject.wait() {
            ended.fetch_add(1, Ordering::SeqCst);
            let end = match event {
                NamespaceEvent::Exited(code) => ProcessEnd::Exited(code),
                NamespaceEvent::Signaled(signal) => ProcessEnd::Signaled(signal),
                NamespaceEvent::OtherEnded => continue,
            };
            main_end = Some(end);
            send(&events, WatchEvent::Ended(subject.main, end));
        }
        if main_end.is_none() {
            // The init process was killed, and the system killed all others.
            let killed = ProcessEnd::Signaled(Signal::KILL.as_raw());
            send(&events, WatchEvent::Ended(subject.main, killed));
        }
        reap_children(&events, &ended);
    });
}

fn reap_children(events: &Sender<WatchEvent>, ended: &AtomicU64) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                ended.fetch_add(1, Ordering::SeqCst);
                send(events, WatchEvent::Ended(pid, status.into()));
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break send(events, WatchEvent::AllGone),
        }
    }
}

fn send(events: &Sender<WatchEvent>, event: WatchEvent) {
    // After the last message there is no receiver any more.
    let _ = events.send(event);
}

fn report_applied(order: SupervisorOrder) {
    report(&SupervisorMessage::Applied(order));
}

fn report(message: &SupervisorMessage) {
    // If it cannot be written, hapax has ended. That is a separate event, and the subject is watched until
    // then.
    let _ = write_message(message);
}

/// One start of a subject that is being watched.
pub(super) struct Watch<'a> {
    limits: &'a Limits,
    cancel: Signal,
    tree: ProcessTree,
    input: Option<ChildStdin>,
    end: Option<ProcessEnd>,
    /// How it ended, if not by its exit status.
    reason: Option<EndReason>,
    /// Its time limit.
    time_up: Instant,
    /// The end of its grace time.
    grace_over: Option<Instant>,
    /// It has exited; its other processes have until then to exit, too.
    left_until: Option<Instant>,
    /// When the number of processes left must be known.
    left_known_by: Option<Instant>,
    /// The processes of a server that has done its task and is stopped: none of them is left behind.
    server: Option<Vec<Pid>>,
    /// The number of processes that it left running.
    left_running: usize,
    /// The number of processes that have ended so far.
    ended: &'a AtomicU64,
    /// Whether everything is stopped and waits for the next signal.
    stopped: bool,
    /// Since when everything is being killed.
    killing: Option<Instant>,
    /// The orders that have taken effect when nothing is left.
    kills: Vec<SupervisorOrder>,
    /// When the limits were last enforced.
    last_check: Instant,
    /// When its processes are counted next.
    count_at: Instant,
}

/// How a start ended that was watched.
pub(super) struct WatchEnd {
    pub(super) reason: EndReason,
    /// How many processes it left running.
    pub(super) left_running: usize,
    /// Whether none of its processes is left.
    pub(super) are_all_dead: bool,
}

impl<'a> Watch<'a> {
    /// Starts to watch a process that was just started.
    pub(super) fn new(
        order: &'a StartOrder,
        tree: ProcessTree,
        input: Option<ChildStdin>,
        ended: &'a AtomicU64,
    ) -> Self {
        let now = Instant::now();
        Watch {
            limits: &order.limits,
            cancel: signals::signal(order.cancel),
            tree,
            input,
            end: None,
            reason: None,
            time_up: now.checked_add(order.limits.time).unwrap_or(now + Duration::from_secs(u32::MAX.into())),
            grace_over: None,
            left_until: None,
            left_known_by: None,
            server: None,
            left_running: 0,
            ended,
            stopped: false,
            killing: None,
            kills: Vec::new(),
            last_check: now,
            count_at: now + COUNT_INTERVAL,
        }
    }

    /// Watches until nothing is left, or what is left could not be killed in time.
    pub(super) fn until_the_end(mut self, events: &Receiver<WatchEvent>) -> WatchEnd {
        let are_all_dead = loop {
            match events.recv_timeout(self.due().saturating_duration_since(Instant::now())) {
                Ok(WatchEvent::Order(order)) => self.apply(order),
                Ok(WatchEvent::Abandoned) => self.kill(),
                Ok(WatchEvent::Ended(pid, end)) if pid == self.tree.main && self.end.is_none() => {
                    self.end = Some(end);
                    self.main_ended();
                }
                // There can be very many of these, and they need no action.
                Ok(WatchEvent::Ended(..)) if Instant::now() < self.due() => continue,
                Ok(WatchEvent::Ended(..)) | Err(RecvTimeoutError::Timeout) => {}
                Ok(WatchEvent::AllGone) | Err(RecvTimeoutError::Disconnected) => {
                    // Where orphans are not reparented to us, processes of its group may be left.
                    self.kill();
                    break true;
                }
            }
            if !self.enforce_limits() {
                break false;
            }
        };
        let exited_before = self.exited_before_interrupt();
        for order in std::mem::take(&mut self.kills) {
            match &exited_before {
                Some(why) if order == SupervisorOrder::Kill => {
                    report(&SupervisorMessage::Missed(order, why.clone()))
                }
                _ => report_applied(order),
            }
        }
        let reason = self.reason.take().unwrap_or_else(|| self.reason_from_end());
        WatchEnd { reason, left_running: self.left_running, are_all_dead }
    }

    /// The process that was started has exited. Its other processes must end, too; but killing them at once
    /// would hide from the ledger what they were about to do.
    fn main_ended(&mut self) {
        self.input = None;
        let soon = Instant::now() + LEFTOVER_TIME;
        if let (Some(over), Some(_), None) = (self.grace_over, &self.server, &self.reason) {
            self.grace_over = None;
            self.left_until = Some(soon.max(over));
        } else if self.grace_over.is_some() || self.reason.is_some() {
            self.kill();
        } else {
            self.left_until = Some(soon);
        }
    }

    /// Enforces the limits; `false` when nothing more can be done.
    fn enforce_limits(&mut self) -> bool {
        let now = Instant::now();
        self.last_check = now;
        if let Some(since) = self.killing {
            let left = processes::all(self.tree);
            if now.duration_since(since) > KILL_TIMEOUT {
                self.reason = Some(EndReason::OverLimit(format!(
                    "{} of its processes could not be killed",
                    left.len()
                )));
                return false;
            }
            processes::signal(&left, Signal::KILL);
            return true;
        }
        if self.grace_over.is_some_and(|over| over <= now) {
            match self.server.is_some().then(|| self.left_behind(now)) {
                Some(None) => self.grace_over = Some(now + KILL_INTERVAL),
                counted => {
                    self.left_running = counted.flatten().unwrap_or(self.left_running);
                    self.kill();
                }
            }
        } else if self.grace_over.is_none() && self.left_until.is_some_and(|until| until <= now) {
            match self.left_behind(now) {
                Some(left_running) => {
                    self.left_running = left_running;
                    self.kill();
                }
                None => self.left_until = Some(now + KILL_INTERVAL),
            }
        } else if self.time_up <= now && self.grace_over.is_none() && self.left_until.is_none() {
            self.reason = Some(EndReason::TimeUp);
            self.stop(now);
        } else if self.count_at <= now {
            let count = processes::count(self.tree);
            self.count_at =
                now + if count > self.limits.processes / 8 { COUNT_INTERVAL } else { SLOW_COUNT_INTERVAL };
            if count > self.limits.processes {
                self.reason = Some(EndReason::OverLimit(format!(
                    "{count} processes at once; the maximum is {}",
                    self.limits.processes
                )));
                self.kill();
            }
        }
        true
    }

    /// How many processes are left; `None` when they must be read again. The system has not reported that all
    /// have ended, so at least one is left, unless it is one of the server that was stopped; but one read can miss a
    /// process that forks and exits in a loop, so two reads must agree.
    fn left_behind(&mut self, now: Instant) -> Option<usize> {
        let server = self.server.as_deref().unwrap_or_default();
        let least = usize::from(self.server.is_none());
        let snapshot = || {
            let found = processes::all(self.tree).into_iter().filter(|found| !found.is_dead());
            let found = found.map(|found| found.pid).filter(|pid| !server.contains(pid));
            let mut numbers: Vec<i32> = found.map(|pid| pid.as_raw_nonzero().get()).collect();
            numbers.sort_unstable();
            numbers
        };
        let (first, second) = (snapshot(), snapshot());
        let known_by = *self.left_known_by.get_or_insert(now + SETTLE_TIMEOUT);
        if first == second && first.len() >= least {
            Some(first.len())
        } else {
            (known_by <= now).then_some(second.len().max(least))
        }
    }

    /// Why it was not interrupted, if it had exited before.
    fn exited_before_interrupt(&self) -> Option<String> {
        let is_killed = self.end? == ProcessEnd::Signaled(Signal::KILL.as_raw());
        (!is_killed).then(|| signals::ALREADY_ENDED.to_owned())
    }

    fn apply(&mut self, order: SupervisorOrder) {
        let all = || processes::all(self.tree);
        if let Some(why) = self.exited_before_interrupt()
            && matches!(
                order,
                SupervisorOrder::Stop
                    | SupervisorOrder::Cancel
                    | SupervisorOrder::Freeze
                    | SupervisorOrder::Hold
                    | SupervisorOrder::Finish
            )
        {
            return report(&SupervisorMessage::Missed(order, why));
        }
        match order {
            SupervisorOrder::Kill => {
                self.kills.push(order);
                self.kill();
                return;
            }
            SupervisorOrder::TimeUp => {
                self.kills.push(order);
                // One that has exited has not reached its time limit: only its other processes are still
                // watched.
                if self.killing.is_none() && self.end.is_none() {
                    self.reason = Some(EndReason::TimeUp);
                    // It may have been stopped already: at a second SIGTERM, some programs exit at once.
                    if self.grace_over.is_none() {
                        self.stop(Instant::now());
                    }
                }
                return;
            }
            SupervisorOrder::Stop => self.stop(Instant::now()),
            SupervisorOrder::Finish => self.finish(Instant::now()),
            SupervisorOrder::Cancel => {
                processes::signal(&all(), self.cancel);
                self.resume();
                signals::wait_until_received(self.tree.main, self.cancel);
            }
            SupervisorOrder::Freeze | SupervisorOrder::Hold => match signals::stop_all(self.tree, self.ended)
            {
                Ok(()) => self.stopped = true,
                Err(why) => {
                    processes::signal(&all(), Signal::CONT);
                    return report(&SupervisorMessage::Missed(order, why));
                }
            },
            SupervisorOrder::Thaw => {
                self.stopped = true;
                self.resume();
            }
        }
        report_applied(order);
    }

    /// Continues what was stopped; it first receives the signals that were sent meanwhile.
    fn resume(&mut self) {
        if std::mem::take(&mut self.stopped) {
            processes::signal(&processes::all(self.tree), Signal::CONT);
        }
    }

    /// SIGTERM, and the grace time starts. Stopped processes are continued, so that they receive it.
    fn stop(&mut self, now: Instant) {
        let all = processes::all(self.tree);
        processes::signal(&all, Signal::TERM);
        processes::signal(&all, Signal::CONT);
        self.stopped = false;
        signals::wait_until_received(self.tree.main, Signal::TERM);
        self.grace_over = self.grace_over.or(now.checked_add(self.limits.grace));
    }

    /// The same for a server that has done its task: only its own processes receive the signal.
    fn finish(&mut self, now: Instant) {
        if self.end.is_some() {
            // It has ended by itself: what it left is counted already.
            return;
        }
        let (all, server) = (processes::all(self.tree), processes::of_main(self.tree));
        processes::signal_only(&server, &all, Signal::TERM);
        processes::signal(&all, Signal::CONT);
        self.stopped = false;
        signals::wait_until_received(self.tree.main, Signal::TERM);
        self.server = Some(server.into_iter().map(|found| found.pid).collect());
        self.grace_over = self.grace_over.or(now.checked_add(self.limits.grace));
    }

    fn kill(&mut self) {
        self.input = None;
        if self.killing.is_none() {
            self.killing = Some(Instant::now());
            processes::signal(&processes::all(self.tree), Signal::KILL);
        }
    }

    /// When the next action is due.
    fn due(&self) -> Instant {
        match self.killing {
            Some(_) => self.last_check + KILL_INTERVAL,
            None => self.grace_over.or(self.left_until).unwrap_or(self.time_up).min(self.count_at),
        }
    }

    fn reason_from_end(&self) -> EndReason {
        match self.end {
            None => EndReason::Unstartable("it ended before it could be watched".to_owned()),
            Some(ProcessEnd::Exited(code)) => EndReason::Exited(code),
            Some(ProcessEnd::Signaled(signal)) if signal == Signal::XFSZ.as_raw() => {
                EndReason::OverLimit(format!("a file of more than {} bytes", self.limits.file_size))
            }
            Some(ProcessEnd::Signaled(signal)) => EndReason::Signaled(signal),
        }
    }
}
