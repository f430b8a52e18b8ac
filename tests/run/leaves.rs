//! What a run leaves behind, and what can be made of it.

use crate::rig::{Desk, charge, verdict};

const CASE: &str = "payment/lost-reply@keys=none,reply=drop";

#[test]
fn the_folder_holds_the_ledger_and_the_reports_and_latest_leads_to_it() {
    let desk = Desk::new();
    desk.call(&["run", CASE, "--subject", "naive"]).expect(1);
    let latest = desk.path().join("reports/latest");
    assert!(latest.symlink_metadata().unwrap().is_symlink());
    for file in ["ledger.jsonl", "report.json", "junit.xml", "summary.md", "index.html", "badge.json"] {
        assert!(latest.join(file).metadata().unwrap().len() > 0, "{file}");
    }
    assert!(!latest.join("trials.jsonl").exists(), "a complete run needs no journal");
}

#[test]
fn json_is_the_report_and_nothing_else() {
    let desk = Desk::new();
    let called = desk.call(&["run", CASE, "--subject", "naive", "--json"]).expect(1);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&called.stdout).unwrap(), desk.report());
}

#[test]
fn quiet_prints_nothing_but_the_result() {
    let desk = Desk::new();
    let called = desk.call(&["run", CASE, "--subject", "careful", "--quiet"]).expect(0);
    assert_eq!(called.stderr, "");
    assert!(called.stdout.contains("1 passed"), "{}", called.stdout);
}

#[test]
fn a_saved_ledger_is_scored_again_to_the_same_verdict() {
    let desk = Desk::new();
    desk.call(&["run", CASE, "--subject", "naive"]).expect(1);
    let truth = verdict(&desk.report(), CASE).clone();
    // Whatever the report says: the ledger has the last word.
    let mut report = desk.report();
    report["cases"][0]["trials"][0]["verdict"]["result"] = "pass".into();
    report["cases"][0]["trials"][0]["verdict"]["findings"] = serde_json::json!([]);
    desk.write("reports/latest/report.json", &report.to_string());
    let shown = desk.call(&["report", "show", "reports/latest"]).expect(1);
    assert!(shown.stdout.contains("2 charges for ord_1001"), "{}", shown.stdout);
    let lines = desk.call(&["report", "show", "reports/latest", "--format", "jsonl"]).expect(1).stdout;
    let trial: serde_json::Value =
        serde_json::from_str(lines.lines().find(|line| line.contains("\"kind\":\"trial\"")).unwrap())
            .unwrap();
    assert_eq!(trial["verdict"], truth, "{lines}");
}

#[test]
fn an_edited_ledger_is_noticed() {
    let desk = Desk::new();
    desk.call(&["run", CASE, "--subject", "careful"]).expect(0);
    let ledger = desk.read("reports/latest/ledger.jsonl");
    let shorter: Vec<&str> = ledger.lines().filter(|line| !line.contains("\"committed\"")).collect();
    desk.write("reports/latest/ledger.jsonl", &(shorter.join("\n") + "\n"));
    let shown = desk.call(&["report", "show", "reports/latest"]);
    assert_ne!(shown.status, 0, "{}", shown.stdout);
    assert!(shown.stdout.contains("edited or damaged"), "{}", shown.stdout);
}

#[test]
fn a_replay_runs_the_same_trial_again() {
    let desk = Desk::new();
    desk.call(&["run", CASE, "--subject", "naive", "--seed", "99"]).expect(1);
    let first = desk.report();
    let replay = first["cases"][0]["trials"][0]["replay"].as_str().unwrap().to_owned();
    let words: Vec<&str> = replay.split(' ').skip(1).collect();
    desk.call(&words).expect(1);
    let second = desk.report();
    assert_eq!(second["cases"][0]["trials"][0]["seed"], first["cases"][0]["trials"][0]["seed"]);
    assert_eq!(verdict(&second, CASE)["outcome"], verdict(&first, CASE)["outcome"]);
}

#[test]
fn a_replay_finds_the_subject_where_the_run_found_it() {
    let desk = Desk::new();
    desk.write("scenarios/plain.yaml", &charge(""))
        .write("elsewhere/mine.yaml", "subjects:\n  mine:\n    command: [\"true\"]\n");
    desk.call(&["run", "scenarios/plain.yaml", "--config", "elsewhere/mine.yaml", "--subject", "mine"])
        .expect(1);
    let replay = desk.report()["cases"][0]["trials"][0]["replay"].as_str().unwrap().to_owned();
    desk.call(&replay.split(' ').skip(1).collect::<Vec<_>>()).expect(1);
}

#[test]
fn a_subject_of_hapax_yaml_is_skipped_where_it_cannot() {
    let desk = Desk::new();
    desk.write("scenarios/plain.yaml", &charge(""));
    desk.write("hapax.yaml", "subjects:\n  mailer:\n    command: [\"true\"]\n    can: [email]\n");
    let called = desk.call(&["run", "scenarios/plain.yaml"]).expect(3);
    assert!(called.stdout.contains("skipped"), "{}", called.stdout);
    assert_eq!(desk.report()["skipped"][0]["id"], "plain");
}

#[test]
fn a_subject_that_is_for_tickets_runs_their_cases_and_no_others() {
    let desk = Desk::new();
    desk.write("scenarios/plain.yaml", &charge(""));
    desk.write("hapax.yaml", "subjects:\n  helper:\n    command: [\"true\"]\n    can: [tickets]\n");
    desk.call(&["run", "scenarios/plain.yaml", "tickets/lost-reply"]).expect(1);
    let report = desk.report();
    assert_eq!(
        (&report["skipped"][0]["id"], report["skipped"].as_array().unwrap().len()),
        (&"plain".into(), 1)
    );
    assert!(report["cases"].as_array().unwrap().iter().all(|case| case["scenario"] == "tickets/lost-reply"));
}

#[test]
fn several_trials_have_seeds_of_their_own() {
    let desk = Desk::new();
    desk.call(&["run", CASE, "--subject", "careful", "--trials", "3"]).expect(0);
    let report = desk.report();
    let trials = report["cases"][0]["trials"].as_array().unwrap();
    let seeds: std::collections::BTreeSet<u64> =
        trials.iter().map(|trial| trial["seed"].as_u64().unwrap()).collect();
    assert_eq!((trials.len(), seeds.len()), (3, 3));
}

#[test]
fn a_trial_of_a_file_elsewhere_is_run_again_by_its_line() {
    let desk = Desk::new();
    desk.write("elsewhere/mine.yaml", &charge(""));
    desk.call(&["run", "elsewhere/mine.yaml", "--", "false"]).expect(1);
    let replay = desk.report()["cases"][0]["trials"][0]["replay"].as_str().unwrap().to_owned();
    assert!(replay.contains("--scenario elsewhere/mine.yaml"), "{replay}");
    let words: Vec<&str> = replay.split(' ').skip(1).collect();
    desk.call(&words).expect(1);
    assert_eq!(verdict(&desk.report(), "mine")["outcome"], "lost");
}

#[test]
fn a_file_where_the_reports_should_be_is_told_at_once() {
    let desk = Desk::new();
    desk.write("reports", "a file");
    let called = desk.call(&["run", CASE, "--subject", "careful"]).expect(2);
    assert!(
        called.stderr.contains("cannot write reports") && called.stderr.contains("--out DIR"),
        "{}",
        called.stderr
    );
}

#[test]
fn a_file_or_folder_of_the_user_in_the_place_of_the_link_is_left_alone() {
    let desk = Desk::new();
    desk.write("reports/latest", "my notes");
    let called = desk.call(&["run", CASE, "--subject", "naive"]).expect(1);
    assert!(
        called.stderr.contains("note: reports/latest was not made by hapax and is left as it is"),
        "{}",
        called.stderr
    );
    assert_eq!(desk.read("reports/latest"), "my notes");

    let desk = Desk::new();
    desk.write("reports/latest/kept.txt", "from elsewhere");
    let called = desk.call(&["run", CASE, "--subject", "naive"]).expect(1);
    assert!(called.stderr.contains("note: reports/latest was not made by hapax"), "{}", called.stderr);
    assert!(
        called.stdout.contains("1 of 1 case failed") && called.stderr.contains("written to "),
        "{}",
        called.stdout
    );
    let names = std::fs::read_dir(desk.path().join("reports")).unwrap();
    assert_eq!(names.count(), 2, "no link is left halfway");
}

#[test]
fn output_that_cannot_be_written_is_no_success() {
    let desk = Desk::new();
    let verbs: [&[&str]; 6] = [
        &["schema"],
        &["completions", "bash"],
        &["man"],
        &["list", "payment"],
        &["lint"],
        &["run", CASE, "--subject", "careful", "--json"],
    ];
    for arguments in verbs {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = desk.command(arguments).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("cannot write the output"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_report_that_lacks_trials_is_not_that_of_a_finished_run() {
    let desk = Desk::new();
    desk.call(&["run", CASE, "--subject", "careful", "--trials", "2"]).expect(0);
    let mut report = desk.report();
    report["cases"][0]["trials"].as_array_mut().unwrap().pop();
    desk.write("reports/latest/report.json", &report.to_string());
    desk.call(&["report", "show", "reports/latest"]).expect(2);
}
