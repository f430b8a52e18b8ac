//! `badge.json`: what an endpoint badge of shields.io shows.

use serde_json::json;

use crate::results::Report;
use crate::results::tally::Tally;
use crate::score::TrialStatus;
use crate::text::words::{counted, percent};

/// The badge of a run.
#[must_use]
pub fn badge(report: &Report) -> String {
    let tally = Tally::new(report);
    let (message, color) = match (tally.exactly_once_rate(), tally.result()) {
        (None, _) => ("no trial".to_owned(), "lightgrey"),
        (Some(_), TrialStatus::Pass) => {
            (format!("all of {}", counted(tally.cases.all(), "case")), "brightgreen")
        }
        (Some(rate), TrialStatus::Void) if tally.unfinished => {
            (format!("{}, not finished", percent(rate)), "yellow")
        }
        (Some(rate), TrialStatus::Void) => {
            (format!("{}, {} void", percent(rate), tally.cases.void), "yellow")
        }
        (Some(rate), TrialStatus::Fail) => {
            (format!("{}, {} of {} failed", percent(rate), tally.cases.fail, tally.cases.all()), "red")
        }
    };
    let failed = tally.result() == TrialStatus::Fail;
    let badge = json!({
        "schemaVersion": 1, "label": "exactly once", "message": message, "color": color, "isError": failed
    });
    format!("{badge}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample;

    #[test]
    fn a_badge_says_how_often_and_how_many_failed() {
        let texts = [
            badge(&sample::run().0),
            badge(&sample::run_of(vec![sample::pass(1), sample::pass(2)]).0),
            badge(&sample::run_of(vec![sample::pass(1), sample::void()]).0),
            badge(&sample::run_of(vec![]).0),
        ];
        insta::assert_snapshot!(texts.concat());
    }
}
