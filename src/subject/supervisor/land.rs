//! When a blow has landed: a signal that was sent is not yet one that was taken.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::processes;

/// How long a landing is waited for. A subject that blocks a signal never takes it.
const LANDING: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

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

/// Stops everything, and waits until all of it stands still; what was forked meanwhile is stopped too.
pub(super) fn frozen(main: Pid) {
    let was_signalled = Cell::new(false);
    until(|| {
        let moving: Vec<_> = processes::all(main).into_iter().filter(|found| !found.is_stopped()).collect();
        let is_still = was_signalled.replace(true) && moving.iter().all(|found| found.is_held());
        processes::signal(&moving, Signal::STOP);
        is_still
    });
}

fn until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() && begun.elapsed() < LANDING {
        thread::sleep(LOOK_AGAIN);
    }
}
