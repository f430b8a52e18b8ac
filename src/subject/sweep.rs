//! Finds and kills the processes of a subject whose supervisor was killed: by the session of the supervisor,
//! and by the path of the result file in their environment, which is unique for each start.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

use crate::proc_stat::ProcStat;

/// How long to try.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Kills all processes, and returns when none is left.
pub(super) async fn sweep(session: Option<u32>, result: &Path) {
    let begun = Instant::now();
    let marker = format!("HAPAX_RESULT={}", result.display());
    while begun.elapsed() < KILL_TIMEOUT {
        let left = left(session, marker.as_bytes());
        if left.is_empty() {
            return;
        }
        for pid in left {
            // A process that has ended needs no signal.
            let _ = kill_process(pid, Signal::KILL);
        }
        sleep(POLL_INTERVAL).await;
    }
}

fn left(session: Option<u32>, marker: &[u8]) -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let own = std::process::id();
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != own && is_left(*pid, session, marker))
        .filter_map(|pid| i32::try_from(pid).ok().and_then(Pid::from_raw))
        .collect()
}

fn is_left(pid: u32, session: Option<u32>, marker: &[u8]) -> bool {
    let Some(stat) = ProcStat::of(pid).filter(|stat| !stat.is_dead()) else { return false };
    let is_of_session = session.is_some_and(|session| u32::try_from(stat.session) == Ok(session));
    let has_marker = || {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == marker)
    };
    is_of_session || has_marker()
}
