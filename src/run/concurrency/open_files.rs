//! The limit of open files, and the number of callers that it allows. A service without a file for a
//! connection would have to refuse it, and the subject would fail because of it.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The files of one caller: the pipes of its supervisor, its recorder, the ports of its services, and its
/// connections to them.
const FILES_PER_CALLER: u64 = 24;
/// Other open files.
const FILES_PER_RUN: u64 = 32;

/// The number of callers at once that the limit allows; at least one.
pub(in crate::run) fn callers() -> usize {
    max_callers(limit())
}

/// The number of callers of one trial that the limit allows; `None` if there is no limit.
pub(in crate::run) fn in_one_trial() -> Option<u64> {
    limit().map(|files| files.saturating_sub(FILES_PER_RUN) / FILES_PER_CALLER)
}

/// The number of ports of ended trials that are kept: as many as files and memory allow. A trial that is kept
/// for its ports takes about 60 KB.
pub(in crate::run) fn late_ports() -> usize {
    const MAX_PORTS: usize = 4096;
    usize::try_from(limit().map_or(u64::MAX, late_of)).unwrap_or(usize::MAX).min(MAX_PORTS)
}

/// The number of files that a subject can open: the limit that this process was started with.
pub(in crate::run) fn of_a_subject() -> Option<u64> {
    limits().0
}

/// The number of files that can be open: the maximum that the system allows this process.
fn limit() -> Option<u64> {
    limits().1
}

/// The limit that this process was started with, and its current limit.
fn limits() -> (Option<u64>, Option<u64>) {
    static LIMITS: OnceLock<(Option<u64>, Option<u64>)> = OnceLock::new();
    *LIMITS.get_or_init(|| {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        // If it cannot be raised, it does not change.
        let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
        (current, if raised { maximum } else { current })
    })
}

/// A quarter of the files that are left when one caller runs.
fn late_of(files: u64) -> u64 {
    files.saturating_sub(FILES_PER_RUN + FILES_PER_CALLER) / 4
}

fn max_callers(files: Option<u64>) -> usize {
    let callers = files
        .map_or(u64::MAX, |files| files.saturating_sub(FILES_PER_RUN + late_of(files)) / FILES_PER_CALLER);
    usize::try_from(callers).unwrap_or(usize::MAX).clamp(1, tokio::sync::Semaphore::MAX_PERMITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_room_for_one_caller_and_never_for_more_than_there_are_files_for() {
        assert_eq!([Some(0), Some(64), Some(1024)].map(max_callers), [1, 1, 31]);
        assert!(max_callers(None) > 10_000);
    }
}
