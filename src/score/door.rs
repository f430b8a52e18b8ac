//! What happened at the door, and whether it held.

use mock_services::ledger::AtDoor;

use super::story::Story;
use super::verdict::DoorFacts;
use crate::scenario::Terms;
use crate::trial::notes;

/// What happened at the door; `None` where there was none.
pub(super) fn door(terms: &Terms, story: &Story<'_>) -> Option<DoorFacts> {
    if !terms.door && story.door.is_empty() {
        return None;
    }
    let who = |what: AtDoor| {
        let mut callers: Vec<u32> = story.door.iter().filter(|note| note.what == what).map(|note| note.caller).collect();
        callers.sort_unstable();
        callers.dedup();
        callers
    };
    let admitted = || story.door.iter().filter(|note| note.what == AtDoor::Admitted).map(|note| note.at);
    let spread_us = admitted().max().zip(admitted().min()).map_or(0, |(last, first)| last.saturating_sub(first));
    Some(DoorFacts {
        met: who(AtDoor::Admitted),
        absent: who(AtDoor::Absent),
        gave_up: who(AtDoor::GaveUp),
        late: who(AtDoor::Late),
        spread_us,
    })
}

/// Why what happened at the door proves nothing.
pub(super) fn failed(terms: &Terms, facts: &DoorFacts, story: &Story<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    if !facts.gave_up.is_empty() {
        reasons.push(format!(
            "{} gave up while held at the door; raise the client's own time-out or lower `within`",
            callers(&facts.gave_up)
        ));
    }
    if !facts.late.is_empty() {
        reasons.push(format!(
            "{} wrote after the door had opened without it; raise `within` so that all can come",
            callers(&facts.late)
        ));
    }
    // Callers that agreed among themselves that one of them acts have done right, and say so at their end.
    let decided = |caller: u32| facts.absent.contains(&caller) || !came_late(story, caller);
    let stayed_away = |caller: u32| decided(caller) && has_claimed(story, caller);
    let all_accounted_for = (1..=terms.callers).all(|caller| facts.met.contains(&caller) || stayed_away(caller));
    if terms.door && facts.met.len() < 2 && !(all_accounted_for && facts.met.len() == 1) {
        let met = match facts.met.as_slice() {
            [] => "nobody came to the door".to_owned(),
            [one] => format!("only caller {one} came to the door"),
            _ => return reasons,
        };
        let ways = "let all of them write, or at least ask a service for something before they wait for each other";
        reasons.push(format!("{met}, so no two callers were seen to run side by side; {ways}"));
    }
    reasons
}

/// Whether a caller asked a service for something for the first time after another was let in: then it may have been too slow to run
/// beside it, and have seen what was done. One that had asked before, or that asked for nothing, has decided without that: it waited
/// for a lock, for example.
fn came_late(story: &Story<'_>, caller: u32) -> bool {
    let Some(opened) = story.door.iter().filter(|note| note.what == AtDoor::Admitted).map(|note| note.n).min() else {
        return false;
    };
    let attempts = story.attempts.iter().map(|attempt| (attempt.caller(), attempt.n));
    let refusals = story.refusals.iter().map(|refusal| (refusal.caller, refusal.n));
    let first = attempts.chain(refusals).filter(|(whose, _)| *whose == caller).map(|(_, n)| n).min();
    first.is_some_and(|first| first > opened)
}

fn has_claimed(story: &Story<'_>, caller: u32) -> bool {
    story.noted(notes::CLAIMED).any(|note| note.caller == Some(caller) && note.text("outcome") != "missing")
}

/// Callers by number: `caller 2`, `callers 2, 3 and 7`.
pub(super) fn callers(numbers: &[u32]) -> String {
    const NAMED: usize = 8;
    let mut words: Vec<String> = numbers.iter().take(NAMED).map(ToString::to_string).collect();
    if numbers.len() > NAMED {
        words.push(format!("{} more", numbers.len() - NAMED));
    }
    match words.as_slice() {
        [one] => format!("caller {one}"),
        [first @ .., last] => format!("callers {} and {last}", first.join(", ")),
        [] => "no caller".to_owned(),
    }
}

#[cfg(test)]
#[path = "door_tests.rs"]
mod tests;
