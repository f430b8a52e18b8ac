//! When a blow has landed: a signal that was sent is not yet one that was taken.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::processes;

/// How long a landing is waited for. A subject that blocks a signal never takes it.
const LANDING: Duration = Duration::from_millis(500);
/// How long everything may take to stop, however busy the machine is.
const STOPPING: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Why nothing could be done to a subject that is gone.
pub(in crate::subject) const BY_ITSELF: &str =
    "it had ended by itself before the interrupt could take effect";

/// The system's word for a signal.
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

/// Waits until the process has taken the signal.
pub(super) fn taken(main: Pid, signal: Signal) {
    until(|| !processes::is_pending(main, signal));
}

/// Stops everything, and waits until every thread of every process has stopped; what was forked meanwhile is
/// stopped too. The system is looked at until two looks in a row show the same processes, all of them
/// stopped, and none has ended in between: a process that forks and ends in a loop can slip through one look.
///
/// # Errors
/// Why that did not come about, in words.
pub(super) fn frozen(main: Pid, ended: &AtomicU64) -> Result<(), String> {
    if cfg!(not(target_os = "linux")) {
        return Err("only Linux tells whether every thread of a process is stopped; run this case on Linux"
            .to_owned());
    }
    let begun = Instant::now();
    let mut signalled: HashSet<Pid> = HashSet::new();
    let mut before: Option<(u64, Vec<processes::Found>)> = None;
    loop {
        let count = ended.load(Ordering::SeqCst);
        let found = processes::all(main);
        if !found.iter().any(|one| one.pid == main && !one.is_dead()) {
            return Err(BY_ITSELF.to_owned());
        }
        let is_still =
            found.iter().all(|one| one.is_stopped() || (one.is_held() && signalled.contains(&one.pid)));
        if is_still && before.as_ref().is_some_and(|(last, have)| *last == count && *have == found) {
            return Ok(());
        }
        let moving: Vec<_> = found.iter().filter(|one| !one.is_stopped()).cloned().collect();
        processes::signal(&moving, Signal::STOP);
        signalled.extend(moving.iter().map(|one| one.pid));
        before = is_still.then_some((count, found));
        if begun.elapsed() > STOPPING {
            return Err(format!(
                "not every thread of its processes could be stopped within {} s; the machine may be too busy, or its processes fork \
                 without end",
                STOPPING.as_secs()
            ));
        }
        thread::sleep(LOOK_AGAIN);
    }
}

fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() && begun.elapsed() < LANDING {
        thread::sleep(LOOK_AGAIN);
    }
}
