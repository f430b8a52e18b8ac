//! The resource usage of a process, from `/proc`.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
    memory_field(pid, "VmRSS:")
}

fn memory_field(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() * 1024
}

/// What a command has cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// The processor time of the command and of everything that it started.
    pub(crate) processor: Duration,
    /// The time from its start to its end.
    pub(crate) took: Duration,
    /// The largest resident memory of the command itself, in bytes.
    pub(crate) memory: u64,
}

/// Runs a command without input and output, and returns its exit status and its cost.
pub(crate) fn cost(command: &mut Command) -> (Option<i32>, Cost) {
    let (processor, began) = (processor_time_of_children(), Instant::now());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("hapax starts");
    let mut memory = 0;
    let status = loop {
        // The system does not keep it for a process that has ended.
        memory = memory_field(child.id(), "VmHWM:").max(memory);
        if let Some(status) = child.try_wait().expect("its status") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let processor = processor_time_of_children().saturating_sub(processor);
    (status.code(), Cost { processor, took: began.elapsed(), memory })
}
