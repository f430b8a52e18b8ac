//! The signal mask and the ignored signals that hapax was started with. A program inherits both, and a
//! subject must not: a signal that it ignores or blocks cannot interrupt it. A script, for example, starts
//! its background jobs with SIGINT ignored.

use std::io;

use nix::sys::signal::SigSet;
use tokio::signal::unix::{SignalKind, signal};

/// Gives the programs that this process starts an empty signal mask and the default action of every signal.
/// This process itself takes no notice of the signals that it ignored before. Must be called before it has
/// another thread.
///
/// # Errors
/// When the system refuses it.
pub(super) fn reset() -> io::Result<()> {
    SigSet::empty().thread_set_mask()?;
    let ignored = ignored();
    if ignored.is_empty() {
        return Ok(());
    }
    // A signal with a handler has its default action in the programs that this process starts. The handlers
    // stay when the runtime is gone.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _in_runtime = runtime.enter();
    for number in ignored {
        // SIGILL, SIGFPE and SIGSEGV can have none: the system ends a program at its own fault although it
        // ignores them.
        let _ = signal(SignalKind::from_raw(number));
    }
    Ok(())
}

/// The signals that this process ignores, without SIGPIPE: every Rust program ignores that one, and starts
/// others with its default action.
#[cfg(target_os = "linux")]
fn ignored() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_in(&status).into_iter().filter(|number| *number != SignalKind::pipe().as_raw_value()).collect()
}

/// The ignored signals in the text of `/proc/PID/status`.
#[cfg(target_os = "linux")]
fn ignored_in(status: &str) -> Vec<i32> {
    let mask = |line: &str| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok();
    let mask = status.lines().find_map(mask).unwrap_or_default();
    (1..=64).filter(|number| mask & (1 << (number - 1)) != 0).collect()
}

/// Without `/proc` it is not known which signals are ignored: those that hapax sends to interrupt a subject.
#[cfg(not(target_os = "linux"))]
fn ignored() -> Vec<i32> {
    let sent = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::quit(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
    ];
    sent.map(|kind| kind.as_raw_value()).to_vec()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_ignored_signals_are_the_bits_of_the_mask() {
        assert_eq!(ignored_in("Name:\thapax\nSigIgn:\t8000000000001006\nSigCgt:\tff\n"), [2, 3, 13, 64]);
        assert_eq!(ignored_in(""), Vec::<i32>::new());
    }
}
