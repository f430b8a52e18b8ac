//! The runs of a folder as text and as a page.

use std::fmt::Write as _;

use jiff::Timestamp;
use maud::{Markup, html};

use crate::report::PAGE_FILE;
use crate::report::formats::page::{Frame, PageScript, frame};
use crate::report::formats::terminal::View;
use crate::results::HistoryRun;
use crate::text::words::{counted, percent};
use crate::text::{columns, fit, line, wrap};

/// The name of the page of a history, in the folder of the runs.
pub const HISTORY_FILE: &str = "history.html";
/// The columns that the name of a subject takes at most.
const MAX_SUBJECT: usize = 20;
/// The height of the chart.
const CHART_HEIGHT: usize = 160;
/// The width of a run in the chart.
const BAR_WIDTH: usize = 44;

/// One line for each run, the oldest first.
#[must_use]
pub fn history_text(runs: &[HistoryRun], view: &View) -> String {
    let mut out = String::new();
    let folders: Vec<String> = runs.iter().map(|run| line(&run.folder, 100)).collect();
    let subjects: Vec<String> = runs.iter().map(|run| fit(&line(&run.subject, 100), MAX_SUBJECT)).collect();
    let widest = |texts: &[String]| texts.iter().map(|text| columns(text)).max().unwrap_or(0);
    let (wide, wide_subject) = (widest(&folders), widest(&subjects));
    for ((run, folder), subject) in runs.iter().zip(&folders).zip(&subjects) {
        let (blanks, more_blanks) = (wide - columns(folder), wide_subject - columns(subject));
        let _ = write!(out, "{folder}{:blanks$}  {subject}{:more_blanks$}  {:>7}  ", "", "", rate(run));
        // Two blanks after each column, and seven for the pass rate.
        let indent = wide + wide_subject + 13;
        let said = wrap(&said(run), view.width.saturating_sub(indent));
        let _ = writeln!(out, "{}", said.join(&format!("\n{:indent$}", "")));
    }
    out
}

fn rate(run: &HistoryRun) -> String {
    run.pass_rate.map_or_else(|| "–".to_owned(), percent)
}

/// The numbers of a run after its pass rate.
fn said(run: &HistoryRun) -> String {
    let mut parts = vec![passed(run)];
    parts.extend((!run.new.is_empty()).then(|| format!("{} new", run.new.len())));
    parts.extend((!run.fixed.is_empty()).then(|| format!("{} fixed", run.fixed.len())));
    parts.extend(run.interrupted.then(|| "interrupted".to_owned()));
    parts.join(", ")
}

fn passed(run: &HistoryRun) -> String {
    let void = if run.void > 0 { format!(", {} void", run.void) } else { String::new() };
    format!("{} of {} passed{void}", run.passed, run.passed + run.failed + run.void)
}

/// The history as a page for the folder of the runs, whose pages it links to.
#[must_use]
pub fn history_page(runs: &[HistoryRun]) -> String {
    let body = html! {
        header {
            p.brand { "hapax: " (counted(runs.len(), "run")) }
            h1 { (lead(runs)) }
        }
        main {
            h2 { "Pass rate" }
            (chart(runs))
            h2 { "Runs" }
            div.wide-table { table.stacked {
                thead { tr {
                    @for name in ["run", "subject", "began", "passed", "new failures", "fixed"] {
                        th.short scope="col" { (name) }
                    }
                } }
                tbody { @for run in runs.iter().rev() { (row(run)) } }
            } }
        }
    };
    let page = frame(Frame { title: "hapax: history of runs", body, style: "", script: PageScript::None })
        .into_string();
    crate::text::ci_commands::page(&page).into_owned()
}

/// The last run in one sentence.
fn lead(runs: &[HistoryRun]) -> String {
    let Some(last) = runs.last() else { return "There are no runs.".to_owned() };
    let changes = match (last.new.len(), last.fixed.len()) {
        (0, 0) => "nothing is new and nothing is fixed".to_owned(),
        (new, fixed) => format!("{}, {fixed} fixed", counted(new, "new failure")),
    };
    format!("Cases of the last run: {}; {changes}.", passed(last))
}

/// A bar for each run: its height is the pass rate, and its words say the same.
fn chart(runs: &[HistoryRun]) -> Markup {
    let (width, height) = (runs.len() * BAR_WIDTH, CHART_HEIGHT + 40);
    html! {
        div.wide-table { svg.chart role="img" aria-label="Pass rate of each run, the oldest first"
            width=(width) height=(height) viewBox=(format!("0 0 {width} {height}")) {
            @for (index, run) in runs.iter().enumerate() {
                @let filled = run.pass_rate.map_or(0, |rate| (rate * CHART_HEIGHT as f64).round() as usize);
                @let (left, middle) = (index * BAR_WIDTH + 4, index * BAR_WIDTH + BAR_WIDTH / 2);
                g {
                    title { (line(&run.folder, 100)) ", " (line(&run.subject, 100)) ": " (passed(run)) }
                    rect.rest x=(left) y="20" width=(BAR_WIDTH - 8) height=(CHART_HEIGHT) {}
                    rect.share x=(left) y=(20 + CHART_HEIGHT - filled) width=(BAR_WIDTH - 8) height=(filled) {}
                    text x=(middle) y="14" { (run.pass_rate.map_or_else(|| "–".to_owned(), whole_percent)) }
                    text x=(middle) y=(CHART_HEIGHT + 36) { (index + 1) }
                }
            }
        } }
    }
}

/// Rounded, but 100 % only where all passed.
fn whole_percent(share: f64) -> String {
    format!("{} %", (share * 100.0).floor())
}

fn row(run: &HistoryRun) -> Markup {
    let link: String = run.folder.bytes().map(crate::report::comparison::encoded).collect();
    let began =
        Timestamp::from_millisecond(run.started_at).map(|time| time.strftime("%Y-%m-%d %H:%M").to_string());
    html! {
        tr {
            th scope="row" { a href=(format!("./{link}/{PAGE_FILE}")) { (line(&run.folder, 100)) } }
            td data-name="subject" { (line(&run.subject, 100)) }
            td.short data-name="began" { (began.unwrap_or_default()) }
            td data-name="passed" {
                (rate(run)) ", " (passed(run)) @if run.interrupted { ", interrupted" }
            }
            td data-name="new failures" { (ids(&run.new)) }
            td data-name="fixed" { (ids(&run.fixed)) }
        }
    }
}

fn ids(ids: &[String]) -> Markup {
    html! {
        @if !ids.is_empty() { details.ids {
            summary { (ids.len()) }
            ul { @for id in ids { li { (line(id, 300)) } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Vec<HistoryRun> {
        let run = |folder: &str, subject: &str, passed: usize, failed: usize| HistoryRun {
            folder: folder.to_owned(),
            subject: subject.to_owned(),
            started_at: 1_794_900_000_000,
            interrupted: false,
            passed,
            failed,
            void: 0,
            pass_rate: Some(passed as f64 / (passed + failed) as f64),
            new: Vec::new(),
            fixed: Vec::new(),
        };
        let mut runs = vec![
            run("2026-11-17T08-00-00Z", "python3 agent.py", 120, 7),
            run("2026-11-17T09-00-00Z", "a subject whose name is longer than a column", 1, 0),
            run("2026-11-17T10-00-00Z", "python3 agent.py", 125, 1),
        ];
        runs[2].new = vec!["payment/lost-reply@keys=none,reply=drop".to_owned()];
        runs[2].fixed = (0..7).map(|case| format!("crash/restarted@n={case}")).collect();
        (runs[2].void, runs[2].interrupted) = (1, true);
        runs
    }

    #[test]
    fn a_history_is_a_line_for_each_run() {
        let text = history_text(&runs(), &View { width: 80, color: false, verbose: false });
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_history_as_a_page() {
        let page = history_page(&runs());
        let (_, body) = page.split_once("<body>").unwrap();
        insta::assert_snapshot!(body.replace("><", ">\n<"));
    }

    #[test]
    fn hostile_names_do_no_harm() {
        let mut runs = runs();
        let hostile = "</title><script>alert(1)</script>\u{1b}[31m\u{202e}";
        (runs[0].folder, runs[0].subject, runs[0].new) =
            (hostile.to_owned(), hostile.to_owned(), vec![hostile.to_owned()]);
        let page = history_page(&runs);
        assert!(!page.contains("<script") && !page.contains('\u{202e}'), "{page}");
        let text = history_text(&runs, &View { width: 80, color: false, verbose: false });
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    }
}
