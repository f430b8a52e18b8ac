//! Parts of a test in processes of their own, because they use up files or are weighed: this very program,
//! started again with one of its ignored tests. The two talk over stdin and stdout.

use std::fs;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::must;

/// What a part says begins with this, so that it can be told from what the test program prints.
const MARK: &str = "@ ";

/// A running part.
pub(crate) struct Part {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Part {
    /// Starts the part of this name with `limit`, a command of the shell, before it.
    pub(crate) fn start(name: &str, limit: &str, variables: &[(&str, &str)]) -> Part {
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
        Part { stdin: child.stdin.take(), child, lines }
    }

    /// The words that it says next.
    pub(crate) async fn says(&mut self) -> Vec<String> {
        loop {
            let line =
                must(self.lines.next_line()).await.unwrap().expect("the part has ended without a word");
            if let Some(words) = line.strip_prefix(MARK) {
                return words.split(' ').map(str::to_owned).collect();
            }
        }
    }

    /// Lets it come to its end, and gives its last words.
    pub(crate) async fn ends(mut self) -> Vec<String> {
        drop(self.stdin.take());
        let words = self.says().await;
        // Nothing more comes, but what does must not block it.
        while must(self.lines.next_line()).await.unwrap().is_some() {}
        assert!(must(self.child.wait()).await.unwrap().success());
        words
    }

    /// The most memory that it has used, in bytes.
    pub(crate) fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

/// In a part: says something.
#[expect(clippy::print_stdout, reason = "this is how a part talks")]
pub(crate) fn say(words: &str) {
    println!("\n{MARK}{words}");
}

/// In a part: waits until it is to come to its end.
pub(crate) async fn told_to_end() {
    let end = tokio::task::spawn_blocking(|| std::io::stdin().lines().for_each(drop));
    end.await.unwrap();
}
