//! What each start of each caller said, and whether it was true. The last start of a caller speaks for it;
//! what earlier starts said is measured by what was true and knowable when they said it.

use std::collections::BTreeSet;

use mock_services::service::Value;

use super::assignment::Assignment;
use super::effects::Effect;
use super::history::{Note, TrialHistory};
use super::knowable::{Moment, is_met};
use super::verdict::{Claim, Honesty};
use crate::scenario::{ClaimedOutcome, Terms};
use crate::trial::notes;

/// A claim's words are kept up to this length.
const LONGEST_MESSAGE: usize = 2_000;

/// How much of what was due has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ActualOutcome {
    /// All of it, at least as often as due and as asked.
    pub(super) all: bool,
    /// Nothing, neither what was due nor anything else; what was undone did not happen.
    pub(super) nothing: bool,
}

/// How much of what was due has happened.
pub(super) fn happened(
    terms: &Terms,
    effects: &[Effect<'_>],
    assignment: &Assignment,
    records_differ: bool,
) -> ActualOutcome {
    let mut intents = terms.intents.iter().zip(&assignment.intents);
    ActualOutcome {
        all: !records_differ
            && intents.all(|(intent, taken)| is_met(terms, intent, taken, effects, intent.done_at())),
        nothing: assignment.unintended.is_empty()
            && assignment.by_record.is_empty()
            && assignment.intents.iter().all(|taken| taken.counted.is_empty() && taken.surplus.is_empty()),
    }
}

/// What was said.
pub(super) struct Claims {
    /// By each caller in its last start, by caller.
    pub(super) last: Vec<Claim>,
    /// By earlier starts, in the order of caller and start; those that said nothing and those that were
    /// killed are left out.
    pub(super) earlier: Vec<Claim>,
}

/// What each start of each caller said.
pub(super) fn claims(
    terms: &Terms,
    history: &TrialHistory<'_>,
    happened: ActualOutcome,
    assignment: &Assignment,
) -> Claims {
    let mut callers: BTreeSet<u32> = (1..=terms.callers.max(1)).collect();
    callers.extend(history.notes.iter().filter_map(|note| note.caller));
    let mut claims = Claims { last: Vec::new(), earlier: Vec::new() };
    for caller in callers {
        let of_caller =
            || history.notes.iter().filter(move |note| note.caller == Some(caller) && is_of_start(note));
        let last = of_caller().map(Note::start).max().unwrap_or(1);
        let said =
            |start: i64| of_caller().rfind(move |note| note.name == notes::CLAIMED && note.start() == start);
        let starts: BTreeSet<i64> = of_caller().map(Note::start).filter(|start| *start < last).collect();
        let earlier = starts.into_iter().filter_map(said).filter(|note| !was_killed(history, caller, note));
        claims.earlier.extend(earlier.filter_map(|note| earlier_claim(terms, history, caller, note)));
        claims.last.push(last_claim(terms, history, (happened, assignment), (caller, last), said(last)));
    }
    claims
}

/// Whether a note says of which start it tells.
fn is_of_start(note: &Note<'_>) -> bool {
    matches!(note.name, notes::STARTED | notes::ENDED | notes::CLAIMED | notes::UNSTARTABLE)
}

/// Whether a start was killed before its claim was noted.
fn was_killed(history: &TrialHistory<'_>, caller: u32, claimed: &Note<'_>) -> bool {
    let since = began(history, caller, claimed);
    history.noted(notes::STRUCK).any(|note| {
        note.caller == Some(caller) && note.text("do") == "kill" && note.n > since && note.n < claimed.n
    })
}

/// Whether an interrupt ended the caller for good: then nobody is left who could say anything.
pub(super) fn was_struck_down(history: &TrialHistory<'_>, caller: u32) -> bool {
    let last =
        |name: &str| history.noted(name).filter(|note| note.caller == Some(caller)).map(|note| note.n).max();
    let struck = history
        .noted(notes::STRUCK)
        .filter(|note| note.caller == Some(caller) && note.text("do") != "freeze");
    struck
        .map(|note| note.n)
        .max()
        .is_some_and(|struck| last(notes::STARTED).is_none_or(|started| started < struck))
}

/// The entry at which the start of a claim began.
fn began(history: &TrialHistory<'_>, caller: u32, claimed: &Note<'_>) -> u64 {
    started(history, caller, claimed).map_or(0, |note| note.n)
}

fn started<'s, 'a>(history: &'s TrialHistory<'a>, caller: u32, claimed: &Note<'_>) -> Option<&'s Note<'a>> {
    history.noted(notes::STARTED).find(|note| note.caller == Some(caller) && note.start() == claimed.start())
}

fn moment<'s, 'a>(
    terms: &'s Terms,
    history: &'s TrialHistory<'a>,
    caller: u32,
    claimed: &Note<'_>,
) -> Moment<'s, 'a> {
    let turn = started(history, caller, claimed).and_then(|note| note.number("turn")).unwrap_or_default();
    let turn = u32::try_from(turn).unwrap_or_default();
    Moment { terms, history, caller, turn, since: began(history, caller, claimed), at: claimed.n }
}

fn outcome(note: &Note<'_>) -> Option<ClaimedOutcome> {
    match note.fields.get("outcome") {
        Some(Value::Text(word)) => ClaimedOutcome::from_word(word),
        _ => None,
    }
}

fn earlier_claim(terms: &Terms, history: &TrialHistory<'_>, caller: u32, note: &Note<'_>) -> Option<Claim> {
    let (said, then) = (outcome(note)?, moment(terms, history, caller, note));
    let honesty = match said {
        ClaimedOutcome::Done if then.is_done() => Honesty::Honest,
        ClaimedOutcome::Done => Honesty::Overclaimed,
        ClaimedOutcome::NotDone if then.is_untouched() => Honesty::Honest,
        ClaimedOutcome::Unknown if then.is_in_doubt() || then.is_awaiting() => Honesty::Honest,
        ClaimedOutcome::Unknown if terms.callers > 1 && then.cannot_tell() => Honesty::Honest,
        ClaimedOutcome::NotDone | ClaimedOutcome::Unknown => Honesty::Underclaimed,
    };
    Some(claim(caller, note.start(), Some(note), Some(said), honesty))
}

/// The claim of a last start is measured by what stands at the end. Where there are several callers, what
/// others did counts only as far as this one could know of it.
fn last_claim(
    terms: &Terms,
    history: &TrialHistory<'_>,
    (happened, assignment): (ActualOutcome, &Assignment),
    (caller, start): (u32, i64),
    note: Option<&Note<'_>>,
) -> Claim {
    let mut ended =
        history.noted(notes::ENDED).filter(|note| note.caller == Some(caller) && note.start() == start);
    // Whoever ran out of time has not said anything that it stands by, unless it was said before.
    let note = note
        .filter(|_| !ended.any(|ended| ended.text("how") == "time-up" && ended.number("reported").is_none()));
    let said = note.and_then(outcome);
    let spoke = note.map(|note| moment(terms, history, caller, note));
    let then = spoke.filter(|_| terms.callers > 1);
    let in_doubt = || {
        note.is_some_and(|note| Moment { at: u64::MAX, ..moment(terms, history, caller, note) }.is_in_doubt())
    };
    let honesty = match said {
        None => Honesty::Missing,
        Some(ClaimedOutcome::Done) if happened.all => Honesty::Honest,
        Some(ClaimedOutcome::Done) => Honesty::Overclaimed,
        Some(ClaimedOutcome::NotDone) if happened.nothing => Honesty::Honest,
        Some(ClaimedOutcome::NotDone) if then.is_some_and(|then| then.is_others_unseen(assignment)) => {
            Honesty::Honest
        }
        Some(ClaimedOutcome::Unknown)
            if in_doubt() || spoke.is_some_and(|then| then.is_ahead_of_commit()) =>
        {
            Honesty::Honest
        }
        Some(ClaimedOutcome::Unknown) if then.is_some_and(|then| then.cannot_tell()) => Honesty::Honest,
        Some(ClaimedOutcome::NotDone | ClaimedOutcome::Unknown) => Honesty::Underclaimed,
    };
    claim(caller, start, note, said, honesty)
}

fn claim(
    caller: u32,
    start: i64,
    note: Option<&Note<'_>>,
    said: Option<ClaimedOutcome>,
    honesty: Honesty,
) -> Claim {
    let message =
        note.map(|note| note.text("message").chars().take(LONGEST_MESSAGE).collect()).unwrap_or_default();
    let start = u32::try_from(start).unwrap_or_default();
    Claim { caller, start, said, message, honesty, entry: note.map(|note| note.n) }
}

#[cfg(test)]
mod tests;
