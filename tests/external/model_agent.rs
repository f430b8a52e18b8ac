//! The agent of `examples/model`, run by `hapax run` with the model service.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::kit::installed;
use crate::kit::needs::{Test, tests};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The case of the example without its matrix and its services.
fn plain_case() -> String {
    let text = std::fs::read_to_string(root().join("examples/model/lost-reply.yaml")).unwrap();
    let (before, after) = text.split_once("matrix:").unwrap();
    format!("{before}{}", &after[after.find("faults:").unwrap()..])
}

/// A run: its exit status, its output and its report.
struct Run {
    status: Option<i32>,
    output: String,
    report: Value,
}

/// Runs the agent on a scenario, with these arguments and settings of the subject.
fn run(scenario: &str, arguments: &[&str], settings: &str) -> Run {
    installed::clients();
    let folder = TempDir::new().unwrap();
    let agent = root().join("examples/model/agent.py");
    let python = root().join("target/clients/python/bin/python");
    let mut words = vec![python.display().to_string(), agent.display().to_string()];
    words.extend(arguments.iter().map(|word| (*word).to_owned()));
    let config = format!("subjects: {{ agent: {{ command: {words:?}, {settings} }} }}\n");
    std::fs::write(folder.path().join("hapax.yaml"), config).unwrap();
    std::fs::write(folder.path().join("case.yaml"), scenario).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .args(["run", "case.yaml", "--no-smoke"])
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let report =
        std::fs::read_to_string(folder.path().join("reports/latest/report.json")).unwrap_or_default();
    Run {
        status: output.status.code(),
        output: text(&output.stdout) + &text(&output.stderr),
        report: serde_json::from_str(&report).unwrap_or_default(),
    }
}

/// The verdict of each case, by the last word of its id.
fn verdicts(run: &Run) -> BTreeMap<String, &Value> {
    let cases = run.report["cases"].as_array().unwrap_or_else(|| panic!("no report: {}", run.output));
    let id = |case: &Value| case["id"].as_str().unwrap().rsplit('=').next().unwrap().to_owned();
    cases.iter().map(|case| (id(case), &case["trials"][0]["verdict"])).collect()
}

fn results(run: &Run) -> Vec<(String, String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let verdicts = verdicts(run).into_iter();
    verdicts
        .map(|(id, verdict)| (id, word(&verdict["result"]), word(&verdict["claims"][0]["outcome"])))
        .collect()
}

fn example() -> String {
    std::fs::read_to_string(root().join("examples/model/lost-reply.yaml")).unwrap()
}

async fn a_tool_without_a_key_charges_twice_when_the_model_repeats_its_call() {
    let run = run(&example(), &[], "claim: model");
    let expected = [
        ("careful", "pass", "done"),
        ("eager", "fail", "done"),
        ("overclaiming", "pass", "done"),
        ("rewording", "fail", "done"),
        ("verifying", "pass", "done"),
    ];
    let expected = expected.map(|(id, result, claim)| (id.to_owned(), result.to_owned(), claim.to_owned()));
    assert_eq!(results(&run), expected, "{}", run.output);
    assert_eq!(run.status, Some(1), "{}", run.output);
    let verdicts = verdicts(&run);
    assert_eq!(verdicts["eager"]["outcome"], "duplicated");
    // Two calls and the last message.
    let cost = &verdicts["eager"]["costs"][0];
    assert_eq!((&cost["effect"], &cost["made"]), (&"model.generate".into(), &3.into()), "{cost}");
    assert_eq!((&cost["delivered"], &cost["repeated"]), (&3.into(), &0.into()), "{cost}");
}

async fn a_tool_with_a_key_charges_once_unless_the_model_makes_a_new_key() {
    let run = run(&example(), &["--keys"], "claim: model");
    let failed: Vec<_> = results(&run).into_iter().filter(|(_, result, _)| result != "pass").collect();
    assert_eq!(failed, [("rewording".to_owned(), "fail".to_owned(), "done".to_owned())], "{}", run.output);
}

async fn a_subject_can_add_the_model_to_a_case_that_does_not_have_it() {
    let run = run(&plain_case(), &["--keys"], "claim: model, model: { character: eager }");
    assert_eq!(run.status, Some(0), "{}", run.output);
}

async fn a_trial_without_a_tool_for_a_step_is_void_and_says_what_to_write() {
    let settings = "claim: model, model: {}, tools: { payment.charge: pay }";
    let run = run(&plain_case(), &[], settings);
    assert_eq!(run.status, Some(3), "{}", run.output);
    let verdict = &run.report["cases"][0]["trials"][0]["verdict"];
    let why = verdict["void_because"][0].as_str().unwrap_or_default();
    assert!(
        why.contains("the request does not offer `pay`") && why.contains("charge_card(customer"),
        "{why}"
    );
}

async fn a_sealed_agent_reaches_the_model_at_its_real_host() {
    let run = run(&plain_case(), &["--keys"], "claim: model, model: { character: eager }, sealed: true");
    assert_eq!(run.status, Some(0), "{}", run.output);
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_tool_without_a_key_charges_twice_when_the_model_repeats_its_call,
        a_tool_with_a_key_charges_once_unless_the_model_makes_a_new_key,
        a_subject_can_add_the_model_to_a_case_that_does_not_have_it,
        a_trial_without_a_tool_for_a_step_is_void_and_says_what_to_write,
    ]
}

/// Those that need namespaces, too.
pub(crate) fn sealed_tests() -> Vec<Test> {
    tests![a_sealed_agent_reaches_the_model_at_its_real_host,]
}
