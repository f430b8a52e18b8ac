//! The namespaces of a sealed start and the user ids in them.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use nix::sched::{CloneFlags, setns, unshare};

/// Moves this process into a user namespace and one for IPC of its own.
pub(super) fn own_ipc() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWIPC)?)
}

/// Moves this process into the user namespace of another one, with all rights in it, and into its namespace for IPC. This
/// process must have one thread.
pub(super) fn join_ipc(process: u32) -> io::Result<()> {
    let open = |name: &str| File::open(format!("/proc/{process}/ns/{name}"));
    let (user, ipc) = (open("user")?, open("ipc")?);
    setns(user, CloneFlags::CLONE_NEWUSER)?;
    Ok(setns(ipc, CloneFlags::CLONE_NEWIPC)?)
}

/// Moves this process into a network namespace of its own. The processes that it starts are in a process namespace of
/// their own, too, which ends with the first of them.
pub(super) fn enter_network() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWPID)?)
}

/// Lets the next process of this process namespace have this id. Without it, every program that hapax starts would have
/// the same one, and what they name by it would collide where they share a folder. Not every system can do it.
pub(super) fn begin_processes_at(first: u32) {
    let _ = fs::write("/proc/sys/kernel/ns_last_pid", first.saturating_sub(1).to_string());
}

/// Gives this process a view of the file system of its own.
pub(super) fn own_mounts() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWNS)?)
}

/// Moves this process into a second user namespace, in which none of the mounts made so far can be undone.
pub(super) fn lock_mounts() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?)
}

/// Maps the ids of this process, as they are outside of its new user namespace, to ids inside.
pub(super) fn map_own_ids(outside: (u32, u32), inside: (u32, u32)) -> io::Result<()> {
    // The system demands it of a process that is not root outside; a second namespace inherits it.
    match fs::write("/proc/self/setgroups", "deny") {
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
        _ => {}
    }
    fs::write("/proc/self/uid_map", format!("{} {} 1", inside.0, outside.0))?;
    fs::write("/proc/self/gid_map", format!("{} {} 1", inside.1, outside.1))
}

/// Maps all ids of this process's user namespace to the same ids in the new user namespace of another process.
pub(super) fn map_all_ids(process: u32) -> io::Result<()> {
    for name in ["uid_map", "gid_map"] {
        let own = fs::read_to_string(Path::new("/proc/self").join(name))?;
        fs::write(format!("/proc/{process}/{name}"), same_ids(&own))?;
    }
    Ok(())
}

/// The map of a child namespace in which each id is the one of its parent, whose own map this is.
fn same_ids(own: &str) -> String {
    let ranges = own.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (inside, _, count) = (words.next()?, words.next()?, words.next()?);
        Some(format!("{inside} {inside} {count}\n"))
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_namespace_has_the_ids_of_its_parent() {
        assert_eq!(same_ids("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(same_ids("0 1000 1\n1 100000 65536\n"), "0 0 1\n1 1 65536\n");
    }
}
