//! A run in the terminal: failures first and in full, passes counted, and at the end what to fix first. It
//! takes values and returns text; the caller knows the width and whether colors are used.

mod case;
mod end;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::report::causes::{causes_of, first_cause, harm_of};
use crate::report::headline;
use crate::results::Ledgers;
use crate::results::tally::{Tally, result_of, worst_first};
use crate::results::{CaseReport, Report};
use crate::score::TrialStatus;
use crate::text::TextStyle;
use crate::text::line;
use crate::text::words::counted;
use case::{CaseDetail, push_case};

/// Cases are shown in full until this many lines are used; of the others, the first line is shown.
const MAX_FULL_LINES: usize = 120;
/// How many cases that fail like another one are named; the rest is counted.
const MAX_NAMED_CASES: usize = 10;

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
    judged_summary(report, ledgers, view, None)
}

/// What decides the result of a run instead of its verdicts.
#[derive(Debug, Clone, Copy)]
pub struct RunJudgment<'a> {
    /// The result as text, the last part of the output.
    pub text: &'a str,
    /// The ids of cases that are known to fail, which are only counted.
    pub known: &'a BTreeSet<String>,
}

/// A whole run, with one result at its end: that of the judgment if there is one.
#[must_use]
pub fn judged_summary(
    report: &Report,
    ledgers: &Ledgers,
    view: &View,
    judgment: Option<RunJudgment<'_>>,
) -> String {
    let mut out = String::new();
    let is_known = |case: &CaseReport| judgment.is_some_and(|judgment| judgment.known.contains(&case.id));
    let (known, cases): (Vec<&CaseReport>, Vec<&CaseReport>) =
        worst_first(report).into_iter().partition(|case| is_known(case) && !view.verbose);
    let of = |result: TrialStatus| {
        cases.iter().copied().filter(move |case| result_of(case) == result).collect::<Vec<_>>()
    };
    end::push_not_made_for(&mut out, report, view);
    push_groups(&mut out, &failures_by_cause(&of(TrialStatus::Fail)), ledgers, view);
    push_groups(&mut out, &voids_by_reason(&of(TrialStatus::Void)), ledgers, view);
    if view.verbose {
        for case in of(TrialStatus::Pass) {
            push_case(&mut out, case, ledgers, view, CaseDetail::Full);
        }
    }
    if !known.is_empty() {
        let note = format!("{} as in the baseline; -v shows them", counted(known.len(), "known failure"));
        let _ = writeln!(out, "{}  {note}\n", view.style().faint("KNOWN"));
    }
    end::push_skipped(&mut out, report, view);
    if !report.is_empty_part() {
        end::push_numbers(&mut out, report, &Tally::new(report), view);
    }
    end::push_causes(&mut out, &causes_of(cases.iter().copied()), view);
    end::push_last_line(&mut out, report, &Tally::new(report), judgment.map(|judgment| judgment.text), view);
    out
}

/// The result of a run in one line.
#[must_use]
pub fn one_line(report: &Report, view: &View) -> String {
    end::result_line(report, &Tally::new(report), view)
}

/// Cases with the same cause: one is shown in full, the others are named.
type AlikeCases<'a> = Vec<&'a CaseReport>;

/// The most harmful cause first, as in what to fix first.
fn failures_by_cause<'a>(cases: &[&'a CaseReport]) -> Vec<AlikeCases<'a>> {
    let mut groups = grouped(cases, first_cause);
    groups.sort_by_key(|alike| alike.iter().filter_map(|case| harm_of(case)).min());
    groups
}

fn voids_by_reason<'a>(cases: &[&'a CaseReport]) -> Vec<AlikeCases<'a>> {
    grouped(cases, |case| case.trials.iter().flat_map(|trial| &trial.verdict.void_because).next())
}

/// The largest group first; cases in their order.
fn grouped<'a, K: PartialEq>(
    cases: &[&'a CaseReport],
    key: impl Fn(&'a CaseReport) -> K,
) -> Vec<AlikeCases<'a>> {
    let mut groups: Vec<(K, AlikeCases<'a>)> = Vec::new();
    for case in cases {
        let key = key(case);
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, alike)) => alike.push(case),
            None => groups.push((key, vec![case])),
        }
    }
    groups.sort_by_key(|(_, alike)| std::cmp::Reverse(alike.len()));
    groups.into_iter().map(|(_, alike)| alike).collect()
}

/// Of each group, the first case in full and the names of the others: a thousand lines are too long to read.
fn push_groups(out: &mut String, groups: &[AlikeCases<'_>], ledgers: &Ledgers, view: &View) {
    let mut lines = 0;
    for cases in groups {
        let Some((first, others)) = cases.split_first() else { continue };
        let is_full = lines < MAX_FULL_LINES || view.verbose;
        let detail = if is_full { CaseDetail::Full } else { CaseDetail::Line };
        let mut text = String::new();
        push_case(&mut text, first, ledgers, view, detail);
        lines += text.lines().count();
        out.push_str(&text);
        if view.verbose {
            others.iter().for_each(|case| push_case(out, case, ledgers, view, CaseDetail::Full));
        } else if !others.is_empty() {
            push_others(out, others, view);
        }
    }
}

/// The cases that fail like the one before.
fn push_others(out: &mut String, cases: &[&CaseReport], view: &View) {
    let alike = counted(cases.len(), "other case");
    let head = format!("{alike} with the same cause; -v or `hapax report show DIR CASE` shows one in full:");
    case::push_labelled(out, "", &head, view);
    for case in cases.iter().take(MAX_NAMED_CASES) {
        let named = format!("      {}", line(&case.id, 300));
        case::push_headline(out, &named, &headline::of_case(case), 2, view);
    }
    let more = cases.len().saturating_sub(MAX_NAMED_CASES);
    if more > 0 {
        let _ = writeln!(out, "      and {more} more");
    }
    out.push('\n');
}

/// One case in full, including its passes; trials with the same result are shown once, each with its
/// timeline.
#[must_use]
pub fn case_detail(case: &CaseReport, ledgers: &Ledgers, view: &View) -> String {
    let mut out = String::new();
    push_case(&mut out, case, ledgers, &View { verbose: true, ..*view }, CaseDetail::Full);
    out
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
