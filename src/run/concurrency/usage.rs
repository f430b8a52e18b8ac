//! What the processes of this run use: hapax itself and everything below it, from `/proc`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use super::policy::Load;
use crate::proc_stat::ProcStat;

/// The share of the memory that a run leaves free: one in ten.
const FREE_SHARE: u64 = 10;
/// The memory that a caller is expected to need at least.
const MIN_CALLER_MEMORY: u64 = 16 << 20;

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: u32,
    stat: ProcStat,
}

/// Reads the load of this run again and again.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// The processor time of each process at the last look, in ticks.
    last: HashMap<u32, u64>,
    /// Processes of others, which are not read again.
    others: HashSet<u32>,
}

impl Usage {
    /// The load now, with this many running callers; `None` if the system does not show processes.
    pub(super) fn look(&mut self, running: usize) -> Option<Load> {
        let own = std::process::id();
        let entries = fs::read_dir("/proc").ok()?.flatten();
        let pids: HashSet<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        self.others.retain(|pid| pids.contains(pid));
        let read = |pid: &u32| Some(Process { pid: *pid, stat: ProcStat::of_process(pid)? });
        let all: Vec<Process> = pids.difference(&self.others).filter_map(read).collect();
        let (below, others) = below(own, all);
        if below.is_empty() {
            return None;
        }
        self.others.extend(others.iter().map(|process| process.pid));
        let runnable = below.iter().filter(|process| self.is_runnable(process)).count();
        self.last = below.iter().map(|process| (process.pid, process.stat.ticks)).collect();
        let pages: u64 =
            below.iter().filter(|process| process.pid != own).map(|process| process.stat.pages).sum();
        let memory = pages.saturating_mul(rustix::param::page_size() as u64);
        Some(Load { runnable, room_for: memory_for(memory, running, Memory::of_system()) })
    }

    /// Whether a process runs or waits for a core or a disk. The state is that of its first thread; a process
    /// with more threads counts if it has used a core since the last look.
    fn is_runnable(&self, process: &Process) -> bool {
        let has_run = || self.last.get(&process.pid).is_none_or(|last| *last < process.stat.ticks);
        matches!(process.stat.state, 'R' | 'D') || (process.stat.threads > 1 && has_run())
    }
}

/// This process and all processes below it; and the others.
fn below(own: u32, all: Vec<Process>) -> (Vec<Process>, Vec<Process>) {
    let mut family = HashSet::from([i64::from(own)]);
    let (mut found, mut others) = all.into_iter().partition::<Vec<_>, _>(|process| process.pid == own);
    loop {
        let (mine, rest) =
            others.into_iter().partition::<Vec<_>, _>(|other| family.contains(&other.stat.parent.into()));
        others = rest;
        if mine.is_empty() {
            return (found, others);
        }
        family.extend(mine.iter().map(|process| i64::from(process.pid)));
        found.extend(mine);
    }
}

/// Memory in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Memory {
    available: u64,
    total: u64,
}

impl Memory {
    /// What the system and the control group of this process allow; `None` if it is not known.
    fn of_system() -> Option<Self> {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        let kib = |name: &str| Some(field(&text, name)?.saturating_mul(1024));
        let system = Memory { available: kib("MemAvailable:")?, total: kib("MemTotal:")? };
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let groups = own.lines().flat_map(Memory::of_groups);
        groups.chain([system]).min_by_key(|memory| memory.available)
    }

    /// What the control group on a line of `/proc/self/cgroup` and those above it allow. In a container, only
    /// the last of them can be read.
    fn of_groups(line: &str) -> Vec<Self> {
        let (root, names) = match line.split(':').nth(1) {
            Some("") => ("/sys/fs/cgroup", ["memory.max", "memory.current", "inactive_file"]),
            Some("memory") => (
                "/sys/fs/cgroup/memory",
                ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
            ),
            _ => return Vec::new(),
        };
        let path = line.splitn(3, ':').nth(2).unwrap_or_default().trim_start_matches('/');
        let folders = Path::new(path).ancestors().map(|part| Path::new(root).join(part));
        folders.filter_map(|folder| Memory::of_group(&folder, names)).collect()
    }

    /// What a control group allows; `None` if it has no limit.
    fn of_group(folder: &Path, [limit, used, cache]: [&str; 3]) -> Option<Self> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let total = number(limit)?;
        // The system frees the cache of files when memory is needed.
        let cache = read("memory.stat").and_then(|text| field(&text, cache)).unwrap_or_default();
        Some(Memory { available: total.saturating_sub(number(used)?.saturating_sub(cache)), total })
    }
}

/// The number after a name.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    lines.find_map(|mut words| (words.next() == Some(name)).then(|| words.next()?.parse().ok())?)
}

/// How many more callers there is memory for, if the running ones use this much.
fn memory_for(used: u64, running: usize, memory: Option<Memory>) -> usize {
    let Some(Memory { available, total }) = memory else { return usize::MAX };
    let each = used.checked_div(running as u64).unwrap_or_default().max(MIN_CALLER_MEMORY);
    usize::try_from(available.saturating_sub(total / FREE_SHARE) / each).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: i32) -> Process {
        let stat = ProcStat::parse("1 (a) S 0 1 1 0 -1 0 0 0 0 0 0 1 0 0 20 0 1 0 1 1 1").unwrap();
        Process { pid, stat: ProcStat { parent, ..stat } }
    }

    #[test]
    fn only_processes_below_this_one_count() {
        let all = vec![process(1, 0), process(5, 9), process(9, 7), process(7, 1), process(8, 1)];
        let (found, others) = below(7, all);
        let pids = |processes: &[Process]| processes.iter().map(|process| process.pid).collect::<Vec<_>>();
        assert_eq!((pids(&found), pids(&others)), (vec![7, 9, 5], vec![1, 8]));
    }

    #[test]
    fn a_process_is_runnable_by_its_state_or_by_what_its_threads_have_used() {
        let usage = Usage { last: HashMap::from([(5, 10), (6, 10)]), ..Usage::default() };
        let runnable = |pid, state, threads, ticks| {
            let stat = ProcStat { state, threads, ticks, ..process(pid, 1).stat };
            usage.is_runnable(&Process { pid, stat })
        };
        assert!(runnable(5, 'R', 1, 10) && runnable(5, 'D', 1, 10) && !runnable(5, 'S', 1, 20));
        assert!(runnable(6, 'S', 4, 11) && !runnable(6, 'S', 4, 10));
        assert!(runnable(7, 'S', 4, 1), "it is new");
    }

    #[test]
    fn callers_wait_for_memory_and_a_part_of_it_stays_free() {
        const GB: u64 = 1 << 30;
        let memory = |available| Some(Memory { available, total: 10 * GB });
        assert_eq!(memory_for(8 * GB / 4, 8, memory(3 * GB)), 8);
        assert_eq!(memory_for(8 * GB / 4, 8, memory(GB)), 0);
        assert_eq!(memory_for(0, 0, memory(2 * GB)), 64);
        assert_eq!(memory_for(GB, 1, None), usize::MAX);
    }

    #[test]
    fn the_limit_of_a_control_group_counts_without_the_cache_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["memory.max", "memory.current", "inactive_file"];
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("memory.max", "max\n");
        write("memory.current", "700\n");
        write("memory.stat", "anon 400\ninactive_file 200\n");
        assert_eq!(Memory::of_group(folder.path(), names), None);
        write("memory.max", "1000\n");
        assert_eq!(Memory::of_group(folder.path(), names), Some(Memory { available: 500, total: 1000 }));
        assert!(Memory::of_groups("5:devices:/docker/1").is_empty());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_load_of_this_process_is_read() {
        let load = Usage::default().look(1).unwrap();
        assert!(load.runnable >= 1, "{load:?}");
        assert!(Memory::of_system().is_some_and(|memory| memory.available <= memory.total));
    }
}
