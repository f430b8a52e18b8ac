//! What a run would do.

use crate::ExitStatus;
use crate::cli::print::{message, output_text, plural};
use crate::run::Plan;

/// Prints the ids of the cases that would run; how many, and what would be skipped, goes to standard error.
pub(super) fn show(plan: &Plan) -> ExitStatus {
    let ids: String = plan.cases.keys().map(|id| format!("{id}\n")).collect();
    let status = output_text(&ids, ExitStatus::Success);
    let (cases, trials) = (plural(plan.cases.len(), "case"), plural(plan.trials.len(), "trial"));
    message(&format!("{cases} and {trials} would run; nothing was run"));
    for (why, number) in reasons(plan) {
        message(&format!("{} would be skipped: {why}", plural(number, "case")));
    }
    status
}

/// The reasons for skipped cases, each with the number of cases, in the order in which they first occur.
fn reasons(plan: &Plan) -> Vec<(&str, usize)> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for skipped in &plan.skipped {
        match reasons.iter_mut().find(|(why, _)| *why == skipped.why) {
            Some((_, number)) => *number += 1,
            None => reasons.push((&skipped.why, 1)),
        }
    }
    reasons
}
