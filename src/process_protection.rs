//! Keeps the memory and the open files of a process of hapax from other processes of its user, such as a
//! subject that is not sealed. On other systems than Linux there is nothing to do for the memory: a process can read
//! another one only with the rights of a debugger there.

/// The first descriptor after standard input, output and error.
const FIRST_FILE: i32 = 3;

/// Lets no program that this process starts have the files and sockets that this process was started with: a subject
/// could send something through them that nothing records. All that hapax itself opens is closed at the start of a
/// program anyway.
pub(crate) fn keep_inherited_files() {
    close_fds::set_fds_cloexec(FIRST_FILE, &[]);
}

/// Makes the memory of this process and its files in `/proc` unreadable for every process that may not trace
/// all others. A process that does not own its files in `/proc` cannot map the ids of its user namespace.
pub(crate) fn close_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // The system refuses it for no process.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Takes the right to trace all processes from this thread and from everything that it starts, also as root.
/// It still may trace processes of its own user that have no more rights than itself.
pub(crate) fn drop_tracing() {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{
            CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities,
        };
        // Root gets what is in the bounding set at each start of a program. An ordinary user may not change
        // that set, and gets nothing from it.
        let _ = remove_capability_from_bounding_set(CapabilitySet::SYS_PTRACE);
        if let Ok(mut sets) = capabilities(None) {
            sets.effective.remove(CapabilitySet::SYS_PTRACE);
            sets.permitted.remove(CapabilitySet::SYS_PTRACE);
            sets.inheritable.remove(CapabilitySet::SYS_PTRACE);
            // A process may always have fewer rights.
            let _ = set_capabilities(None, sets);
        }
    }
}
