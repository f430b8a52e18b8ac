//! Trials whose time goes to starting are tried again, once and alone.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::kit::workspace::{LOOK, WRITES, Workspace, charge, kinds};

/// Notes each start. `$slow` sends its first request when three quarters of its time are over, and goes on.
const AGENT: &str = r#"
charged() { charge 'amount=4999&customer=cus_42&metadata[order]=ord_1001&source=tok_visa' >/dev/null; }
slow() { sleep $slow; charged; exec sleep 1000; }
starts() { echo "$1" >> starts; grep -cx "$1" starts; }
"#;

/// The time limits to try, in seconds: on a machine on which even a sleeping process is late, the next one.
const LIMITS: [u32; 5] = [4, 8, 16, 32, 64];

fn workspace(limit: u32, agent: &str) -> Workspace {
    let workspace = Workspace::new();
    let scenario = format!("{}timeout: {limit}s\n", charge("  claim: [done]\n"));
    workspace.write("scenarios/slow.yaml", &scenario);
    let slow = f64::from(limit) * 0.75;
    workspace.write("agent.sh", &format!("{WRITES}look() {{\n{LOOK}\nexec 3>&-\n}}\nslow={slow}\n{AGENT}{agent}\necho '{{\"outcome\": \"done\"}}'\n"));
    workspace
}

/// The only trial of a case.
fn trial<'r>(report: &'r Value, case: &str) -> &'r Value {
    let cases = report["cases"].as_array().unwrap();
    &cases.iter().find(|found| found["id"] == case).unwrap()["trials"][0]
}

/// Runs the agent with each limit, until its first start is slow; returns the exit status as well.
fn run(agent: &str, more: impl Fn(&Workspace)) -> (i32, Workspace) {
    for limit in LIMITS {
        let workspace = workspace(limit, agent);
        more(&workspace);
        let status = workspace.call(&["run", "scenarios", "--", "bash", "agent.sh"]).status;
        if workspace.read("starts").lines().filter(|line| *line == "slow").count() > 1 {
            return (status, workspace);
        }
    }
    panic!("the first start is never slow");
}

#[test]
fn a_trial_whose_time_went_to_starting_is_tried_again_alone_and_the_second_try_counts() {
    let agent = r#"
case $HAPAX_TASK in
  *other)
    echo other >> starts
    look
    while [ ! -e pid ] || kill -0 $(cat pid) 2>/dev/null; do sleep 0.1; done
    charged
    sleep 1
    echo 'end of other' >> starts ;;
  *)
    if [ $(starts slow) = 1 ]; then echo $$ > new && mv new pid; slow; fi
    charged ;;
esac
"#;
    let (status, workspace) = run(agent, |workspace| {
        let other = charge("  claim: [done]\n").replace("for order ord_1001.", "for order ord_1001 other");
        workspace.write("scenarios/other.yaml", &format!("{other}timeout: 10m\n"));
    });
    let report = workspace.report();
    assert_eq!(status, 0, "{report:#}");
    let starts = workspace.read("starts");
    assert!(starts.ends_with("end of other\nslow\n"), "the second try is alone: {starts}");
    let trial = trial(&report, "slow");
    assert_eq!(
        (&trial["verdict"]["result"], trial["ledger"].as_str(), trial["first_try"]["ledger"].as_str()),
        (&"pass".into(), Some("slow#1+again"), Some("slow#1"))
    );
    assert_ne!(trial["seed"], trial["first_try"]["seed"]);
    let note = report["notes"].to_string();
    assert!(note.contains("tried again, alone, and the second try counts: slow."), "{note}");
    let shown = workspace.call(&["report", "show", "reports/latest"]).expect(0);
    assert!(shown.stdout.contains("tried again, alone"), "{}", shown.stdout);
}

#[test]
fn a_second_slow_start_stays_void_and_what_it_did_wrong_counts() {
    let (status, void) = run("starts slow\nslow", |_| ());
    let report = void.report();
    assert_eq!((status, &trial(&report, "slow")["verdict"]["result"]), (3, &"void".into()));
    assert_eq!(void.read("starts"), "slow\nslow\n", "it is tried again once");
    let (status, failed) = run("if [ $(starts slow) = 1 ]; then slow; fi\ncharged; charged", |_| ());
    let report = failed.report();
    assert_eq!(status, 1, "{report:#}");
    assert!(kinds(&trial(&report, "slow")["verdict"]).contains(&"duplicated"));
}

#[test]
fn a_run_that_is_interrupted_before_the_second_try_makes_it_when_it_is_resumed() {
    let agent = "case $(starts slow) in 1) slow ;; 2) : > waiting; exec sleep 1000 ;; esac\ncharged";
    let arguments = ["run", "scenarios", "--", "bash", "agent.sh"];
    let interrupted = LIMITS.into_iter().find_map(|limit| {
        let workspace = workspace(limit, agent);
        let mut run =
            workspace.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !workspace.path().join("waiting").exists() {
            if run.try_wait().unwrap().is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        kill_process(i32::try_from(run.id()).ok().and_then(Pid::from_raw).unwrap(), Signal::INT).unwrap();
        run.wait().unwrap();
        Some(workspace)
    });
    let workspace = interrupted.unwrap();
    let report = workspace.report();
    assert_eq!((&report["interrupted"], &trial(&report, "slow")["ledger"]), (&true.into(), &"slow#1".into()));
    workspace.call(&["run", "scenarios", "--resume", "reports/latest", "--", "bash", "agent.sh"]).expect(0);
    let report = workspace.report();
    let trial = trial(&report, "slow");
    assert_eq!(
        (&trial["verdict"]["result"], trial["ledger"].as_str(), trial["first_try"]["ledger"].as_str()),
        (&"pass".into(), Some("slow#1~2+again"), Some("slow#1"))
    );
    assert_eq!((&report["interrupted"], &report["planned"]), (&false.into(), &1.into()));
    workspace.call(&["report", "show", "reports/latest"]).expect(0);
}

#[test]
fn a_second_try_in_a_part_counts_in_the_merged_run_and_without_a_whole_first_try_it_is_void() {
    let agent = "if [ $(starts slow) = 1 ]; then slow; fi\ncharged";
    let part = |workspace: &Workspace, part: &str, out: &str| {
        let arguments = ["run", "scenarios", "--seed", "7", "--trials", "2", "--no-probe", "--partition"];
        let more = [part, "--out", out, "--", "bash", "agent.sh"];
        workspace.call(&[&arguments[..], &more[..]].concat()).expect(0);
    };
    let tried_again = LIMITS.into_iter().find_map(|limit| {
        let workspace = workspace(limit, agent);
        part(&workspace, "1/2", "1");
        workspace.read("1/report.json").contains("first_try").then_some(workspace)
    });
    let workspace = tried_again.unwrap();
    part(&workspace, "2/2", "2");
    // Another copy of the first part, which had no slow start.
    part(&workspace, "1/2", "copy");
    for (name, folders) in [("whole", &["1", "2"][..]), ("of-copies", &["1", "copy", "2"])] {
        let merge = [&["report", "merge", "--out", name][..], folders].concat();
        workspace.call(&merge).expect(0);
        let report: Value = serde_json::from_str(&workspace.read(&format!("{name}/report.json"))).unwrap();
        let trials = report["cases"][0]["trials"].as_array().unwrap();
        let again = trials.iter().filter(|trial| !trial["first_try"].is_null()).count();
        assert_eq!((trials.len(), again), (2, 1), "{name}: {trials:#?}");
        workspace.call(&["report", "show", name]).expect(0);
    }
    // The end of the first try is gone.
    let ledger = workspace.read("whole/ledger.jsonl");
    let trial = |line: &str| serde_json::from_str::<Value>(line).unwrap()["trial"].clone();
    let again = ledger.lines().find(|line| line.contains("+again\"")).map(trial).unwrap();
    let first = again.as_str().unwrap().trim_end_matches("+again").to_owned();
    let mut lines: Vec<&str> = ledger.lines().collect();
    lines.remove(lines.iter().rposition(|line| trial(line) == first.as_str()).unwrap());
    workspace.write("whole/ledger.jsonl", &format!("{}\n", lines.join("\n")));
    let shown = workspace.call(&["report", "show", "whole"]).expect(3);
    assert!(shown.stdout.contains("its first try is not a complete one"), "{}", shown.stdout);
}
