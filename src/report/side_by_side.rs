//! Several subjects with the same cases, in one table: the numbers of each, and the cases in which they differ.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::headline;
use crate::report::View;
use crate::results::tally::{Tally, result_of};
use crate::results::{CaseReport, Report};
use crate::score::TrialStatus;
use crate::text::TextStyle;
use crate::text::words::{counted, duration, percent};
use crate::text::{columns, fit, line};

/// The width of the column of a subject, if there is room, and its minimum.
const COLUMN: usize = 20;
const MIN_COLUMN: usize = 10;
/// The minimum width of the first column: that of `attempts per effect`.
const MIN_FIRST: usize = 19;
/// The maximum number of characters of a case id that are shown.
const MAX_ID: usize = 300;
/// The maximum number of cases that are shown, unless everything is.
const MAX_CASES: usize = 40;

/// The table.
#[must_use]
pub fn side_by_side(reports: &[&Report], view: &View) -> String {
    let differing = differing(reports);
    let table = Table::new(reports.len(), &differing, view);
    let tallies: Vec<Tally> = reports.iter().map(|report| Tally::new(report)).collect();
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
    push_differences(&mut out, &differing, &table, view.verbose);
    out
}

struct Table {
    /// The width of the first column.
    first: usize,
    /// The width of the column of a subject.
    column: usize,
    style: TextStyle,
}

impl Table {
    /// The first column has the room that the longest id needs, if the others leave it.
    fn new(subjects: usize, differing: &[DifferingCase<'_>], view: &View) -> Self {
        let longest = differing.iter().map(|(id, _)| columns(&line(id, MAX_ID))).max().unwrap_or_default();
        let left = view.width.saturating_sub(subjects * (COLUMN + 2));
        let first = longest.min(left).max(MIN_FIRST);
        let column = view.width.saturating_sub(first) / subjects.max(1);
        Table { first, column: column.saturating_sub(2).clamp(MIN_COLUMN, COLUMN), style: view.style() }
    }

    fn row(&self, name: &str, cells: impl Iterator<Item = (String, Option<TrialStatus>)>) -> String {
        // A name that is too long for its column has a line of its own: cut, it looks like others.
        let own_line = if columns(name) > self.first { format!("{name}\n") } else { String::new() };
        let mut row = padded(if own_line.is_empty() { name } else { "" }, self.first);
        for (text, result) in cells {
            let text = padded(&fit(&text, self.column), self.column);
            let text = match result {
                Some(TrialStatus::Fail) => self.style.bad(&text),
                Some(TrialStatus::Void) => self.style.void(&text),
                Some(TrialStatus::Pass) => self.style.good(&text),
                None => text,
            };
            let _ = write!(row, "  {text}");
        }
        format!("{own_line}{}\n", row.trim_end())
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

/// A case in which the subjects differ: its id, and the case in each report.
type DifferingCase<'a> = (&'a str, Vec<Option<&'a CaseReport>>);

/// The cases in which the subjects differ, in the order of the first report.
fn differing<'a>(reports: &[&'a Report]) -> Vec<DifferingCase<'a>> {
    let mut seen = BTreeSet::new();
    let ids = reports.iter().flat_map(|report| &report.cases).map(|case| case.id.as_str());
    ids.filter(|id| seen.insert(*id))
        .map(|id| (id, reports.iter().map(|report| report.cases.iter().find(|case| case.id == id)).collect()))
        .filter(|(_, cases): &DifferingCase<'a>| {
            let results: BTreeSet<_> = cases
                .iter()
                .map(|case| case.map(|case| (result_of(case), headline::of_case(case))))
                .collect();
            results.len() > 1
        })
        .collect()
}

fn push_differences(out: &mut String, differing: &[DifferingCase<'_>], table: &Table, is_verbose: bool) {
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
        out.push_str(&table.row(&line(id, MAX_ID), cells));
    }
    let more = differing.len().saturating_sub(limit);
    if more > 0 {
        let _ = writeln!(out, "and {}; -v shows them", counted(more, "more case"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

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

    #[test]
    fn every_id_is_whole_and_takes_no_more_room_than_it_needs() {
        let (one, _) = sample::run();
        let mut other = one.clone();
        other.cases.clear();
        let four = [&one, &other, &one, &other];
        let narrow = side_by_side(&four, &View { width: 80, ..VIEW });
        let has = |id: &str| narrow.lines().any(|line| line.split("  ").next() == Some(id));
        assert!(one.cases.iter().all(|case| has(&case.id)), "{narrow}");
        assert!(narrow.lines().all(|line| columns(line) <= 80), "{narrow}");
        let longest = one.cases.iter().map(|case| case.id.len()).max().unwrap();
        let wide = side_by_side(&four, &View { width: 200, ..VIEW });
        let widest = wide.lines().map(columns).max().unwrap();
        assert!(widest <= longest + 4 * (COLUMN + 2), "{widest}\n{wide}");
        assert!(one.cases.iter().all(|case| wide.contains(&format!("{}  ", case.id))), "{wide}");
    }
}
