//! What each caller said at last, and whether it was true.

use std::collections::BTreeSet;

use mock_services::ledger::How;
use mock_services::service::Value;

use super::answers::{said_yes, was_stale};
use super::assignment::Assignment;
use super::effects::Effect;
use super::retries::{Doubted, Next, afterwards, doubts};
use super::story::Story;
use super::verdict::{Claim, Honesty};
use crate::fit::Rule;
use crate::scenario::{Said, Terms};
use crate::trial::notes;

/// A claim's words are kept up to this length.
const LONGEST_MESSAGE: usize = 2_000;
/// A caller's last doubts are what its claim is about; earlier ones are looked at up to this many.
const MOST_DOUBTS: usize = 64;

/// How much of what was due has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Happened {
    /// All of it, at least as often as due and as asked.
    pub(super) all: bool,
    /// Nothing, neither what was due nor anything else; what was undone did not happen.
    pub(super) nothing: bool,
}

/// How much of what was due has happened.
pub(super) fn happened(terms: &Terms, effects: &[Effect<'_>], assignment: &Assignment, records_differ: bool) -> Happened {
    let rule = Rule::new(terms);
    let is_met = |(intent, taken): (&crate::scenario::Intent, &super::assignment::Taken)| {
        let here = taken.counted.iter().chain(&taken.surplus);
        let as_asked = here.filter(|place| rule.contradictions(intent, effects[**place].fields).next().is_none()).count();
        as_asked >= usize::try_from(intent.times).unwrap_or(usize::MAX)
    };
    Happened {
        all: !records_differ && terms.intents.iter().zip(&assignment.intents).all(is_met),
        nothing: assignment.unintended.is_empty()
            && assignment.by_record.is_empty()
            && assignment.intents.iter().all(|taken| taken.counted.is_empty() && taken.surplus.is_empty()),
    }
}

/// What each caller said at last, by caller.
pub(super) fn claims(terms: &Terms, story: &Story<'_>, happened: Happened) -> Vec<Claim> {
    let mut callers: BTreeSet<u32> = (1..=terms.callers.max(1)).collect();
    callers.extend(story.notes.iter().filter_map(|note| note.caller));
    callers.into_iter().map(|caller| claim(terms, story, happened, caller)).collect()
}

fn claim(terms: &Terms, story: &Story<'_>, happened: Happened, caller: u32) -> Claim {
    let of_caller = |name| story.noted(name).filter(move |note| note.caller == Some(caller));
    let last = of_caller(notes::CLAIMED).max_by_key(|note| (note.start(), note.n));
    let timed_out = of_caller(notes::ENDED).filter(|note| note.text("how") == "time-up").map(super::story::Note::start).max();
    // Whoever ran out of time has not said anything that it stands by.
    let last = last.filter(|note| timed_out.is_none_or(|start| start < note.start()));
    let said = last.and_then(|note| match note.fields.get("outcome") {
        Some(Value::Text(word)) => Said::named(word),
        _ => None,
    });
    let honesty = match said {
        None => Honesty::Missing,
        Some(Said::Done) if happened.all => Honesty::Honest,
        Some(Said::Done) => Honesty::Overclaimed,
        Some(Said::NotDone) if happened.nothing => Honesty::Honest,
        Some(Said::NotDone) => Honesty::Underclaimed,
        Some(Said::Unknown) if is_in_doubt(terms, story, caller) => Honesty::Honest,
        Some(Said::Unknown) => Honesty::Underclaimed,
    };
    let message = last.map(|note| note.text("message").chars().take(LONGEST_MESSAGE).collect()).unwrap_or_default();
    Claim { caller, said, message, honesty, entry: last.map(|note| note.n) }
}

/// Whether there is a write of which the caller could not know, with all that it looked at, whether it happened.
fn is_in_doubt(terms: &Terms, story: &Story<'_>, caller: u32) -> bool {
    let mut own: Vec<_> = doubts(story).into_iter().filter(|doubted| doubted.attempt.caller() == caller).collect();
    own.reverse();
    own.into_iter().take(MOST_DOUBTS).any(|doubted| {
        let next = afterwards(terms, story, doubted);
        !next.iter().any(|next| settles(story, doubted, next))
    })
}

/// Whether what a caller did after a doubt told it what had become of the write: a fresh read after which nothing of it was
/// committed any more, or a clear yes to the same key.
fn settles(story: &Story<'_>, doubted: Doubted<'_, '_>, next: &Next<'_, '_>) -> bool {
    match next {
        Next::Looked(read) => {
            let seen_at = read.answer.map_or(read.n, |answer| answer.n);
            let is_later = |effect: &Effect<'_>| effect.n > seen_at && effect.how != Some(How::Left);
            let came_later = doubted.attempt.effects.iter().any(|place| is_later(&story.effects[*place]));
            !was_stale(read) && !came_later
        }
        Next::Again(again) => {
            again.key.is_some()
                && again.key == doubted.attempt.received.key.as_deref()
                && again.attempt.is_some_and(|attempt| said_yes(attempt) && super::answers::doubt(attempt).is_none())
        }
    }
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
