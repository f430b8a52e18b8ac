//! A run that is interrupted: running trials are stopped, and finished ones are reported.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::workspace::{Workspace, charge};

/// Two cases; the one that runs second does not end.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("scenarios/a.yaml", &charge(""));
    workspace.write("scenarios/b.yaml", &charge(""));
    workspace.write(
        "agent.sh",
        "if [ -e first ]; then exec 9> waiting; echo >&9; exec sleep 1000; fi; : > \
        first\n",
    );
    workspace
}

#[test]
fn ctrl_c_stops_what_runs_and_reports_what_is_done() {
    let workspace = workspace();
    let mut command = workspace.command(&["run", "scenarios", "-j", "1", "--", "sh", "agent.sh"]);
    let waiting = workspace.pipe("waiting");
    let mut run = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // The first line is the failure of the first case; by then, or soon after, the second one waits.
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    let mut waiting = BufReader::new(File::open(waiting).unwrap());
    waiting.read_line(&mut String::new()).unwrap();
    let pid = i32::try_from(run.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    lines.for_each(drop);
    assert_eq!(run.wait().unwrap().code(), Some(1), "the first one failed");
    let report = workspace.report();
    assert_eq!(report["interrupted"], true);
    assert_eq!(report["cases"].as_array().unwrap().len(), 1);
    // The pipe is at its end when no process has it open.
    assert_eq!(waiting.read_line(&mut String::new()).unwrap(), 0);
}

#[test]
fn fail_fast_stops_at_the_first_failure() {
    let workspace = Workspace::new();
    workspace.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
    workspace.call(&["run", "scenarios", "-j", "1", "--fail-fast", "--", "true"]).expect(1);
    assert_eq!(workspace.report()["cases"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_stops_when_so_many_trials_have_failed() {
    let workspace = Workspace::new();
    for name in ["a", "b", "c", "d"] {
        workspace.write(&format!("scenarios/{name}.yaml"), &charge(""));
    }
    let called =
        workspace.call(&["run", "scenarios", "-j", "1", "--max-failures", "2", "--", "true"]).expect(1);
    assert_eq!(workspace.report()["cases"].as_array().unwrap().len(), 2);
    assert!(called.stdout.contains("2 of 4 planned trials were not run"), "{}", called.stdout);
    workspace.call(&["run", "scenarios", "--max-failures", "5", "--", "true"]).expect(1);
    assert_eq!(workspace.report()["cases"].as_array().unwrap().len(), 4, "fewer failed, so all ran");
    workspace.call(&["run", "scenarios", "--max-failures", "0", "--", "true"]).expect(2);
    workspace.call(&["run", "scenarios", "--max-failures", "2", "--fail-fast", "--", "true"]).expect(2);
}

#[test]
fn a_selftest_that_is_interrupted_blames_no_scenario() {
    let workspace = Workspace::new();
    let mut command = workspace.command(&["selftest", "payment/lost-reply", "-j", "1"]);
    let mut run = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    // The first line comes when a tenth of the trials are done.
    lines.next().unwrap().unwrap();
    let pid = i32::try_from(run.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    lines.for_each(drop);
    let called = crate::kit::workspace::Called::from(run.wait_with_output().unwrap()).expect(3);
    assert!(
        called.stdout.starts_with("selftest: ") && called.stdout.contains(": interrupted after "),
        "{}",
        called.stdout
    );
}
