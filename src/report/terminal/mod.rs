//! A run in the terminal: failures first and in full, passes counted, and at the end what to mend first. It takes values and
//! gives text; the caller knows the width and whether there are colours.

mod case;
mod end;

use super::model::{CaseReport, Report};
use super::paint::Paint;
use super::store::Ledgers;
use super::tally::{Tally, result_of, worst_first};
use super::text::line;
use super::words::counted;
use crate::score::Result3;
use case::{Detail, push_case};

/// So many failed cases, and so many void ones, are shown in full; of the others the first line is.
const IN_FULL: usize = 20;

/// How a text for the terminal is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// How many columns there are.
    pub width: usize,
    /// Whether there are colours.
    pub colour: bool,
    /// Whether everything is to be shown: passes by name, all failures in full, what the subject wrote.
    pub verbose: bool,
}

impl View {
    fn paint(&self) -> Paint {
        Paint { colour: self.colour }
    }

    /// The columns that are used: too narrow or too wide helps nobody.
    fn columns(&self) -> usize {
        self.width.clamp(40, 160)
    }
}

/// A whole run.
#[must_use]
pub fn run_summary(report: &Report, ledgers: &Ledgers, view: &View) -> String {
    let mut out = String::new();
    let cases = worst_first(report);
    for (place, case) in cases.iter().filter(|case| result_of(case) == Result3::Fail).enumerate() {
        let detail = if view.verbose || place < IN_FULL { Detail::Full } else { Detail::Line };
        push_case(&mut out, case, ledgers, view, detail);
    }
    for (place, case) in cases.iter().filter(|case| result_of(case) == Result3::Void).enumerate() {
        let detail = if view.verbose || place < IN_FULL { Detail::Full } else { Detail::Line };
        push_case(&mut out, case, ledgers, view, detail);
    }
    if view.verbose {
        cases.iter().filter(|case| result_of(case) == Result3::Pass).for_each(|case| {
            push_case(&mut out, case, ledgers, view, Detail::Line);
        });
    }
    end::push_skipped(&mut out, report, view);
    end::push_numbers(&mut out, report, &Tally::of(report), view);
    end::push_causes(&mut out, report, view);
    end::push_last_line(&mut out, report, &Tally::of(report), view);
    out
}

/// One case in full, its passes too; trials that went the same way are shown once, each with its timeline.
#[must_use]
pub fn case_detail(case: &CaseReport, ledgers: &Ledgers, view: &View) -> String {
    let mut out = String::new();
    push_case(&mut out, case, ledgers, &View { verbose: true, ..*view }, Detail::Full);
    out
}

/// The cases that a user means: the one with that id, or all whose id has that part.
#[must_use]
pub fn chosen<'a>(report: &'a Report, wanted: &str) -> Vec<&'a CaseReport> {
    match report.cases.iter().find(|case| case.id == wanted) {
        Some(case) => vec![case],
        None => report.cases.iter().filter(|case| case.id.contains(wanted)).collect(),
    }
}

fn title(report: &Report) -> String {
    format!("hapax {}, run {}, subject {}", report.hapax, line(&report.run, 80), line(&report.subject, 120))
}

fn cases_counted(tally: &Tally) -> String {
    let Tally { cases, skipped, .. } = tally;
    let mut parts = vec![format!("{} of {} failed", cases.fail, counted(cases.all(), "case"))];
    parts.extend((cases.void > 0).then(|| format!("{} void", cases.void)));
    parts.push(format!("{} passed", cases.pass));
    parts.extend((*skipped > 0).then(|| format!("{skipped} skipped")));
    parts.join(", ")
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
