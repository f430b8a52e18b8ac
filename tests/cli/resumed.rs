//! A run that was interrupted and is resumed: nothing runs twice, and there is one report.

use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::statistics::idle;
use crate::kit::workspace::{Workspace, charge};

/// Notes every trial that it finishes. While there is a file `hold`, the second trial of `b` says that it
/// waits and does not end.
const AGENT: &str = "\
case $HAPAX_TASK in
  Look*) if [ -e looked -a -e hold ]; then echo $$ > waiting; exec sleep 1000; fi; : > looked;;
esac
echo \"$HAPAX_TRIAL\" >> ran
";

const RUN: [&str; 11] =
    ["run", "scenarios", "--trials", "2", "-j", "1", "--seed", "5", "--", "sh", "agent.sh"];

/// Three cases; the last one fails.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let look = idle().replace("task: Charge", "task: Look at");
    workspace
        .write("scenarios/a.yaml", &idle())
        .write("scenarios/b.yaml", &look)
        .write("scenarios/c.yaml", &charge(""));
    workspace.write("agent.sh", AGENT);
    workspace
}

/// Starts the run and waits until a trial hangs.
fn start_and_hang(workspace: &Workspace) -> Child {
    workspace.write("hold", "");
    workspace.pipe("waiting");
    let run = workspace.command(&RUN).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    workspace.read("waiting");
    run
}

fn interrupted(signal: Signal) -> Workspace {
    let workspace = workspace();
    let mut run = start_and_hang(&workspace);
    kill_process(i32::try_from(run.id()).ok().and_then(Pid::from_raw).unwrap(), signal).unwrap();
    run.wait().unwrap();
    std::fs::remove_file(workspace.path().join("hold")).unwrap();
    workspace
}

fn resume(folder: &str) -> Vec<&str> {
    [&RUN[..6], &["--resume", folder], &RUN[6..]].concat()
}

/// The same run without an interruption.
fn whole() -> Workspace {
    let whole = workspace();
    whole.call(&RUN).expect(1);
    whole
}

/// The report without what differs between runs: times, the name of the run, what it says of its plans, and the number
/// of the resumption in the name of a ledger.
fn timeless(mut report: Value) -> Value {
    for name in ["started_at", "duration_ms", "time", "run", "notes"] {
        report[name] = Value::Null;
    }
    for case in report["cases"].as_array_mut().unwrap() {
        for trial in case["trials"].as_array_mut().unwrap() {
            trial["duration_ms"] = Value::Null;
            trial["seal"] = Value::Null;
            trial["ledger"] = trial["ledger"].as_str().unwrap().replace("~2", "").into();
        }
    }
    report
}

/// The trials that the agent has finished, sorted.
fn ran(workspace: &Workspace) -> Vec<String> {
    let mut ran: Vec<String> = workspace.read("ran").lines().map(|line| line.replace("~2", "")).collect();
    ran.sort();
    ran
}

#[test]
fn a_run_resumes_after_ctrl_c_and_no_trial_runs_twice() {
    let workspace = interrupted(Signal::INT);
    let first = workspace.report();
    assert_eq!(first["interrupted"], true);
    workspace.call(&resume("reports/latest")).expect(1);
    let whole = whole();
    assert_eq!(ran(&workspace), ran(&whole), "each trial was finished once");
    let report = workspace.report();
    assert_eq!(
        (&report["run"], &report["started_at"]),
        (&first["run"], &first["started_at"]),
        "it is the same run"
    );
    let note = report["notes"][0].as_str().unwrap_or_default().to_owned();
    assert!(note.starts_with("the run was interrupted and resumed: of 6 trials of the plan "), "{note}");
    assert_eq!(timeless(report), timeless(whole.report()));
    assert!(
        !workspace.path().join("reports/latest/trials.jsonl").exists(),
        "a complete run needs no journal"
    );
    let again = workspace.call(&resume("reports/latest")).expect(2);
    assert!(again.stderr.contains("it contains no interrupted run"), "{}", again.stderr);
}

#[test]
fn a_run_that_was_killed_resumes_too() {
    let workspace = interrupted(Signal::KILL);
    let mut folders = std::fs::read_dir(workspace.path().join("reports")).unwrap();
    let folder = folders.next().unwrap().unwrap().path();
    workspace.call(&resume(folder.to_str().unwrap())).expect(1);
    let whole = whole();
    assert_eq!(ran(&workspace), ran(&whole));
    assert_eq!(timeless(workspace.report()), timeless(whole.report()));
}

#[test]
fn a_damaged_line_at_the_end_of_the_journal_does_not_cost_the_run() {
    let workspace = interrupted(Signal::KILL);
    let mut folders = std::fs::read_dir(workspace.path().join("reports")).unwrap();
    let folder = folders.next().unwrap().unwrap().path();
    let journal = folder.join("trials.jsonl");
    let mut bytes = std::fs::read(&journal).unwrap();
    // What a power failure leaves: part of the last line, then bytes that are not text.
    bytes.truncate(bytes.len() - 20);
    bytes.extend([0xff, 0x00, 0xfe]);
    std::fs::write(&journal, bytes).unwrap();
    workspace.call(&resume(folder.to_str().unwrap())).expect(1);
    let whole = whole();
    assert_eq!(ran(&workspace), ran(&whole), "what its ledger bears out did not run again");
    let ids = |report: &Value| {
        report["cases"].as_array().unwrap().iter().map(|case| case["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&workspace.report()), ids(&whole.report()));
}

#[test]
fn an_interrupted_run_says_how_to_resume_it() {
    let workspace = workspace();
    let called = workspace
        .call(&["run", "scenarios/c.yaml", "--trials", "2", "-j", "1", "--fail-fast", "--", "true"])
        .expect(1);
    assert!(called.stderr.contains("add --resume reports/"), "{}", called.stderr);
}

#[test]
fn resuming_a_different_run_is_refused_with_the_reason() {
    let workspace = interrupted(Signal::INT);
    let other = |from: &str, to: &str| {
        let arguments: Vec<&str> =
            resume("reports/latest").into_iter().map(|word| if word == from { to } else { word }).collect();
        workspace.call(&arguments).expect(2).stderr
    };
    let mut message =
        vec![other("2", "3"), other("agent.sh", "other.sh"), other("scenarios", "scenarios/a.yaml")];
    workspace.write("scenarios/b.yaml", &charge(""));
    message.push(workspace.call(&resume("reports/latest")).expect(2).stderr);
    insta::assert_snapshot!(message.concat());
    assert_eq!(workspace.report()["interrupted"], true, "nothing ran");
}

#[test]
fn a_baseline_is_not_written_from_a_run_that_was_interrupted() {
    let workspace = workspace();
    let run = [
        "run",
        "scenarios",
        "-j",
        "1",
        "--trials",
        "2",
        "--fail-fast",
        "--baseline",
        "known.yaml",
        "--update-baseline",
    ];
    let called = workspace.call(&[&run[..], &["--", "true"]].concat()).expect(1);
    assert!(called.stdout.contains("so the known failures were not written"), "{}", called.stdout);
    assert!(!workspace.path().join("known.yaml").exists());
}

#[test]
fn a_saved_verdict_is_not_trusted_but_scored_again() {
    let workspace = interrupted(Signal::INT);
    let journal = workspace.read("reports/latest/trials.jsonl");
    assert!(journal.contains("\"result\":\"void\""), "{journal}");
    workspace
        .write("reports/latest/trials.jsonl", &journal.replace("\"result\":\"void\"", "\"result\":\"pass\""));
    workspace.call(&resume("reports/latest")).expect(1);
    for case in workspace.report()["cases"].as_array().unwrap() {
        assert_ne!(case["trials"][0]["verdict"]["result"], "pass", "{}", case["id"]);
    }
}
