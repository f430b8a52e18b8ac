//! `index.html`: the run as one self-contained file that loads nothing. The frame and the matrix are HTML; a
//! script draws the details of a case from data in the page, when the user selects it.

mod budget;
mod data;
mod embed;
mod frame;
mod head;
mod matrix;

use crate::report::model::Report;
use crate::report::store::Ledgers;
use crate::report::tally::Tally;
use embed::json_in_script;
pub(crate) use frame::{Frame, frame};

/// The page of a run.
#[must_use]
pub fn page(report: &Report, ledgers: &Ledgers) -> String {
    let tally = Tally::of(report);
    let data = data::data(report, ledgers);
    let body = maud::html! {
        (head::head(report, &tally))
        main {
            (head::causes_section(report))
            (matrix::filters(report))
            (matrix::matrix(report))
            section #detail hidden aria-labelledby="detail-title" {}
        }
        script #data type="application/json" { (json_in_script(&data)) }
    };
    let title = format!("hapax: {}", crate::report::text::line(&report.subject, 100));
    crate::report::text::ci_commands::page(&frame(Frame { title: &title, body, script: true }).into_string())
        .into_owned()
}

#[cfg(test)]
mod tests;
