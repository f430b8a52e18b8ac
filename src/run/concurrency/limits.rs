//! How many callers can run at once on this machine. Open files, processes and ports limit it; if one of them
//! runs out, the subject fails because of the machine, and a verdict would be wrong.

use std::fmt;
use std::fs;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The processes of one caller: its supervisor, the two init processes of a sealed start, the subject, and
/// some that it starts.
const PROCESSES_PER_CALLER: u64 = 6;
/// The ports of one caller: its services, its recorder, and its connections to them.
const PORTS_PER_CALLER: u64 = 16;
/// The files of one caller: the pipes of its supervisor, its recorder, the ports of its services, and its
/// connections to them.
const FILES_PER_CALLER: u64 = 24;
/// Other open files.
const FILES_PER_RUN: u64 = 32;
/// The number of ports of ended trials that are kept at most. A trial that is kept for its ports takes about
/// 100 KB and has two or more.
const MAX_LATE_PORTS: u64 = 2048;

/// The largest number of callers of one trial, and what limits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallersLimit {
    /// The number of callers.
    pub callers: u64,
    /// What limits it.
    pub limited_by: LimitedBy,
}

impl fmt::Display for CallersLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (its {})", self.callers, self.limited_by.what())
    }
}

/// What limits the number of callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedBy {
    /// Files that can be open at once.
    OpenFiles,
    /// Processes that can run at once.
    Processes,
    /// Ports of the loopback address.
    Ports,
}

impl LimitedBy {
    /// What runs out.
    #[must_use]
    pub const fn what(self) -> &'static str {
        match self {
            LimitedBy::OpenFiles => "open files",
            LimitedBy::Processes => "processes",
            LimitedBy::Ports => "ports",
        }
    }

    /// How to allow more.
    #[must_use]
    pub const fn fix(self) -> &'static str {
        match self {
            LimitedBy::OpenFiles => "raise the limit of open files (`ulimit -n`)",
            LimitedBy::Processes => {
                "raise the limit of processes (`ulimit -u`; in a container its limit of processes)"
            }
            LimitedBy::Ports => "widen the range of ports (sysctl net.ipv4.ip_local_port_range)",
        }
    }
}

/// The largest number of callers that a trial can have on this machine.
#[must_use]
pub fn callers_limit() -> CallersLimit {
    smallest([
        (LimitedBy::OpenFiles, files().map(|files| files.saturating_sub(FILES_PER_RUN) / FILES_PER_CALLER)),
        (LimitedBy::Processes, processes().map(|processes| processes / PROCESSES_PER_CALLER)),
        (LimitedBy::Ports, ports().map(|ports| ports / PORTS_PER_CALLER)),
    ])
}

/// The number of callers of all trials that can run at once, beside the ports of ended trials; at least one.
pub(super) fn callers_at_once() -> usize {
    let callers = callers_beside_late_ports(files()).min(callers_limit().callers);
    usize::try_from(callers).unwrap_or(usize::MAX)
}

/// The number of ports of ended trials that are kept: as many as files and memory allow.
pub(in crate::run) fn late_ports() -> usize {
    usize::try_from(files().map_or(MAX_LATE_PORTS, late_ports_of)).unwrap_or(usize::MAX)
}

/// The number of files that a subject can open: the limit that this process was started with.
pub(in crate::run) fn files_of_a_subject() -> Option<u64> {
    file_limits().0
}

/// The number of files that can be open: the maximum that the system allows this process.
fn files() -> Option<u64> {
    file_limits().1
}

/// The limit that this process was started with, and its current limit.
fn file_limits() -> (Option<u64>, Option<u64>) {
    static LIMITS: OnceLock<(Option<u64>, Option<u64>)> = OnceLock::new();
    *LIMITS.get_or_init(|| {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        // If it cannot be raised, it does not change.
        let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
        (current, if raised { maximum } else { current })
    })
}

/// A quarter of the files that are left when one caller runs.
fn late_ports_of(files: u64) -> u64 {
    (files.saturating_sub(FILES_PER_RUN + FILES_PER_CALLER) / 4).min(MAX_LATE_PORTS)
}

fn callers_beside_late_ports(files: Option<u64>) -> u64 {
    files.map_or(u64::MAX, |files| {
        (files.saturating_sub(FILES_PER_RUN + late_ports_of(files)) / FILES_PER_CALLER).max(1)
    })
}

/// The smallest of the limits that are known.
fn smallest(limits: [(LimitedBy, Option<u64>); 3]) -> CallersLimit {
    let known = limits
        .into_iter()
        .filter_map(|(limited_by, callers)| Some(CallersLimit { callers: callers?.max(1), limited_by }));
    let unlimited = CallersLimit { callers: u64::MAX, limited_by: LimitedBy::OpenFiles };
    known.min_by_key(|limit| limit.callers).unwrap_or(unlimited)
}

/// The number of processes that can run: the limit of the user, which does not hold for root, and that of the
/// container.
fn processes() -> Option<u64> {
    let of_user = getrlimit(Resource::Nproc).current;
    let of_user = of_user.filter(|_| !rustix::process::geteuid().is_root());
    let of_container = number("/sys/fs/cgroup/pids.max");
    let of_system = number("/proc/sys/kernel/pid_max");
    [of_user, of_container, of_system].into_iter().flatten().min()
}

/// The number of ports that the system gives out by itself.
fn ports() -> Option<u64> {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = range.split_whitespace().map_while(|end| end.parse::<u64>().ok());
    let (first, last) = (ends.next()?, ends.next()?);
    Some(last.saturating_sub(first) + 1)
}

/// The number in a file of the system; `None` if there is none, or no limit.
fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_known_limit_counts() {
        let limits =
            [(LimitedBy::OpenFiles, Some(160)), (LimitedBy::Processes, None), (LimitedBy::Ports, Some(900))];
        assert_eq!(smallest(limits), CallersLimit { callers: 160, limited_by: LimitedBy::OpenFiles });
        let limits = [(LimitedBy::OpenFiles, None), (LimitedBy::Processes, None), (LimitedBy::Ports, None)];
        assert_eq!(smallest(limits).callers, u64::MAX);
        let limits =
            [(LimitedBy::OpenFiles, Some(0)), (LimitedBy::Processes, None), (LimitedBy::Ports, None)];
        assert_eq!(smallest(limits).callers, 1);
    }

    #[test]
    fn one_caller_can_always_run_and_never_more_than_there_are_files_for() {
        assert_eq!([Some(0), Some(64), Some(1024)].map(callers_beside_late_ports), [1, 1, 31]);
        assert_eq!(callers_beside_late_ports(None), u64::MAX);
    }
}
