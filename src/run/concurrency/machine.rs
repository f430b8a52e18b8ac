//! How many callers one trial can have on this machine. Open files, processes and ports limit it; where one of
//! them runs out, the subject fails because of the machine, and a verdict would be wrong.

use std::fmt;
use std::fs;

use super::open_files;

/// The processes of one caller: its supervisor, the two init processes of a sealed start, the subject, and some
/// that it starts.
const PROCESSES_PER_CALLER: u64 = 6;
/// The ports of one caller: its services, its recorder, and its connections to them.
const PORTS_PER_CALLER: u64 = 16;

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
        (LimitedBy::OpenFiles, open_files::in_one_trial()),
        (LimitedBy::Processes, processes().map(|processes| processes / PROCESSES_PER_CALLER)),
        (LimitedBy::Ports, ports().map(|ports| ports / PORTS_PER_CALLER)),
    ])
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
    let of_user = rustix::process::getrlimit(rustix::process::Resource::Nproc).current;
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
}
