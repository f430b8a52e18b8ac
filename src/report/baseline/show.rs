//! A run compared with a baseline, as text.

use std::fmt::Write as _;

use crate::report::baseline::{BaselineChange, BaselineComparison, is_better};
use crate::report::formats::terminal::View;
use crate::report::text::line;
use crate::report::text::style::TextStyle;
use crate::report::text::words::counted;
use crate::scenario::ControlOutcome;
use crate::score::TrialStatus;

/// The worse, better and void cases, and the number of known ones; `file` is the name of the baseline.
#[must_use]
pub fn baseline_text(measured: &BaselineComparison, file: &str, view: &View) -> String {
    let (style, file) = (TextStyle { color: view.color }, line(file, 200));
    let mut out = format!("Compared with the baseline {file}:\n");
    let groups = [
        (style.bad("WORSE"), &measured.worse),
        (style.void("VOID"), &measured.void),
        (style.good("BETTER"), &measured.better),
    ];
    for (word, cases) in groups {
        for moved in cases {
            let _ = writeln!(out, "{word}  {}  {}", line(&moved.id, 300), change(moved));
        }
    }
    if !measured.worse.is_empty() {
        let _ = writeln!(out, "Fix it, or add --update-baseline to accept it as a known failure.");
    } else if !measured.better.is_empty() {
        let _ = writeln!(out, "Add --update-baseline to record what got better.");
    }
    let _ = writeln!(out, "{}", result(measured, style));
    out
}

fn change(moved: &BaselineChange) -> String {
    match moved.was {
        Some(was) if was == moved.outcome => moved.outcome.as_str().to_owned(),
        Some(was) if moved.outcome < was && !is_better(moved.outcome, was) => {
            format!("{} → {}, another failure than the known one", was.as_str(), moved.outcome.as_str())
        }
        Some(was) => format!("{} → {}", was.as_str(), moved.outcome.as_str()),
        None if moved.outcome == ControlOutcome::Void => moved.outcome.as_str().to_owned(),
        None => format!("{}, not known to fail", moved.outcome.as_str()),
    }
}

/// The result in one line.
#[must_use]
pub fn baseline_line(measured: &BaselineComparison, view: &View) -> String {
    result(measured, TextStyle { color: view.color })
}

fn result(measured: &BaselineComparison, style: TextStyle) -> String {
    let rest = format!("{} known to fail, {} better", measured.known.len(), measured.better.len());
    let void =
        if measured.void.is_empty() { String::new() } else { format!("{} void, ", measured.void.len()) };
    let (word, worse) = match measured.result() {
        TrialStatus::Fail => {
            (style.bad("FAILED"), format!("{} worse", counted(measured.worse.len(), "case")))
        }
        TrialStatus::Void if measured.unfinished => {
            (style.void("VOID"), "not every case was run, nothing is worse".to_owned())
        }
        TrialStatus::Void => (style.void("VOID"), "nothing is worse".to_owned()),
        TrialStatus::Pass => (style.good("PASSED"), "nothing is worse".to_owned()),
    };
    format!("{word}  {worse}, {void}{rest}")
}
