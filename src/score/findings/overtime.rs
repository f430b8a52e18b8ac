//! Starts that did not end before their time was up: those that were still at work, and those that had made
//! their claim and did not exit.

use mock_services::yaml::shown;

use super::{FindingContext, sentence};
use crate::score::door::callers;
use crate::score::history::Note;
use crate::score::verdict::{Finding, FindingKind};
use crate::trial::notes;
use crate::trial::overtime::QUIET;

/// The findings of all starts whose time was up.
pub(super) fn findings(scene: &FindingContext<'_, '_>) -> Vec<Finding> {
    let ended = scene.history.noted(notes::ENDED).filter(|note| note.text("how") == "time-up");
    let (stayed, at_work): (Vec<_>, Vec<_>) = ended.partition(|note| stayed(note));
    time_up(scene, &at_work).into_iter().chain(did_not_exit(scene, &stayed)).collect()
}

/// Whether a start had made its claim, was watched for a while after it, and had nothing under way when it
/// was stopped.
fn stayed(ended: &Note<'_>) -> bool {
    let quiet = i64::try_from(QUIET.as_millis()).unwrap_or(i64::MAX);
    let watched = ended
        .number("limit")
        .zip(ended.number("reported"))
        .map(|(limit, reported)| limit.saturating_sub(reported));
    watched.is_some_and(|watched| watched >= quiet) && ended.number("under-way") == Some(0)
}

fn time_up(scene: &FindingContext<'_, '_>, ended: &[&Note<'_>]) -> Option<Finding> {
    let last = ended.last()?;
    let reported = match (last.number("reported"), last.number("under-way").unwrap_or_default()) {
        (None, _) => String::new(),
        (Some(at), 0) => format!(" It reported `{}` only at {}.", said(scene, last), seconds(at)),
        (Some(at), requests) => {
            let requests =
                if requests == 1 { "a request was".to_owned() } else { format!("{requests} requests were") };
            format!(
                " It reported `{}` at {}, and {requests} still not answered when it was stopped.",
                said(scene, last),
                seconds(at)
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
        remedy: "Put a time limit on each request and an end to each loop of retries; `--timeout` gives a slow subject longer."
            .to_owned(),
        entries: ended.iter().map(|note| note.n).collect(),
    })
}

/// What it did is known, and so is what it said; only its end is missing.
fn did_not_exit(scene: &FindingContext<'_, '_>, ended: &[&Note<'_>]) -> Option<Finding> {
    let first = ended.first()?;
    let (reported, limit) =
        (first.number("reported").unwrap_or_default(), first.number("limit").unwrap_or_default());
    let message = format!(
        "{} reported `{}` at {} and did not exit; hapax stopped it at {}: something keeps the process alive, for example an open socket or a \
         thread of an SDK. Everything that it did until then was scored.",
        who(scene, ended, "the subject"),
        said(scene, first),
        seconds(reported),
        seconds(limit)
    );
    Some(Finding {
        kind: FindingKind::TimeUp,
        fails: false,
        message: sentence(&message),
        remedy: "Close the clients and exit when the work is done (Node: `process.exit()`; Python: shut executors down and close sessions); every trial waits for the time limit otherwise."
            .to_owned(),
        entries: ended.iter().map(|note| note.n).collect(),
    })
}

fn who(scene: &FindingContext<'_, '_>, ended: &[&Note<'_>], one: &str) -> String {
    let mut who: Vec<u32> = ended.iter().filter_map(|note| note.caller).collect();
    who.sort_unstable();
    who.dedup();
    if scene.terms.callers > 1 && !who.is_empty() { callers(&who) } else { one.to_owned() }
}

/// What the start said.
fn said(scene: &FindingContext<'_, '_>, ended: &Note<'_>) -> String {
    let mut claims = scene.history.noted(notes::CLAIMED);
    let own = claims.find(|note| note.caller == ended.caller && note.start() == ended.start());
    own.map(|note| shown(&note.text("outcome"))).unwrap_or_default()
}

/// Milliseconds as seconds, with one digit where that says more.
fn seconds(milliseconds: i64) -> String {
    let tenths = milliseconds.max(0).saturating_add(50) / 100;
    if tenths % 10 == 0 { format!("{} s", tenths / 10) } else { format!("{}.{} s", tenths / 10, tenths % 10) }
}
