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
    let stayed_away = |caller: u32| facts.absent.contains(&caller) && has_claimed(story, caller);
    let all_accounted_for = (1..=terms.callers).all(|caller| facts.met.contains(&caller) || stayed_away(caller));
    if terms.door && facts.met.len() < 2 && !(all_accounted_for && facts.met.len() == 1) {
        let met = match facts.met.as_slice() {
            [] => "nobody came to the door".to_owned(),
            [one] => format!("only caller {one} came to the door"),
            _ => return reasons,
        };
        reasons.push(format!("{met}, so no two callers ran side by side"));
    }
    reasons
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
