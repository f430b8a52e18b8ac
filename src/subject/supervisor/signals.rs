//! Waits until signals have taken effect: a signal that was sent is not yet received.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::processes::{self, ProcessTree};

/// How long to wait for a signal to be received. A subject that blocks a signal never receives it.
const SIGNAL_TIMEOUT: Duration = Duration::from_millis(500);
/// How long to wait until all threads have stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Why a subject that has ended was not interrupted.
pub(in crate::subject) const ALREADY_ENDED: &str =
    "it had ended by itself before the interrupt could take effect";

/// The signal as rustix names it.
pub(super) fn signal(signal: crate::subject::Signal) -> Signal {
    match signal {
        crate::subject::Signal::Int => Signal::INT,
        crate::subject::Signal::Term => Signal::TERM,
        crate::subject::Signal::Hup => Signal::HUP,
        crate::subject::Signal::Quit => Signal::QUIT,
        crate::subject::Signal::Usr1 => Signal::USR1,
        crate::subject::Signal::Usr2 => Signal::USR2,
    }
}

/// Waits until the process has received the signal.
pub(super) fn wait_until_received(main: Pid, signal: Signal) {
    wait_until(|| !processes::is_pending(main, signal));
}

/// Stops everything, and waits until every thread of every process has stopped, including processes that are
/// forked meanwhile. It reads the processes until two reads in a row show the same processes, all of them
/// stopped, and none has ended in between: one read can miss a process that forks and exits in a loop.
///
/// # Errors
/// Why they did not stop.
pub(super) fn stop_all(tree: ProcessTree, ended: &AtomicU64) -> Result<(), String> {
    if cfg!(not(target_os = "linux")) {
        return Err("only Linux shows whether every thread of a process is stopped; run this case on Linux"
            .to_owned());
    }
    let begun = Instant::now();
    let mut signaled: HashSet<Pid> = HashSet::new();
    let mut before: Option<(u64, Vec<processes::SubjectProcess>)> = None;
    loop {
        let count = ended.load(Ordering::SeqCst);
        let found = processes::all(tree);
        if !found.iter().any(|one| one.pid == tree.main && !one.is_dead()) {
            return Err(ALREADY_ENDED.to_owned());
        }
        let all_stopped =
            found.iter().all(|one| one.is_stopped() || (one.is_held() && signaled.contains(&one.pid)));
        if all_stopped && before.as_ref().is_some_and(|(last, seen)| *last == count && *seen == found) {
            return Ok(());
        }
        let running: Vec<_> = found.iter().filter(|one| !one.is_stopped()).cloned().collect();
        processes::signal(&running, Signal::STOP);
        signaled.extend(running.iter().map(|one| one.pid));
        before = all_stopped.then_some((count, found));
        if begun.elapsed() > STOP_TIMEOUT {
            return Err(format!(
                "not every thread of its processes could be stopped within {} s; the machine may be too \
                 busy, or its processes fork without end",
                STOP_TIMEOUT.as_secs()
            ));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn wait_until(is_done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_done() && begun.elapsed() < SIGNAL_TIMEOUT {
        thread::sleep(POLL_INTERVAL);
    }
}
