//! The sample run under `reports/sample`, which people read before they run anything: it is real, complete,
//! and what hapax makes today.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::timeless;
use hapax::report::publish;
use hapax::results::{read_run, report_schema_text, rescore};
use hapax::score::{Outcome, TrialStatus};
use serde_json::Value;

/// The files of a run.
const FILES: [&str; 6] =
    ["report.json", "ledger.jsonl", "junit.xml", "summary.md", "badge.json", "index.html"];
/// What to do if the sample is stale.
const STALE: &str = "the sample is stale: cargo build && reports/sample/make";

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("reports/sample")
}

/// The ledger of each trial without times and order, because when a connection closes depends on time.
fn entries(folder: &Path) -> Vec<(String, String)> {
    let mut entries: Vec<_> = timeless::evidence(folder)
        .into_iter()
        .map(|((trial, _), entry)| (trial, entry.to_string()))
        .collect();
    entries.sort();
    entries
}

#[test]
fn the_sample_matches_a_new_run_of_its_script_except_for_times() {
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new(sample().join("make"))
        .arg(env!("CARGO_BIN_EXE_hapax"))
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (kept, made) = (timeless::cases(&sample()), timeless::cases(folder.path()));
    assert_eq!(kept.len(), made.len(), "{STALE}");
    for (kept, made) in kept.iter().zip(&made) {
        assert_eq!(format!("{kept:#}"), format!("{made:#}"), "{STALE}");
    }
    assert_eq!(entries(&sample()), entries(folder.path()), "{STALE}");
}

#[test]
fn every_file_agrees_with_its_report_and_its_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let run = read_run(&sample()).unwrap();
    publish(folder.path(), &run.report, &run.ledgers).unwrap();
    for file in FILES.iter().filter(|file| **file != "ledger.jsonl") {
        let [kept, made] = [sample(), folder.path().to_owned()]
            .map(|folder| std::fs::read_to_string(folder.join(file)).unwrap());
        assert!(kept == made, "{file}: {STALE}");
    }
}

#[test]
fn the_verdicts_of_the_sample_agree_with_its_ledger() {
    let mut run = read_run(&sample()).unwrap();
    assert!(run.ledgers.values().all(|saved| saved.torn.is_none()));
    let kept = run.report.clone();
    rescore(&mut run);
    assert_eq!(serde_json::to_value(&kept).unwrap(), serde_json::to_value(&run.report).unwrap(), "{STALE}");
}

#[test]
fn it_meets_the_schema_of_reports() {
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(sample().join("report.json")).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(&report_schema_text()).unwrap()).unwrap();
    let problems: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn the_sample_shows_every_result_and_stays_small() {
    let report = read_run(&sample()).unwrap().report;
    let found: Vec<(TrialStatus, Outcome)> = report
        .cases
        .iter()
        .map(|case| (case.trials[0].verdict.result, case.trials[0].verdict.outcome))
        .collect();
    for kind in [
        (TrialStatus::Pass, Outcome::ExactlyOnce),
        (TrialStatus::Void, Outcome::ExactlyOnce),
        (TrialStatus::Fail, Outcome::Duplicated),
        (TrialStatus::Fail, Outcome::Lost),
    ] {
        assert!(found.contains(&kind), "{kind:?} is not among {found:?}");
    }
    assert_eq!(report.skipped.len(), 1);
    assert!(
        report.cases.iter().any(|case| !case.controls.is_empty()),
        "controls are shown beside the \
        subject"
    );
    let bytes: u64 = FILES.iter().map(|file| sample().join(file).metadata().unwrap().len()).sum();
    assert!(bytes < 500_000, "{bytes} bytes");
}

#[test]
fn it_names_no_folder_of_the_machine_that_made_it() {
    for file in FILES {
        let text = std::fs::read_to_string(sample().join(file)).unwrap();
        for place in ["/home/", "/tmp/", "/root/"] {
            assert!(!text.contains(place), "{file} has {place}");
        }
    }
}
