//! What happened at the start barrier, and whether callers ran at the same time.

use mock_services::ledger::BarrierEvent;

use super::history::{Attempt, TrialHistory};
use super::verdict::BarrierFacts;
use super::void_reason::VoidReason;
use crate::scenario::Terms;

/// What happened at the barrier; `None` if there was none.
pub(super) fn barrier_facts(terms: &Terms, history: &TrialHistory<'_>) -> Option<BarrierFacts> {
    if !terms.barrier && history.barrier_events.is_empty() {
        return None;
    }
    let who = |what: BarrierEvent| {
        let mut callers: Vec<u32> =
            history.barrier_events.iter().filter(|note| note.what == what).map(|note| note.caller).collect();
        callers.sort_unstable();
        callers.dedup();
        callers
    };
    let admitted = || {
        history.barrier_events.iter().filter(|note| note.what == BarrierEvent::Admitted).map(|note| note.at)
    };
    let spread_us =
        admitted().max().zip(admitted().min()).map_or(0, |(last, first)| last.saturating_sub(first));
    Some(BarrierFacts {
        met: who(BarrierEvent::Admitted),
        absent: who(BarrierEvent::Absent),
        gave_up: who(BarrierEvent::GaveUp),
        late: who(BarrierEvent::Late),
        locked: who(BarrierEvent::Locked),
        spread_us,
    })
}

/// The reasons at the barrier for which the trial is void.
pub(super) fn failed(terms: &Terms, facts: &BarrierFacts, history: &TrialHistory<'_>) -> Vec<VoidReason> {
    let mut reasons = Vec::new();
    let left = gave_up_at_barrier(facts);
    if !left.is_empty() {
        reasons.push(VoidReason::GaveUpAtBarrier(left));
    }
    if only_late_effects(facts, history) {
        reasons.push(VoidReason::OnlyLateEffects(facts.late.clone()));
    }
    if !terms.barrier || facts.met.len() >= 2 {
        return reasons;
    }
    let others = || (1..=terms.callers).filter(|caller| !facts.met.contains(caller));
    let slow: Vec<u32> = others().filter(|caller| was_slow(facts, history, *caller)).collect();
    match facts.met.as_slice() {
        [one] if !slow.is_empty() => reasons.push(VoidReason::TooSlow { met: *one, slow }),
        // Callers that agree that only one of them acts behave correctly: they send a request or make a
        // claim.
        [_] if others()
            .all(|caller| first_request(history, caller).is_some() || has_claimed(history, caller)) => {}
        met => reasons.push(VoidReason::NotTogether { met: met.first().copied() }),
    }
    reasons
}

/// Callers whose client gave up at the barrier and did not send the request again: their next action is not
/// known.
fn gave_up_at_barrier(facts: &BarrierFacts) -> Vec<u32> {
    let came_again = |caller: &u32| facts.met.contains(caller) || facts.late.contains(caller);
    facts.gave_up.iter().copied().filter(|caller| !came_again(caller)).collect()
}

/// Whether only callers that reached the barrier after it had opened had effects: then nothing happened at
/// the same time.
fn only_late_effects(facts: &BarrierFacts, history: &TrialHistory<'_>) -> bool {
    let mut made_by = history
        .effects
        .iter()
        .filter_map(|effect| history.attempt(effect.attempt))
        .map(Attempt::caller)
        .peekable();
    made_by.peek().is_some() && made_by.all(|caller| facts.late.contains(&caller))
}

/// Whether a caller may have been too slow to run at the same time as the admitted caller, and has seen its
/// effects. A caller that sent a request before the opening, or never sent one, decided without seeing them.
/// One that waited for a lock of the admitted caller was there at the same time: that is seen, not assumed. A
/// caller whose first request came after the opening waited for something else (a lock, for example) if it
/// had been running at least twice as long as the admitted caller needed to reach the barrier.
fn was_slow(facts: &BarrierFacts, history: &TrialHistory<'_>, caller: u32) -> bool {
    let first_of = |what: BarrierEvent| {
        history.barrier_events.iter().find(|note| note.what == what && facts.met.contains(&note.caller))
    };
    let (Some(opened), Some(held)) = (first_of(BarrierEvent::Admitted), first_of(BarrierEvent::Held)) else {
        return false;
    };
    if facts.absent.contains(&caller) || facts.locked.contains(&caller) {
        return false;
    }
    if first_request(history, caller).is_none_or(|first| first < opened.n) {
        return false;
    }
    let running_since = |caller: u32, n: u64| {
        let is_before = |whose: Option<u32>, place: u64| whose == Some(caller) && place < n;
        let starts = history.starts().filter(|start| is_before(start.caller, start.n));
        let ends = history.ends().filter(|end| is_before(end.caller, end.n));
        let started = starts.map(|start| (start.n, start.at)).max()?;
        let ended = ends.map(|end| (end.n, end.at)).max();
        (ended < Some(started)).then_some(started.1)
    };
    let (Some(since), Some(began)) = (running_since(caller, opened.n), running_since(held.caller, held.n))
    else {
        return true;
    };
    opened.at.saturating_sub(since) < 2 * held.at.saturating_sub(began)
}

/// The entry of the first request of a caller.
fn first_request(history: &TrialHistory<'_>, caller: u32) -> Option<u64> {
    let attempts = history.attempts.iter().map(|attempt| (attempt.caller(), attempt.n));
    let refusals = history.refusals.iter().map(|refusal| (refusal.caller, refusal.n));
    attempts.chain(refusals).filter(|(whose, _)| *whose == caller).map(|(_, n)| n).min()
}

fn has_claimed(history: &TrialHistory<'_>, caller: u32) -> bool {
    history.claims().any(|claim| claim.caller == Some(caller) && claim.event.outcome.is_some())
}

/// Callers by number: `caller 2`, `callers 2, 3 and 7`.
pub(super) fn callers(numbers: &[u32]) -> String {
    const MAX_NAMED_CALLERS: usize = 8;
    let mut words: Vec<String> = numbers.iter().take(MAX_NAMED_CALLERS).map(ToString::to_string).collect();
    if numbers.len() > MAX_NAMED_CALLERS {
        words.push(format!("{} more", numbers.len() - MAX_NAMED_CALLERS));
    }
    match words.as_slice() {
        [one] => format!("caller {one}"),
        [first @ .., last] => format!("callers {} and {last}", first.join(", ")),
        [] => "no caller".to_owned(),
    }
}

#[cfg(test)]
#[path = "barrier_tests.rs"]
mod tests;
