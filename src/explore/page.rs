//! The page of a search: what is being tried, what was found, and what was covered. It is written again and again while
//! the search goes on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use maud::{Markup, html};

use super::search::ScheduleCounts;
use super::show::{COLUMNS, NOT_JUDGED, controls, headline, notes, row, summary_line};
use super::{Exploration, ExploredFailure};
use crate::report::{Frame, PageScript, frame};
use crate::text::{ci_commands, line};

/// The name of the page in the folder of a search.
pub const PAGE: &str = "explore.html";
/// The time between two versions of the page.
const INTERVAL: Duration = Duration::from_secs(1);
const STYLE: &str = "td,th{padding:.2em .8em;text-align:right}td:first-child,th:first-child{text-align:left}\
                     pre{white-space:pre-wrap}";

/// A page that is written while the search goes on.
pub(super) struct LivePage {
    folder: PathBuf,
    written: Option<Instant>,
}

impl LivePage {
    pub(super) fn new(folder: &Path) -> Self {
        LivePage { folder: folder.to_owned(), written: None }
    }

    /// Writes the page, if it is time for it or if it is the last one. A page that cannot be written does not end the
    /// search: its log is what counts.
    pub(super) fn write(&mut self, result: &Exploration, is_last: bool) {
        if !is_last && self.written.is_some_and(|written| written.elapsed() < INTERVAL) {
            return;
        }
        self.written = Some(Instant::now());
        let path = self.folder.join(PAGE);
        let beside = path.with_extension("html.new");
        if std::fs::write(&beside, page(result, &self.folder, is_last)).is_ok() {
            let _ = std::fs::rename(&beside, &path);
        }
    }
}

fn page(result: &Exploration, folder: &Path, is_last: bool) -> String {
    let notes = if is_last { notes(result, &folder.display().to_string()) } else { Vec::new() };
    let body = html! {
        @if !is_last { meta http-equiv="refresh" content="1"; }
        header { h1 { (headline(result, is_last)) } }
        main {
            p { "Subject: " code { (line(&result.subject, 300)) } }
            @if !result.case.is_empty() { p { "In the task of " code { (line(&result.case, 300)) } } }
            @if is_last { p { (summary_line(result)) "." } }
            @for note in &notes { p { (note) } }
            @if !result.now.is_empty() { p { "Now: " (line(&result.now, 300)) } }
            @if !result.failures.is_empty() {
                h2 { "Found" }
                @for failure in &result.failures { (found(failure)) }
            }
            @if !result.doubtful.is_empty() {
                h2 { "Not judged" }
                p { (NOT_JUDGED) }
                @for failure in &result.doubtful { (found(failure)) }
            }
            h2 { "Covered, assumed and left" }
            (table(&result.counts))
        }
    };
    let title = format!("hapax explore: {}", line(&result.subject, 100));
    let page = frame(Frame { title: &title, body, style: STYLE, script: PageScript::None });
    ci_commands::page(&page.into_string()).into_owned()
}

fn found(failure: &ExploredFailure) -> Markup {
    let (failed, of) = failure.failed;
    html! {
        section {
            h3 { (failure.kind.as_str()) ": " (line(&failure.when, 300)) }
            p { (line(&failure.message, 1000)) }
            p { "Fix: " (line(&failure.fix, 1000)) }
            p { "Failed in " (failed) " of " (of) " trials; found in trial " (failure.found_at) "; "
                (failure.also) " other schedules fail with the same cause." }
            @if !failure.timeline.is_empty() {
                pre { @for text in failure.timeline.lines() { (line(text, 300)) "\n" } }
            }
            @if let Some(controls) = controls(failure) { p { (controls) } }
            p { "Scenario: " code { (line(&failure.written.file.display().to_string(), 300)) } }
        }
    }
}

fn table(counts: &[(super::ScheduleKind, ScheduleCounts)]) -> Markup {
    html! {
        table {
            thead { tr { th { "schedules" } @for column in COLUMNS { th { (column) } } } }
            tbody {
                @for (kind, counts) in counts {
                    tr { th { (kind.words()) } @for number in row(counts) { td { (number) } } }
                }
            }
        }
    }
}
