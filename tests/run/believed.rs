//! A run that was changed after the fact, that two processes want to write, or whose disk was full.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::rig::{Called, Desk, HAPAX, charge};

/// Two cases that fail and are finished at once.
fn finished() -> Desk {
    let desk = Desk::new();
    desk.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
    desk.call(&["run", "scenarios", "--out", "run", "--", "true"]).expect(1);
    desk
}

fn edited(change: impl FnOnce(&mut Value)) -> String {
    let desk = finished();
    let mut report: Value = serde_json::from_str(&desk.read("run/report.json")).unwrap();
    change(&mut report);
    desk.write("run/report.json", &report.to_string());
    desk.call(&["report", "show", "run"]).expect(2).stderr
}

#[test]
fn the_ledger_file_begins_with_the_plan_and_the_report_has_its_digest() {
    let desk = finished();
    let ledger = desk.read("run/ledger.jsonl");
    let first: Value = serde_json::from_str(ledger.lines().next().unwrap()).unwrap();
    let report: Value = serde_json::from_str(&desk.read("run/report.json")).unwrap();
    let plan = &first["plan"];
    let ids: Vec<&str> =
        plan["cases"].as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(
        (&plan["digest"], &plan["seed"], &plan["trials"]),
        (&report["digest"], &report["seed"], &report["trials"])
    );
    let case = &report["cases"][0];
    let planned = &plan["cases"][0];
    assert_eq!((&planned["terms"], &planned["digest"]), (&case["terms"], &case["digest"]));
    assert_eq!(planned["seeds"][0], case["trials"][0]["seed"]);
    let opened: Vec<Value> =
        ledger.lines().skip(1).filter_map(|line| serde_json::from_str(line).ok()).collect();
    let opened: Vec<&Value> = opened.iter().filter(|entry| entry["kind"] == "opened").collect();
    assert_eq!(opened.len(), 2);
    assert!(opened.iter().all(|entry| entry["plan"] == first["hash"]), "{opened:#?}");
    desk.call(&["report", "show", "run"]).expect(1);
}

#[test]
fn a_report_that_was_changed_is_refused_with_what_does_not_agree() {
    let told = [
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
    insta::assert_snapshot!(told.concat());
}

#[test]
fn a_run_without_a_plan_was_written_by_an_older_hapax() {
    let desk = finished();
    let ledger = desk.read("run/ledger.jsonl");
    desk.write("run/ledger.jsonl", ledger.split_once('\n').unwrap().1);
    let called = desk.call(&["report", "show", "run"]).expect(2);
    assert!(called.stderr.contains("written by an older hapax"), "{}", called.stderr);
    assert!(called.stderr.contains("help: run again with this hapax"), "{}", called.stderr);
}

/// A run that is killed at the latest when the test ends.
struct Live(Child);

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A run of which one trial never ends, and its folder is `run`.
fn live(desk: &Desk) -> Live {
    desk.write("scenarios/a.yaml", &charge("")).write("agent.sh", "echo $$ > waiting; exec sleep 1000\n");
    let mut command =
        desk.command(&["run", "scenarios", "--seed", "7", "--out", "run", "--", "sh", "agent.sh"]);
    let run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !std::fs::read_to_string(desk.path().join("waiting")).is_ok_and(|text| text.ends_with('\n')) {
        std::thread::yield_now();
    }
    Live(run)
}

#[test]
fn a_run_that_still_runs_is_not_gone_on_with() {
    let desk = Desk::new();
    let run = live(&desk);
    let before = desk.read("run/ledger.jsonl");
    let resume = ["run", "scenarios", "--seed", "7", "--resume", "run", "--", "sh", "agent.sh"];
    let called = desk.call(&resume).expect(2);
    assert!(called.stderr.contains("another process is running it"), "{}", called.stderr);
    assert!(desk.read("run/ledger.jsonl").starts_with(&before), "nothing of it was changed");
    drop(run);
    // The lock is gone with the process, however it ended.
    desk.write("agent.sh", "exit 0\n");
    desk.call(&resume).expect(1);
}

/// A run in which no file may grow beyond so many blocks of 512 bytes.
fn with_full_disk(desk: &Desk, blocks: u32) -> Called {
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
        .current_dir(desk.path())
        .env("NO_COLOR", "1")
        .env("HAPAX_NO_SMOKE", "1");
    command.output().unwrap().into()
}

#[test]
fn a_full_disk_loses_nothing_that_was_finished() {
    let desk = Desk::new();
    desk.write("scenarios/a.yaml", &charge("")).write("agent.sh", "echo ran >> ran\n");
    let called = with_full_disk(&desk, 24).expect(2);
    assert!(called.stderr.contains("add --resume "), "{}", called.stderr);
    // The last line may be cut off anywhere.
    let is_whole = |line: &&str| line.ends_with('\n') && line.contains("\"kind\":\"end\"");
    let whole = |desk: &Desk| desk.read("run/ledger.jsonl").split_inclusive('\n').filter(is_whole).count();
    let before = whole(&desk);
    assert!((1..20).contains(&before), "{before} trials were finished before the disk was full");
    let ran = desk.read("ran").lines().count();
    desk.call(&[
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
    let again = desk.read("ran").lines().count() - ran;
    assert_eq!(again, 20 - before, "what was finished is not run again");
    let report: Value = serde_json::from_str(&desk.read("run/report.json")).unwrap();
    assert_eq!(report["cases"][0]["trials"].as_array().unwrap().len(), 20);
    assert!(!desk.path().join("run/trials.jsonl").exists());
    desk.call(&["report", "show", "run"]).expect(1);
}

#[test]
fn the_journal_stays_until_the_report_is_on_disk() {
    let desk = Desk::new();
    desk.write("scenarios/a.yaml", &charge("")).write("agent.sh", "mkdir run/report.json; echo ran >> ran\n");
    let run = ["run", "scenarios", "--seed", "7", "--out", "run", "--", "sh", "agent.sh"];
    let called = desk.call(&run).expect(2);
    assert!(called.stderr.contains("add --resume run"), "{}", called.stderr);
    assert!(desk.path().join("run/trials.jsonl").exists());
    std::fs::remove_dir(desk.path().join("run/report.json")).unwrap();
    desk.call(&["run", "scenarios", "--seed", "7", "--resume", "run", "--", "sh", "agent.sh"]).expect(1);
    assert_eq!(desk.read("ran"), "ran\n", "the finished trial did not run again");
    assert!(!desk.path().join("run/trials.jsonl").exists());
}

#[test]
fn a_failed_trial_that_was_taken_out_of_the_journal_does_not_run_again() {
    let desk = Desk::new();
    desk.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
    desk.write("agent.sh", "echo ran >> ran\n");
    let run =
        ["run", "scenarios", "--seed", "7", "-j", "1", "--fail-fast", "--out", "run", "--", "sh", "agent.sh"];
    desk.call(&run).expect(1);
    let journal = desk.read("run/trials.jsonl");
    assert_eq!(journal.lines().count(), 2);
    desk.write("run/trials.jsonl", &format!("{}\n", journal.lines().next().unwrap()));
    desk.call(&["run", "scenarios", "--seed", "7", "-j", "1", "--resume", "run", "--", "sh", "agent.sh"])
        .expect(1);
    assert_eq!(desk.read("ran").lines().count(), 2, "each of both ran once");
}

#[test]
fn a_partial_report_says_how_many_trials_were_not_run() {
    let desk = Desk::new();
    desk.write("scenarios/a.yaml", &charge("")).write("scenarios/b.yaml", &charge(""));
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
    let called = desk.call(&run).expect(1);
    assert!(called.stdout.contains("Interrupted: 3 of 4 planned trials were not run."), "{}", called.stdout);
    let shown = desk.call(&["report", "show", "run"]).expect(1);
    assert!(shown.stdout.contains("Interrupted: 3 of 4 planned trials were not run."), "{}", shown.stdout);
    assert!(desk.read("run/summary.md").contains("3 of 4 planned trials were not run"));
    assert!(desk.read("run/index.html").contains("3 of 4 planned trials were not run"));
}
