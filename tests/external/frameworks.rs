//! The agents of `examples/frameworks`, run by `hapax run`: one row of `docs/frameworks.md` for each framework.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::kit::needs::{Test, tests};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Runs once for all tests of this process; the script waits for other processes that run it.
static INSTALLED: LazyLock<()> = LazyLock::new(|| {
    let done = Command::new(root().join("examples/frameworks/install")).status();
    assert!(done.unwrap().success(), "examples/frameworks/install failed; see its output above");
});

/// The number of refunds and the claim of a subject when the model is `eager` and the reply to the refund is
/// lost.
fn after_a_lost_reply(subject: &str) -> (usize, Option<String>) {
    LazyLock::force(&INSTALLED);
    let folder = TempDir::new().unwrap();
    let examples = root().join("examples/frameworks");
    let scenario = std::fs::read_to_string(examples.join("refund.yaml")).unwrap();
    let (before, after) = scenario.split_once("matrix:").unwrap();
    let after = &after[after.find("services:").unwrap()..];
    let case = format!("{before}{after}").replace("${character}", "eager").replace("${reply}", "drop");
    let file = folder.path().join("case.yaml");
    std::fs::write(&file, case).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["run", "--no-smoke", "--timeout", "2m", "--subject", subject, "--out"])
        .args([&folder.path().join("run"), &file])
        .current_dir(examples)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{subject}: {text}");
    let report = std::fs::read_to_string(folder.path().join("run/report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let verdict = &report["cases"][0]["trials"][0]["verdict"];
    let refunds = verdict["intents"][0]["effects"].as_array().unwrap().len();
    (refunds, verdict["claims"][0]["outcome"].as_str().map(str::to_owned))
}

async fn a_framework_that_shows_the_exception_to_the_model_lets_it_refund_twice() {
    for subject in ["openai-agents", "vercel-ai"] {
        assert_eq!(after_a_lost_reply(subject), (2, Some("done".to_owned())), "{subject}");
    }
}

async fn a_framework_that_ends_with_the_exception_refunds_once_and_makes_no_claim() {
    for subject in ["openai", "anthropic", "langgraph", "pydantic-ai"] {
        assert_eq!(after_a_lost_reply(subject), (1, None), "{subject}");
    }
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_framework_that_shows_the_exception_to_the_model_lets_it_refund_twice,
        a_framework_that_ends_with_the_exception_refunds_once_and_makes_no_claim,
    ]
}
