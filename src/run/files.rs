//! How many files may be open at once, and how many callers that is enough for. A service that has no file left for a connection has
//! to send somebody away, and an honest subject would be blamed for it.

use rustix::process::{Resource, getrlimit};

/// What one caller takes: the pipes of its supervisor, its recorder, the ports of its services, and its connections to them.
const OF_A_CALLER: u64 = 24;
/// What is open beside them.
const OF_THE_RUN: u64 = 32;

/// For how many callers at once there are files; at least one.
pub(super) fn callers() -> usize {
    enough_for(getrlimit(Resource::Nofile).current)
}

fn enough_for(files: Option<u64>) -> usize {
    let callers = files.map_or(u64::MAX, |files| files.saturating_sub(OF_THE_RUN) / OF_A_CALLER);
    usize::try_from(callers).unwrap_or(usize::MAX).clamp(1, tokio::sync::Semaphore::MAX_PERMITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_room_for_one_caller_and_never_for_more_than_there_are_files_for() {
        assert_eq!([Some(0), Some(64), Some(1024)].map(enough_for), [1, 1, 41]);
        assert!(enough_for(None) > 10_000);
    }
}
