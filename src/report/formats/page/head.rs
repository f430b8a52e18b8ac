//! The top of the page: the subject, the result, the numbers, and what to fix first.

use jiff::Timestamp;
use maud::{Markup, html};

use crate::report::causes::causes;
use crate::report::formats::page::matrix::case_link;
use crate::report::model::Report;
use crate::report::tally::Tally;
use crate::report::text::line;
use crate::report::text::words::{self, counted, percent};
use crate::score::TrialStatus;

/// The maximum number of causes that are shown.
const MAX_CAUSES: usize = 20;
/// The maximum number of cases of each cause that are shown.
const MAX_CASES: usize = 6;

/// The head of the page.
pub(super) fn head(report: &Report, tally: &Tally) -> Markup {
    let (class, mark, word) = match tally.result() {
        _ if report.is_empty_part() => ("void", "○", "empty"),
        TrialStatus::Pass => ("pass", "✓", "passed"),
        TrialStatus::Fail => ("fail", "✗", "failed"),
        TrialStatus::Void => ("void", "○", "void"),
    };
    let began = Timestamp::from_millisecond(report.started_at)
        .map(|at| at.strftime("%Y-%m-%d %H:%M UTC").to_string());
    html! {
        a.skip href="#matrix" { "To the cases" }
        header {
            p.brand {
                "hapax " (line(&report.hapax, 40)) ", run " (line(&report.run, 100))
                @if let Ok(began) = began { ", " (began) }
            }
            h1 {
                span.verdict.(class) { span aria-hidden="true" { (mark) } " " (word) }
                " " code { (line(&report.subject, 200)) }
            }
            @if let Some(promised) = Tally::promised(report) {
                p.warning { (promised) }
            }
            @if let Some(lenient) = tally.lenient() {
                p.warning { (lenient) }
            }
            @for text in tally.partial(report).iter().chain(&report.notes) {
                p.warning { (line(text, 500)) }
            }
            @if let Some(empty) = words::empty_part(report) {
                p.warning { (empty) }
            } @else if let Some((part, parts)) = report.partition {
                p.warning { "This is part " (part) " of " (parts) " of a run." }
            }
            dl.numbers { @for (name, value, more) in numbers(report, tally) {
                div { dt { (name) } dd { (value) @if !more.is_empty() { small { " " (more) } } } }
            } }
            noscript {
                p.warning {
                    "Without JavaScript this page shows no details; `hapax report show` shows them in the \
                     terminal."
                }
            }
        }
    }
}

fn numbers(report: &Report, tally: &Tally) -> Vec<(&'static str, String, String)> {
    let none = || "none".to_owned();
    let cases = tally.cases;
    let skipped = if tally.skipped > 0 { format!(", {} skipped", tally.skipped) } else { String::new() };
    let rate = tally.exactly_once_rate();
    let mut numbers = vec![
        (
            "cases",
            cases.all().to_string(),
            format!("{} failed, {} void, {} passed{skipped}", cases.fail, cases.void, cases.pass),
        ),
        (
            "exactly once",
            rate.map_or_else(none, percent),
            format!("{} of {}", tally.exactly_once, counted(tally.trials.judged(), "trial")),
        ),
        ("duplicates", tally.duplicates.to_string(), String::new()),
        ("lost", tally.losses.to_string(), String::new()),
        ("unintended", tally.unintended.to_string(), String::new()),
        ("overclaims", tally.overclaims.to_string(), String::new()),
        (
            "attempts per effect",
            tally.attempts_per_effect().map_or_else(none, |share| format!("{share:.2}")),
            String::new(),
        ),
    ];
    if let Some(found) = tally.pass_hat_k {
        let (low, high) = found.interval;
        let more = format!(
            "k = {}; 95 %: {} to {}, {}",
            found.k,
            percent(low),
            percent(high),
            counted(found.cases, "case")
        );
        numbers.push(("pass^k", percent(found.estimate), more));
    }
    numbers.push(("took", words::duration(report.duration_ms), format!("seed {}", report.seed)));
    numbers
}

/// What to fix first, by cause.
pub(super) fn causes_section(report: &Report) -> Markup {
    let causes = causes(report);
    html! {
        @if !causes.is_empty() {
            section #causes aria-labelledby="causes-title" {
                h2 #causes-title { "What to fix first" }
                ol { @for cause in causes.iter().take(MAX_CAUSES) {
                    li {
                        p.fix { (line(cause.fix, 1_000)) }
                        p.cause {
                            span.tag { (cause.kind.word()) }
                            " " (cause.reach()) ". Example: " (line(cause.example, 600))
                        }
                        p.cases {
                            @for id in cause.cases.iter().take(MAX_CASES) {
                                a href=(case_link(id)) { (line(id, 300)) } " "
                            }
                            @if cause.cases.len() > MAX_CASES {
                                "and " (cause.cases.len() - MAX_CASES) " more"
                            }
                        }
                    }
                } }
                @if causes.len() > MAX_CAUSES {
                    p { "And " (counted(causes.len() - MAX_CAUSES, "other cause")) "." }
                }
            }
        }
    }
}
