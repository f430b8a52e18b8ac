//! A run on many machines: parts, their merge, and parts that die, come twice or do not belong together.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::statistics::idle;
use crate::kit::timeless;
use crate::kit::workspace::{Called, HAPAX, LOOK, Workspace, charge};

/// A control, twelve cases, two trials each.
const NAIVE: [&str; 8] = ["run", "payment/lost-reply", "--subject", "naive", "--seed", "7", "--trials", "2"];

fn with<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [arguments, more].concat()
}

fn json(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("report.json")).unwrap()).unwrap()
}

/// The report as text, without its name, its times, and what the trials have of times and ports.
fn timeless(folder: &Path) -> String {
    let mut report = json(folder);
    for name in ["run", "started_at", "duration_ms", "time"] {
        report[name] = Value::Null;
    }
    report["cases"] = timeless::cases(folder).into();
    serde_json::to_string_pretty(&report).unwrap()
}

fn tar(workspace: &Workspace, options: &[&str], folder: &str) -> Vec<u8> {
    let mut tar = Command::new("tar");
    let made = tar.args(options).args(["-cf", "-", folder]).current_dir(workspace.path()).output().unwrap();
    assert!(made.status.success());
    made.stdout
}

#[test]
fn parts_from_folders_archives_and_standard_input_make_the_report_of_one_machine() {
    let workspace = Workspace::new();
    workspace.call(&with(&NAIVE, &["--out", "one"])).expect(1);
    for part in ["1", "2", "3"] {
        let (partition, out) = (format!("{part}/3"), format!("parts/{part}"));
        workspace.call(&with(&NAIVE, &["--partition", &partition, "--out", &out])).expect(1);
    }
    let planned: Vec<u64> = ["1", "2", "3"]
        .map(|part| json(&workspace.path().join("parts").join(part))["planned"].as_u64().unwrap())
        .to_vec();
    let all = json(&workspace.path().join("one"))["planned"].as_u64().unwrap();
    assert_eq!(planned.iter().sum::<u64>(), all);
    assert!(planned.iter().max().unwrap() - planned.iter().min().unwrap() <= 1, "{planned:?}");

    std::fs::write(workspace.path().join("2.tar.gz"), tar(&workspace, &["-z"], "parts/2")).unwrap();
    let mut merge = workspace.command(&["report", "merge", "-", "2.tar.gz", "parts/1", "--out", "whole"]);
    let mut child =
        merge.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let archive = tar(&workspace, &[], "parts/3");
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &archive).unwrap();
    Called::from(child.wait_with_output().unwrap()).expect(1);
    let (one, whole) = (workspace.path().join("one"), workspace.path().join("whole"));
    assert_eq!(timeless(&whole), timeless(&one));
    assert_eq!(workspace.read("whole/badge.json"), workspace.read("one/badge.json"));
    // The merged folder is a run like any other.
    workspace.call(&["report", "show", "whole"]).expect(1);
    let compared = workspace.call(&["report", "compare", "one", "whole"]).expect(0);
    assert!(!compared.stdout.contains("WORSE"), "{}", compared.stdout);

    // The durations of a run split the next one, in the same way for every part.
    let timed = |part: &str, durations: &str, out: &str| {
        let more = ["--partition", part, "--durations", durations, "--out", out];
        workspace.call(&with(&NAIVE, &more)).expect(1);
    };
    timed("1/2", "one/report.json", "timed/1");
    timed("2/2", "one", "timed/2");
    workspace.call(&["report", "merge", "timed/1", "timed/2", "--out", "timed/whole"]).expect(1);
    assert_eq!(timeless(&workspace.path().join("timed/whole")), timeless(&one));
    timed("2/2", "whole/report.json", "timed/other");
    let other = workspace.call(&["report", "merge", "timed/1", "timed/other", "--out", "x"]).expect(2);
    assert!(other.stderr.contains("the file of --durations is"), "{}", other.stderr);
    assert!(!workspace.path().join("x").exists());
}

const SCHEDULERS: [&str; 9] = [
    "HAPAX_PART",
    "HAPAX_PARTS",
    "SLURM_ARRAY_TASK_ID",
    "AWS_BATCH_JOB_ARRAY_INDEX",
    "JOB_COMPLETION_INDEX",
    "CI_NODE_INDEX",
    "CIRCLE_NODE_INDEX",
    "BUILDKITE_PARALLEL_JOB",
    "CI_NODE_TOTAL",
];

#[test]
fn the_scheduler_of_a_job_says_which_part_it_is() {
    let workspace = Workspace::new();
    workspace.write("scenarios/idle.yaml", &idle());
    let auto = |variables: &[(&str, &str)]| -> Called {
        let run = ["run", "scenarios", "--seed", "7", "--trials", "4", "--partition", "auto"];
        let mut command = workspace.command(&with(&run, &["--", "bash", "-c", LOOK]));
        SCHEDULERS.iter().for_each(|name| _ = command.env_remove(name));
        command.envs(variables.iter().copied()).output().unwrap().into()
    };
    auto(&[("JOB_COMPLETION_INDEX", "1"), ("HAPAX_PARTS", "3")]).expect(0);
    assert_eq!(workspace.report()["partition"], serde_json::json!([2, 3]));
    let none = auto(&[]).expect(2);
    assert!(none.stderr.contains("none of HAPAX_PART, SLURM_ARRAY_TASK_ID"), "{}", none.stderr);
    let outside = auto(&[("HAPAX_PART", "4"), ("HAPAX_PARTS", "3")]).expect(2);
    assert!(outside.stderr.contains("HAPAX_PART is 4, which is not one of 3 parts"), "{}", outside.stderr);
    let nothing = auto(&[("HAPAX_PART", "1"), ("HAPAX_PARTS", "0")]).expect(2);
    assert!(nothing.stderr.contains("the number of parts is 0"), "{}", nothing.stderr);
    let without = workspace.call(&["run", "scenarios", "--durations", "x", "--", "true"]).expect(2);
    assert!(without.stderr.contains("--partition"), "{}", without.stderr);
    let missing = ["run", "scenarios", "--seed", "7", "--partition", "1/2", "--durations", "x", "--", "true"];
    let missing = workspace.call(&missing).expect(2);
    assert!(missing.stderr.contains("--durations: cannot read x"), "{}", missing.stderr);
}

/// Claims that nothing was done, which is right, unless there is a file `bad` in the folder from which hapax was called.
const MOODY: [&str; 9] =
    ["run", "scenarios", "--subject", "moody", "--seed", "7", "--trials", "3", "--no-probe"];

/// Two scenarios in which nothing has to be done.
fn moody() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("scenarios/a.yaml", &idle()).write("scenarios/b.yaml", &idle());
    workspace.write("hapax.yaml", "subjects:\n  moody: { command: [bash, agent.sh] }\n");
    let claim = "if [ -e bad ]; then claim=done; else claim=not-done; fi\n\
                 printf '{\"outcome\": \"%s\"}' $claim > \"$HAPAX_RESULT\"\n";
    workspace.write("agent.sh", &format!("{LOOK}\n{claim}"));
    for name in ["a", "b"] {
        let text = workspace.read(&format!("scenarios/{name}.yaml"));
        workspace.write(&format!("scenarios/{name}.yaml"), &format!("{text}  claim: [not-done]\n"));
    }
    workspace
}

fn moody_part(workspace: &Workspace, part: &str, out: &str, status: i32) {
    workspace.call(&with(&MOODY, &["--partition", part, "--out", out])).expect(status);
}

#[test]
fn identical_parts_count_once_and_of_copies_that_differ_a_failure_stays() {
    let workspace = moody();
    moody_part(&workspace, "1/2", "1", 0);
    moody_part(&workspace, "2/2", "2", 0);
    std::fs::write(workspace.path().join("1.tar"), tar(&workspace, &[], "1")).unwrap();
    let twice = workspace.call(&["report", "merge", "1", "2", "1.tar", "--out", "once"]).expect(0);
    assert!(twice.stderr.contains("is the same as 1, and counts once"), "{}", twice.stderr);
    assert_eq!(json(&workspace.path().join("once"))["planned"], 6);

    // The same part again, on a machine where the agent does something else.
    workspace.write("bad", "");
    moody_part(&workspace, "1/2", "bad-1", 1);
    for (order, out) in [(["1", "bad-1", "2"], "x"), (["2", "bad-1", "1"], "y")] {
        workspace.call(&with(&["report", "merge", "--out", out], &order)).expect(1);
        let report = json(&workspace.path().join(out));
        let results: Vec<&Value> = report["cases"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|case| case["trials"].as_array().unwrap())
            .map(|trial| &trial["verdict"]["result"])
            .collect();
        assert_eq!(results.len(), 6);
        assert_eq!(results.iter().filter(|result| **result == "fail").count(), 3, "those of part 1");
        assert!(report["notes"].to_string().contains("2 copies that differ"), "{}", report["notes"]);
        workspace.call(&["report", "show", out]).expect(1);
    }
}

#[test]
fn what_is_missing_or_of_another_run_is_named_and_nothing_is_written() {
    let workspace = moody();
    moody_part(&workspace, "1/3", "1", 0);
    moody_part(&workspace, "2/3", "2", 0);
    let merge = |parts: &[&str]| -> String {
        let called = workspace.call(&with(&["report", "merge", "--out", "x"], parts)).expect(2);
        assert!(!workspace.path().join("x").exists());
        called.stderr
    };
    let missing = merge(&["1", "2"]);
    assert!(missing.contains("of 3 parts, part 3 is missing"), "{missing}");
    let run = |more: &[&str]| {
        let arguments = with(&["run", "scenarios", "--subject", "moody", "--no-probe"], more);
        workspace.call(&arguments).expect(0);
    };
    run(&["--seed", "8", "--trials", "3", "--partition", "3/3", "--out", "seed"]);
    assert!(merge(&["1", "2", "seed"]).contains("the seed is 7 in one and 8 in the other"));
    run(&["--seed", "7", "--trials", "4", "--partition", "3/3", "--out", "trials"]);
    assert!(merge(&["1", "2", "trials"]).contains("the number of trials is 3 in one and 4 in the other"));
    run(&["--seed", "7", "--trials", "3", "--partition", "3/3", "--timeout", "59s", "--out", "plan"]);
    assert!(merge(&["1", "2", "plan"]).contains("the plan of all parts is"));
    run(&["--seed", "7", "--trials", "3", "--partition", "3/4", "--out", "four"]);
    assert!(merge(&["1", "2", "four"]).contains("the number of parts is 3 in one and 4 in the other"));
    // A part that did not end, an archive that is cut off, and one without a run.
    moody_part(&workspace, "3/3", "3", 0);
    std::fs::remove_file(workspace.path().join("3/report.json")).unwrap();
    let torn = merge(&["1", "2", "3"]);
    assert!(torn.contains("3 has no report.json") && torn.contains("--resume"), "{torn}");
    let archive = tar(&workspace, &[], "2");
    std::fs::write(workspace.path().join("cut.tar"), &archive[..archive.len() / 2]).unwrap();
    assert!(merge(&["1", "cut.tar"]).contains("the archive is cut off"));
    std::fs::write(workspace.path().join("none.tar"), tar(&workspace, &[], "scenarios")).unwrap();
    assert!(merge(&["1", "none.tar"]).contains("the archive holds no report.json"));
    // A part from which a failed case was taken out.
    workspace.write("scenarios/c.yaml", &charge(""));
    run(&["--seed", "7", "--trials", "3", "--partition", "3/3", "--out", "cases", "-E", "!c"]);
    workspace.call(&with(&MOODY, &["--partition", "3/3", "--out", "changed"]));
    assert!(merge(&["1", "2", "changed"]).contains("the digest of all scenarios is"));
}

/// Notes every trial that it finishes. While there is a file `hold`, the second one says that it waits, and does not end.
const HOLDING: &str = "if [ -e ran -a -e hold ]; then echo $$ > waiting; exec sleep 1000; fi\n\
                       echo \"$HAPAX_TRIAL\" >> ran\n";

#[test]
fn a_part_that_was_killed_is_resumed_from_a_copy_of_its_folder() {
    let workspace = Workspace::new();
    workspace
        .write("scenarios/a.yaml", &idle())
        .write("agent.sh", &format!("{LOOK}\n{HOLDING}"))
        .write("hold", "");
    workspace.pipe("waiting");
    let run = ["run", "scenarios", "--seed", "5", "--trials", "6", "-j", "1"];
    let command = ["--", "bash", "agent.sh"];
    let part = with(&with(&run, &["--partition", "1/2", "--out", "node-1"]), &command);
    let mut hapax = workspace.command(&part).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The second trial runs: the first one is on disk.
    workspace.read("waiting");
    kill_process(i32::try_from(hapax.id()).ok().and_then(Pid::from_raw).unwrap(), Signal::KILL).unwrap();
    hapax.wait().unwrap();
    std::fs::remove_file(workspace.path().join("hold")).unwrap();
    assert_eq!(workspace.read("ran").lines().count(), 1);
    // The machine is gone; what is left of it is a copy of the folder.
    let copied = Command::new("cp").args(["-r", "node-1", "node-2"]).current_dir(workspace.path()).status();
    assert!(copied.unwrap().success());
    std::fs::remove_dir_all(workspace.path().join("node-1")).unwrap();
    let resume = |more: &[&str]| workspace.call(&with(&with(&run, more), &command));
    let other = resume(&["--partition", "2/2", "--resume", "node-2"]).expect(2);
    assert!(other.stderr.contains("the partition was 1/2, and now is 2/2"), "{}", other.stderr);
    resume(&["--partition", "1/2", "--resume", "node-2"]).expect(0);
    assert_eq!(workspace.read("ran").lines().count(), 3, "what had ended did not run again");
    resume(&["--partition", "2/2", "--out", "part-2"]).expect(0);
    workspace.call(&["report", "merge", "part-2", "node-2", "--out", "whole"]).expect(0);
    let report = json(&workspace.path().join("whole"));
    assert_eq!((&report["planned"], &report["interrupted"]), (&6.into(), &false.into()));
    assert_eq!(report["cases"][0]["trials"].as_array().unwrap().len(), 6);
    // Another seed would be another split.
    let run_8 =
        ["run", "scenarios", "--seed", "8", "--trials", "6", "--partition", "1/2", "--resume", "node-2"];
    workspace.call(&with(&run_8, &command)).expect(2);
}

/// The example jobs with these variables, in a folder where `hapax` is the program that is tested.
fn example(workspace: &Workspace, script: &str, variables: &[(&str, String)]) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fleet").join(script);
    let programs = Path::new(HAPAX).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("bash");
    command.arg(script).args(["bash", "agent.sh"]).current_dir(workspace.path());
    SCHEDULERS.iter().for_each(|name| _ = command.env_remove(name));
    command.env("PATH", format!("{}:{path}", programs.display())).env("HAPAX_NO_SMOKE", "1");
    command.env("HAPAX_SEED", "5").env("HAPAX_OPTIONS", "scenarios --trials 16 -j 1");
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs all eight parts as the scheduler would. The third one is killed with all its processes in its second trial, and
/// started again.
fn eight_parts_of_which_one_is_killed(script: &str, variables: impl Fn(u32) -> Vec<(&'static str, String)>) {
    let workspace = Workspace::new();
    workspace.write("scenarios/a.yaml", &idle()).write("agent.sh", &format!("{LOOK}\n{HOLDING}"));
    let run = ["run", "scenarios", "--trials", "16", "--seed", "5", "--out", "one", "--", "bash", "agent.sh"];
    workspace.call(&run).expect(0);
    std::fs::remove_file(workspace.path().join("ran")).unwrap();
    let start = |index: u32| example(&workspace, script, &variables(index));
    workspace.write("hold", "").pipe("waiting");
    let mut killed = start(2).process_group(0).spawn().unwrap();
    workspace.read("waiting");
    let group = i32::try_from(killed.id()).ok().and_then(Pid::from_raw).unwrap();
    rustix::process::kill_process_group(group, Signal::KILL).unwrap();
    killed.wait().unwrap();
    std::fs::remove_file(workspace.path().join("hold")).unwrap();
    for index in 0..8 {
        assert!(start(index).status().unwrap().success(), "{index}");
    }
    // One that had ended is not run again.
    assert!(start(1).status().unwrap().success());
    assert_eq!(workspace.read("ran").lines().count(), 16);
    let mut parts: Vec<String> = std::fs::read_dir(workspace.path().join("parts"))
        .unwrap()
        .map(|part| format!("parts/{}", part.unwrap().file_name().into_string().unwrap()))
        .collect();
    parts.sort();
    assert_eq!(parts.len(), 8);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    workspace.call(&with(&["report", "merge", "--out", "whole"], &parts)).expect(0);
    // The part that was resumed says so, and numbers its ledgers.
    let same = |name: &str| {
        let mut report: Value = serde_json::from_str(&timeless(&workspace.path().join(name))).unwrap();
        report.as_object_mut().unwrap().remove("notes");
        report.to_string().replace("~2\"", "\"")
    };
    assert_eq!(same("whole"), same("one"));
}

#[test]
fn the_job_for_kubernetes_resumes_the_part_of_a_pod_that_died() {
    eight_parts_of_which_one_is_killed("kubernetes/part.sh", |index| {
        vec![
            ("JOB_COMPLETION_INDEX", index.to_string()),
            ("HAPAX_PARTS", "8".to_owned()),
            ("HAPAX_OUT", "parts".to_owned()),
        ]
    });
}

#[test]
fn the_job_for_slurm_resumes_the_part_of_a_node_that_died() {
    eight_parts_of_which_one_is_killed("slurm/job.sh", |index| {
        let array = [
            ("SLURM_ARRAY_TASK_ID", index + 1),
            ("SLURM_ARRAY_TASK_COUNT", 8),
            ("SLURM_ARRAY_TASK_MIN", 1),
            ("SLURM_ARRAY_TASK_MAX", 8),
            ("SLURM_ARRAY_TASK_STEP", 1),
        ];
        array.map(|(name, value)| (name, value.to_string())).to_vec()
    });
}

const AGENT: [&str; 10] =
    ["certify", "payment/clean", "--subject", "careful", "--level", "0.2", "--callers", "1", "--seed", "7"];

#[test]
fn a_certificate_is_signed_once_over_all_parts() {
    let workspace = Workspace::new();
    workspace.call(&["certify", "keygen"]).expect(0);
    let unsigned = workspace.call(&with(&AGENT, &["--partition", "1/2", "--key", "hapax.key"])).expect(2);
    assert!(unsigned.stderr.contains("a part of a certification is not signed"), "{}", unsigned.stderr);
    let trials = ["--trials", "5"];
    let part = |number: &str, out: &str| {
        let more = ["--partition", number, "--out", out];
        let called = workspace.call(&with(&with(&AGENT, &trials), &more)).expect(0);
        assert!(called.stdout.contains("no certificate yet"), "{}", called.stdout);
    };
    part("1/2", "1");
    part("2/2", "2");
    let missing = workspace.call(&["certify", "merge", "1", "--out", "x"]).expect(2);
    assert!(missing.stderr.contains("of 2 parts, part 2 is missing"), "{}", missing.stderr);
    assert!(!workspace.path().join("x").exists());
    let merge = ["certify", "merge", "2", "1", "1", "--out", "out", "--key", "hapax.key"];
    let called = workspace.call(&merge).expect(0);
    assert!(called.stdout.contains("CERTIFIED"), "{}", called.stdout);
    let verify = |more: &[&str]| {
        let all = ["certify", "verify", "out/certificate.json", "--public-key", "hapax.pub", "--run", "out"];
        workspace.call(&with(&all, more))
    };
    let valid = verify(&[]).expect(0);
    assert!(valid.stdout.contains("VALID") && !valid.stdout.contains("WRONG"), "{}", valid.stdout);
    let certificate: Value = serde_json::from_str(&workspace.read("out/certificate.json")).unwrap();
    assert_eq!(certificate["signatures"].as_array().map(Vec::len), Some(1));
    // One machine comes to the same trials.
    workspace.call(&with(&with(&AGENT, &trials), &["--out", "one"])).expect(0);
    let (one, whole) = (workspace.path().join("one/cases"), workspace.path().join("out/cases"));
    assert_eq!(timeless(&whole), timeless(&one));
    // A part of another certification.
    let other = AGENT.map(|word| if word == "0.2" { "0.3" } else { word });
    workspace.call(&with(&with(&other, &trials), &["--partition", "2/2", "--out", "other"])).expect(0);
    let differs = workspace.call(&["certify", "merge", "1", "other", "--out", "x"]).expect(2);
    assert!(differs.stderr.contains("the level is 0.2 in one and 0.3 in the other"), "{}", differs.stderr);
    // A changed ledger of a part is noticed.
    let ledger = workspace.path().join("2/cases/ledger.jsonl");
    let text = std::fs::read_to_string(&ledger).unwrap();
    std::fs::write(&ledger, text.replacen("\"kind\":\"end\"", "\"kind\":\"END\"", 1)).unwrap();
    let changed = workspace.call(&["certify", "merge", "1", "2", "--out", "x"]);
    assert_ne!(changed.status, 0, "{}", changed.stdout);
}

#[test]
fn a_part_of_a_certification_that_died_is_resumed_and_archives_are_merged() {
    let workspace = Workspace::new();
    workspace.call(&["certify", "keygen"]).expect(0);
    let first = with(&AGENT, &["--trials", "30", "-j", "1", "--partition", "1/2"]);
    let mut hapax = workspace.command(&with(&first, &["--out", "1"]));
    let mut hapax = hapax.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The first line of the journal is not about a trial.
    let journal = workspace.path().join("1/cases/trials.jsonl");
    let ended = || std::fs::read_to_string(&journal).unwrap_or_default().lines().count().saturating_sub(1);
    while ended() == 0 {
        assert!(hapax.try_wait().unwrap().is_none(), "it ended before it could be killed");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    kill_process(i32::try_from(hapax.id()).ok().and_then(Pid::from_raw).unwrap(), Signal::KILL).unwrap();
    hapax.wait().unwrap();
    let unfinished = workspace.call(&["certify", "merge", "1", "--out", "x"]).expect(2);
    assert!(unfinished.stderr.contains("add --resume to the command"), "{}", unfinished.stderr);
    assert!(!workspace.path().join("x").exists());
    let other: Vec<&str> = first.iter().map(|word| if *word == "7" { "8" } else { word }).collect();
    let other = workspace.call(&with(&other, &["--resume", "1"])).expect(2);
    assert!(other.stderr.contains("--seed"), "{}", other.stderr);

    workspace.call(&with(&first, &["--resume", "1"])).expect(0);
    let report = json(&workspace.path().join("1/cases"));
    let trials =
        report["cases"].as_array().unwrap().iter().flat_map(|case| case["trials"].as_array().unwrap());
    let ledgers: Vec<&str> = trials.map(|trial| trial["ledger"].as_str().unwrap()).collect();
    let again = ledgers.iter().filter(|name| name.ends_with("~2")).count();
    assert!(again > 0 && again < ledgers.len(), "what had ended did not run again: {ledgers:?}");
    let whole = workspace.call(&with(&first, &["--resume", "1"])).expect(2);
    assert!(whole.stderr.contains("has ended: merge it"), "{}", whole.stderr);
    let changed = workspace.read("1/subject.json").replacen("\"sha256\": \"", "\"sha256\": \"0", 1);
    std::fs::remove_file(workspace.path().join("1/part.json")).unwrap();
    let subject = workspace.read("1/subject.json");
    workspace.write("1/subject.json", &changed);
    let changed = workspace.call(&with(&first, &["--resume", "1"])).expect(2);
    assert!(changed.stderr.contains("was changed while it was tested"), "{}", changed.stderr);
    workspace.write("1/subject.json", &subject);
    // All trials are there: only the controls are tried again.
    workspace.call(&with(&first, &["--resume", "1"])).expect(0);

    let second: Vec<&str> = first.iter().map(|word| if *word == "1/2" { "2/2" } else { word }).collect();
    workspace.call(&with(&second, &["--out", "2"])).expect(0);
    std::fs::write(workspace.path().join("1.tar.gz"), tar(&workspace, &["-z"], "1")).unwrap();
    let mut merge =
        workspace.command(&["certify", "merge", "1.tar.gz", "-", "--out", "out", "--key", "hapax.key"]);
    let mut merge =
        merge.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let archive = tar(&workspace, &[], "2");
    std::io::Write::write_all(&mut merge.stdin.take().unwrap(), &archive).unwrap();
    let merged = Called::from(merge.wait_with_output().unwrap()).expect(0);
    assert!(merged.stdout.contains("CERTIFIED"), "{}", merged.stdout);
    let verify = ["certify", "verify", "out/certificate.json", "--public-key", "hapax.pub", "--run", "out"];
    let valid = workspace.call(&verify).expect(0);
    assert!(valid.stdout.contains("VALID") && !valid.stdout.contains("WRONG"), "{}", valid.stdout);
    std::fs::write(workspace.path().join("none.tar"), tar(&workspace, &[], "1/cases")).unwrap();
    let none = workspace.call(&["certify", "merge", "none.tar", "--out", "x"]).expect(2);
    assert!(none.stderr.contains("the archive holds no part.json"), "{}", none.stderr);
}

#[test]
fn a_part_whose_disk_is_full_loses_no_trial_that_had_ended() {
    let workspace = moody();
    workspace.write("agent.sh", &format!("{}echo \"$HAPAX_TRIAL\" >> ran\n", workspace.read("agent.sh")));
    let run =
        ["run", "scenarios", "--subject", "moody", "--no-probe", "--seed", "7", "--trials", "20", "-j", "1"];
    // The system refuses to write more, as it does on a full disk.
    let mut full = Command::new("bash");
    full.args(["-c", "trap '' XFSZ; ulimit -f 48; exec \"$@\"", "bash", HAPAX]);
    full.args(with(&run, &["--partition", "1/2", "--out", "1"])).current_dir(workspace.path());
    let full = Called::from(full.env("NO_COLOR", "1").output().unwrap()).expect(2);
    assert!(full.stderr.contains("File too large"), "{}", full.stderr);
    let merge = ["report", "merge", "1", "2", "--out", "whole"];
    workspace.call(&with(&run, &["--partition", "2/2", "--out", "2"])).expect(0);
    let unfinished = workspace.call(&merge).expect(2);
    assert!(unfinished.stderr.contains("--resume"), "{}", unfinished.stderr);
    assert!(!workspace.path().join("whole").exists());
    let ledger = workspace.read("1/ledger.jsonl");
    let ended = ledger.lines().filter(|line| line.contains("\"kind\":\"end\"")).count();
    assert!(ended > 0);
    std::fs::remove_file(workspace.path().join("ran")).unwrap();
    workspace.call(&with(&run, &["--partition", "1/2", "--resume", "1"])).expect(0);
    assert_eq!(workspace.read("ran").lines().count(), 20 - ended, "what had ended did not run again");
    workspace.call(&merge).expect(0);
}

#[test]
fn clocks_may_differ_and_a_part_of_another_version_is_refused() {
    let workspace = moody();
    moody_part(&workspace, "1/2", "1", 0);
    moody_part(&workspace, "2/2", "2", 0);
    let report = workspace.read("2/report.json");
    let started = format!("\"started_at\": {}", json(&workspace.path().join("2"))["started_at"]);
    let ahead = report.replacen(&started, "\"started_at\": 4102444800000", 1);
    workspace.write("2/report.json", &ahead);
    workspace.call(&["report", "merge", "1", "2", "--out", "whole"]).expect(0);
    let whole = json(&workspace.path().join("whole"));
    assert_eq!(whole["started_at"], json(&workspace.path().join("1"))["started_at"]);
    let version = format!("\"hapax\": \"{}\"", env!("CARGO_PKG_VERSION"));
    workspace.write("2/report.json", &report.replacen(&version, "\"hapax\": \"0.0.9\"", 1));
    let other = workspace.call(&["report", "merge", "1", "2", "--out", "x"]).expect(2);
    assert!(other.stderr.contains("the version of hapax is 0.0.9"), "{}", other.stderr);
    assert!(!workspace.path().join("x").exists());
}

#[test]
fn the_page_about_many_machines_has_the_costs_that_its_command_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let printed = Command::new("sh").arg(root.join("examples/fleet/cost")).output().unwrap();
    let table = String::from_utf8(printed.stdout).unwrap();
    let page = std::fs::read_to_string(root.join("docs/fleet.md")).unwrap();
    assert!(table.lines().count() == 5 && page.contains(&table), "{table}");
}
