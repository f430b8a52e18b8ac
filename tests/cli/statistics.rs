//! Many trials in CI: required rates, baselines, partitions.

use serde_json::Value;

use crate::kit::workspace::{Called, LOOK, Workspace, charge};

/// A scenario that a subject passes if it only reads.
pub(crate) fn idle() -> String {
    charge("").replace("where: { order: ord_1001 }, with: { amount: 4999 }", "times: 0..1")
}

/// A folder with `idle`, which a subject that only reads passes, and `due`, which it fails.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("scenarios/idle.yaml", &idle()).write("scenarios/due.yaml", &charge(""));
    workspace
}

/// Runs a subject that only reads.
fn call(workspace: &Workspace, arguments: &[&str]) -> Called {
    workspace.call(&[&["run"], arguments, &["--", "bash", "-c", LOOK]].concat())
}

/// The part of the output that begins with this word.
fn from(called: &Called, word: &str) -> String {
    let start = called.stdout.find(word).unwrap_or_else(|| panic!("no {word} in {}", called.stdout));
    called.stdout[start..].to_owned()
}

#[test]
fn several_trials_are_summarized() {
    let workspace = workspace();
    let called = call(&workspace, &["scenarios", "--trials", "4"]).expect(1);
    let numbers = called
        .stdout
        .lines()
        .skip_while(|line| !line.contains("exactly once "))
        .take_while(|line| !line.is_empty());
    insta::assert_snapshot!(numbers.collect::<Vec<_>>().join("\n"));
    let failed = called.stdout.lines().find(|line| line.starts_with("FAIL ")).unwrap();
    insta::assert_snapshot!(failed, @"FAIL  due  lost  (0 of 4 trials passed)");
}

#[test]
fn a_rate_that_is_required_is_met_by_enough_passes() {
    let called = call(&workspace(), &["scenarios/idle.yaml", "--trials", "12", "--require", "0.8"]).expect(0);
    insta::assert_snapshot!(from(&called, "MET"));
}

#[test]
fn a_rate_that_is_required_is_not_met_by_failures() {
    let called = call(&workspace(), &["scenarios/due.yaml", "--trials", "6", "--require", "0.8"]).expect(1);
    insta::assert_snapshot!(from(&called, "NOT MET"));
}

#[test]
fn too_few_trials_are_inconclusive_and_the_message_says_how_many_are_enough() {
    let workspace = workspace();
    let called = call(&workspace, &["scenarios/idle.yaml", "--trials", "3", "--require", "0.8"]).expect(3);
    insta::assert_snapshot!(from(&called, "INCONCLUSIVE"));
    call(&workspace, &["scenarios/idle.yaml", "--trials", "10", "--require", "0.8"]).expect(3);
    call(&workspace, &["scenarios/idle.yaml", "--trials", "11", "--require", "0.8"]).expect(0);
    call(&workspace, &["scenarios/idle.yaml", "--trials", "3", "--require", "0.8", "--confidence", "0.6"])
        .expect(0);
}

#[test]
fn a_failure_is_allowed_where_the_rate_allows_it() {
    let workspace = workspace();
    for number in 1..=9 {
        workspace.write(&format!("scenarios/idle-{number}.yaml"), &idle());
    }
    call(&workspace, &["scenarios"]).expect(1);
    call(&workspace, &["scenarios", "--require", "0.5", "--trials", "3"]).expect(0);
}

#[test]
fn void_trials_are_counted_separately_and_meet_no_requirement() {
    let called = workspace()
        .call(&["run", "scenarios/idle.yaml", "--require", "0.5", "--", "no-such-program"])
        .expect(3);
    let text = from(&called, "INCONCLUSIVE");
    assert!(text.contains("Not counted: 1 void trial"), "{text}");
}

#[test]
fn contradictory_options_are_refused_before_anything_runs() {
    let workspace = workspace();
    for wrong in [
        &["--require", "1.1"][..],
        &["--require", "often"],
        &["--require", "0.9", "--confidence", "1"],
        &["--confidence", "0.9"],
        &["--require", "0.9", "--baseline", "known.yaml"],
        &["--require", "0.9", "--partition", "1/2"],
        &["--update-baseline"],
        &["--partition", "4/3"],
        &["--seed", "x"],
        &["--resume", "nowhere"],
        &["--baseline", "."],
    ] {
        call(&workspace, wrong).expect(2);
    }
    assert!(!workspace.path().join("reports").exists());
}

#[test]
fn a_baseline_is_written_once_and_then_only_what_is_worse_fails() {
    let workspace = workspace();
    let missing = call(&workspace, &["scenarios", "--baseline", "ci/known.yaml"]).expect(2);
    assert!(missing.stderr.contains("add --update-baseline"), "{}", missing.stderr);
    assert!(!workspace.path().join("reports").exists(), "nothing ran");
    call(&workspace, &["scenarios", "--baseline", "ci/known.yaml", "--update-baseline"]).expect(0);
    insta::assert_snapshot!(workspace.read("ci/known.yaml"));
    let known = call(&workspace, &["scenarios", "--baseline", "ci/known.yaml"]).expect(0);
    workspace.write("scenarios/new.yaml", &charge(""));
    let worse = call(&workspace, &["scenarios", "--baseline", "ci/known.yaml"]).expect(1);
    workspace.write("scenarios/new.yaml", &idle()).write("scenarios/due.yaml", &idle());
    let better = call(&workspace, &["scenarios", "--baseline", "ci/known.yaml"]).expect(0);
    let message = [known, worse, better].map(|called| from(&called, "Compared with the baseline"));
    insta::assert_snapshot!(message.join("\n"));
    call(&workspace, &["scenarios", "--baseline", "ci/known.yaml", "--update-baseline"]).expect(0);
    assert!(workspace.read("ci/known.yaml").ends_with("\n{}\n"));
}

#[test]
fn an_entry_whose_case_is_gone_is_an_error_with_its_place() {
    let workspace = workspace();
    workspace.write("known.yaml", "# known\ndue: lost\nidel: lost\n");
    let called = call(&workspace, &["scenarios", "--baseline", "known.yaml"]).expect(2);
    assert!(
        called.stderr.contains("known.yaml:3:1") && called.stderr.contains("did you mean `idle`?"),
        "{}",
        called.stderr
    );
    assert!(!workspace.path().join("reports").exists(), "nothing ran");
    call(&workspace, &["scenarios", "--baseline", "known.yaml", "--update-baseline"]).expect(0);
    assert!(!workspace.read("known.yaml").contains("idel"));
}

#[test]
fn a_case_that_filters_exclude_stays_in_the_baseline() {
    let workspace = workspace();
    workspace.write("known.yaml", "due: lost\npayment/declined-card: lost\n");
    call(&workspace, &["scenarios/idle.yaml", "--baseline", "known.yaml"]).expect(0);
    call(&workspace, &["scenarios/idle.yaml", "--baseline", "known.yaml", "--update-baseline"]).expect(0);
    assert!(workspace.read("known.yaml").ends_with("due: lost\npayment/declined-card: lost\n"));
}

#[test]
fn a_void_result_is_not_an_improvement() {
    let workspace = workspace();
    workspace.write("known.yaml", "due: lost\n");
    let run = [
        "run",
        "scenarios/due.yaml",
        "--baseline",
        "known.yaml",
        "--update-baseline",
        "--",
        "no-such-program",
    ];
    workspace.call(&run).expect(3);
    assert!(workspace.read("known.yaml").ends_with("due: lost\n"));
}

fn ids(report: &Value) -> Vec<&str> {
    report["cases"].as_array().unwrap().iter().map(|case| case["id"].as_str().unwrap()).collect()
}

#[test]
fn the_partitions_of_a_run_cover_all_cases_and_merge_into_one_report() {
    let workspace = Workspace::new();
    for number in 1..=9 {
        workspace.write(&format!("scenarios/idle-{number}.yaml"), &idle());
    }
    call(&workspace, &["scenarios", "--trials", "2", "--seed", "7"]).expect(0);
    let whole = workspace.report();
    let mut parts = Vec::new();
    for part in ["1/3", "2/3", "3/3"] {
        let out = format!("parts/{}", &part[..1]);
        call(&workspace, &["scenarios", "--trials", "2", "--seed", "7", "--partition", part, "--out", &out])
            .expect(0);
        parts.push((out.clone(), hapax::results::read_report(&workspace.path().join(out)).unwrap()));
    }
    assert!(parts.iter().all(|(_, part)| part.cases.len() < 9), "each has a part of the cases");
    let merged = serde_json::to_value(hapax::results::merge(parts).unwrap().report).unwrap();
    assert_eq!(ids(&merged), ids(&whole));
    assert_eq!(seeds(&merged), seeds(&whole), "a trial is the same trial in any part");
}

fn seeds(report: &Value) -> Vec<&Value> {
    let cases = report["cases"].as_array().unwrap();
    cases.iter().flat_map(|case| case["trials"].as_array().unwrap()).map(|trial| &trial["seed"]).collect()
}

#[test]
fn a_partition_without_cases_says_so_and_succeeds() {
    let workspace = workspace();
    let mut empty = 0;
    for part in ["1/3", "2/3", "3/3"] {
        let called = call(&workspace, &["scenarios/idle.yaml", "--seed", "7", "--partition", part]).expect(0);
        let is_empty = workspace.report()["cases"].as_array().unwrap().is_empty();
        let expected = format!("EMPTY\n      Part {} of 3 has no trials", &part[..1]);
        assert_eq!(called.stdout.contains(&expected), is_empty, "{}", called.stdout);
        assert!(!called.stdout.contains("VOID"), "{}", called.stdout);
        if is_empty {
            empty += 1;
            let summary = workspace.read("reports/latest/summary.md");
            assert!(summary.contains("empty part") && !summary.contains("void"), "{summary}");
            let shown = workspace.call(&["report", "show", "reports/latest"]).expect(0).stdout;
            assert!(shown.contains(&expected) && !shown.contains("VOID"), "{shown}");
        }
    }
    assert_eq!(empty, 2);
}

#[test]
fn every_run_on_the_page_about_ci_works() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/ci.md")).unwrap();
    let workspace = workspace();
    // `--resume` needs an interrupted run; it has other tests.
    let is_run = |line: &&str| line.starts_with("hapax run") && !line.contains("--resume");
    let calls: Vec<&str> = page.lines().filter(is_run).collect();
    assert!(calls.len() > 6, "{calls:?}");
    for call in calls {
        let call =
            call.split(" # ").next().unwrap().replace("python3 agent.py", "true").replace(" payment ", " ");
        let arguments: Vec<&str> = call.split_whitespace().skip(2).collect();
        let called = workspace.call(&[&["run", "scenarios/idle.yaml"], &arguments[..]].concat());
        assert!([0, 3].contains(&called.status), "{call}\n{}", called.stderr);
    }
}
