use super::*;
use crate::report::sample;

const VIEW: View = View { width: 90, color: false, verbose: false };

fn with_baseline(folder: &Path, update: bool) -> Measure {
    Measure::Baseline { path: folder.join("known.yaml"), known: Baseline::default(), update }
}

#[test]
fn an_updated_baseline_decides_the_line_and_what_is_known_too() {
    let folder = tempfile::tempdir().unwrap();
    let (report, _) = sample::run_of(vec![sample::lost()]);
    let failed = with_baseline(folder.path(), false).judge(&report, &VIEW).unwrap();
    assert_eq!(failed.status, ExitStatus::Failed);
    let updated = with_baseline(folder.path(), true).judge(&report, &VIEW).unwrap();
    assert_eq!(updated.status, ExitStatus::Success);
    assert_eq!(updated.line, "PASSED  nothing is worse, 1 known to fail, 0 better");
    assert_eq!(updated.known, BTreeSet::from([report.cases[0].id.clone()]));
}

#[test]
fn an_interrupted_run_is_not_called_passed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut report, _) = sample::run_of(vec![sample::pass(1)]);
    report.interrupted = true;
    let measured = with_baseline(folder.path(), true).judge(&report, &VIEW).unwrap();
    assert_eq!(measured.status, ExitStatus::Unproven);
    assert_eq!(measured.line, "VOID  not every case was run, nothing is worse, 0 known to fail, 0 better");
    assert!(measured.text.ends_with(&format!("{}\n", measured.line)), "{}", measured.text);
    assert!(!folder.path().join("known.yaml").exists());
}
