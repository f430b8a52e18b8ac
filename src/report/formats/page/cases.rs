//! The list of cases, failures first and passes folded, and the filters above it. Of hundreds of cases everything is
//! folded, and the failures are grouped by what to fix.

use std::collections::BTreeSet;

use maud::{Markup, html};

use crate::report::causes::{causes, first_cause};
use crate::report::formats::page::symbol;
use crate::report::formats::plain_text::case_headline;
use crate::results::tally::control_outcome_of;
use crate::results::tally::{count, outcome_of, result_of, services_of, worst_first};
use crate::results::{CaseReport, Report};
use crate::score::{Outcome, Remedy, TrialStatus};
use crate::text::line;
use crate::text::words::duration;

/// More cases than these with one result are folded; failures are then grouped by what to fix.
const MAX_UNFOLDED: usize = 50;
/// The maximum number of characters of a finding in the list.
const MAX_FINDING: usize = 160;

/// The link to a case in the page.
pub(crate) fn case_link(id: &str) -> String {
    let query: String = line(id, 300).bytes().map(encoded).collect();
    format!("#case={query}")
}

/// Like `encodeURIComponent`.
fn encoded(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
        char::from(byte).to_string()
    } else {
        format!("%{byte:02X}")
    }
}

/// The filters. Their state is kept in the URL.
pub(super) fn filters(report: &Report) -> Markup {
    let tags: BTreeSet<String> =
        report.cases.iter().flat_map(|case| &case.tags).map(|tag| line(tag, 300)).collect();
    let services: BTreeSet<String> =
        report.cases.iter().flat_map(services_of).map(|service| line(service, 300)).collect();
    let outcomes: BTreeSet<Outcome> = report.cases.iter().map(outcome_of).collect();
    html! {
        form #filters role="search" aria-label="Filter the cases" {
            label {
                "Text "
                input #f-text type="search" name="text" placeholder="press / to search" autocomplete="off";
            }
            label { "Outcome " select #f-outcome name="outcome" {
                option value="" { "any" }
                option value="fail" { "failed" }
                option value="void" { "void" }
                option value="pass" { "passed" }
                option value="skipped" { "skipped" }
                @for outcome in outcomes.iter().rev() { option value=(outcome.as_str()) { (outcome.as_str()) } }
            } }
            (choice("tag", "Tag", &tags))
            (choice("service", "Service", &services))
            label { "Sort " select #f-sort name="sort" {
                option value="" { "worst first" }
                option value="name" { "by name" }
                option value="slow" { "slowest first" }
            } }
            button #f-cell type="button" hidden {}
            button type="reset" { "Show all" }
            output #shown aria-live="polite" {}
        }
    }
}

fn choice(name: &str, label: &str, values: &BTreeSet<String>) -> Markup {
    html! {
        label { (label) " " select id=(format!("f-{name}")) name=(name) {
            option value="" { "any" }
            @for value in values { option value=(value) { (value) } }
        } }
    }
}

/// The list. Cases are numbered by id, as in the data of the page.
pub(super) fn cases(report: &Report) -> Markup {
    let mut by_id: Vec<&str> = report.cases.iter().map(|case| case.id.as_str()).collect();
    by_id.sort_unstable();
    let index = |case: &CaseReport| by_id.binary_search(&case.id.as_str()).unwrap_or_default();
    let worst = worst_first(report);
    let of = |result: TrialStatus| -> Vec<&CaseReport> {
        worst.iter().copied().filter(|case| result_of(case) == result).collect()
    };
    let (failed, void, passed) = (of(TrialStatus::Fail), of(TrialStatus::Void), of(TrialStatus::Pass));
    let all_passed = failed.is_empty() && void.is_empty();
    let is_short = |cases: &[&CaseReport]| cases.len() <= MAX_UNFOLDED;
    let mut groups: Vec<CaseGroup<'_>> = if is_short(&failed) {
        vec![CaseGroup {
            result: TrialStatus::Fail,
            words: "failed".to_owned(),
            is_open: true,
            cases: failed,
        }]
    } else {
        by_remedy(report, &failed)
    };
    let is_open = is_short(&void);
    groups.push(CaseGroup { result: TrialStatus::Void, words: "void".to_owned(), is_open, cases: void });
    let is_open = all_passed && is_short(&passed);
    groups.push(CaseGroup { result: TrialStatus::Pass, words: "passed".to_owned(), is_open, cases: passed });
    html! {
        section #cases tabindex="-1" aria-labelledby="cases-title" {
            h2 #cases-title { "Cases" }
            (filters(report))
            p #nothing hidden { "No case matches these filters." }
            p #unknown.warning role="alert" hidden {}
            div.beside {
                div #list tabindex="-1" {
                    @for CaseGroup { result, words, is_open, cases } in &groups {
                        @if !cases.is_empty() {
                            (group(result.as_str(), symbol(*result), words, cases.len(), *is_open, html! {
                                @for case in cases { (row(index(case), case)) }
                            }))
                        }
                    }
                    @if !report.skipped.is_empty() {
                        (group("skipped", "–", "skipped", report.skipped.len(), false, html! {
                            @for (index, skipped) in report.skipped.iter().enumerate() {
                                li data-skipped=(index) { a.cell.skipped href=(case_link(&skipped.id)) {
                                    span.mark { span aria-hidden="true" { "– " } "skipped" }
                                    (name(&skipped.id))
                                    span.why { (line(&skipped.why, MAX_FINDING)) }
                                } }
                            }
                        }))
                    }
                }
                div #aside { section #detail hidden aria-labelledby="detail-title" {} }
            }
        }
    }
}

/// Cases that are listed together.
struct CaseGroup<'a> {
    result: TrialStatus,
    /// What is said after their number.
    words: String,
    is_open: bool,
    cases: Vec<&'a CaseReport>,
}

/// Failures by the change that is to be made first, in the order of what to fix first.
fn by_remedy<'a>(report: &'a Report, failed: &[&'a CaseReport]) -> Vec<CaseGroup<'a>> {
    let remedy_of = |case: &CaseReport| first_cause(case).map(|(remedy, _)| remedy);
    let of = |wanted: Option<Remedy>, words: String| {
        let cases = failed.iter().copied().filter(|case| remedy_of(case) == wanted).collect();
        CaseGroup { result: TrialStatus::Fail, words, is_open: false, cases }
    };
    let named = causes(report).into_iter().map(|cause| {
        of(Some(cause.remedy), format!("failed: {}", cause.remedy.sentence().trim_end_matches('.')))
    });
    named.chain([of(None, "failed".to_owned())]).collect()
}

fn group(class: &str, mark: &str, word: &str, count: usize, is_open: bool, rows: Markup) -> Markup {
    html! {
        details.group data-group=(class) open[is_open] data-open[is_open] {
            summary {
                h3.(class) {
                    span aria-hidden="true" { (mark) " " } span.count { (count) } " " (word)
                }
            }
            ul.cells { (rows) }
        }
    }
}

/// The scenario and the variant of a case.
fn name(id: &str) -> Markup {
    let (scenario, variant) = id.split_once('@').unwrap_or((id, ""));
    html! {
        span.name {
            (line(scenario, 300))
            @if !variant.is_empty() { " " span.variant { (line(&variant.replace(',', ", "), 300)) } }
        }
    }
}

fn row(index: usize, case: &CaseReport) -> Markup {
    let (result, count) = (result_of(case), count(&case.trials));
    let slowest = case.trials.iter().map(|trial| trial.duration_ms).max().unwrap_or(0);
    let why = case_headline(case);
    html! {
        li data-case=(index) data-ms=(slowest) { a.cell.(result.as_str()) href=(case_link(&case.id)) {
            span.mark {
                span aria-hidden="true" { (symbol(result)) " " }
                (control_outcome_of(case).as_str())
                @if case.trials.len() > 1 { small { " " (count.pass) " of " (count.all()) " passed" } }
            }
            span.took { (duration(slowest)) }
            (name(&case.id))
            @if result != TrialStatus::Pass { span.why { (line(&why, MAX_FINDING)) } }
        } }
    }
}
