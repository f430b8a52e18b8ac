//! Budgets and bounds: too many attempts or too few, no time left, more than it may use.

use mock_services::yaml::shown;

use super::{FindingContext, overtime};
use crate::domain::{StartEnd, SubjectEvent};
use crate::score::fired::cut;
use crate::score::history::Note;
use crate::score::verdict::{Finding, FindingKind};

/// So many entries of attempts prove that there were too many.
const SHOWN_ATTEMPTS: usize = 16;

/// The findings of budgets and bounds.
pub(super) fn findings(scene: &FindingContext<'_, '_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = over_budget(scene).collect();
    found.extend(not_attempted(scene));
    found.extend(overtime::findings(scene));
    found.extend(over_limit(scene));
    found.extend(left_behind(scene));
    found
}

fn over_budget<'s>(scene: &'s FindingContext<'_, '_>) -> impl Iterator<Item = Finding> + 's {
    scene.attempts.iter().filter_map(|made| {
        let budget = made.budget.filter(|budget| made.made > *budget)?;
        let attempts = scene.history.attempts.iter().filter(|attempt| attempt.operation() == made.operation);
        let number = attempts_in_words(made.made);
        Some(Finding {
            kind: FindingKind::OverBudget,
            fails: true,
            message: format!("{number} of {}, and at most {budget} are allowed.", shown(&made.operation)),
            fix: "Retry in one place only: a client that retries inside a loop that retries multiplies both. Wait longer each time, and stop."
                .to_owned(),
            entries: attempts.map(|attempt| attempt.n).take(SHOWN_ATTEMPTS).collect(),
        })
    })
}

/// An operation that was tried less often than expected. A request that the service refused was a try, too.
fn not_attempted<'s>(scene: &'s FindingContext<'_, '_>) -> impl Iterator<Item = Finding> + 's {
    scene.attempts.iter().filter_map(|made| {
        let tried = made.made.saturating_add(made.refused);
        if tried >= made.at_least {
            return None;
        }
        let operation = shown(&made.operation);
        let times = |number: u32| if number == 1 { "once".to_owned() } else { format!("{number} times") };
        let head = if tried == 0 {
            format!("{operation} was never tried")
        } else {
            format!("{operation} was tried only {}, refused requests included", times(tried))
        };
        let attempts = scene.history.attempts.iter().map(|attempt| (attempt.operation(), attempt.n));
        let refusals = scene.history.refusals.iter().filter_map(|refusal| Some((refusal.operation?, refusal.n)));
        Some(Finding {
            kind: FindingKind::NotAttempted,
            fails: !scene.unstartable,
            message: format!("{head}, and the scenario expects at least {}.", attempts_in_words(made.at_least)),
            fix:
                "Send the request that the task asks for before saying that it is not done: only the service's answer shows that."
                    .to_owned(),
            entries: attempts
                .chain(refusals)
                .filter(|(name, _)| *name == made.operation)
                .map(|(_, n)| n)
                .take(SHOWN_ATTEMPTS)
                .collect(),
        })
    })
}

fn attempts_in_words(number: u32) -> String {
    if number == 1 { "1 attempt".to_owned() } else { format!("{number} attempts") }
}

fn over_limit(scene: &FindingContext<'_, '_>) -> Option<Finding> {
    let limit = |note: &Note| match &note.event {
        SubjectEvent::OverLimit { limit } => Some((note.n, cut(limit))),
        _ => None,
    };
    let over: Vec<(u64, String)> = scene.history.notes.iter().filter_map(limit).collect();
    let ended = scene.history.ends().filter(|end| end.event.end == StartEnd::OverLimit);
    let entries: Vec<u64> = over.iter().map(|(n, _)| *n).chain(ended.map(|end| end.n)).collect();
    entries.first()?;
    let mut what: Vec<String> =
        over.into_iter().map(|(_, what)| what).filter(|what| !what.is_empty()).collect();
    what.sort();
    what.dedup();
    what.truncate(4);
    let of = if what.is_empty() { String::new() } else { format!(": {}", what.join(" and ")) };
    Some(Finding {
        kind: FindingKind::OverLimit,
        fails: true,
        message: format!("The subject used more than it may{of}."),
        fix: "Write less and start fewer processes, and see that every loop ends.".to_owned(),
        entries,
    })
}

/// What it left behind when it ended was watched for a while and then ended: what it would have done later is
/// not known.
fn left_behind(scene: &FindingContext<'_, '_>) -> Option<Finding> {
    let left: Vec<_> = scene.history.ends().filter(|end| end.event.left_running > 0).collect();
    let most = left.iter().map(|end| end.event.left_running).max()?;
    let processes =
        if most == 1 { "a process that was".to_owned() } else { format!("{most} processes that were") };
    Some(Finding {
        kind: FindingKind::OverLimit,
        fails: false,
        message: format!("The subject ended and left {processes} still running; what was left was watched for a second and then ended."),
        fix: "Wait for what was started before saying that it is done: what goes on afterwards is not seen here, and acts unseen elsewhere."
            .to_owned(),
        entries: left.iter().map(|note| note.n).collect(),
    })
}
