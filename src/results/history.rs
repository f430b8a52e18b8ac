//! The runs of a folder, one after the other: how many cases passed, which failures are new and which are fixed.

use std::collections::BTreeMap;

use serde::Serialize;

use super::model::Report;
use super::tally::{Tally, result_of};
use crate::score::TrialStatus;

/// One run of a history.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryRun {
    /// The name of its folder.
    pub folder: String,
    /// The subject.
    pub subject: String,
    /// When it began, in milliseconds since 1970.
    pub started_at: i64,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// The number of cases that passed.
    pub passed: usize,
    /// The number of cases that failed.
    pub failed: usize,
    /// The number of cases that prove nothing.
    pub void: usize,
    /// The share of passes among the cases that passed or failed.
    pub pass_rate: Option<f64>,
    /// The cases that fail and did not fail when this subject ran them before. Empty in the first run of a subject.
    pub new: Vec<String>,
    /// The cases that pass and failed when this subject ran them before.
    pub fixed: Vec<String>,
}

/// The history of these runs, each with the name of its folder: the oldest first. A case is compared with the last run
/// of the same subject that has it, so a run of fewer cases fixes nothing.
#[must_use]
pub fn history(mut runs: Vec<(String, Report)>) -> Vec<HistoryRun> {
    runs.sort_by(|(one, first), (other, second)| (first.started_at, one).cmp(&(second.started_at, other)));
    let mut known: BTreeMap<String, BTreeMap<String, TrialStatus>> = BTreeMap::new();
    runs.into_iter().map(|(folder, report)| entry(folder, &report, &mut known)).collect()
}

fn entry(
    folder: String,
    report: &Report,
    known: &mut BTreeMap<String, BTreeMap<String, TrialStatus>>,
) -> HistoryRun {
    let cases = Tally::new(report).cases;
    let is_first = !known.contains_key(&report.subject);
    let before = known.entry(report.subject.clone()).or_default();
    let (mut new, mut fixed) = (Vec::new(), Vec::new());
    for case in &report.cases {
        let now = result_of(case);
        let then = before.get(&case.id).copied();
        match now {
            TrialStatus::Fail if then != Some(TrialStatus::Fail) && !is_first => new.push(case.id.clone()),
            TrialStatus::Pass if then == Some(TrialStatus::Fail) => fixed.push(case.id.clone()),
            _ => {}
        }
        // A case that proves nothing does not say that a failure is gone.
        if now != TrialStatus::Void || then.is_none() {
            before.insert(case.id.clone(), now);
        }
    }
    HistoryRun {
        folder,
        subject: report.subject.clone(),
        started_at: report.started_at,
        interrupted: report.is_unfinished(),
        passed: cases.pass,
        failed: cases.fail,
        void: cases.void,
        pass_rate: (cases.judged() > 0).then(|| cases.pass as f64 / cases.judged() as f64),
        new,
        fixed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;
    use crate::results::{CaseReport, SavedLedgers};

    fn case(id: &str, result: TrialStatus) -> CaseReport {
        let (mut case, _) = match result {
            TrialStatus::Pass => sample::pass(1),
            TrialStatus::Fail => sample::lost(),
            TrialStatus::Void => sample::void(),
        };
        case.id = id.to_owned();
        case
    }

    fn run(at: i64, subject: &str, cases: &[(&str, TrialStatus)]) -> (String, Report) {
        let (mut report, _): (Report, SavedLedgers) = sample::run_of(vec![]);
        (report.started_at, report.subject) = (at, subject.to_owned());
        report.cases = cases.iter().map(|(id, result)| case(id, *result)).collect();
        report.planned = report.cases.len() as u64;
        (format!("run-{at}"), report)
    }

    #[test]
    fn a_failure_is_new_or_fixed_against_the_last_run_of_the_subject_that_has_the_case() {
        use TrialStatus::{Fail, Pass, Void};
        let runs = history(vec![
            run(3, "a", &[("x", Void), ("y", Fail)]),
            run(1, "a", &[("x", Fail), ("y", Pass)]),
            run(2, "b", &[("x", Pass), ("y", Fail)]),
            run(4, "a", &[("z", Fail)]),
            run(5, "a", &[("x", Pass), ("y", Fail), ("z", Pass)]),
        ]);
        let found = runs.iter().map(|run| (run.folder.as_str(), run.new.join(" "), run.fixed.join(" ")));
        let expected = [
            ("run-1", "", ""),
            ("run-2", "", ""),
            ("run-3", "y", ""),
            ("run-4", "z", ""),
            ("run-5", "", "x z"),
        ];
        let expected = expected.map(|(run, new, fixed)| (run, new.to_owned(), fixed.to_owned()));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!((runs[0].pass_rate, runs[3].pass_rate), (Some(0.5), Some(0.0)));
        assert_eq!((runs[2].void, runs[2].pass_rate), (1, Some(0.0)));
    }
}
