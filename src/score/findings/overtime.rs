//! Starts that did not end before their time was up: those that were still at work, and those that had made
//! their claim and did not exit.

use std::time::Duration;

use super::{FindingContext, sentence};
use crate::domain::{ClaimedBeforeLimit, ClaimedOutcome, EndEvent, StartEnd};
use crate::score::door::callers;
use crate::score::history::Placed;
use crate::score::verdict::{Finding, FindingKind};

type End<'s> = Placed<'s, EndEvent>;

/// The findings of all starts that were stopped at their time limit.
pub(super) fn findings(scene: &FindingContext<'_, '_>) -> Vec<Finding> {
    let ended = scene.history.ends().filter(|end| end.event.end == StartEnd::TimeUp);
    let had_claimed = |end: &End<'_>| end.event.claimed_before_limit.is_some_and(|times| times.is_final());
    let (idle, at_work): (Vec<_>, Vec<_>) = ended.partition(had_claimed);
    time_up(scene, &at_work).into_iter().chain(did_not_exit(scene, &idle)).collect()
}

fn time_up(scene: &FindingContext<'_, '_>, ended: &[End<'_>]) -> Option<Finding> {
    let last = *ended.last()?;
    let reported = match last.event.claimed_before_limit {
        None => String::new(),
        Some(ClaimedBeforeLimit { claimed_after, requests_in_flight: 0, .. }) => {
            format!(" It reported `{}` only at {}.", claimed(scene, last), seconds(claimed_after))
        }
        Some(ClaimedBeforeLimit { claimed_after, requests_in_flight, .. }) => {
            let requests = match requests_in_flight {
                1 => "a request was".to_owned(),
                several => format!("{several} requests were"),
            };
            format!(
                " It reported `{}` at {}, and {requests} still not answered when it was stopped.",
                claimed(scene, last),
                seconds(claimed_after)
            )
        }
    };
    Some(Finding {
        kind: FindingKind::TimeUp,
        fails: true,
        message: format!(
            "Time was up before {} had ended; what stood in the ledger then was scored.{reported}",
            who(scene, ended, "the subject")
        ),
        fix: "Put a time limit on each request and an end to each loop of retries; `--timeout` gives a slow subject longer."
            .to_owned(),
        entries: ended.iter().map(|note| note.n).collect(),
    })
}

/// What it did is known, and so is what it said; only its end is missing.
fn did_not_exit(scene: &FindingContext<'_, '_>, ended: &[End<'_>]) -> Option<Finding> {
    let first = *ended.first()?;
    let ClaimedBeforeLimit { claimed_after, stopped_after, .. } = first.event.claimed_before_limit?;
    let message = format!(
        "{} reported `{}` at {} and did not exit; hapax stopped it at {}: something keeps the process alive, for example an open socket or a \
         thread of an SDK. Everything that it did until then was scored.",
        who(scene, ended, "the subject"),
        claimed(scene, first),
        seconds(claimed_after),
        seconds(stopped_after)
    );
    Some(Finding {
        kind: FindingKind::TimeUp,
        fails: false,
        message: sentence(&message),
        fix: "Close the clients and exit when the work is done (Node: `process.exit()`; Python: shut executors down and close sessions); every trial waits for the time limit otherwise."
            .to_owned(),
        entries: ended.iter().map(|note| note.n).collect(),
    })
}

fn who(scene: &FindingContext<'_, '_>, ended: &[End<'_>], one: &str) -> String {
    let mut who: Vec<u32> = ended.iter().filter_map(|note| note.caller).collect();
    who.sort_unstable();
    who.dedup();
    if scene.terms.callers > 1 && !who.is_empty() { callers(&who) } else { one.to_owned() }
}

/// What the start claimed.
fn claimed(scene: &FindingContext<'_, '_>, ended: End<'_>) -> &'static str {
    let mut claims = scene.history.claims();
    let own = claims.find(|claim| claim.caller == ended.caller && claim.event.start == ended.event.start);
    own.and_then(|claim| claim.event.outcome).map_or("missing", ClaimedOutcome::word)
}

/// A time in seconds, with one digit where that says more.
fn seconds(time: Duration) -> String {
    let tenths = time.as_millis().saturating_add(50) / 100;
    if tenths % 10 == 0 { format!("{} s", tenths / 10) } else { format!("{}.{} s", tenths / 10, tenths % 10) }
}
