//! Budgets and limits: too many attempts or too few, no time left, a limit exceeded, a hang that hapax ended.

use std::time::Duration;

use mock_services::ledger::SilenceEnd;
use yaml_reader::shown;

use super::early_retry::passed;
use super::{FindingContext, entries_of, sentence};
use crate::domain::{ClaimedBeforeLimit, ClaimedOutcome, EndEvent, StartEnd, SubjectEvent};
use crate::score::barrier::callers;
use crate::score::history::{Attempt, PlacedEvent, RecordedEvent};
use crate::score::verdict::{Finding, FindingKind};
use crate::score::void_reason::cut;

/// The maximum number of entries of attempts that are listed.
const MAX_ATTEMPTS: usize = 16;

/// The findings of budgets and bounds.
pub(super) fn findings(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = over_budget(context).collect();
    found.extend(not_attempted(context));
    found.extend(not_canceled(context));
    found.extend(time_limit(context));
    found.extend(over_limit(context));
    found.extend(left_behind(context));
    found.extend(timeout_not_reached(context));
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

/// Calls of MCP tools that the subject gave up and did not cancel.
fn not_canceled<'s>(context: &'s FindingContext<'_, '_>) -> impl Iterator<Item = Finding> + 's {
    context.terms.cancels.iter().filter_map(|due| {
        let is_given_up = |attempt: &&Attempt<'_>| {
            let silence = attempt.answer.and_then(|answer| answer.silence);
            attempt.operation() == due.operation && silence == Some(SilenceEnd::Caller)
        };
        let given_up: Vec<u64> =
            context.history.attempts.iter().filter(is_given_up).map(|attempt| attempt.n).collect();
        let is_told = |note: &&RecordedEvent| {
            matches!(&note.event, SubjectEvent::CallCanceled { operation, .. } if *operation == due.operation)
        };
        let told = context.history.notes.iter().filter(is_told).count();
        let expected = given_up.len().min(usize::try_from(due.at_least).unwrap_or(usize::MAX));
        (told < expected).then(|| Finding {
            message: format!(
                "The subject gave up {} of {}, and told the server of {told}; at least {expected} must be canceled.",
                if given_up.len() == 1 { "1 call".to_owned() } else { format!("{} calls", given_up.len()) },
                shown(&due.operation)
            ),
            fix: "Send notifications/cancelled with the id of the request when you stop waiting for a call; since \
                  protocol 2026-07-28, closing its connection is enough over HTTP."
                .to_owned(),
            entries: given_up,
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
        message: format!(
            "The subject ended and left {processes} running; hapax waited one second and then ended what \
             was left."
        ),
        fix:
            "Wait for every process that was started before you claim done: hapax does not see what happens \
             afterwards."
                .to_owned(),
        entries: left.iter().map(|note| note.n).collect(),
        ..Finding::noted(FindingKind::OverLimit)
    })
}

type End<'s> = PlacedEvent<'s, EndEvent>;

/// The findings of all starts that were stopped at their time limit.
fn time_limit(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let ended = context.history.ends().filter(|end| end.event.end == StartEnd::TimeUp);
    let had_claimed = |end: &End<'_>| end.event.claimed_before_limit.is_some_and(|times| times.is_final());
    let (idle, at_work): (Vec<_>, Vec<_>) = ended.partition(had_claimed);
    time_up(context, &at_work).into_iter().chain(did_not_exit(context, &idle)).collect()
}

fn time_up(context: &FindingContext<'_, '_>, ended: &[End<'_>]) -> Option<Finding> {
    let last = *ended.last()?;
    let reported = match last.event.claimed_before_limit {
        None => String::new(),
        Some(ClaimedBeforeLimit { claimed_after, requests_in_flight: 0, .. }) => {
            format!(" It reported `{}` only at {}.", claimed(context, last), seconds(claimed_after))
        }
        Some(ClaimedBeforeLimit { claimed_after, requests_in_flight, .. }) => {
            let requests = match requests_in_flight {
                1 => "a request was".to_owned(),
                several => format!("{several} requests were"),
            };
            format!(
                " It reported `{}` at {}, and {requests} still not answered when it was stopped.",
                claimed(context, last),
                seconds(claimed_after)
            )
        }
    };
    Some(Finding {
        message: sentence(&format!(
            "{} did not end within the time limit; hapax scored the ledger up to then.{reported}",
            who(context, ended, "the subject")
        )),
        fix: "Set a timeout on each request and a limit on each retry loop; `--timeout` gives a slow \
              subject more time."
            .to_owned(),
        entries: ended.iter().map(|note| note.n).collect(),
        ..Finding::new(FindingKind::TimeUp)
    })
}

/// Its effects and its claim are known; only its exit is missing.
fn did_not_exit(context: &FindingContext<'_, '_>, ended: &[End<'_>]) -> Option<Finding> {
    let first = *ended.first()?;
    let ClaimedBeforeLimit { claimed_after, stopped_after, .. } = first.event.claimed_before_limit?;
    let message = format!(
        "{} reported `{}` at {} and did not exit; hapax stopped it at {}: something keeps the process \
         alive, for example an open socket or a thread of an SDK. Everything that it did until then was \
         scored.",
        who(context, ended, "the subject"),
        claimed(context, first),
        seconds(claimed_after),
        seconds(stopped_after)
    );
    Some(Finding {
        message: sentence(&message),
        fix: "Close the clients and exit when the work is done (Node: `process.exit()`; Python: shut \
              executors down and close sessions); otherwise every trial waits for the time limit."
            .to_owned(),
        entries: ended.iter().map(|note| note.n).collect(),
        ..Finding::noted(FindingKind::TimeUp)
    })
}

fn who(context: &FindingContext<'_, '_>, ended: &[End<'_>], one: &str) -> String {
    let mut who: Vec<u32> = ended.iter().filter_map(|note| note.caller).collect();
    who.sort_unstable();
    who.dedup();
    if context.terms.callers > 1 && !who.is_empty() { callers(&who) } else { one.to_owned() }
}

/// What the start claimed.
fn claimed(context: &FindingContext<'_, '_>, ended: End<'_>) -> &'static str {
    let mut claims = context.history.claims();
    let own = claims.find(|claim| claim.caller == ended.caller && claim.event.start == ended.event.start);
    own.and_then(|claim| claim.event.outcome).map_or("missing", ClaimedOutcome::as_str)
}

/// A time in seconds, with one decimal where it matters.
fn seconds(time: Duration) -> String {
    let tenths = time.as_millis().saturating_add(50) / 100;
    if tenths.is_multiple_of(10) {
        format!("{} s", tenths / 10)
    } else {
        format!("{}.{} s", tenths / 10, tenths % 10)
    }
}

/// The hangs that ended before the client's timeout, in one note.
fn timeout_not_reached(context: &FindingContext<'_, '_>) -> Option<Finding> {
    let is_ended =
        |silence: Option<SilenceEnd>| matches!(silence, Some(SilenceEnd::Released | SilenceEnd::Limit));
    let ended: Vec<_> = context
        .history
        .attempts
        .iter()
        .filter(|attempt| attempt.answer.is_some_and(|answer| is_ended(answer.silence)))
        .collect();
    let first = ended.first()?;
    let lasted = first.answer?.at.saturating_sub(first.at);
    let more = match ended.len() {
        1 => String::new(),
        count => format!(" This happened in {count} attempts."),
    };
    Some(Finding {
        message: format!(
            "Client timeout not reached: {} got no reply for {}, then hapax closed the \
             connection while the client was still waiting.{more}",
            first.name(),
            passed(lasted),
        ),
        fix: match first.answer?.silence {
            Some(SilenceEnd::Limit) => {
                "Give the client a timeout. If it has one, set `client_timeout` in hapax.yaml to that time, \
                 so that the trial waits for it."
            }
            Some(SilenceEnd::Caller | SilenceEnd::Released) | None => {
                "This shows a lost connection, not a timeout. To see what happens when the client's own \
                 timeout expires, run a case with `reply: {hang: until-timeout}`, and set `client_timeout` \
                 in hapax.yaml."
            }
        }
        .to_owned(),
        entries: ended.iter().flat_map(|attempt| entries_of(attempt)).collect(),
        ..Finding::new(FindingKind::TimeoutNotReached)
    })
}
