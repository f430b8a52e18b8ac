//! A comparison as text: terminal, Markdown and page, with the same content in the same order.

mod html;
mod markdown;
mod terminal;

pub use html::{RunLinks, compare_page};
pub use markdown::compare_md;
pub use terminal::compare_text;

use crate::report::compare::{CaseState, Change, CompareCause, Comparison, SIGNIFICANT};
use crate::report::text;
use crate::report::text::words::{counted, percent};
use crate::score::TrialStatus;

/// The comparison in one line.
fn headline(comparison: &Comparison) -> String {
    use crate::report::compare::ChangeKind;
    let counts = ChangeKind::ALL.map(|kind| (comparison.of_kind(kind).count(), kind.words()));
    let mut parts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    parts.push(counted(comparison.same, "case") + " the same");
    let mut line = parts.join(", ");
    if comparison.scenarios_changed > 0 {
        line.push_str(&format!(
            "; the scenario of {} changed",
            counted(comparison.scenarios_changed, "case")
        ));
    }
    if let Some((old, new)) = comparison.promises {
        line.push_str(&format!(
            "; the first run was judged by {old}, the second by {new}, so their results are not comparable"
        ));
    }
    if let Some((old, new)) = &comparison.versions {
        line.push_str(&format!("; hapax {} → {}", text::line(old, 40), text::line(new, 40)));
    }
    line
}

/// The possible cause of a difference.
fn cause(change: &Change) -> &'static str {
    match change.cause {
        None => "",
        Some(CompareCause::Scenario) => "scenario changed",
        Some(CompareCause::Promise) => "same scenario: another promise was judged",
        Some(CompareCause::Hapax) => "same scenario: hapax or the agent changed",
        Some(CompareCause::Agent) => "same scenario: the agent changed",
        Some(CompareCause::Unknown) => "not known whether the scenario changed",
    }
}

/// The old or the new result of a case.
fn state(state: Option<CaseState>) -> String {
    let Some(state) = state else { return "not there".to_owned() };
    let several = if state.trials > 1 {
        format!(" ({} of {} passed)", state.passed, state.trials)
    } else {
        String::new()
    };
    let failed = if state.result == TrialStatus::Fail {
        format!(", {}", state.control_outcome.word())
    } else {
        String::new()
    };
    format!("{}{failed}{several}", state.result.word())
}

/// Whether a difference is significant.
fn significance_text(change: &Change) -> String {
    match change.chance {
        None => String::new(),
        Some(chance) if chance < 0.001 => "more than chance (p < 0.001)".to_owned(),
        Some(chance) if chance < SIGNIFICANT => format!("more than chance (p = {chance:.3})"),
        Some(chance) => {
            format!("may be chance: such a difference occurs by chance in {} of comparisons", percent(chance))
        }
    }
}

#[cfg(test)]
mod tests;
