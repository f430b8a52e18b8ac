//! Finds and kills the processes of a subject whose supervisor was killed: by the session of the supervisor,
//! and by the path of the result file in their environment, which is unique for each start.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

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
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program is in parentheses and can contain anything.
    let Some((_, rest)) = stat.rsplit_once(')') else { return false };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [state, _parent, _group, its_session, ..] = words.as_slice() else { return false };
    if matches!(*state, "Z" | "X") {
        return false;
    }
    let is_of_session = session.is_some_and(|session| its_session.parse() == Ok(session));
    let has_marker = || {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == marker)
    };
    is_of_session || has_marker()
}
