//! The cases that did not pass in the last run.

use std::collections::BTreeSet;
use std::path::Path;

use super::execution::REPORTS;
use crate::cli::error::CliError;
use crate::cli::print::{message, plural};
use crate::results;
use crate::scenario::Case;

/// Of the cases, those that did not pass in the last run; all of them if none failed.
pub(super) fn of(cases: Vec<Case>) -> Result<Vec<Case>, CliError> {
    let latest = Path::new(REPORTS).join("latest");
    let shown = latest.display();
    if !latest.exists() {
        return Err(CliError::with_hint(
            format!("--last-failed: there is no run in {shown}"),
            "run once without --last-failed; runs with --out are not found",
        ));
    }
    let last = results::read_report(&latest)?;
    let failed: BTreeSet<&str> = results::not_passed(&last).collect();
    if failed.is_empty() {
        let what = match (last.cases.is_empty(), last.interrupted) {
            (true, _) => "nothing was run",
            (false, true) => "everything that was run passed",
            (false, false) => "everything passed",
        };
        message(&format!("note: {what} in {shown}, so all selected cases are run"));
        return Ok(cases);
    }
    let selected: Vec<Case> = cases.into_iter().filter(|case| failed.contains(case.id.as_str())).collect();
    if selected.is_empty() {
        return Err(CliError::with_hint(
            format!("--last-failed: no selected case is one of the {} that did not pass", failed.len()),
            format!("select the same files as in that run; `hapax report show {shown}` lists the cases"),
        ));
    }
    if last.interrupted {
        message(&format!(
            "note: the run in {shown} was interrupted; cases that it did not reach are not run"
        ));
    }
    message(&format!("{} that did not pass in {shown}", plural(selected.len(), "case")));
    Ok(selected)
}
