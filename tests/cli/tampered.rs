//! A run whose files were changed afterwards, that two processes want to write, or whose disk was full.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::kit::workspace::{Called, HAPAX, Workspace, charge};

/// A finished run with two cases that fail.
fn finished() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
    workspace.call(&["run", "scenarios", "--out", "run", "--", "true"]).expect(1);
    workspace
}

fn edited(change: impl FnOnce(&mut Value)) -> String {
    let workspace = finished();
    let mut report: Value = serde_json::from_str(&workspace.read("run/report.json")).unwrap();
    change(&mut report);
    workspace.write("run/report.json", &report.to_string());
    workspace.call(&["report", "show", "run"]).expect(2).stderr
}

#[test]
fn the_ledger_file_begins_with_the_plan_and_the_report_has_its_digest() {
    let workspace = finished();
    let ledger = workspace.read("run/ledger.jsonl");
    let first: Value = serde_json::from_str(ledger.lines().next().unwrap()).unwrap();
    let report: Value = serde_json::from_str(&workspace.read("run/report.json")).unwrap();
    let plan = &first["plan"];
    assert_eq!((&plan["digest"], &plan["trials"]), (&report["digest"], &report["trials"]));
    assert_eq!(plan["hidden"].as_array().unwrap().len(), 2);
    let lines: Vec<Value> = ledger.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    for case in report["cases"].as_array().unwrap() {
        let parts = lines.iter().map(|line| &line["plan"]);
        let part = parts.into_iter().find(|part| part["case"]["id"] == case["id"]).unwrap();
        assert_eq!((&part["case"]["terms"], &part["case"]["digest"]), (&case["terms"], &case["digest"]));
        assert_eq!(part["seed"], case["trials"][0]["seed"]);
    }
    assert!(!ledger.contains(&report["seed"].to_string()), "the seed of the run can be read while it runs");
    let opened: Vec<&Value> = lines.iter().filter(|entry| entry["kind"] == "opened").collect();
    assert_eq!(opened.len(), 2);
    assert!(opened.iter().all(|entry| entry["plan"] == first["hash"]), "{opened:#?}");
    workspace.call(&["report", "show", "run"]).expect(1);
}

#[test]
fn a_report_that_was_changed_is_refused_with_what_does_not_agree() {
    let message = [
        edited(|report| report["cases"] = serde_json::json!([])),
        edited(|report| drop(report["cases"].as_array_mut().unwrap().remove(0))),
        edited(|report| {
            report["cases"].as_array_mut().unwrap().remove(0);
            report["interrupted"] = true.into();
        }),
        edited(|report| report["cases"][0]["trials"][0]["ledger"] = "b#1".into()),
        edited(|report| report["cases"][0]["terms"]["intents"][0]["times"] = 0.into()),
        edited(|report| report["trials"] = 2.into()),
    ];
    insta::assert_snapshot!(message.concat());
}

#[test]
fn a_run_without_a_plan_was_written_by_an_older_hapax() {
    let workspace = finished();
    let ledger = workspace.read("run/ledger.jsonl");
    workspace.write("run/ledger.jsonl", ledger.split_once('\n').unwrap().1);
    let called = workspace.call(&["report", "show", "run"]).expect(2);
    assert!(called.stderr.contains("written by an older hapax"), "{}", called.stderr);
    assert!(called.stderr.contains("help: run again with this hapax"), "{}", called.stderr);
}

/// A run that is killed when the test ends.
struct Live(Child);

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a run with one trial that never ends; its folder is `run`.
fn live(workspace: &Workspace) -> Live {
    workspace
        .write("scenarios/a.yaml", &charge(""))
        .write("agent.sh", "echo $$ > waiting; exec sleep 1000\n");
    let mut command =
        workspace.command(&["run", "scenarios", "--seed", "7", "--out", "run", "--", "sh", "agent.sh"]);
    workspace.pipe("waiting");
    let run = Live(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    workspace.read("waiting");
    run
}

#[test]
fn a_run_that_is_still_running_is_not_resumed() {
    let workspace = Workspace::new();
    let run = live(&workspace);
    let before = workspace.read("run/ledger.jsonl");
    let resume = ["run", "scenarios", "--seed", "7", "--resume", "run", "--", "sh", "agent.sh"];
    let called = workspace.call(&resume).expect(2);
    assert!(called.stderr.contains("another process is running it"), "{}", called.stderr);
    assert!(workspace.read("run/ledger.jsonl").starts_with(&before), "it was not changed");
    drop(run);
    // The lock ends with the process, also when it was killed.
    workspace.write("agent.sh", "exit 0\n");
    workspace.call(&resume).expect(1);
}

/// A run in which no file may have more than this many blocks of 512 bytes.
fn with_full_disk(workspace: &Workspace, blocks: u32) -> Called {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args([
        "-c",
        &script,
        HAPAX,
        "run",
        "scenarios",
        "--seed",
        "7",
        "-j",
        "1",
        "--trials",
        "20",
        "--out",
        "run",
    ]);
    command
        .args(["--", "sh", "agent.sh"])
        .current_dir(workspace.path())
        .env("NO_COLOR", "1")
        .env("HAPAX_NO_SMOKE", "1");
    command.output().unwrap().into()
}

#[test]
fn a_full_disk_loses_nothing_that_was_finished() {
    let workspace = Workspace::new();
    workspace.write("scenarios/a.yaml", &charge("")).write("agent.sh", "echo ran >> ran\n");
    let called = with_full_disk(&workspace, 24).expect(2);
    assert!(called.stderr.contains("add --resume "), "{}", called.stderr);
    // The last line may be cut off anywhere.
    let is_whole = |line: &&str| line.ends_with('\n') && line.contains("\"kind\":\"end\"");
    let whole = |workspace: &Workspace| {
        workspace.read("run/ledger.jsonl").split_inclusive('\n').filter(is_whole).count()
    };
    let before = whole(&workspace);
    assert!((1..20).contains(&before), "{before} trials were finished before the disk was full");
    let ran = workspace.read("ran").lines().count();
    workspace
        .call(&[
            "run",
            "scenarios",
            "--seed",
            "7",
            "-j",
            "1",
            "--trials",
            "20",
            "--resume",
            "run",
            "--",
            "sh",
            "agent.sh",
        ])
        .expect(1);
    let again = workspace.read("ran").lines().count() - ran;
    assert_eq!(again, 20 - before, "what was finished is not run again");
    let report: Value = serde_json::from_str(&workspace.read("run/report.json")).unwrap();
    assert_eq!(report["cases"][0]["trials"].as_array().unwrap().len(), 20);
    assert!(!workspace.path().join("run/trials.jsonl").exists());
    workspace.call(&["report", "show", "run"]).expect(1);
}

#[test]
fn the_journal_stays_until_the_report_is_on_disk() {
    let workspace = Workspace::new();
    workspace
        .write("scenarios/a.yaml", &charge(""))
        .write("agent.sh", "mkdir run/report.json; echo ran >> ran\n");
    let run = ["run", "scenarios", "--seed", "7", "--out", "run", "--", "sh", "agent.sh"];
    let called = workspace.call(&run).expect(2);
    assert!(called.stderr.contains("add --resume run"), "{}", called.stderr);
    assert!(workspace.path().join("run/trials.jsonl").exists());
    std::fs::remove_dir(workspace.path().join("run/report.json")).unwrap();
    workspace.call(&["run", "scenarios", "--seed", "7", "--resume", "run", "--", "sh", "agent.sh"]).expect(1);
    assert_eq!(workspace.read("ran"), "ran\n", "the finished trial did not run again");
    assert!(!workspace.path().join("run/trials.jsonl").exists());
}

#[test]
fn a_failed_trial_that_was_taken_out_of_the_journal_does_not_run_again() {
    let workspace = Workspace::new();
    workspace.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
    workspace.write("agent.sh", "echo ran >> ran\n");
    let run =
        ["run", "scenarios", "--seed", "7", "-j", "1", "--fail-fast", "--out", "run", "--", "sh", "agent.sh"];
    workspace.call(&run).expect(1);
    let journal = workspace.read("run/trials.jsonl");
    assert_eq!(journal.lines().count(), 2);
    workspace.write("run/trials.jsonl", &format!("{}\n", journal.lines().next().unwrap()));
    workspace
        .call(&["run", "scenarios", "--seed", "7", "-j", "1", "--resume", "run", "--", "sh", "agent.sh"])
        .expect(1);
    assert_eq!(workspace.read("ran").lines().count(), 2, "each of both ran once");
}

#[test]
fn a_partial_report_says_how_many_trials_were_not_run() {
    let workspace = Workspace::new();
    workspace.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
    let run = [
        "run",
        "scenarios",
        "--seed",
        "7",
        "-j",
        "1",
        "--trials",
        "2",
        "--fail-fast",
        "--out",
        "run",
        "--",
        "true",
    ];
    let called = workspace.call(&run).expect(1);
    assert!(called.stdout.contains("Interrupted: 3 of 4 planned trials were not run."), "{}", called.stdout);
    let shown = workspace.call(&["report", "show", "run"]).expect(1);
    assert!(shown.stdout.contains("Interrupted: 3 of 4 planned trials were not run."), "{}", shown.stdout);
    assert!(workspace.read("run/summary.md").contains("3 of 4 planned trials were not run"));
    assert!(workspace.read("run/index.html").contains("3 of 4 planned trials were not run"));
}
