//! Several subjects with the same cases, in one table: the numbers of each, and the cases in which they differ.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::headline;
use super::model::{CaseReport, Report};
use super::tally::{Tally, result_of};
use super::text::style::TextStyle;
use super::text::words::{counted, duration, percent};
use super::text::{columns, fit, line};
use crate::report::View;
use crate::score::TrialStatus;

/// The width of the column of a subject.
const COLUMN: usize = 20;
/// The minimum width of the first column.
const MIN_FIRST: usize = 24;
/// The maximum number of cases that are shown, unless everything is.
const MAX_CASES: usize = 40;

/// The table.
#[must_use]
pub fn side_by_side(reports: &[&Report], view: &View) -> String {
    let table = Table { first: first_column(reports, view), style: view.style() };
    let tallies: Vec<Tally> = reports.iter().map(|report| Tally::of(report)).collect();
    let numbers = |name: &str, value: fn(&Tally) -> String| {
        table.row(name, tallies.iter().map(|tally| (value(tally), None)))
    };
    let names = reports.iter().map(|report| (line(&report.subject, 100), None));
    let mut out = table.style.strong(&table.row("", names));
    let verdicts = tallies.iter().map(|tally| (word(tally.result()).to_owned(), Some(tally.result())));
    out.push_str(&table.row("result", verdicts));
    out.push_str(&numbers("cases passed", |tally| format!("{} of {}", tally.cases.pass, tally.cases.all())));
    out.push_str(&numbers("void", |tally| tally.cases.void.to_string()));
    out.push_str(&numbers("skipped", |tally| tally.skipped.to_string()));
    out.push_str(&numbers("exactly once", |tally| tally.exactly_once_rate().map_or("-".into(), percent)));
    out.push_str(&numbers("duplicates", |tally| tally.duplicates.to_string()));
    out.push_str(&numbers("lost", |tally| tally.losses.to_string()));
    out.push_str(&numbers("overclaims", |tally| tally.overclaims.to_string()));
    out.push_str(&numbers("attempts per effect", |tally| {
        tally.attempts_per_effect().map_or("-".into(), |share| format!("{share:.2}"))
    }));
    out.push_str(&table.row("time", reports.iter().map(|report| (duration(report.duration_ms), None))));
    push_differences(&mut out, reports, &table, view.verbose);
    out
}

fn first_column(reports: &[&Report], view: &View) -> usize {
    view.width.saturating_sub(reports.len() * (COLUMN + 2)).max(MIN_FIRST)
}

struct Table {
    /// The width of the first column.
    first: usize,
    style: TextStyle,
}

impl Table {
    fn row(&self, name: &str, cells: impl Iterator<Item = (String, Option<TrialStatus>)>) -> String {
        let mut row = padded(&fit(name, self.first), self.first);
        for (text, result) in cells {
            let text = padded(&fit(&text, COLUMN), COLUMN);
            let text = match result {
                Some(TrialStatus::Fail) => self.style.bad(&text),
                Some(TrialStatus::Void) => self.style.void(&text),
                Some(TrialStatus::Pass) => self.style.good(&text),
                None => text,
            };
            let _ = write!(row, "  {text}");
        }
        format!("{}\n", row.trim_end())
    }
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

const fn word(result: TrialStatus) -> &'static str {
    match result {
        TrialStatus::Pass => "PASSED",
        TrialStatus::Fail => "FAILED",
        TrialStatus::Void => "VOID",
    }
}

/// The cases in which the subjects differ, in the order of the first report.
fn push_differences(out: &mut String, reports: &[&Report], table: &Table, is_verbose: bool) {
    let mut seen = BTreeSet::new();
    let ids = reports.iter().flat_map(|report| &report.cases).map(|case| case.id.as_str());
    let differing: Vec<(&str, Vec<Option<&CaseReport>>)> = ids
        .filter(|id| seen.insert(*id))
        .map(|id| (id, reports.iter().map(|report| report.cases.iter().find(|case| case.id == id)).collect()))
        .filter(|(_, cases): &(&str, Vec<Option<&CaseReport>>)| {
            let results: BTreeSet<_> = cases
                .iter()
                .map(|case| case.map(|case| (result_of(case), headline::of_case(case))))
                .collect();
            results.len() > 1
        })
        .collect();
    if differing.is_empty() {
        out.push_str("\nThe results are the same in every case.\n");
        return;
    }
    let title = format!("{} with different results", counted(differing.len(), "case"));
    let _ = writeln!(out, "\n{}", table.style.strong(&title));
    let limit = if is_verbose { usize::MAX } else { MAX_CASES };
    for (id, cases) in differing.iter().take(limit) {
        let cells = cases.iter().map(|case| match case {
            None => ("-".to_owned(), None),
            Some(case) => {
                let result = result_of(case);
                let sign = match result {
                    TrialStatus::Pass => "✓",
                    TrialStatus::Fail => "✗",
                    TrialStatus::Void => "?",
                };
                (format!("{sign} {}", headline::of_case(case)), Some(result))
            }
        });
        out.push_str(&table.row(&line(id, 300), cells));
    }
    let more = differing.len().saturating_sub(limit);
    if more > 0 {
        let _ = writeln!(out, "and {}; -v shows them", counted(more, "more case"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    const VIEW: View = View { width: 110, color: false, verbose: false };

    #[test]
    fn subjects_that_differ_are_one_table() {
        let (one, _) = sample::run();
        let mut other = one.clone();
        other.subject = "the careful one, which has a long name".to_owned();
        for case in &mut other.cases {
            case.trials.retain(|trial| trial.verdict.result == TrialStatus::Pass);
        }
        other.cases.retain(|case| !case.trials.is_empty());
        insta::assert_snapshot!(side_by_side(&[&one, &other], &VIEW));
        assert!(side_by_side(&[&one, &one], &VIEW).contains("The results are the same in every case."));
    }
}
