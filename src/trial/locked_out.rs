//! Finds callers that wait for a file lock which another caller holds. It is the one kind of waiting that is
//! seen from outside without doubt: the kernel names the processes that wait for a lock, and the locks that
//! an open file of a process holds. A caller that only sleeps, or polls for a lock, cannot be told from one
//! that is slow; neither can one of which another process or thread could act meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use mock_services::MockServices;

use crate::proc_stat::ProcStat;
use crate::subject::{SupervisorId, processes_below};

/// The time between two looks at the processes of the callers. A caller that does anything in this time is
/// not taken for one that waits.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Watches the callers of a trial, each with its supervisor; it never ends. Without `/proc` the barrier opens
/// when its time is over.
pub(super) async fn watch(services: &MockServices, supervisors: &[SupervisorId]) -> Infallible {
    let mut last = None;
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        let awaited = services.awaited_callers();
        let processes = |callers: &BTreeSet<u32>| -> Option<Vec<u32>> {
            callers.iter().map(|caller| supervisors.get(*caller as usize - 1)?.get()).collect()
        };
        let known =
            awaited.as_ref().and_then(|awaited| processes(&awaited.held).zip(processes(&awaited.absent)));
        let now = match known {
            Some((held, absent)) => {
                tokio::task::spawn_blocking(move || look(&held, &absent)).await.ok().flatten()
            }
            None => None,
        };
        if let Some(awaited) = awaited.filter(|_| now.is_some() && now == last) {
            services.callers_locked_out(&awaited.absent);
        }
        last = now;
    }
}

/// Waits until one caller can only wait for a lock that another holds. Without `/proc` it never ends.
pub(super) async fn until_locked_out(holder: &SupervisorId, waiter: &SupervisorId) {
    let both = |id: &SupervisorId| vec![id.clone()];
    until_all_locked_out(&both(holder), &both(waiter)).await;
}

/// Waits until each of these callers can only wait for a lock that one of the others holds.
pub(super) async fn until_all_locked_out(holders: &[SupervisorId], waiters: &[SupervisorId]) {
    let mut last = None;
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        let ids = |all: &[SupervisorId]| all.iter().map(SupervisorId::get).collect::<Option<Vec<u32>>>();
        let now = match ids(holders).zip(ids(waiters)) {
            Some((holders, waiters)) => {
                tokio::task::spawn_blocking(move || look(&holders, &waiters)).await.ok().flatten()
            }
            None => None,
        };
        if now.is_some() && now == last {
            return;
        }
        last = now;
    }
}

/// The threads of callers that wait for a lock, with the processor time of each. Two looks are the same if
/// none of them has done anything in between.
type SleepingThreads = Vec<(String, u64)>;

/// A file with a lock, as the kernel writes it: device and inode.
type LockedFile = String;

/// What the processes of a caller do with locks.
#[derive(Debug, Default)]
struct Locks {
    waits_for: BTreeSet<LockedFile>,
    holds: BTreeSet<LockedFile>,
}

/// Looks at the processes below the supervisors of callers at a barrier, and of absent ones; `None` unless
/// every absent caller sleeps and waits for a lock of a caller at the barrier, or of another that does.
fn look(held: &[u32], absent: &[u32]) -> Option<SleepingThreads> {
    let waiting = waiting_for_locks(&fs::read_to_string("/proc/locks").ok()?);
    if waiting.is_empty() || absent.is_empty() {
        return None;
    }
    let locks_of = |supervisor: &u32| {
        let processes = processes_below(*supervisor);
        let waits_for = processes.iter().filter_map(|pid| waiting.get(pid)).flatten().cloned().collect();
        Locks { waits_for, holds: processes.iter().flat_map(|pid| held_locks(*pid)).collect() }
    };
    let held: Vec<Locks> = held.iter().map(locks_of).collect();
    if !are_locked_out(&held, absent.iter().map(locks_of).collect()) {
        return None;
    }
    let processes = || absent.iter().flat_map(|supervisor| processes_below(*supervisor));
    if !processes().all(|pid| can_only_wait(pid, waiting.contains_key(&pid))) {
        return None;
    }
    processes().flat_map(sleeping_threads).collect()
}

/// Whether a process does nothing before it gets its lock or a child of it ends. Of several threads, another
/// one could act meanwhile, except in processes of hapax itself.
fn can_only_wait(pid: i32, waits_for_lock: bool) -> bool {
    let Some(stat) = ProcStat::of_process(pid).filter(|stat| !stat.is_dead()) else { return true };
    let waits_for_child = || fs::read_to_string(format!("/proc/{pid}/wchan")).is_ok_and(|at| at == "do_wait");
    (stat.threads == 1 || is_hapax(pid)) && (waits_for_lock || waits_for_child())
}

/// Whether a process runs the program of this one.
fn is_hapax(pid: i32) -> bool {
    let program =
        |process: &str| fs::metadata(format!("/proc/{process}/exe")).map(|file| (file.dev(), file.ino()));
    matches!((program("self"), program(&pid.to_string())), (Ok(own), Ok(other)) if own == other)
}

/// Whether each of these callers waits for a lock of those that are held, or of another that does.
fn are_locked_out(held: &[Locks], mut absent: Vec<Locks>) -> bool {
    let mut holds: BTreeSet<LockedFile> = held.iter().flat_map(|locks| locks.holds.iter().cloned()).collect();
    while !absent.is_empty() {
        let (found, rest) =
            absent.into_iter().partition::<Vec<_>, _>(|locks| !locks.waits_for.is_disjoint(&holds));
        if found.is_empty() {
            return false;
        }
        holds.extend(found.into_iter().flat_map(|locks| locks.holds));
        absent = rest;
    }
    true
}

/// The processes that wait for locks, from `/proc/locks`: an arrow marks those that wait.
fn waiting_for_locks(locks: &str) -> BTreeMap<i32, Vec<LockedFile>> {
    let mut waiting: BTreeMap<i32, Vec<LockedFile>> = BTreeMap::new();
    for line in locks.lines() {
        let mut words = line.split_whitespace().skip(1).peekable();
        if words.next_if_eq(&"->").is_none() {
            continue;
        }
        // Kind, advisory or mandatory, read or write, process, file.
        if let (Some(Ok(pid)), Some(file)) = (words.nth(3).map(str::parse), words.next()) {
            waiting.entry(pid).or_default().push(file.to_owned());
        }
    }
    waiting
}

/// The locks that the open files of a process hold. The process that took a lock can have ended: `flock` in a
/// script locks a file that its shell has open.
fn held_locks(pid: i32) -> Vec<LockedFile> {
    let files = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    texts.flat_map(|text| locks_of_file(&text)).collect()
}

fn locks_of_file(text: &str) -> Vec<LockedFile> {
    let locks = text.lines().filter_map(|line| line.strip_prefix("lock:"));
    locks.filter_map(|lock| Some(lock.split_whitespace().nth(5)?.to_owned())).collect()
}

/// The threads of a process with their processor time; a thread that does not sleep has none.
fn sleeping_threads(pid: i32) -> Vec<Option<(String, u64)>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let thread = |entry: fs::DirEntry| {
        let stat = ProcStat::read(&entry.path().join("stat"))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        matches!(stat.state, 'S' | 'Z' | 'X').then_some((name, stat.ticks))
    };
    threads.map(thread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKS: &str = "1: FLOCK  ADVISORY  WRITE 359 fe:00:11691 0 EOF\n\
                         1: -> FLOCK  ADVISORY  WRITE 360 fe:00:11691 0 EOF\n\
                         1:  -> FLOCK  ADVISORY  WRITE 361 fe:00:11691 0 EOF\n\
                         2: POSIX  ADVISORY  WRITE 400 fe:00:77 0 EOF\n\
                         2: -> POSIX  ADVISORY  READ 360 fe:00:77 0 9\n\
                         3: -> OFDLCK ADVISORY  READ\n";

    #[test]
    fn processes_that_wait_for_locks_are_found_and_those_that_hold_them_are_not() {
        let files = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let expected = [(360, files(&["fe:00:11691", "fe:00:77"])), (361, files(&["fe:00:11691"]))];
        assert_eq!(waiting_for_locks(LOCKS), BTreeMap::from(expected));
        let fdinfo = "pos:\t0\nflags:\t0100001\nlock:\t1: FLOCK  ADVISORY  WRITE 359 fe:00:11691 0 EOF\n";
        assert_eq!(locks_of_file(fdinfo), ["fe:00:11691"]);
    }

    fn locks(waits_for: &[&str], holds: &[&str]) -> Locks {
        let set = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect();
        Locks { waits_for: set(waits_for), holds: set(holds) }
    }

    #[test]
    fn a_lock_counts_if_a_caller_at_the_barrier_holds_it_or_one_that_waits_for_it() {
        let held = [locks(&[], &["a"])];
        assert!(are_locked_out(&held, vec![locks(&["a"], &[]), locks(&["a"], &[])]));
        assert!(are_locked_out(&held, vec![locks(&["b"], &[]), locks(&["a"], &["b"])]));
        assert!(
            !are_locked_out(&held, vec![locks(&["a"], &[]), locks(&[], &[])]),
            "the second does not wait"
        );
        assert!(!are_locked_out(&held, vec![locks(&["b"], &["b"])]), "its own lock");
        assert!(!are_locked_out(&held, vec![locks(&["b"], &["c"]), locks(&["c"], &["b"])]), "each other's");
    }
}
