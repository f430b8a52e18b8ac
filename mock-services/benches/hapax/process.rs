//! The resource usage of a process, from `/proc`.

use std::time::Duration;

/// The processor time of a process: all its threads, in user and in system mode.
pub(crate) fn processor_time(pid: u32) -> Duration {
    ticks(&pid.to_string(), 11..13)
}

/// The processor time of all processes that this one has waited for, and of those that they waited for.
pub(crate) fn processor_time_of_children() -> Duration {
    ticks("self", 13..15)
}

fn ticks(process: &str, fields: std::ops::Range<usize>) -> Duration {
    /// The system counts in hundredths of a second.
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program is in parentheses, and can contain blanks.
    let words: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let counts = words.get(fields).unwrap_or_default().iter();
    TICK * counts.filter_map(|count| count.parse::<u32>().ok()).sum::<u32>()
}

/// The resident memory of a process, in bytes.
pub(crate) fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}
