//! The matrix of cases, scenario by variant, with the expected outcomes of the controls; and the filters
//! above it.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use crate::report::headline::control_outcome_of;
use crate::report::model::{CaseReport, Report};
use crate::report::tally::{count, outcome_of, result_of, services_of};
use crate::report::text::line;
use crate::score::{Outcome, TrialStatus};

/// The link to a case in the page.
pub(super) fn case_link(id: &str) -> String {
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
                @for outcome in outcomes.iter().rev() { option value=(outcome.word()) { (outcome.word()) } }
            } }
            (choice("tag", "Tag", &tags))
            (choice("service", "Service", &services))
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

/// A cell of the matrix: a case by its index, or a skipped one.
enum Cell<'a> {
    Case(usize, &'a CaseReport),
    Skipped(usize, &'a str),
}

/// The matrix. Cases are numbered by id, as in the data of the page.
pub(super) fn matrix(report: &Report) -> Markup {
    let mut cases: Vec<&CaseReport> = report.cases.iter().collect();
    cases.sort_by_key(|case| case.id.as_str());
    let mut rows: BTreeMap<&str, Vec<Cell<'_>>> = BTreeMap::new();
    for (place, case) in cases.iter().enumerate() {
        rows.entry(&case.scenario).or_default().push(Cell::Case(place, case));
    }
    for (place, skipped) in report.skipped.iter().enumerate() {
        let scenario = skipped.id.split_once('@').map_or(skipped.id.as_str(), |(scenario, _)| scenario);
        rows.entry(scenario).or_default().push(Cell::Skipped(place, &skipped.id));
    }
    html! {
        section #matrix tabindex="-1" aria-labelledby="matrix-title" {
            h2 #matrix-title { "Cases" }
            p.legend {
                span.key.fail { "✗ failed" } " "
                span.key.void { "○ void" } " "
                span.key.pass { "✓ passed" } " "
                span.key.skipped { "– skipped" } " "
                @if report.cases.iter().any(|case| !case.controls.is_empty()) {
                    span { "Dashed: the expected outcomes of the controls in the same case." } " "
                }
                span { "Arrow keys move between cases." }
            }
            p #nothing hidden { "No case matches these filters." }
            @for (scenario, cells) in &rows {
                section.scenario {
                    h3 { (line(scenario, 300)) }
                    @if let Some(Cell::Case(_, case)) = cells.first() { p.about { (line(&case.about, 500)) } }
                    ul.cells { @for cell in cells { (self::cell(cell, scenario)) } }
                }
            }
        }
    }
}

fn cell(cell: &Cell<'_>, scenario: &str) -> Markup {
    let variant = |id: &str| {
        id.strip_prefix(scenario)
            .map(|rest| rest.trim_start_matches('@').replace(',', ", "))
            .unwrap_or_default()
    };
    match cell {
        Cell::Skipped(place, id) => html! {
            li data-skipped=(place) { a.cell.skipped href=(case_link(id)) {
                span.mark { span aria-hidden="true" { "– " } "skipped" }
                span.variant { (line(&variant(id), 300)) }
            } }
        },
        Cell::Case(place, case) => {
            let (result, count) = (result_of(case), count(&case.trials));
            html! {
                li data-case=(place) { a.cell.(result.word()) href=(case_link(&case.id)) {
                    span.mark {
                        span aria-hidden="true" { (symbol(result)) " " }
                        (control_outcome_of(case).word())
                        @if case.trials.len() > 1 { small { " " (count.pass) " of " (count.all()) } }
                    }
                    span.variant { (line(&variant(&case.id), 300)) }
                    @if !case.controls.is_empty() {
                        span.controls { @for control in &case.controls {
                            @let result = control.is.status();
                            span.control.(result.word()) {
                                (line(&control.control, 40)) " " (symbol(result)) " " (control.is.word())
                            }
                        } }
                    }
                } }
            }
        }
    }
}

const fn symbol(result: TrialStatus) -> &'static str {
    match result {
        TrialStatus::Pass => "✓",
        TrialStatus::Fail => "✗",
        TrialStatus::Void => "○",
    }
}
