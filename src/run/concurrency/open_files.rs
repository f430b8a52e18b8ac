//! How many files may be open at once, and how many callers that is enough for. A service that has no file
//! left for a connection has to send somebody away, and an honest subject would be blamed for it.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What one caller takes: the pipes of its supervisor, its recorder, the ports of its services, and its
/// connections to them.
const OF_A_CALLER: u64 = 24;
/// What is open beside them.
const OF_THE_RUN: u64 = 32;

/// For how many callers at once there are files; at least one.
pub(in crate::run) fn callers() -> usize {
    enough_for(limit())
}

/// How many ports of trials that have ended are kept: as many as there are files for, and no more than memory
/// bears. A trial that is kept for its ports takes some 60 KB.
pub(in crate::run) fn late_ports() -> usize {
    const MOST: usize = 4096;
    usize::try_from(limit().map_or(u64::MAX, late_of)).unwrap_or(usize::MAX).min(MOST)
}

/// How many files a subject may have open: as many as this process could when it was started.
pub(in crate::run) fn of_a_subject() -> Option<u64> {
    limits().0
}

/// How many files may be open: as many as the system allows this process to ask for.
fn limit() -> Option<u64> {
    limits().1
}

/// The limit that this process was started with, and the one that it has.
fn limits() -> (Option<u64>, Option<u64>) {
    static LIMITS: OnceLock<(Option<u64>, Option<u64>)> = OnceLock::new();
    *LIMITS.get_or_init(|| {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        // Where it cannot be raised it stays what it is.
        let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
        (current, if raised { maximum } else { current })
    })
}

/// A quarter of what is left when one caller runs.
fn late_of(files: u64) -> u64 {
    files.saturating_sub(OF_THE_RUN + OF_A_CALLER) / 4
}

fn enough_for(files: Option<u64>) -> usize {
    let callers =
        files.map_or(u64::MAX, |files| files.saturating_sub(OF_THE_RUN + late_of(files)) / OF_A_CALLER);
    usize::try_from(callers).unwrap_or(usize::MAX).clamp(1, tokio::sync::Semaphore::MAX_PERMITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_room_for_one_caller_and_never_for_more_than_there_are_files_for() {
        assert_eq!([Some(0), Some(64), Some(1024)].map(enough_for), [1, 1, 31]);
        assert!(enough_for(None) > 10_000);
    }
}
