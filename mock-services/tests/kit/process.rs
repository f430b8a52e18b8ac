//! Parts of a test that run in child processes, because they use up file descriptors or their memory is
//! measured: this program, started again with one of its ignored tests. Parent and child communicate over
//! stdin and stdout.

use std::fs;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::within_timeout;

/// The prefix of each line from a child, to distinguish it from the output of the test program.
const MARK: &str = "@ ";

/// A running child process.
pub(crate) struct ChildProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl ChildProcess {
    /// Starts the ignored test with this name, after the shell command `limit`.
    pub(crate) fn start(name: &str, limit: &str, variables: &[(&str, &str)]) -> ChildProcess {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")])
            .arg(program)
            .args(["--ignored", "--exact", "--nocapture", "--test-threads=1", name])
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        ChildProcess { stdin: child.stdin.take(), child, lines }
    }

    /// The words of the next line from the child.
    pub(crate) async fn next_line(&mut self) -> Vec<String> {
        loop {
            let line = within_timeout(self.lines.next_line())
                .await
                .unwrap()
                .expect("the child process ended without a line");
            if let Some(words) = line.strip_prefix(MARK) {
                return words.split(' ').map(str::to_owned).collect();
            }
        }
    }

    /// Tells the child to end, and returns the words of its last line.
    pub(crate) async fn finish(mut self) -> Vec<String> {
        drop(self.stdin.take());
        let words = self.next_line().await;
        // Reads any further output, so that the child does not block.
        while within_timeout(self.lines.next_line()).await.unwrap().is_some() {}
        assert!(within_timeout(self.child.wait()).await.unwrap().success());
        words
    }

    /// Its peak memory, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

/// In a child: sends a line.
#[expect(clippy::print_stdout, reason = "the parent reads stdout")]
pub(crate) fn send_line(words: &str) {
    println!("\n{MARK}{words}");
}

/// In a child: waits until the parent tells it to end.
pub(crate) async fn wait_for_end() {
    let end = tokio::task::spawn_blocking(|| std::io::stdin().lines().for_each(drop));
    end.await.unwrap();
}
