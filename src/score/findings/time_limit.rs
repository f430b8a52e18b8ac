//! Starts that did not end within their time limit: those that were still working, and those that had made
//! their claim and did not exit.

use std::time::Duration;

use super::{FindingContext, sentence};
use crate::domain::{ClaimedBeforeLimit, ClaimedOutcome, EndEvent, StartEnd};
use crate::score::barrier::callers;
use crate::score::history::PlacedEvent;
use crate::score::verdict::{Finding, FindingKind};

type End<'s> = PlacedEvent<'s, EndEvent>;

/// The findings of all starts that were stopped at their time limit.
pub(super) fn findings(context: &FindingContext<'_, '_>) -> Vec<Finding> {
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
        fails: false,
        message: sentence(&message),
        fix: "Close the clients and exit when the work is done (Node: `process.exit()`; Python: shut \
              executors down and close sessions); otherwise every trial waits for the time limit."
            .to_owned(),
        entries: ended.iter().map(|note| note.n).collect(),
        ..Finding::new(FindingKind::TimeUp)
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
