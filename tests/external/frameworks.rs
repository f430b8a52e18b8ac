//! The agents of `examples/frameworks`, run by `hapax run`: one row of `docs/frameworks.md` for each framework,
//! and the rows of those that wait for an approval.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::kit::needs::{Test, tests};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/frameworks")
}

async fn the_page_about_frameworks_shows_what_happens() {
    let output = Command::new(folder().join("make"))
        .args(["--check", env!("CARGO_BIN_EXE_hapax")])
        .env("NO_COLOR", "1")
        .output()
        .expect("examples/frameworks/make should start");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
}

/// How the trial of the agent on OpenAI Agents ended, and how many of its requests were traces.
fn traces_of_openai_agents(flags: &[&str]) -> (Option<i32>, usize) {
    let installed = Command::new(folder().join("install")).status().expect("the script should start");
    assert!(installed.success(), "examples/frameworks/install failed; see its output above");
    let run = TempDir::new().unwrap();
    let scenario = std::fs::read_to_string(folder().join("refund.yaml")).unwrap();
    let (before, after) = scenario.split_once("matrix:").unwrap();
    let after = &after[after.find("services:").unwrap()..];
    let case = format!("{before}{after}").replace("${character}", "careful").replace("${reply}", "ok");
    let file = run.path().join("case.yaml");
    std::fs::write(&file, case).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["run", "--no-smoke", "--timeout", "2m", "--subject", "openai-agents", "--out"])
        .args([&run.path().join("out"), &file])
        .args(flags)
        .current_dir(folder())
        .output()
        .unwrap();
    let ledger = std::fs::read_to_string(run.path().join("out/ledger.jsonl")).unwrap_or_default();
    let entries = ledger.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let traces = entries.filter(|entry| entry["operation"] == "model.telemetry").count();
    (output.status.code(), traces)
}

/// OpenAI Agents posts traces to api.openai.com, whatever `OPENAI_BASE_URL` says.
async fn the_traces_of_openai_agents_are_answered_in_a_sealed_run_and_not_sent_otherwise() {
    let (status, traces) = traces_of_openai_agents(&["--sealed"]);
    assert_eq!((status, traces > 0), (Some(0), true), "{traces} requests with traces");
    assert_eq!(traces_of_openai_agents(&[]), (Some(0), 0));
}

/// The tests of this file that need sealed runs.
pub(crate) fn sealed_tests() -> Vec<Test> {
    tests![the_traces_of_openai_agents_are_answered_in_a_sealed_run_and_not_sent_otherwise]
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![the_page_about_frameworks_shows_what_happens]
}
