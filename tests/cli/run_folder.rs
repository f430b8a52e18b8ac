//! The files of a run, and what can be done with them.

use crate::kit::workspace::{HAPAX, Workspace, charge, verdict};

const CASE: &str = "payment/lost-reply@keys=none,reply=drop";

#[test]
fn the_folder_has_the_ledger_and_the_reports_and_latest_links_to_it() {
    let workspace = Workspace::new();
    workspace.call(&["run", CASE, "--subject", "naive"]).expect(1);
    let latest = workspace.path().join("reports/latest");
    assert!(latest.symlink_metadata().unwrap().is_symlink());
    for file in
        ["ledger.jsonl", "ledger.index", "report.json", "junit.xml", "summary.md", "index.html", "badge.json"]
    {
        assert!(latest.join(file).metadata().unwrap().len() > 0, "{file}");
    }
    assert!(!latest.join("trials.jsonl").exists(), "a complete run needs no journal");
}

#[test]
fn while_a_trial_runs_its_folder_says_nothing_about_it() {
    let workspace = Workspace::new();
    // The agent reads all that hapax has written so far.
    let agent =
        "cat ../reports/2*/ledger.jsonl > ../ledger.seen; cat ../reports/2*/trials.jsonl > ../journal.seen\n";
    workspace.write("agents/agent.sh", &format!("cd {}\n{agent}", workspace.path().join("agents").display()));
    workspace.call(&["run", CASE, "--", "sh", "agents/agent.sh"]).expect(1);
    let (ledger, journal) = (workspace.read("ledger.seen"), workspace.read("journal.seen"));
    assert_eq!((ledger.lines().count(), journal.lines().count()), (1, 1), "{ledger}\n{journal}");
    let seed = workspace.report()["cases"][0]["trials"][0]["seed"].to_string();
    for told in ["lost-reply", "drop", "ord_1001", "faults", &seed] {
        assert!(!ledger.contains(told), "{told}: {ledger}");
    }
    for told in ["lost-reply", "ord_1001", "faults", "\"seed\"", &seed] {
        assert!(!journal.contains(told), "{told}: {journal}");
    }
}

#[test]
fn json_is_the_report_and_nothing_else() {
    let workspace = Workspace::new();
    let called = workspace.call(&["run", CASE, "--subject", "naive", "--json"]).expect(1);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&called.stdout).unwrap(), workspace.report());
}

#[test]
fn the_last_line_names_the_page() {
    let workspace = Workspace::new();
    for out in [&[][..], &["--fail-fast", "-j", "1"], &["--out", "here"]] {
        let arguments = [&["run", "payment/lost-reply", "--subject", "naive"], out].concat();
        let called = workspace.call(&arguments).expect(1);
        let page = called.stderr.lines().last().unwrap().strip_prefix("page: ").unwrap().to_owned();
        assert!(page.ends_with("/index.html"), "{page}");
        assert!(workspace.read(&page).starts_with("<!DOCTYPE html>"), "{page}");
    }
}

#[test]
fn quiet_prints_only_the_result() {
    let workspace = Workspace::new();
    let called = workspace.call(&["run", CASE, "--subject", "careful", "--quiet"]).expect(0);
    assert_eq!(called.stderr, "");
    assert!(called.stdout.contains("1 passed"), "{}", called.stdout);
}

#[test]
fn a_saved_ledger_is_scored_again_to_the_same_verdict() {
    let workspace = Workspace::new();
    workspace.call(&["run", CASE, "--subject", "naive"]).expect(1);
    let truth = verdict(&workspace.report(), CASE).clone();
    // The ledger decides, not the report.
    let mut report = workspace.report();
    report["cases"][0]["trials"][0]["verdict"]["result"] = "pass".into();
    report["cases"][0]["trials"][0]["verdict"]["findings"] = serde_json::json!([]);
    workspace.write("reports/latest/report.json", &report.to_string());
    let shown = workspace.call(&["report", "show", "reports/latest"]).expect(1);
    assert!(shown.stdout.contains("2 charges for ord_1001"), "{}", shown.stdout);
    let lines = workspace.call(&["report", "show", "reports/latest", "--format", "jsonl"]).expect(1).stdout;
    let trial: serde_json::Value =
        serde_json::from_str(lines.lines().find(|line| line.contains("\"kind\":\"trial\"")).unwrap())
            .unwrap();
    assert_eq!(trial["verdict"], truth, "{lines}");
}

#[test]
fn an_edited_ledger_is_noticed() {
    let workspace = Workspace::new();
    workspace.call(&["run", CASE, "--subject", "careful"]).expect(0);
    let ledger = workspace.read("reports/latest/ledger.jsonl");
    let shorter: Vec<&str> = ledger.lines().filter(|line| !line.contains("\"committed\"")).collect();
    workspace.write("reports/latest/ledger.jsonl", &(shorter.join("\n") + "\n"));
    let shown = workspace.call(&["report", "show", "reports/latest"]);
    assert_ne!(shown.status, 0, "{}", shown.stdout);
    assert!(shown.stdout.contains("edited or damaged"), "{}", shown.stdout);
}

#[test]
fn a_replay_runs_the_same_trial_again() {
    let workspace = Workspace::new();
    workspace.call(&["run", CASE, "--subject", "naive", "--seed", "99"]).expect(1);
    let first = workspace.report();
    let replay = first["cases"][0]["trials"][0]["replay"].as_str().unwrap().to_owned();
    let words: Vec<&str> = replay.split(' ').skip(1).collect();
    workspace.call(&words).expect(1);
    let second = workspace.report();
    assert_eq!(second["cases"][0]["trials"][0]["seed"], first["cases"][0]["trials"][0]["seed"]);
    assert_eq!(verdict(&second, CASE)["outcome"], verdict(&first, CASE)["outcome"]);
}

#[test]
fn a_replay_finds_the_subject_of_the_run() {
    let workspace = Workspace::new();
    workspace
        .write("scenarios/plain.yaml", &charge(""))
        .write("elsewhere/mine.yaml", "subjects:\n  mine:\n    command: [\"true\"]\n");
    workspace
        .call(&["run", "scenarios/plain.yaml", "--config", "elsewhere/mine.yaml", "--subject", "mine"])
        .expect(1);
    let replay = workspace.report()["cases"][0]["trials"][0]["replay"].as_str().unwrap().to_owned();
    workspace.call(&replay.split(' ').skip(1).collect::<Vec<_>>()).expect(1);
}

#[test]
fn cases_that_a_subject_cannot_do_are_skipped() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    workspace.write("hapax.yaml", "subjects:\n  mailer:\n    command: [\"true\"]\n    can: [email]\n");
    let called = workspace.call(&["run", "scenarios/plain.yaml"]).expect(3);
    assert!(called.stdout.contains("skipped"), "{}", called.stdout);
    assert_eq!(workspace.report()["skipped"][0]["id"], "plain");
}

#[test]
fn a_subject_with_can_tickets_runs_only_their_cases() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    workspace.write("hapax.yaml", "subjects:\n  helper:\n    command: [\"true\"]\n    can: [tickets]\n");
    workspace.call(&["run", "scenarios/plain.yaml", "tickets/lost-reply"]).expect(1);
    let report = workspace.report();
    assert_eq!(
        (&report["skipped"][0]["id"], report["skipped"].as_array().unwrap().len()),
        (&"plain".into(), 1)
    );
    assert!(report["cases"].as_array().unwrap().iter().all(|case| case["scenario"] == "tickets/lost-reply"));
}

#[test]
fn each_of_several_trials_has_its_own_seed() {
    let workspace = Workspace::new();
    workspace.call(&["run", CASE, "--subject", "careful", "--trials", "3"]).expect(0);
    let report = workspace.report();
    let trials = report["cases"][0]["trials"].as_array().unwrap();
    let seeds: std::collections::BTreeSet<u64> =
        trials.iter().map(|trial| trial["seed"].as_u64().unwrap()).collect();
    assert_eq!((trials.len(), seeds.len()), (3, 3));
}

#[test]
fn the_replay_line_works_for_a_file_in_another_folder() {
    let workspace = Workspace::new();
    workspace.write("elsewhere/mine.yaml", &charge(""));
    workspace.call(&["run", "elsewhere/mine.yaml", "--", "false"]).expect(1);
    let replay = workspace.report()["cases"][0]["trials"][0]["replay"].as_str().unwrap().to_owned();
    assert!(replay.contains("--scenario elsewhere/mine.yaml"), "{replay}");
    let words: Vec<&str> = replay.split(' ').skip(1).collect();
    workspace.call(&words).expect(1);
    assert_eq!(verdict(&workspace.report(), "mine")["outcome"], "lost");
}

#[test]
fn a_file_in_place_of_the_reports_folder_is_an_error_before_the_run() {
    let workspace = Workspace::new();
    workspace.write("reports", "a file");
    let called = workspace.call(&["run", CASE, "--subject", "careful"]).expect(2);
    assert!(
        called.stderr.contains("cannot write reports") && called.stderr.contains("--out DIR"),
        "{}",
        called.stderr
    );
}

#[test]
fn a_file_or_folder_of_the_user_named_like_the_link_is_not_changed() {
    let workspace = Workspace::new();
    workspace.write("reports/latest", "my notes");
    let called = workspace.call(&["run", CASE, "--subject", "naive"]).expect(1);
    assert!(
        called.stderr.contains("note: reports/latest was not made by hapax and is not changed"),
        "{}",
        called.stderr
    );
    assert_eq!(workspace.read("reports/latest"), "my notes");

    let workspace = Workspace::new();
    workspace.write("reports/latest/kept.txt", "from elsewhere");
    let called = workspace.call(&["run", CASE, "--subject", "naive"]).expect(1);
    assert!(called.stderr.contains("note: reports/latest was not made by hapax"), "{}", called.stderr);
    assert!(
        called.stdout.contains("1 of 1 case failed") && called.stderr.contains("page: "),
        "{}",
        called.stdout
    );
    let names = std::fs::read_dir(workspace.path().join("reports")).unwrap();
    assert_eq!(names.count(), 2, "no link is left halfway");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let workspace = Workspace::new();
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
        let output = workspace.command(arguments).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains("cannot write the output"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_report_without_some_trials_is_refused() {
    let workspace = Workspace::new();
    workspace.call(&["run", CASE, "--subject", "careful", "--trials", "2"]).expect(0);
    let mut report = workspace.report();
    report["cases"][0]["trials"].as_array_mut().unwrap().pop();
    workspace.write("reports/latest/report.json", &report.to_string());
    workspace.call(&["report", "show", "reports/latest"]).expect(2);
}

/// The browser is opened once, at the beginning; the page that it finds reloads itself, and the last one does not.
#[cfg(target_os = "linux")]
#[test]
fn open_shows_the_page_while_trials_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::new();
    let opened = workspace.path().join("opened");
    let script = format!("#!/bin/sh\ncat \"$1\" >> '{}'\n", opened.display());
    workspace.write("bin/xdg-open", &script);
    let program = workspace.path().join("bin/xdg-open");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", workspace.path().join("bin").display(), std::env::var("PATH").unwrap());
    // No trial ends before the browser has read the page.
    let naive =
        ["--", "sh", "-c", "until [ -s opened ]; do sleep 0.01; done; exec \"$0\" control naive", HAPAX];
    let run = ["run", CASE, "-k", "8", "-j", "1", "--open"];
    let mut command = workspace.command(&[&run[..], &naive].concat());
    assert_eq!(command.env("PATH", &path).status().unwrap().code(), Some(1));
    let opened = workspace.read("opened");
    assert_eq!(opened.matches("<!DOCTYPE html>").count(), 1);
    assert!(opened.contains("of 8 trials have ended. This page reloads itself"));
    let page = workspace.read("reports/latest/index.html");
    assert!(!page.contains("reloads itself until"), "the run is finished");
    assert!(page.contains("In all 8 trials the customer paid twice: $399.92 too much."));
    // Opening is no verdict.
    let mut command = workspace.command(&["report", "open"]);
    assert_eq!(command.env("PATH", path).status().unwrap().code(), Some(0));
    assert_eq!(workspace.read("opened").matches("<!DOCTYPE html>").count(), 2);
    workspace.call(&["report", "open", "nowhere"]).expect(2);
}
