//! A finding that fails its trial stops failing it in one place: `src/score/excuse.rs`.

use std::path::{Path, PathBuf};
use std::{fs, iter};

/// The only file that excuses a finding.
const EXCUSES: &str = "src/score/excuse.rs";
/// The file that says which findings fail before anything excuses them.
const FINDINGS: &str = "src/score/verdict.rs";
/// The files that keep a finding from failing because the case has no such rule, or because hapax only notes it:
/// a retry before the time in `Retry-After`, a claim that no case asks for or that the case accepts, processes that are
/// left running (then the trial is void), a start that claimed and did not exit, and a receiver that acknowledged only
/// some copies of events.
const NOTES: [&str; 4] = [
    "src/score/findings/claims.rs",
    "src/score/findings/early_retry.rs",
    "src/score/findings/limits.rs",
    "src/score/findings/unacknowledged.rs",
];

#[test]
fn only_the_table_of_excuses_keeps_a_failing_finding_from_failing() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut excusing, mut noting, mut seen) = (Vec::new(), Vec::new(), 0);
    for path in rust_files(&home.join("src")) {
        let name = path.strip_prefix(home).unwrap().display().to_string();
        let text = fs::read_to_string(&path).unwrap();
        let in_score = name.starts_with("src/score/");
        seen += usize::from(in_score);
        let code: Vec<&str> = code_of(&text).collect();
        if code.iter().any(|line| decides_failure(line, in_score)) && name != EXCUSES && name != FINDINGS {
            excusing.push(name.clone());
        }
        if name != FINDINGS
            && code.iter().any(|line| line.contains("Finding::noted(") || line.contains("::where_required("))
        {
            noting.push(name);
        }
    }
    assert!(seen > 40, "the scan finds the files of score: {seen}");
    assert!(
        excusing.is_empty(),
        "these files decide whether a finding fails; an excuse is a row of the table in {EXCUSES}: {excusing:?}"
    );
    noting.sort();
    assert_eq!(noting, NOTES, "where findings are only noted");
}

#[test]
fn what_decides_whether_a_finding_fails_is_found_however_it_is_written() {
    for line in ["finding.fails = false;", "finding.fails=false;", "verdict.result = TrialStatus::Pass;"] {
        assert!(decides_failure(line, false), "{line}");
    }
    for line in ["fails: false,", "Some(Finding { fails, message, ..other })", "findings.clear();", "fails,"]
    {
        assert!(decides_failure(line, true), "{line}");
    }
    for line in
        ["if finding.fails == other.fails {", "(!finding.fails, finding.kind)", "let fails = finding.fails;"]
    {
        assert!(!decides_failure(line, true), "{line}");
    }
}

/// Whether a line says of a finding or of a verdict that it does not fail, or drops findings.
fn decides_failure(line: &str, in_score: bool) -> bool {
    let line: String = line.chars().filter(|character| !character.is_whitespace()).collect();
    let is_set = |field: &str| {
        line.split(field).skip(1).any(|after| after.starts_with('=') && !after.starts_with("=="))
    };
    let is_in_literal = line.starts_with("fails:")
        || line.starts_with("fails,")
        || ["{fails:", "{fails,", ",fails:", ",fails,"].iter().any(|part| line.contains(part));
    let drops =
        ["findings.clear(", "findings.drain(", "findings.remove(", "findings.pop(", "findings.truncate("];
    is_set(".fails")
        || is_set("verdict.result")
        || in_score && (is_in_literal || drops.iter().any(|part| line.contains(part)))
}

/// The lines of a file outside of its tests, without comments.
fn code_of(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// The source files below a folder, without those of tests.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut left: Vec<PathBuf> = iter::once(folder.to_owned()).collect();
    while let Some(path) = left.pop() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" && !name.ends_with("_tests") && name != "sample" {
            left.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && name != "testing.rs" {
            all.push(path);
        }
    }
    all
}
