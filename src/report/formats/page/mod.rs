//! `index.html`: the run as one self-contained file that loads nothing. The frame, the squares and the list of
//! cases are HTML; a script draws the details of a case from data in the page, when the user selects it.

mod budget;
pub(crate) mod cases;
mod controls;
mod data;
mod embed;
mod exchange;
mod fixes;
mod frame;
mod head;
mod square;

use crate::report::impact::impact;
use crate::report::model::Report;
use crate::report::store::Ledgers;
use crate::report::tally::Tally;
use crate::score::TrialStatus;
use embed::json_in_script;
pub(crate) use frame::{Frame, PageScript, frame};

/// The page of a run.
#[must_use]
pub fn page(report: &Report, ledgers: &Ledgers) -> String {
    render(report, ledgers, false)
}

/// The page of a run that is not finished. It reloads itself.
#[must_use]
pub fn page_so_far(report: &Report, ledgers: &Ledgers) -> String {
    render(report, ledgers, true)
}

fn render(report: &Report, ledgers: &Ledgers, is_running: bool) -> String {
    let tally = Tally::of(report);
    let data = data::data(report, ledgers, is_running);
    let body = maud::html! {
        (head::head(report, &impact(report, ledgers), &tally, is_running))
        main {
            (square::squares(report))
            (fixes::fixes(report))
            (cases::cases(report))
        }
        script #data type="application/json" { (json_in_script(&data)) }
    };
    let title = format!("hapax: {}", crate::report::text::line(&report.subject, 100));
    crate::report::text::ci_commands::page(
        &frame(Frame { title: &title, body, script: PageScript::Alone(frame::SCRIPT) }).into_string(),
    )
    .into_owned()
}

/// The shape of a result, so that color is never the only sign.
pub(crate) const fn symbol(result: TrialStatus) -> &'static str {
    match result {
        TrialStatus::Pass => "✓",
        TrialStatus::Fail => "✗",
        TrialStatus::Void => "○",
    }
}

#[cfg(test)]
mod tests;
