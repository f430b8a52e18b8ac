//! Runs checks of `tests/browser/checks` on pages, each in a new window of one Chromium.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

/// The machine may be busy; a check that takes longer than this hangs.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Runs a check on a page; the error says what the check found.
pub(crate) fn check(name: &str, page: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder should be made");
    let path = folder.path().join("index.html");
    std::fs::write(&path, page).expect("the page should be written");
    check_at(name, path.to_str().expect("the folder should have a plain name"))
}

/// Runs a check on a page at a path or an address; the error says what the check found.
pub(crate) fn check_at(name: &str, page: &str) -> Result<(), String> {
    let found = DRIVER.run(name, page);
    if found.is_empty() { Ok(()) } else { Err(format!("{name}:\n{found}")) }
}

/// The names of all checks.
pub(crate) fn names() -> Vec<String> {
    let output = node("--list").output().expect("Node should start");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

fn node(argument: &str) -> Command {
    LazyLock::force(&INSTALLED);
    let mut command = Command::new(root().join("target/browser/node"));
    command.arg(root().join("tests/browser/drive.mjs")).arg(argument);
    command
}

/// Node with Chromium, for all checks of this process. It ends when its input is closed.
struct Driver {
    input: Mutex<ChildStdin>,
    /// The checks that run, by their ids.
    waiting: Waiting,
    next_id: AtomicU64,
}

type Waiting = Arc<Mutex<HashMap<u64, Sender<String>>>>;

/// A line that it prints.
#[derive(Deserialize)]
struct Done {
    id: u64,
    found: String,
}

static DRIVER: LazyLock<Driver> = LazyLock::new(|| {
    let child = node("--serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("Node should start");
    let input = Mutex::new(child.stdin.take().expect("its input should be open"));
    let output = BufReader::new(child.stdout.take().expect("its output should be open"));
    let waiting = Waiting::default();
    let heard = Arc::clone(&waiting);
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            let Done { id, found } = serde_json::from_str(&line).expect("a line of the driver");
            let sender = heard.lock().unwrap().remove(&id).expect("a check that was asked for");
            // The test may have timed out.
            let _ = sender.send(found);
        }
        // Whoever still waits learns that it ended.
        heard.lock().unwrap().clear();
        let _ = child.wait();
    });
    Driver { input, waiting, next_id: AtomicU64::new(0) }
});

impl Driver {
    /// What a check finds on a page.
    fn run(&self, check: &str, page: &str) -> String {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, done) = channel();
        self.waiting.lock().unwrap().insert(id, sender);
        let line = format!("{}\n", json!({ "id": id, "page": page, "check": check }));
        self.input.lock().unwrap().write_all(line.as_bytes()).expect("the driver should be running");
        done.recv_timeout(TIMEOUT).expect("the check should end in time, and the driver should be running")
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs once for all tests of this process; the script waits for other processes that run it.
static INSTALLED: LazyLock<()> = LazyLock::new(|| {
    let install: PathBuf = root().join("tests/browser/install");
    let done = Command::new(install).status().expect("tests/browser/install should start");
    assert!(done.success(), "tests/browser/install failed; see its output above");
});
