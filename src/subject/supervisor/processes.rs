//! Finds all processes of a subject through `/proc`, and sends signals to them. It finds orphans, too,
//! because the supervisor is their new parent.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// A process of the subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SubjectProcess {
    pub(super) pid: Pid,
    group: Pid,
    /// The state letter of the system: `T` is stopped, `Z` is dead.
    state: char,
    /// The states of its threads, with their numbers.
    threads: Vec<(i32, char)>,
}

impl SubjectProcess {
    /// Whether all its threads are stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_dead() || self.threads.iter().all(|(_, state)| matches!(state, 'T' | 't' | 'Z' | 'X'))
    }

    /// The same, or a thread waits in the kernel and cannot be stopped there, as a parent does until its fork
    /// has executed another program. A thread that was sent SIGSTOP stops as soon as that wait is over.
    pub(super) fn is_held(&self) -> bool {
        self.is_dead() || self.threads.iter().all(|(_, state)| matches!(state, 'T' | 't' | 'Z' | 'X' | 'D'))
    }

    /// Whether it is dead.
    pub(super) fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// The processes of a subject.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessTree {
    /// The process that was started first.
    pub(super) main: Pid,
    /// The process of hapax to which all others belong, also orphans: the supervisor, or the init process of
    /// a sealed start.
    pub(super) parent: Pid,
}

/// Sends a signal once to each of them. A whole group gets it in one call, so that no process can escape by
/// forking.
pub(super) fn signal(all: &[SubjectProcess], signal: Signal) {
    let own = rustix::process::getpgrp();
    let mut groups: Vec<Pid> = Vec::new();
    for found in all.iter().filter(|found| !found.is_dead()) {
        if found.group == own {
            // It has joined the group of the supervisor; the other processes there must not get the signal.
            let _ = kill_process(found.pid, signal);
        } else if !groups.contains(&found.group) {
            groups.push(found.group);
        }
    }
    for group in groups {
        // A process that has ended needs no signal.
        let _ = kill_process_group(group, signal);
    }
}

/// Sends a signal once to each of some processes of a subject, and to none of the others.
pub(super) fn signal_only(some: &[SubjectProcess], all: &[SubjectProcess], sent: Signal) {
    let is_other = |found: &&SubjectProcess| !some.iter().any(|one| one.pid == found.pid);
    let mixed: Vec<Pid> = all.iter().filter(is_other).map(|other| other.group).collect();
    let (alone, grouped): (Vec<_>, Vec<_>) =
        some.iter().cloned().partition(|found| mixed.contains(&found.group));
    for found in alone.iter().filter(|found| !found.is_dead()) {
        // A process that has ended needs no signal.
        let _ = kill_process(found.pid, sent);
    }
    signal(&grouped, sent);
}

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
        let all = all(ProcessTree { main: own, parent: own });
        all.iter().filter(|found| !found.is_dead()).count()
    }
    #[cfg(not(target_os = "linux"))]
    {
        0
    }
}

/// All processes below one, such as those of a supervisor. On other systems than Linux they are not found.
pub(crate) fn processes_below(parent: u32) -> Vec<i32> {
    i32::try_from(parent).map(below).unwrap_or_default()
}

#[cfg(target_os = "linux")]
use linux::below;
#[cfg(target_os = "linux")]
pub(super) use linux::{all, count, cpu, is_pending, of_main};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;

    use super::{Pid, ProcessTree, Signal, SubjectProcess};
    use crate::proc_stat::{MILLIS_PER_TICK, ProcStat};

    /// The largest number of processes that are found at once; the rest is found when these are gone.
    const MAX_PROCESSES: usize = 20_000;

    /// All processes of a subject.
    pub(in super::super) fn all(tree: ProcessTree) -> Vec<SubjectProcess> {
        below(tree.parent.as_raw_nonzero().get()).into_iter().filter_map(read_process).collect()
    }

    /// The process that was started first, and those below it that are in its session: not what has left the session,
    /// or was handed over to the supervisor because its parent has exited.
    pub(in super::super) fn of_main(tree: ProcessTree) -> Vec<SubjectProcess> {
        let main = tree.main.as_raw_nonzero().get();
        let session = |pid: i32| ProcStat::of_process(pid).map(|stat| stat.session);
        let Some(own) = session(main) else { return Vec::new() };
        let mut found = below(main);
        found.push(main);
        found.into_iter().filter(|pid| session(*pid) == Some(own)).filter_map(read_process).collect()
    }

    /// The number of processes of a subject.
    pub(in super::super) fn count(tree: ProcessTree) -> usize {
        below(tree.parent.as_raw_nonzero().get()).len()
    }

    /// All processes below one.
    pub(super) fn below(parent: i32) -> Vec<i32> {
        let mut found = vec![parent];
        let mut next = 0;
        while let Some(pid) = found.get(next).copied().filter(|_| found.len() < MAX_PROCESSES) {
            next += 1;
            // A process that has ended has no children any more: they are reparented to us and found next
            // time.
            let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
            for thread in threads.flatten() {
                let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
                found.extend(children.split_whitespace().filter_map(|word| word.parse::<i32>().ok()));
            }
        }
        found.split_off(1)
    }

    fn read_process(pid: i32) -> Option<SubjectProcess> {
        let found = process(pid, &ProcStat::of_process(pid)?)?;
        let threads =
            fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().filter_map(|thread| {
                let number = thread.file_name().to_str()?.parse().ok()?;
                // A thread that has ended need not be stopped.
                Some((number, ProcStat::read(&thread.path().join("stat"))?.state))
            });
        let mut threads: Vec<(i32, char)> = threads.collect();
        threads.sort_unstable();
        Some(SubjectProcess { threads, ..found })
    }

    /// A process without its threads. One that is being removed has the group -1, which must never get a
    /// signal.
    fn process(pid: i32, stat: &ProcStat) -> Option<SubjectProcess> {
        let number = |raw: i32| if raw > 1 { Pid::from_raw(raw) } else { None };
        Some(SubjectProcess {
            pid: number(pid)?,
            group: number(stat.group)?,
            state: stat.state,
            threads: Vec::new(),
        })
    }

    /// The CPU time of this process and of all processes below it that have ended, in milliseconds.
    pub(in super::super) fn cpu() -> Option<u64> {
        let own = ProcStat::of_process("self")?;
        Some(own.ticks.checked_add(own.ticks_of_children)?.saturating_mul(MILLIS_PER_TICK))
    }

    /// Whether a signal was sent to the process and not received yet.
    pub(in super::super) fn is_pending(pid: Pid, signal: Signal) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap_or_default();
        let bit = 1u64 << (signal.as_raw() - 1);
        let mask = |line: &str| {
            line.strip_prefix("ShdPnd:").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        };
        status.lines().find_map(mask).is_some_and(|mask| mask & bit != 0)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_process_that_is_being_removed_is_ignored() {
            let stat = |group: i32| ProcStat { group, ..ProcStat::of_process("self").unwrap() };
            assert!(process(42, &stat(41)).is_some());
            for group in [-1, 0, 1] {
                assert_eq!(process(42, &stat(group)), None);
            }
            assert_eq!(process(1, &stat(41)), None);
        }
    }
}

#[cfg(not(target_os = "linux"))]
use elsewhere::below;
#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::{all, count, cpu, is_pending, of_main};

/// Without `/proc`, only the process group of the subject is known.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{Pid, ProcessTree, Signal, SubjectProcess};

    pub(in super::super) fn all(tree: ProcessTree) -> Vec<SubjectProcess> {
        let main = tree.main;
        vec![SubjectProcess { pid: main, group: main, state: '?', threads: vec![(0, '?')] }]
    }

    pub(in super::super) fn of_main(tree: ProcessTree) -> Vec<SubjectProcess> {
        all(tree)
    }

    pub(super) fn below(_parent: i32) -> Vec<i32> {
        Vec::new()
    }

    pub(in super::super) fn count(_tree: ProcessTree) -> usize {
        1
    }

    pub(in super::super) fn cpu() -> Option<u64> {
        None
    }

    pub(in super::super) fn is_pending(_pid: Pid, _signal: Signal) -> bool {
        false
    }
}
