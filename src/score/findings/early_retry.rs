//! Retries that came before the time that the service had asked for with `Retry-After`.

use super::{FindingContext, entries_of};
use crate::score::Remedy;
use crate::score::follow_ups::is_retry_of;
use crate::score::history::Attempt;
use crate::score::verdict::{Finding, FindingKind};

/// A retry that is early by no more than this is not a finding, in microseconds: timers of clients may be a
/// little short.
const TOLERANCE: u64 = 10_000;
/// Or this part of the wait, if that is more.
const TOLERANCE_PART: u64 = 100;

/// The retries that came too early, in one finding.
pub(super) fn finding(context: &FindingContext<'_, '_>) -> Option<Finding> {
    let early: Vec<_> = context
        .history
        .attempts
        .iter()
        .filter_map(|first| Some((first, too_early(context, first)?)))
        .collect();
    let (first, again) = *early.first()?;
    let (answer, seconds) = (first.answer?, first.answer?.retry_after?);
    let more = match early.len() {
        1 => String::new(),
        count => format!(" This happened {count} times."),
    };
    Some(Finding {
        kind: FindingKind::EarlyRetry,
        remedy: Remedy::of(FindingKind::EarlyRetry),
        fails: context.terms.respect_retry_after,
        message: format!(
            "The reply to {} was {} with Retry-After: {seconds}, and {} was sent {} later.{more}",
            first.name(),
            answer.status.unwrap_or_default(),
            again.name(),
            passed(again.at.saturating_sub(answer.at)),
        ),
        fix: "Wait as long as Retry-After says before the next attempt, in every layer that retries: the \
              HTTP client, the SDK and the agent itself."
            .to_owned(),
        entries: early
            .iter()
            .flat_map(|(first, again)| entries_of(first).into_iter().chain([again.n]))
            .collect(),
    })
}

/// The first attempt at the same thing that the same start of the caller made before the time was over.
fn too_early<'s, 'a>(context: &FindingContext<'s, 'a>, first: &Attempt<'_>) -> Option<&'s Attempt<'a>> {
    let answer = first.answer.filter(|answer| answer.whole && first.unsent.is_none())?;
    let wait = answer.retry_after?.saturating_mul(1_000_000);
    // A caller that was interrupted while the reply was still in its socket has not read it.
    if first.interruption.is_some_and(|interruption| !interruption.action.is_temporary()) {
        return None;
    }
    let due = answer.at.saturating_add(wait - (wait / TOLERANCE_PART).max(TOLERANCE).min(wait));
    let behind = |attempt: &&Attempt<'_>| attempt.n > answer.n && attempt.caller() == first.caller();
    let again = context
        .history
        .attempts
        .iter()
        .filter(behind)
        .find(|attempt| is_retry_of(context.terms, first, attempt))?;
    // A new start need not know the reply to an earlier start.
    let is_restarted = context.history.was_restarted(first.caller(), answer.n..again.n);
    (again.at < due && !is_restarted).then_some(again)
}

/// A time in microseconds, as text.
pub(super) fn passed(time: u64) -> String {
    format!("{}.{:02} s", time / 1_000_000, time % 1_000_000 / 10_000)
}

#[cfg(test)]
mod tests;
