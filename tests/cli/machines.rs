//! Output for other programs: GitHub, TAP and JSON lines; and the size of the output for people.

use serde_json::Value;

use crate::kit::workspace::{Called, Workspace, charge};

/// One case that fails, one that passes.
const CASES: [&str; 2] = ["payment/lost-reply@keys=none,reply=drop", "payment/clean@keys=none"];

fn run_with(workspace: &Workspace, more: &[&str]) -> Called {
    workspace.call(&[&["run", CASES[0], CASES[1], "--subject", "naive"], more].concat()).expect(1)
}

#[test]
fn github_gets_a_summary_after_existing_text_and_an_annotation_at_the_line_of_the_scenario() {
    let workspace = Workspace::new();
    workspace
        .write("step.md", "# theirs\n")
        .write("scenarios/far.yaml", &charge("faults: [{ on: payment.charge, attempt: 2, reply: drop }]\n"));
    let mut command =
        workspace.command(&["run", CASES[0], CASES[1], "scenarios/far.yaml", "--subject", "naive"]);
    let called = command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", workspace.path().join("step.md"))
        .output();
    let called = Called::from(called.unwrap()).expect(1);

    let step = workspace.read("step.md");
    let summary =
        step.strip_prefix("# theirs\n").unwrap_or_else(|| panic!("what others wrote is gone: {step}"));
    assert_eq!(summary.trim_end(), workspace.read("reports/latest/summary.md").trim_end());
    assert!(summary.contains(CASES[0]), "{summary}");

    let notes: Vec<&str> = called.stdout.lines().filter(|line| line.starts_with("::")).collect();
    let [error, warning] = notes[..] else { panic!("one that failed and one that is void: {notes:#?}") };
    assert!(error.starts_with("::error title="), "a built-in scenario is not in the repository: {error}");
    assert!(error.contains("2 charges for ord_1001"), "{error}");
    assert!(warning.starts_with("::warning file=scenarios/far.yaml,line=1,"), "{warning}");
}

#[test]
fn github_gets_the_result_that_the_baseline_decides() {
    let workspace = Workspace::new();
    let update = ["run", CASES[0], "--subject", "naive", "--baseline", "known.yaml"];
    workspace.call(&[&update[..], &["--update-baseline"]].concat()).expect(0);
    let called = workspace
        .command(&update)
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", workspace.path().join("step.md"))
        .output();
    let called = Called::from(called.unwrap()).expect(0);
    assert!(!called.stdout.contains("::error"), "{}", called.stdout);
    let step = workspace.read("step.md");
    assert!(step.starts_with("## hapax: PASSED nothing is worse, 1 known to fail"), "{step}");
    assert!(step.contains("\n### All verdicts: failed\n"), "{step}");
}

#[test]
fn outside_github_nothing_is_written_for_it() {
    let workspace = Workspace::new();
    assert!(!run_with(&workspace, &[]).stdout.contains("::error"));
    let mut command = workspace.command(&["run", CASES[0], "--subject", "naive", "--format", "tap"]);
    let called = Called::from(command.env("GITHUB_ACTIONS", "true").output().unwrap()).expect(1);
    assert!(!called.stdout.contains("::error"), "who asked for TAP gets nothing else: {}", called.stdout);
}

#[test]
fn tap_is_a_plan_and_a_line_for_each_case_and_nothing_else() {
    let workspace = Workspace::new();
    let called = run_with(&workspace, &["--format", "tap"]);
    assert_eq!(called.stderr, "");
    let points: Vec<&str> = called.stdout.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(
        points,
        ["TAP version 14", "1..2", &format!("ok 1 - {}", CASES[1]), &format!("not ok 2 - {}", CASES[0])],
        "{}",
        called.stdout
    );
    let message = called.stdout.lines().find_map(|line| line.strip_prefix("  message: ")).unwrap();
    assert!(serde_json::from_str::<String>(message).unwrap().contains("2 charges for ord_1001"), "{message}");
}

#[test]
fn jsonl_is_a_line_for_each_trial_and_nothing_else() {
    let workspace = Workspace::new();
    let called = run_with(&workspace, &["--format", "jsonl", "--trials", "2"]);
    assert_eq!(called.stderr, "");
    let lines: Vec<Value> = called.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let trials = lines
        .iter()
        .filter(|line| line["kind"] == "trial")
        .map(|line| (line["case"].as_str(), line["trial"].as_u64()));
    let all = CASES.iter().rev().flat_map(|case| [1, 2].map(|trial| (Some(*case), Some(trial))));
    assert_eq!(trials.collect::<Vec<_>>(), all.collect::<Vec<_>>(), "{}", called.stdout);
}

#[test]
fn fifty_failures_fit_a_few_screens() {
    let workspace = Workspace::new();
    let numbers: Vec<String> = (1..=50).map(|number| number.to_string()).collect();
    let many = charge("matrix: { n: [NUMBERS] }\n")
        .replace("NUMBERS", &numbers.join(", "))
        .replace("amount: 4999", "amount: \"${n}\"");
    workspace.write("scenarios/many.yaml", &many);
    let called = workspace.call(&["run", "scenarios/many.yaml", "--", "true"]).expect(1);
    let (out, err) = (called.stdout.lines().count(), called.stderr.lines().count());
    assert!(called.stdout.contains("FAILED  50 of 50 cases failed"), "{}", called.stdout);
    assert!(
        out < 250 && err < 70,
        "{out} lines at the end and {err} before:\n{}{}",
        called.stderr,
        called.stdout
    );
    let widest = called.stdout.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 100, "{widest} columns:\n{}", called.stdout);
}

#[test]
fn a_run_and_its_saved_report_are_printed_alike_in_every_format_for_machines() {
    let workspace = Workspace::new();
    for (format, file) in
        [("json", "report.json"), ("junit", "junit.xml"), ("markdown", "summary.md"), ("html", "index.html")]
    {
        let out = format!("out-{format}");
        let called = run_with(&workspace, &["--format", format, "--out", &out]);
        assert_eq!(called.stderr, "", "{format}");
        assert_eq!(called.stdout.trim_end(), workspace.read(&format!("{out}/{file}")).trim_end(), "{format}");
        let shown = workspace.call(&["report", "show", &out, "--format", format]).expect(1);
        assert_eq!(shown.stdout, called.stdout, "{format}");
    }
    for format in ["jsonl", "tap"] {
        let out = format!("out-{format}");
        let called = run_with(&workspace, &["--format", format, "--out", &out]);
        let shown = workspace.call(&["report", "show", &out, "--format", format]).expect(1);
        assert_eq!(shown.stdout, called.stdout, "{format}");
    }
}
