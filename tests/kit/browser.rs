//! Runs a check of `tests/browser/checks` on a page, in a new Chromium.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::Semaphore;

/// The machine may be busy; a check that takes longer than this hangs.
const TIMEOUT: Duration = Duration::from_secs(600);

/// How many browsers run at once: each can need a gigabyte of memory.
static SLOTS: Semaphore = Semaphore::const_new(2);

/// Runs a check on a page; the error says what the check found.
pub(crate) async fn check(name: &str, page: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder should be made");
    let path = folder.path().join("index.html");
    std::fs::write(&path, page).expect("the page should be written");
    check_at(name, path.to_str().expect("the folder should have a plain name")).await
}

/// Runs a check on a page at a path or an address; the error says what the check found.
pub(crate) async fn check_at(name: &str, page: &str) -> Result<(), String> {
    let output = drive(&[page, name]).await;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{name} ended with {}:\n{stderr}", output.status))
    }
}

/// The names of all checks.
pub(crate) async fn names() -> Vec<String> {
    let output = drive(&["--list"]).await;
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

async fn drive(arguments: &[&str]) -> Output {
    LazyLock::force(&INSTALLED);
    let _slot = SLOTS.acquire().await.expect("the slots should never be closed");
    let mut command = Command::new(root().join("target/browser/node"));
    command.arg(root().join("tests/browser/drive.mjs")).args(arguments);
    let child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn();
    let output = child.expect("Node should start").wait_with_output();
    let output = tokio::time::timeout(TIMEOUT, output).await.expect("the check should end in time");
    output.expect("the output of Node should be read")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs once for all tests of this process; the script waits for other processes that run it.
static INSTALLED: LazyLock<()> = LazyLock::new(|| {
    let install: PathBuf = root().join("tests/browser/install");
    let done = std::process::Command::new(install).status().expect("tests/browser/install should start");
    assert!(done.success(), "tests/browser/install failed; see its output above");
});
