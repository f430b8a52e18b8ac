//! Watching one start of a subject until nothing of it is left: its time, its processes, the blows, its end.

use std::io::{self, BufRead};
use std::process::{Child, ChildStdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::protocol::{Answer, Order, SupervisorOrder};
use super::{land, processes, tell};
use crate::subject::{How, Limits};

/// How often the processes are counted: at first, and when there are many.
const COUNTED: Duration = Duration::from_millis(50);
/// The same when there are few, so that many starts at once cost little.
const SELDOM: Duration = Duration::from_millis(200);
/// How often what is left is killed again, until nothing is.
const KILLED: Duration = Duration::from_millis(2);
/// How long that is tried: what another user runs cannot be killed at all.
const TRIED: Duration = Duration::from_secs(10);

/// How long what a subject leaves behind is watched before it is killed: long enough to see it act, or end by
/// itself.
const LEFT: Duration = Duration::from_secs(1);

/// How long it may take until two looks at what is left agree, or the system says that nothing is.
const SETTLED: Duration = Duration::from_secs(2);

/// What happens while a subject runs.
pub(super) enum Event {
    /// Hapax orders a blow.
    SupervisorOrder(SupervisorOrder),
    /// Hapax is gone.
    Abandoned,
    /// A process below this one has ended.
    Ended(Pid, WaitStatus),
    /// No process is left below this one; none can come any more.
    AllGone,
}

/// Hears what hapax orders, in a thread of its own.
pub(super) fn listen(events: Sender<Event>) {
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Some(blow) = line.ok().and_then(|line| serde_json::from_str(&line).ok()) else { break };
            send(&events, Event::SupervisorOrder(blow));
        }
        send(&events, Event::Abandoned);
    });
}

/// Takes leave of every process that ends, in a thread of its own, and counts them.
pub(super) fn reap(events: Sender<Event>, ended: Arc<AtomicU64>) {
    thread::spawn(move || {
        loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) => {
                    ended.fetch_add(1, Ordering::SeqCst);
                    send(&events, Event::Ended(pid, status));
                }
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break send(&events, Event::AllGone),
            }
        }
    });
}

fn send(events: &Sender<Event>, event: Event) {
    // Nobody hears it any more when the end has been told.
    let _ = events.send(event);
}

fn landed(blow: SupervisorOrder) {
    say(&Answer::Landed(blow));
}

fn say(answer: &Answer) {
    // Where nobody hears it, hapax is gone: that is an event of its own, and the subject must not be left
    // alone before it comes.
    let _ = tell(answer);
}

/// One start of a subject, while it is watched.
pub(super) struct Watch<'a> {
    limits: &'a Limits,
    cancel: Signal,
    main: Pid,
    input: Option<ChildStdin>,
    status: Option<WaitStatus>,
    /// How it ended, where that is not told by its status.
    how: Option<How>,
    /// When its time is up.
    time_up: Instant,
    /// When its grace is over.
    grace_over: Option<Instant>,
    /// It has ended by itself; until then what it left behind may end by itself, too.
    left_until: Option<Instant>,
    /// When it must be known how many.
    left_known_by: Option<Instant>,
    /// How many processes it left behind that did not.
    left: usize,
    /// How many processes have ended so far.
    ended: &'a AtomicU64,
    /// Everything has been stopped, and waits for a signal that is to be its next.
    stopped: bool,
    /// Since when everything is killed.
    killing: Option<Instant>,
    /// The blows that have landed when nothing is left.
    kills: Vec<SupervisorOrder>,
    /// When it was last seen to.
    looked: Instant,
    /// When its processes are counted next.
    count_at: Instant,
}

impl<'a> Watch<'a> {
    /// Begins to watch a process that was just started.
    pub(super) fn new(order: &'a Order, subject: &mut Child, ended: &'a AtomicU64) -> Self {
        let now = Instant::now();
        Watch {
            limits: &order.limits,
            cancel: land::signal(order.cancel),
            main: Pid::from_child(subject),
            input: subject.stdin.take(),
            status: None,
            how: None,
            time_up: now.checked_add(order.limits.time).unwrap_or(now + Duration::from_secs(u32::MAX.into())),
            grace_over: None,
            left_until: None,
            left_known_by: None,
            left: 0,
            ended,
            stopped: false,
            killing: None,
            kills: Vec::new(),
            looked: now,
            count_at: now + COUNTED,
        }
    }

    /// Goes on until nothing is left; says how it ended, and how many processes it left behind that did not
    /// end by themselves.
    pub(super) fn until_the_end(mut self, events: &Receiver<Event>) -> (How, usize) {
        loop {
            match events.recv_timeout(self.due().saturating_duration_since(Instant::now())) {
                Ok(Event::SupervisorOrder(blow)) => self.strike(blow),
                Ok(Event::Abandoned) => self.kill(),
                Ok(Event::Ended(pid, status)) if pid == self.main && self.status.is_none() => {
                    self.status = Some(status);
                    self.main_ended();
                }
                // There may be a great many of these, and nothing need be done about each.
                Ok(Event::Ended(..)) if Instant::now() < self.due() => continue,
                Ok(Event::Ended(..)) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::AllGone) | Err(RecvTimeoutError::Disconnected) => {
                    // Where orphans go to the system and not to us, some of its group may be left.
                    self.kill();
                    break;
                }
            }
            if !self.look() {
                break;
            }
        }
        let by_itself = self.ended_by_itself();
        for blow in std::mem::take(&mut self.kills) {
            match &by_itself {
                Some(why) if blow == SupervisorOrder::Kill => say(&Answer::Missed(blow, why.clone())),
                _ => landed(blow),
            }
        }
        (self.how.take().unwrap_or_else(|| self.by_status()), self.left)
    }

    /// The process that was started has ended. What it leaves behind has no leave to go on; but to kill it at
    /// once would hide from the ledger what it was about to do.
    fn main_ended(&mut self) {
        self.input = None;
        if self.grace_over.is_some() || self.how.is_some() {
            self.kill();
        } else {
            self.left_until = Some(Instant::now() + LEFT);
        }
    }

    /// Enforces what is due by now; `false` where nothing more can be done.
    fn look(&mut self) -> bool {
        let now = Instant::now();
        self.looked = now;
        if let Some(since) = self.killing {
            let left = processes::all(self.main);
            if now.duration_since(since) > TRIED {
                self.how = Some(How::OverLimit(format!(
                    "{} of its processes could not be killed, and are left",
                    left.len()
                )));
                return false;
            }
            processes::signal(&left, Signal::KILL);
            return true;
        }
        if self.grace_over.is_some_and(|over| over <= now) {
            self.kill();
        } else if self.grace_over.is_none() && self.left_until.is_some_and(|until| until <= now) {
            match self.left_behind(now) {
                Some(left) => {
                    self.left = left;
                    self.kill();
                }
                None => self.left_until = Some(now + KILLED),
            }
        } else if self.time_up <= now && self.grace_over.is_none() && self.left_until.is_none() {
            self.how = Some(How::TimeUp);
            self.stop(now);
        } else if self.count_at <= now {
            let count = processes::count(self.main);
            self.count_at = now + if count > self.limits.processes / 8 { COUNTED } else { SELDOM };
            if count > self.limits.processes {
                self.how = Some(How::OverLimit(format!(
                    "{count} processes at once, and it may have {}",
                    self.limits.processes
                )));
                self.kill();
            }
        }
        true
    }

    /// How many processes are left; `None` where that has to be looked at again. That something is left is
    /// known from the system, which has not said that all is gone; but a process that forks and ends in a
    /// loop can slip through a look, so two must agree.
    fn left_behind(&mut self, now: Instant) -> Option<usize> {
        let look = || {
            let found = processes::all(self.main).into_iter().filter(|found| !found.is_dead());
            let mut numbers: Vec<i32> = found.map(|found| found.pid.as_raw_nonzero().get()).collect();
            numbers.sort_unstable();
            numbers
        };
        let (first, second) = (look(), look());
        let known_by = *self.left_known_by.get_or_insert(now + SETTLED);
        if first == second && !first.is_empty() {
            Some(first.len())
        } else {
            (known_by <= now).then_some(second.len().max(1))
        }
    }

    /// Says that it ended before anything could strike it, where that is so.
    fn ended_by_itself(&self) -> Option<String> {
        let status = self.status?;
        let is_killed = status.terminating_signal() == Some(Signal::KILL.as_raw());
        (!is_killed).then(|| land::BY_ITSELF.to_owned())
    }

    fn strike(&mut self, blow: SupervisorOrder) {
        let all = || processes::all(self.main);
        if let Some(why) = self.ended_by_itself()
            && matches!(
                blow,
                SupervisorOrder::Stop
                    | SupervisorOrder::Cancel
                    | SupervisorOrder::Freeze
                    | SupervisorOrder::Hold
            )
        {
            return say(&Answer::Missed(blow, why));
        }
        match blow {
            SupervisorOrder::Kill => {
                self.kills.push(blow);
                self.kill();
                return;
            }
            SupervisorOrder::TimeUp => {
                self.kills.push(blow);
                // One that has ended by itself has not run out of time: only what it left behind is still
                // watched.
                if self.killing.is_none() && self.status.is_none() {
                    self.how = Some(How::TimeUp);
                    self.stop(Instant::now());
                }
                return;
            }
            SupervisorOrder::Stop => self.stop(Instant::now()),
            SupervisorOrder::Cancel => {
                processes::signal(&all(), self.cancel);
                self.go_on();
                land::taken(self.main, self.cancel);
            }
            SupervisorOrder::Freeze | SupervisorOrder::Hold => match land::frozen(self.main, self.ended) {
                Ok(()) => self.stopped = true,
                Err(why) => {
                    processes::signal(&all(), Signal::CONT);
                    return say(&Answer::Missed(blow, why));
                }
            },
            SupervisorOrder::Thaw => {
                self.stopped = true;
                self.go_on();
            }
        }
        landed(blow);
    }

    /// What was stopped goes on, with the signals that were sent to it meanwhile first.
    fn go_on(&mut self) {
        if std::mem::take(&mut self.stopped) {
            processes::signal(&processes::all(self.main), Signal::CONT);
        }
    }

    /// SIGTERM, and the grace begins. What is frozen must wake up to hear it.
    fn stop(&mut self, now: Instant) {
        let all = processes::all(self.main);
        processes::signal(&all, Signal::TERM);
        processes::signal(&all, Signal::CONT);
        self.stopped = false;
        land::taken(self.main, Signal::TERM);
        self.grace_over = self.grace_over.or(now.checked_add(self.limits.grace));
    }

    fn kill(&mut self) {
        self.input = None;
        if self.killing.is_none() {
            self.killing = Some(Instant::now());
            processes::signal(&processes::all(self.main), Signal::KILL);
        }
    }

    /// Until when nothing need be done.
    fn due(&self) -> Instant {
        match self.killing {
            Some(_) => self.looked + KILLED,
            None => self.grace_over.or(self.left_until).unwrap_or(self.time_up).min(self.count_at),
        }
    }

    fn by_status(&self) -> How {
        let Some(status) = self.status else {
            return How::Unstartable("it was gone before it was seen".to_owned());
        };
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => How::Exited(code),
            (None, Some(signal)) if signal == Signal::XFSZ.as_raw() => {
                How::OverLimit(format!("a file of more than {} bytes", self.limits.file_size))
            }
            (None, signal) => How::Signalled(signal.unwrap_or_default()),
        }
    }
}
