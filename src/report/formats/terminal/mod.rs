//! A run in the terminal: failures first and in full, passes counted, and at the end what to fix first. It
//! takes values and returns text; the caller knows the width and whether colors are used.

mod case;
mod end;

use std::collections::{BTreeMap, HashSet};

use crate::report::model::{CaseReport, Report};
use crate::report::store::Ledgers;
use crate::report::tally::{Tally, result_of, worst_first};
use crate::report::text::line;
use crate::report::text::style::TextStyle;
use crate::report::text::words::counted;
use crate::score::TrialStatus;
use case::{CaseDetail, push_case};

/// Failed and void cases are shown in full until this many lines are used; of the others, the first line is
/// shown.
const MAX_FULL_LINES: usize = 120;
/// How many of those are named; the rest is counted.
const MAX_NAMED_CASES: usize = 40;

/// How text for the terminal is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The width in columns.
    pub width: usize,
    /// Whether colors are used.
    pub color: bool,
    /// Whether everything is shown: passes by name, all failures in full, the output of the subject.
    pub verbose: bool,
}

impl View {
    pub(in crate::report) fn style(&self) -> TextStyle {
        TextStyle { color: self.color }
    }

    /// The columns that are used, between a minimum and a maximum.
    fn columns(&self) -> usize {
        self.width.clamp(40, 160)
    }
}

/// A whole run.
#[must_use]
pub fn run_summary(report: &Report, ledgers: &Ledgers, view: &View) -> String {
    let mut out = String::new();
    let cases = worst_first(report);
    for result in [TrialStatus::Fail, TrialStatus::Void] {
        let cases: Vec<&CaseReport> =
            cases.iter().copied().filter(|case| result_of(case) == result).collect();
        push_cases(&mut out, &cases, ledgers, view);
    }
    if view.verbose {
        cases.iter().filter(|case| result_of(case) == TrialStatus::Pass).for_each(|case| {
            push_case(&mut out, case, ledgers, view, CaseDetail::Line);
        });
    }
    end::push_skipped(&mut out, report, view);
    if !report.is_empty_part() {
        end::push_numbers(&mut out, report, &Tally::of(report), view);
    }
    end::push_causes(&mut out, report, view);
    end::push_last_line(&mut out, report, &Tally::of(report), view);
    out
}

/// Some cases in full, then names, then the number of the others: a thousand lines are too long to read, and
/// the end shows what to fix.
fn push_cases(out: &mut String, cases: &[&CaseReport], ledgers: &Ledgers, view: &View) {
    let (mut lines, mut in_full) = (0, BTreeMap::new());
    for place in one_of_each_first(cases) {
        if lines >= MAX_FULL_LINES && !view.verbose {
            break;
        }
        let mut text = String::new();
        push_case(&mut text, cases[place], ledgers, view, CaseDetail::Full);
        lines += text.lines().count();
        in_full.insert(place, text);
    }
    out.extend(in_full.values().map(String::as_str));
    let others = cases.iter().enumerate().filter(|(place, _)| !in_full.contains_key(place));
    for (_, case) in others.take(MAX_NAMED_CASES) {
        push_case(out, case, ledgers, view, CaseDetail::Line);
    }
    let others = cases.len() - in_full.len();
    if others > MAX_NAMED_CASES {
        case::push_labelled(
            out,
            "",
            &format!("and {}", counted(others - MAX_NAMED_CASES, "more case")),
            view,
        );
    }
    if others > 0 {
        let note = "The page shows each of them in full, and so does `hapax report show DIR CASE`.";
        case::push_labelled(out, "", note, view);
        out.push('\n');
    }
}

/// The indexes of the cases: the first of each cause, then the others, so that a cause with many cases does
/// not hide another one.
fn one_of_each_first(cases: &[&CaseReport]) -> Vec<usize> {
    let mut seen = HashSet::new();
    let (first, others): (Vec<usize>, Vec<usize>) = (0..cases.len()).partition(|place| {
        let findings = cases[*place].trials.iter().flat_map(|trial| &trial.verdict.findings);
        let worst = findings
            .filter(|finding| finding.fails)
            .map(|finding| (finding.kind, finding.fix.as_str()))
            .next();
        seen.insert(worst)
    });
    [first, others].concat()
}

/// One case in full, including its passes; trials with the same result are shown once, each with its
/// timeline.
#[must_use]
pub fn case_detail(case: &CaseReport, ledgers: &Ledgers, view: &View) -> String {
    let mut out = String::new();
    push_case(&mut out, case, ledgers, &View { verbose: true, ..*view }, CaseDetail::Full);
    out
}

/// The cases that the user selects: the one with that id, or all whose id contains that text.
#[must_use]
pub fn chosen<'a>(report: &'a Report, wanted: &str) -> Vec<&'a CaseReport> {
    match report.cases.iter().find(|case| case.id == wanted) {
        Some(case) => vec![case],
        None => report.cases.iter().filter(|case| case.id.contains(wanted)).collect(),
    }
}

fn title(report: &Report) -> String {
    let (run, subject) = (line(&report.run, 80), line(&report.subject, 120));
    format!("hapax {}, run {run}, seed {}, subject {subject}", report.hapax, report.seed)
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
mod tests;
