//! Budgets and limits: too many attempts or too few, no time left, a limit exceeded.

use mock_services::yaml::shown;

use super::{FindingContext, time_limit};
use crate::domain::{StartEnd, SubjectEvent};
use crate::score::history::RecordedEvent;
use crate::score::verdict::{Finding, FindingKind};
use crate::score::void_reason::cut;

/// The maximum number of entries of attempts that are listed.
const MAX_ATTEMPTS: usize = 16;

/// The findings of budgets and bounds.
pub(super) fn findings(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = over_budget(context).collect();
    found.extend(not_attempted(context));
    found.extend(time_limit::findings(context));
    found.extend(over_limit(context));
    found.extend(left_behind(context));
    found
}

fn over_budget<'s>(context: &'s FindingContext<'_, '_>) -> impl Iterator<Item = Finding> + 's {
    context.attempts.iter().filter_map(|made| {
        let budget = made.budget.filter(|budget| made.made > *budget)?;
        let attempts =
            context.history.attempts.iter().filter(|attempt| attempt.operation() == made.operation);
        let number = attempts_in_words(made.made);
        let layers = made.layers.as_ref().map(|layers| format!(" {layers}.")).unwrap_or_default();
        Some(Finding {
            message: format!(
                "{number} of {}, but at most {budget} are allowed.{layers}",
                shown(&made.operation)
            ),
            fix: "Retry in one place only: a client that retries inside a loop that retries multiplies the \
                  attempts. Increase the delay between retries, and limit their number."
                .to_owned(),
            entries: attempts.map(|attempt| attempt.n).take(MAX_ATTEMPTS).collect(),
            ..Finding::new(FindingKind::OverBudget)
        })
    })
}

/// An operation that was attempted less often than expected. A request that the service refused counts, too.
fn not_attempted<'s>(context: &'s FindingContext<'_, '_>) -> impl Iterator<Item = Finding> + 's {
    context.attempts.iter().filter_map(|made| {
        let tried = made.made.saturating_add(made.refused);
        if tried >= made.at_least {
            return None;
        }
        let operation = shown(&made.operation);
        let times = |number: u32| if number == 1 { "once".to_owned() } else { format!("{number} times") };
        let head = if tried == 0 {
            format!("{operation} was never attempted")
        } else {
            format!("{operation} was attempted only {}, including refused requests", times(tried))
        };
        let attempts = context.history.attempts.iter().map(|attempt| (attempt.operation(), attempt.n));
        let refusals =
            context.history.refusals.iter().filter_map(|refusal| Some((refusal.operation?, refusal.n)));
        Some(Finding {
            fails: !context.unstartable,
            message: format!(
                "{head}, but the scenario expects at least \
                              {}.",
                attempts_in_words(made.at_least)
            ),
            fix: "Send the request that the task asks for before you claim not-done: only the reply shows \
                 whether it is possible."
                .to_owned(),
            entries: attempts
                .chain(refusals)
                .filter(|(name, _)| *name == made.operation)
                .map(|(_, n)| n)
                .take(MAX_ATTEMPTS)
                .collect(),
            ..Finding::new(FindingKind::NotAttempted)
        })
    })
}

fn attempts_in_words(number: u32) -> String {
    if number == 1 { "1 attempt".to_owned() } else { format!("{number} attempts") }
}

fn over_limit(context: &FindingContext<'_, '_>) -> Option<Finding> {
    let limit = |note: &RecordedEvent| {
        let SubjectEvent::OverLimit { limit } = &note.event else { return None };
        Some((note.n, cut(limit)))
    };
    let over: Vec<(u64, String)> = context.history.notes.iter().filter_map(limit).collect();
    let ended = context.history.ends().filter(|end| end.event.end == StartEnd::OverLimit);
    let entries: Vec<u64> = over.iter().map(|(n, _)| *n).chain(ended.map(|end| end.n)).collect();
    entries.first()?;
    let mut what: Vec<String> =
        over.into_iter().map(|(_, what)| what).filter(|what| !what.is_empty()).collect();
    what.sort();
    what.dedup();
    what.truncate(4);
    let of = if what.is_empty() { String::new() } else { format!(": {}", what.join(" and ")) };
    Some(Finding {
        message: format!("The subject exceeded a limit{of}."),
        fix: "Write less output, start fewer processes, and make sure that every loop ends.".to_owned(),
        entries,
        ..Finding::new(FindingKind::OverLimit)
    })
}

/// Processes that were still running when the subject ended: what they would have done later is not known.
fn left_behind(context: &FindingContext<'_, '_>) -> Option<Finding> {
    let left: Vec<_> = context.history.ends().filter(|end| end.event.left_running > 0).collect();
    let most = left.iter().map(|end| end.event.left_running).max()?;
    let processes = if most == 1 { "a process".to_owned() } else { format!("{most} processes") };
    Some(Finding {
        fails: false,
        message: format!(
            "The subject ended and left {processes} running; hapax waited one second and then ended what \
             was left."
        ),
        fix:
            "Wait for every process that was started before you claim done: hapax does not see what happens \
             afterwards."
                .to_owned(),
        entries: left.iter().map(|note| note.n).collect(),
        ..Finding::new(FindingKind::OverLimit)
    })
}
