//! Retries that came before the time that the service had asked for with `Retry-After`.

use mock_services::yaml::shown;

use super::{FindingContext, entries_of};
use crate::score::history::Attempt;
use crate::score::retries::is_again;
use crate::score::verdict::{Finding, FindingKind};

/// So much too early is no finding, in microseconds: timers of clients may be a little short.
const TOLERANCE: u64 = 10_000;
/// Or this part of the wait, whichever is more.
const TOLERANCE_PART: u64 = 100;

/// The retries that came too early, in one finding.
pub(super) fn finding(scene: &FindingContext<'_, '_>) -> Option<Finding> {
    let early: Vec<_> =
        scene.history.attempts.iter().filter_map(|told| Some((told, too_early(scene, told)?))).collect();
    let (told, again) = *early.first()?;
    let (answer, seconds) = (told.answer?, told.answer?.retry_after?);
    let more = match early.len() {
        1 => String::new(),
        count => format!(" It did so {count} times."),
    };
    Some(Finding {
        kind: FindingKind::EarlyRetry,
        fails: scene.terms.respect_retry_after,
        message: format!(
            "The reply to attempt {} of {} was {} with Retry-After: {seconds}, and attempt {} came {} later.{more}",
            told.number(),
            shown(told.operation()),
            answer.status.unwrap_or_default(),
            again.number(),
            passed(again.at.saturating_sub(answer.at)),
        ),
        fix: "Wait as long as Retry-After says before the next attempt, in every layer that retries: the HTTP client, the SDK and the \
                 agent itself."
            .to_owned(),
        entries: early.iter().flat_map(|(told, again)| entries_of(told).into_iter().chain([again.n])).collect(),
    })
}

/// The first attempt at the same thing that the same start of the caller made before the time was over.
fn too_early<'s, 'a>(scene: &FindingContext<'s, 'a>, told: &Attempt<'_>) -> Option<&'s Attempt<'a>> {
    let answer = told.answer.filter(|answer| answer.whole && told.unsent.is_none())?;
    let wait = answer.retry_after?.saturating_mul(1_000_000);
    // Whoever was interrupted with the reply still in its socket has not read it.
    if told.interruption.is_some_and(|interruption| !interruption.action.is_temporary()) {
        return None;
    }
    let due = answer.at.saturating_add(wait - (wait / TOLERANCE_PART).max(TOLERANCE).min(wait));
    let behind = |attempt: &&Attempt<'_>| attempt.n > answer.n && attempt.caller() == told.caller();
    let again =
        scene.history.attempts.iter().filter(behind).find(|attempt| is_again(scene.terms, told, attempt))?;
    // A new start need not know what an earlier one was told.
    let is_restarted = scene.history.was_restarted(told.caller(), answer.n..again.n);
    (again.at < due && !is_restarted).then_some(again)
}

/// A time in microseconds, as people read it.
pub(super) fn passed(time: u64) -> String {
    format!("{}.{:02} s", time / 1_000_000, time % 1_000_000 / 10_000)
}

#[cfg(test)]
mod tests;
