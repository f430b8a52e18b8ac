//! Processes that a command leaves behind when it ends.

#[cfg(target_os = "linux")]
use super::processes::{self, ProcessTree};

/// Makes this process the parent of orphans below it, so that they are found.
pub(crate) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        // An old system without it has orphans that are not found.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// The number of processes below this one that still run. On other systems than Linux they are not found.
pub(crate) fn left_running() -> usize {
    #[cfg(target_os = "linux")]
    {
        let own = rustix::process::getpid();
        let all = processes::all(ProcessTree { main: own, parent: own });
        all.iter().filter(|found| !found.is_dead()).count()
    }
    #[cfg(not(target_os = "linux"))]
    {
        0
    }
}
