//! The agents of `examples/frameworks`, run by `hapax run`: one row of `docs/frameworks.md` for each framework.

use std::path::Path;
use std::process::Command;

use crate::kit::needs::{Test, tests};

async fn the_page_about_frameworks_shows_what_happens() {
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/frameworks/make"))
        .args(["--check", env!("CARGO_BIN_EXE_hapax")])
        .env("NO_COLOR", "1")
        .output()
        .expect("examples/frameworks/make should start");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![the_page_about_frameworks_shows_what_happens]
}
