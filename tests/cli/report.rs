//! `hapax report` as a user runs it: folders of runs on disk, the real command, its output and its exit
//! status.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use hapax::results::{self, INDEX_FILE, LEDGER_FILE, REPORT_FILE, Report, sample};
use mock_services::Clock;
use mock_services::ledger::{Event, Ledger, LedgerFile, SavedLedger};

type Run = (Report, BTreeMap<String, SavedLedger>);

/// Writes a run as a run would have left it: the ledgers with their chains, and the report.
fn write(folder: &Path, (report, ledgers): &Run) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    let (plan, parts) = sample::plan_of(report);
    let plan = serde_json::to_string(&plan).unwrap();
    let names = report.cases.iter().flat_map(|case| &case.trials).map(|trial| &trial.ledger);
    let parts: BTreeMap<&String, String> = names.zip(parts).collect();
    let file = LedgerFile::create_planned(&folder.join(LEDGER_FILE), &plan).unwrap();
    let mut report = report.clone();
    let clock = Clock::Pinned(jiff::Timestamp::from_millisecond(report.started_at).unwrap());
    for (name, saved) in ledgers {
        let ledger = Ledger::held_until_closed(name, 77, clock, &file, &parts[name]);
        // The ledger writes its first and its last entry itself.
        for entry in saved
            .entries
            .iter()
            .filter(|entry| !matches!(entry.event, Event::Opened { .. } | Event::End { .. }))
        {
            ledger.append(entry.event.clone());
        }
        ledger.close();
    }
    file.flush().unwrap();
    let written = std::fs::File::open(folder.join(LEDGER_FILE)).unwrap();
    let written = mock_services::ledger::read_ledgers(std::io::BufReader::new(written)).unwrap();
    for trial in report.cases.iter_mut().flat_map(|case| &mut case.trials) {
        trial.seal.clone_from(&written[&trial.ledger].seal);
    }
    results::write_report(folder, &report).unwrap();
    folder.to_owned()
}

/// Runs the command, and removes the name of the folder from its output.
fn hapax(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let command = Command::new(env!("CARGO_BIN_EXE_hapax"))
        .env_remove("CLICOLOR_FORCE")
        .env("COLUMNS", "120")
        .args(arguments)
        .output();
    let output = command.unwrap();
    let message = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.code().unwrap(), message.replace(&folder.display().to_string(), "FOLDER"))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_saved_run_is_shown_failures_first() {
    let folder = tempfile::tempdir().unwrap();
    let run = write(&folder.path().join("run"), &sample::run());
    let (status, shown) = hapax(folder.path(), &["report", "show", text(&run)]);
    assert_eq!(status, 1, "something failed");
    assert!(shown.starts_with("FAIL  concurrency/same-job@callers=12  duplicated\n"), "{shown}");
    assert!(
        shown.ends_with("FAILED  4 of 9 cases failed, 1 void, 4 passed, 1 skipped (9 trials in 4.2 s)\n"),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'), "no colors in pipes");
    assert!(!shown.contains("torn"), "the ledgers are whole: {shown}");
}

#[test]
fn one_case_is_shown_in_full() {
    let folder = tempfile::tempdir().unwrap();
    let run = write(&folder.path().join("run"), &sample::run());
    let (status, shown) = hapax(folder.path(), &["report", "show", text(&run), "lost-reply"]);
    assert_eq!(status, 1);
    insta::assert_snapshot!(shown);
}

/// A run of the sample with the index of its ledgers, and the name of its index.
fn indexed(folder: &Path) -> (PathBuf, PathBuf) {
    let run = write(folder, &sample::run());
    results::write_index(&run).unwrap();
    let index = run.join(INDEX_FILE);
    assert!(index.exists());
    (run, index)
}

#[test]
fn cases_are_shown_by_the_index_as_without_it_and_the_exit_status_is_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let (run, index) = indexed(&folder.path().join("run"));
    let show = |case: &str| hapax(folder.path(), &["report", "show", text(&run), case]);
    // One case that failed, one by its whole id, four that passed, and all of a folder.
    let wanted = ["lost-reply", "crash/after-commit", "payment/verified", "payment"];
    let by_index = wanted.map(show);
    assert_eq!(by_index.each_ref().map(|(status, _)| *status), [1, 1, 0, 1], "{by_index:?}");
    let ledger = run.join(LEDGER_FILE);
    let whole = std::fs::read_to_string(&ledger).unwrap();

    // Of other cases nothing is read: here is the proof that the index is used.
    let is_part = |line: &&str| line.starts_with("{\"format\"") && line.contains("\"id\":\"concurrency");
    let part = whole.lines().find(is_part).unwrap();
    let changed = whole.replace(part, &part.replace("\"trial\":1", "\"trial\":7"));
    assert_ne!(changed, whole);
    std::fs::write(&ledger, changed).unwrap();
    assert_eq!(wanted.map(show), by_index);
    assert_eq!(hapax(folder.path(), &["report", "show", text(&run)]).0, 2, "the whole run is read");
    std::fs::write(&ledger, &whole).unwrap();

    std::fs::remove_file(&index).unwrap();
    assert_eq!(wanted.map(show), by_index);
}

#[test]
fn the_index_hides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (run, index) = indexed(&folder.path().join("run"));
    let show = || hapax(folder.path(), &["report", "show", text(&run), "lost-reply"]);
    let shown = show();
    let (report, ledger) = (run.join(REPORT_FILE), run.join(LEDGER_FILE));
    let saved = [&report, &ledger, &index].map(|path| std::fs::read_to_string(path).unwrap());
    let restore = || {
        for (path, content) in [&report, &ledger, &index].into_iter().zip(&saved) {
            std::fs::write(path, content).unwrap();
        }
    };

    // A verdict that was changed is that of the ledger again.
    let forged = saved[0].replace("\"result\": \"fail\"", "\"result\": \"pass\"");
    assert_ne!(forged, saved[0]);
    std::fs::write(&report, forged).unwrap();
    assert_eq!(show(), shown);
    restore();

    // What the reader of the whole run refuses is refused with the same words.
    let id = sample::run().0.cases.into_iter().find(|case| case.id.contains("lost-reply")).unwrap().id;
    let edit = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut json: serde_json::Value = serde_json::from_str(&saved[0]).unwrap();
        let cases = json["cases"].as_array_mut().unwrap();
        change(cases.iter_mut().find(|case| case["id"] == id.as_str()).unwrap());
        std::fs::write(&report, json.to_string()).unwrap();
    };
    let changes: [&dyn Fn(&mut serde_json::Value); 4] = [
        &|case| case["trials"] = serde_json::json!([]),
        &|case| case["terms"]["intents"][0]["times"] = 2.into(),
        &|case| case["trials"][0]["seed"] = 78.into(),
        &|case| case["id"] = "another/lost-reply".into(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        edit(change);
        let by_index = show();
        assert_eq!(by_index.0, 2, "change {number}: {by_index:?}");
        std::fs::remove_file(&index).unwrap();
        assert_eq!(show(), by_index, "change {number}");
        restore();
    }

    // An entry that was changed, without changing the length of the file.
    let line = saved[1].lines().rfind(|line| line.contains(&format!("\"trial\":\"{id}#1\""))).unwrap();
    std::fs::write(&ledger, saved[1].replace(line, &line.replacen("\"wall\":1", "\"wall\":2", 1))).unwrap();
    assert_ne!(std::fs::read_to_string(&ledger).unwrap(), saved[1]);
    let by_index = show();
    assert_ne!(by_index, shown);
    std::fs::remove_file(&index).unwrap();
    assert_eq!(show(), by_index);
    restore();

    // An index that is stale, damaged, of another format, or wrong about every place.
    let mut places: serde_json::Value = serde_json::from_str(&saved[2]).unwrap();
    let (cases, plans) = (places["cases"].take(), places["plans"].take());
    let with = |bytes: usize, plans: serde_json::Value, cases: serde_json::Value| {
        serde_json::json!({"format": 1, "bytes": bytes, "plans": plans, "cases": cases}).to_string()
    };
    let other = cases.as_object().unwrap().values().next().unwrap().clone();
    let end = cases[&id][0][1].as_u64().unwrap();
    let moved = |lines: serde_json::Value| {
        let mut cases = cases.clone();
        cases[&id] = lines;
        with(saved[1].len(), plans.clone(), cases)
    };
    assert_eq!(moved(cases[&id].clone()).len(), saved[2].len(), "the test writes the format of the index");
    for wrong in [
        with(saved[1].len() - 1, plans.clone(), cases.clone()),
        saved[2].replace("\"format\":1", "\"format\":2"),
        saved[2][..saved[2].len() / 2].to_owned(),
        with(saved[1].len(), serde_json::json!([]), cases.clone()),
        moved(other),
        moved(serde_json::json!([])),
        moved(serde_json::json!([[0, end]])),
        moved(serde_json::json!([[end, 0]])),
        moved(serde_json::json!([[cases[&id][0][0], end - 10]])),
        moved(serde_json::json!([[saved[1].len(), u64::MAX]])),
    ] {
        std::fs::write(&index, &wrong).unwrap();
        assert_eq!(show(), shown, "{wrong}");
    }
    // A ledger file to which a line was added: the reader of the whole run sees it.
    restore();
    let late = saved[1].lines().rfind(|line| line.contains(&format!("\"trial\":\"{id}#1\""))).unwrap();
    std::fs::write(&ledger, format!("{}{late}\n", saved[1])).unwrap();
    let (_, message) = show();
    assert!(message.contains("ledger    incomplete: "), "{message}");
}

#[test]
fn every_format_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let run = write(&folder.path().join("run"), &sample::run());
    for (format, first) in [
        ("tap", "TAP version 14\n"),
        ("jsonl", "{"),
        ("markdown", "## hapax: failed\n"),
        ("junit", "<?xml version=\"1.0\""),
        ("html", "<!DOCTYPE html>"),
    ] {
        let (status, shown) = hapax(folder.path(), &["report", "show", text(&run), "--format", format]);
        assert_eq!(status, 1, "{format}");
        assert!(shown.starts_with(first), "{format}: {}", shown.chars().take(200).collect::<String>());
    }
}

#[test]
fn the_exit_status_is_that_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let passed = write(&folder.path().join("passed"), &sample::run_of(vec![sample::pass(1)]));
    let void = write(&folder.path().join("void"), &sample::run_of(vec![sample::pass(1), sample::void()]));
    assert_eq!(hapax(folder.path(), &["report", "show", text(&passed)]).0, 0);
    assert_eq!(hapax(folder.path(), &["report", "show", text(&void)]).0, 3);
}

#[test]
fn usage_errors_of_reports_are_shown_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let run = write(&folder.path().join("run"), &sample::run());
    let nowhere = folder.path().join("nowhere");
    let old = folder.path().join("old");
    std::fs::create_dir(&old).unwrap();
    std::fs::write(old.join("report.json"), "{\"report\": 1}").unwrap();
    let calls: [&[&str]; 5] = [
        &["report", "show", text(&nowhere)],
        &["report", "show", text(&run), "no-such-case"],
        &["report", "compare", text(&run), text(&nowhere)],
        &["report", "merge", text(&run), "--out", text(&run)],
        &["report", "show", text(&old)],
    ];
    let message: Vec<String> = calls
        .iter()
        .map(|call| {
            let (status, message) = hapax(folder.path(), call);
            assert_eq!(status, 2, "{message}");
            message
        })
        .collect();
    insta::assert_snapshot!(message.join("\n"));
}

#[test]
fn the_exit_status_says_that_a_run_got_worse() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(&folder.path().join("good"), &sample::run_of(vec![sample::pass(1)]));
    let bad = write(&folder.path().join("bad"), &sample::run_of(vec![sample::pass(1), sample::lost()]));
    let (status, message) = hapax(folder.path(), &["report", "compare", text(&good), text(&bad)]);
    assert_eq!(status, 1, "{message}");
    assert!(message.starts_with("NEW AND FAILING  payment/success-lies\n"), "{message}");
    assert_eq!(
        hapax(folder.path(), &["report", "compare", text(&bad), text(&good)]).0,
        3,
        "a failing case that is gone proves nothing"
    );
    for (format, first) in [("markdown", "## hapax: something got worse"), ("html", "<!DOCTYPE html>")] {
        let (status, message) =
            hapax(folder.path(), &["report", "compare", text(&good), text(&bad), "--format", format]);
        assert!(status == 1 && message.starts_with(first), "{message}");
    }
}

/// The sample run in two parts.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let (report, ledgers) = sample::run();
    let part = |number: u32| {
        let mut one = report.clone();
        one.partition = Some((number, 2));
        one.cases = report.cases.iter().skip(number as usize - 1).step_by(2).cloned().collect();
        one.planned = one.cases.len() as u64;
        let names: Vec<&String> =
            one.cases.iter().flat_map(|case| &case.trials).map(|trial| &trial.ledger).collect();
        let kept = ledgers
            .iter()
            .filter(|(name, _)| names.contains(name))
            .map(|(name, saved)| (name.clone(), saved.clone()))
            .collect();
        let path = folder.join(format!("part-{number}"));
        write(&path, &(one, kept))
    };
    vec![part(1), part(2)]
}

#[test]
fn partitions_are_merged_into_one_complete_run() {
    let folder = tempfile::tempdir().unwrap();
    let parts = parts(folder.path());
    let whole = folder.path().join("whole");
    let (status, message) =
        hapax(folder.path(), &["report", "merge", text(&parts[0]), text(&parts[1]), "--out", text(&whole)]);
    assert_eq!(status, 1, "{message}");
    let files = ["report.json", "ledger.jsonl", "junit.xml", "summary.md", "badge.json", "index.html"];
    for name in files.into_iter().chain([INDEX_FILE]) {
        assert!(whole.join(name).exists(), "{name}");
    }
    let (sampled, _) = sample::run();
    let merged = results::read_run(&whole).unwrap();
    let ids = |report: &Report| -> Vec<String> { report.cases.iter().map(|case| case.id.clone()).collect() };
    assert_eq!(ids(&merged.report), ids(&sampled));
    assert_eq!((merged.ledgers.len(), merged.report.planned), (9, 9));
    assert!(merged.ledgers.values().all(|saved| saved.torn.is_none()), "every chain is whole");
}

#[test]
fn a_torn_partition_does_not_affect_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let parts = parts(folder.path());
    let ledger = parts[0].join(LEDGER_FILE);
    let bytes = std::fs::read(&ledger).unwrap();
    std::fs::write(&ledger, &bytes[..bytes.len() - 20]).unwrap();
    let whole = folder.path().join("whole");
    let (status, _) =
        hapax(folder.path(), &["report", "merge", text(&parts[0]), text(&parts[1]), "--out", text(&whole)]);
    assert_eq!(status, 1);
    let merged = results::read_run(&whole).unwrap();
    assert_eq!(merged.ledgers.values().filter(|saved| saved.torn.is_some()).count(), 1);
}

#[test]
fn partitions_of_different_runs_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let parts = parts(folder.path());
    let whole = folder.path().join("whole");
    let (status, missing) =
        hapax(folder.path(), &["report", "merge", text(&parts[0]), "--out", text(&whole)]);
    assert_eq!(status, 2);
    let (_, twice) =
        hapax(folder.path(), &["report", "merge", text(&parts[0]), text(&parts[0]), "--out", text(&whole)]);
    insta::assert_snapshot!(format!("{missing}\n{twice}"));
    assert!(!whole.exists());
}

/// The sample run, with its report changed afterwards.
fn edited(folder: &Path, change: impl FnOnce(&mut serde_json::Value)) -> PathBuf {
    let run = write(folder, &sample::run());
    let path = run.join(REPORT_FILE);
    let mut report = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut report);
    std::fs::write(&path, report.to_string()).unwrap();
    run
}

#[test]
fn a_report_that_leaves_out_what_failed_is_refused_by_every_verb() {
    let folder = tempfile::tempdir().unwrap();
    let whole = write(&folder.path().join("whole"), &sample::run());
    let run = edited(&folder.path().join("run"), |report| {
        report["cases"]
            .as_array_mut()
            .unwrap()
            .retain(|case| case["trials"][0]["verdict"]["result"] == "pass");
    });
    let out = folder.path().join("out");
    for call in [
        &["report", "show", text(&run)][..],
        &["report", "compare", text(&whole), text(&run)],
        &["report", "merge", text(&run), "--out", text(&out)],
    ] {
        let (status, message) = hapax(folder.path(), call);
        assert_eq!(status, 2, "{message}");
        assert!(message.contains("the plan names the case"), "{message}");
        assert!(message.contains("help: report.json or ledger.jsonl was changed after the run"), "{message}");
    }
    assert!(!out.exists());
}

#[test]
fn a_verdict_that_was_changed_in_a_part_is_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let parts = parts(folder.path());
    for part in &parts {
        let path = part.join(REPORT_FILE);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"result\": \"fail\"", "\"result\": \"pass\"")).unwrap();
    }
    let whole = folder.path().join("whole");
    let (status, message) =
        hapax(folder.path(), &["report", "merge", text(&parts[0]), text(&parts[1]), "--out", text(&whole)]);
    assert_eq!(status, 1, "{message}");
}

#[test]
fn a_comparison_says_whether_the_scenario_or_the_agent_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (
        sample::run_of(vec![sample::pass(1), sample::pass(2)]),
        sample::run_of(vec![sample::pass(1), sample::pass(2)]),
    );
    let (mut changed, ledgers) = new;
    "another".clone_into(&mut changed.cases[0].digest);
    // Both fail now, the first after its scenario was changed.
    for case in &mut changed.cases {
        case.terms.intents[0].times = 2;
    }
    let old = write(&folder.path().join("old"), &old);
    let new = write(&folder.path().join("new"), &(changed, ledgers));
    for format in ["terminal", "markdown", "html"] {
        let (status, message) =
            hapax(folder.path(), &["report", "compare", text(&old), text(&new), "--format", format]);
        assert_eq!(status, 1, "{message}");
        for words in
            ["scenario changed", "same scenario: the agent changed", "the scenario of 1 case changed"]
        {
            assert!(message.contains(words), "{format}: no `{words}` in {message}");
        }
    }
}

#[test]
fn the_history_of_a_folder_is_a_line_for_each_run_and_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let reports = folder.path().join("reports");
    let (mut old, ledgers) = sample::run();
    (old.skipped, old.started_at) = (Vec::new(), old.started_at - 1000);
    write(&reports.join("2-old"), &(old, ledgers));
    let (better, ledgers) = sample::run_of((1..=4).map(sample::pass).collect());
    write(&reports.join("1-new"), &(better, ledgers));
    std::fs::create_dir(reports.join("not-a-run")).unwrap();
    std::os::unix::fs::symlink("1-new", reports.join("latest")).unwrap();
    std::fs::create_dir(reports.join("damaged")).unwrap();
    std::fs::write(reports.join("damaged").join(REPORT_FILE), "{}").unwrap();
    let (status, shown) = hapax(folder.path(), &["report", "history", text(&reports), "--html"]);
    assert_eq!(status, 0, "{shown}");
    insta::assert_snapshot!(shown);
    let page = std::fs::read_to_string(reports.join("history.html")).unwrap();
    assert!(page.contains("href=\"./1-new/index.html\""), "{page}");
    let (_, lines) = hapax(folder.path(), &["report", "history", text(&reports), "--json"]);
    let lines: Vec<serde_json::Value> =
        lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!((lines.len(), &lines[0]["folder"], &lines[1]["passed"]), (2, &"2-old".into(), &4.into()));
    let (status, none) = hapax(folder.path(), &["report", "history", text(&reports.join("not-a-run"))]);
    assert!(status == 2 && none.contains("there is no run in FOLDER/reports/not-a-run"), "{none}");
}

#[test]
fn help_matches_the_snapshot() {
    let helps = [
        &["report", "--help"][..],
        &["report", "show", "--help"],
        &["report", "open", "--help"],
        &["report", "history", "--help"],
        &["report", "compare", "--help"],
        &["report", "merge", "--help"],
    ];
    let text: Vec<String> = helps.iter().map(|call| hapax(Path::new("no folder"), call).1).collect();
    insta::assert_snapshot!(text.join("\n----\n"));
}

/// A run that was written with format 2 of `report.json`, in which `framework` stood for a loop of the agent.
#[test]
fn a_run_of_the_format_before_this_one_is_shown_compared_merged_and_rendered() {
    let folder = tempfile::tempdir().unwrap();
    let earlier = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports/format-2");
    let stored = std::fs::read_to_string(earlier.join(REPORT_FILE)).unwrap();
    assert!(stored.contains("\"report\": 2") && stored.contains("\"retried_by\": \"framework\""));
    let report = results::read_report(&earlier).unwrap();
    let verdict = &report.cases[0].trials[0].verdict;
    assert_eq!((report.report, verdict.retried_by.as_str()), (results::REPORT_VERSION, "not-sure"));

    // The ledger is scored again, and says more.
    let (status, shown) = hapax(&earlier, &["report", "show", text(&earlier), "lost"]);
    assert_eq!(status, 1, "{shown}");
    assert!(shown.contains("who retried: agent") && shown.contains(", the agent's code: "), "{shown}");
    let (status, shown) = hapax(&earlier, &["report", "show", text(&earlier), "--format", "html"]);
    assert!(status == 1 && shown.starts_with("<!DOCTYPE html>"), "{shown}");
    let (status, shown) = hapax(&earlier, &["report", "compare", text(&earlier), text(&earlier)]);
    assert_eq!(status, 0, "{shown}");
    let merged = folder.path().join("merged");
    let (status, shown) = hapax(&earlier, &["report", "merge", text(&earlier), "--out", text(&merged)]);
    assert_eq!(status, 1, "{shown}");
    let written = std::fs::read_to_string(merged.join(REPORT_FILE)).unwrap();
    assert!(written.contains("\"report\": 3") && written.contains("\"retried_by\": \"agent\""), "{written}");
}

/// Eight parts of a run with so many trials, of which one in a hundred fails.
fn large_parts(folder: &Path, trials: u32) -> Vec<PathBuf> {
    let (mut whole, _) = sample::run_of(vec![]);
    whole.skipped.clear();
    whole.trials = trials / 100;
    whole.digest = "large".to_owned();
    let plan = hapax::results::WholePlan { hash: "large".to_owned(), trials: trials.into(), durations: None };
    let part = |number: u32| {
        let mut report = Report { partition: Some((number, 8)), whole: Some(plan.clone()), ..whole.clone() };
        let mut ledgers = BTreeMap::new();
        for at in 0..100u32 {
            let (mut case, saved) = if at == 0 { sample::lost() } else { sample::pass(1) };
            case.id = format!("{}-{at:03}", case.id);
            let first = case.trials.remove(0);
            for trial in (1..=whole.trials).filter(|trial| trial % 8 + 1 == number) {
                let ledger = format!("{}#{trial}", case.id);
                ledgers.insert(ledger.clone(), saved.clone());
                let mut made = first.clone();
                (made.trial, made.seed, made.ledger) = (trial, 77, ledger);
                case.trials.push(made);
            }
            report.cases.push(case);
        }
        report.planned = ledgers.len() as u64;
        write(&folder.join(format!("part-{number}")), &(report, ledgers))
    };
    (1..=8).map(part).collect()
}

/// The exit status of a command, and the most memory that it had, in megabytes.
fn measured(command: &mut Command) -> (i32, u64) {
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let path = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().split(' ').next());
        peak = kilobytes.and_then(|text| text.parse().ok()).unwrap_or(0).max(peak);
        if let Some(status) = child.try_wait().unwrap() {
            return (status.code().unwrap(), peak / 1024);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// `HAPAX_LARGE=100000 HAPAX_LARGE_PROGRAM=$PWD/target/release/hapax cargo test --test cli large_run -- --ignored
/// --nocapture` gives the figures of docs/fleet.md.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "it writes some hundred megabytes; run it with --ignored"]
fn a_large_run_is_merged_and_shown() {
    let trials: u32 = std::env::var("HAPAX_LARGE").map_or(10_000, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let parts = large_parts(folder.path(), trials);
    let whole = folder.path().join("whole");
    let size = |name: &str| std::fs::metadata(whole.join(name)).unwrap().len() / 1_000_000;
    let timed = |what: &str, arguments: &[&std::ffi::OsStr]| -> u64 {
        let began = std::time::Instant::now();
        let program = std::env::var("HAPAX_LARGE_PROGRAM");
        let program = program.unwrap_or_else(|_| env!("CARGO_BIN_EXE_hapax").to_owned());
        let (status, megabytes) = measured(Command::new(program).args(arguments));
        assert_eq!(status, 1, "{what}");
        println!("{what}: {:.1} s, {megabytes} MB", began.elapsed().as_secs_f64());
        megabytes
    };
    let mut merge: Vec<&std::ffi::OsStr> = vec!["report".as_ref(), "merge".as_ref()];
    merge.extend(parts.iter().map(|part| part.as_os_str()));
    merge.extend(["--out".as_ref(), whole.as_os_str()]);
    let merging = timed("merge", &merge);
    let showing = timed("show", &["report".as_ref(), "show".as_ref(), whole.as_os_str()]);
    let of_case = ["report".as_ref(), "show".as_ref(), whole.as_os_str(), "lies-000".as_ref()];
    let showing_one = timed("show one case", &of_case);
    for name in ["report.json", "ledger.jsonl", "index.html", "junit.xml"] {
        println!("{name}: {} MB", size(name));
    }
    assert!(showing_one < merging && showing_one < showing, "one case is shown with less memory than all");
}
