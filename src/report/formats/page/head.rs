//! The top of the page: what the run means in one sentence, the subject, and the numbers.

use jiff::Timestamp;
use maud::{Markup, html};

use crate::report::impact::Impact;
use crate::report::run_notes;
use crate::results::Report;
use crate::results::tally::Tally;
use crate::score::TrialStatus;
use crate::text::line;
use crate::text::words::{self, counted, percent};

/// The head of the page.
pub(super) fn head(report: &Report, impact: &Impact, tally: &Tally, is_running: bool) -> Markup {
    let (class, mark, word) = match tally.result() {
        _ if report.is_empty_part() => ("void", "○", "empty"),
        TrialStatus::Void | TrialStatus::Pass if is_running => ("void", "○", "running"),
        TrialStatus::Pass => ("pass", "✓", "passed"),
        TrialStatus::Fail => ("fail", "✗", "failed"),
        TrialStatus::Void => ("void", "○", "void"),
    };
    let began = Timestamp::from_millisecond(report.started_at)
        .map(|at| at.strftime("%Y-%m-%d %H:%M UTC").to_string());
    html! {
        a.skip href="#list" { "To the cases" }
        header {
            p.brand {
                span.verdict.(class) { span aria-hidden="true" { (mark) } " " (word) }
                " " code { (line(&report.subject, 200)) }
                " " span.run {
                    "hapax " (line(&report.hapax, 40)) ", run " (line(&report.run, 100))
                    @if let Ok(began) = began { ", " (began) }
                    ", " (words::duration(report.duration_ms))
                }
            }
            @if let Some(text) = run_notes::not_made_for(report) {
                p.warning { (line(&text, 900)) }
            }
            h1 { (line(&impact.lead, 500)) }
            @if !impact.others.is_empty() {
                ul.others { @for sentence in &impact.others { li { (line(sentence, 500)) } } }
            }
            @if let Some(promised) = run_notes::promised(report) {
                p.warning { (promised) }
            }
            @if let Some(lenient) = run_notes::lenient(tally) {
                p.warning { (lenient) }
            }
            @if let Some(profiles) = run_notes::profiles(report) {
                p.run { (line(&profiles, 900)) }
            }
            @if is_running {
                p #loading.warning role="status" { "Loading: the cases can be selected when the page has loaded." }
                p #running.warning {
                    "Running: " (tally.trials.all()) " of " (counted_trials(report)) " have ended. \
                     This page reloads itself until the run is finished."
                }
            }
            @for text in run_notes::partial(tally, report).iter().filter(|_| !is_running).chain(&run_notes::unproven(report)).chain(&run_notes::shared_keys(report)).chain(&report.notes) {
                p.warning { (line(text, 500)) }
            }
            @if let Some(empty) = run_notes::empty_part(report) {
                p.warning { (empty) }
            } @else if let Some((part, parts)) = report.partition {
                p.warning { "This is part " (part) " of " (parts) " of a run." }
            }
            (tiles(tally))
            details.numbers {
                summary { "All numbers" }
                table { tbody { @for (name, value) in numbers(report, tally, is_running) {
                    tr { th scope="row" { (name) } td { (value) } }
                } } }
            }
            noscript {
                p.warning {
                    "Without JavaScript this page shows no details; `hapax report show` shows them in the \
                     terminal."
                }
            }
        }
    }
}

fn counted_trials(report: &Report) -> String {
    counted(usize::try_from(report.planned).unwrap_or(usize::MAX), "trial")
}

/// The four most important numbers.
fn tiles(tally: &Tally) -> Markup {
    let cases = tally.cases;
    let rate = tally.exactly_once_rate().map_or_else(|| "none".to_owned(), percent);
    let tiles = [
        ("fail", "✗", cases.fail.to_string(), format!("of {} failed", counted(cases.all(), "case"))),
        ("pass", "✓", cases.pass.to_string(), "passed".to_owned()),
        ("void", "○", cases.void.to_string(), format!("void, {} skipped", tally.skipped)),
        ("", "", rate, "of trials exactly once".to_owned()),
    ];
    html! {
        dl.tiles { @for (class, mark, value, name) in tiles {
            @let class = if value == "0" { "none" } else { class };
            div.(class) {
                dt { (name) }
                dd { @if !mark.is_empty() { span.shape aria-hidden="true" { (mark) } " " } (value) }
            }
        } }
    }
}

fn numbers(report: &Report, tally: &Tally, is_running: bool) -> Vec<(&'static str, String)> {
    let none = || "none".to_owned();
    let mut numbers = vec![
        ("exactly once", format!("{} of {}", tally.exactly_once, counted(tally.trials.judged(), "trial"))),
        ("duplicates", tally.duplicates.to_string()),
        ("lost", tally.losses.to_string()),
        ("unintended", tally.unintended.to_string()),
        ("overclaims", tally.overclaims.to_string()),
        ("attempts per effect", tally.attempts_per_effect().map_or_else(none, |share| format!("{share:.2}"))),
    ];
    if let Some(found) = tally.pass_hat_k {
        let (low, high) = found.interval;
        let text = format!(
            "{} (k = {}; 95 %: {} to {}, {})",
            percent(found.estimate),
            found.k,
            percent(low),
            percent(high),
            counted(found.cases, "case")
        );
        numbers.push(("pass^k", text));
    }
    numbers.push(("took", words::duration(report.duration_ms)));
    // From the seed a subject that reads the page could compute in which case it is.
    if !is_running {
        numbers.push(("seed", report.seed.to_string()));
    }
    numbers
}
