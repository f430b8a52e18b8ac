//! A recovery from an ambiguous answer that the scenario does not permit, whatever luck made of it.

use mock_services::yaml::shown;

use super::words::seen;
use super::{FindingContext, entries_of};
use crate::scenario::Recovery;
use crate::score::claim::was_ended_by_interrupt;
use crate::score::recovery::of;
use crate::score::retries::{Doubted, Next, afterwards, recoverable};
use crate::score::verdict::{Finding, FindingKind};

/// Doubts beyond this many are not looked at.
const MOST_DOUBTS: usize = 64;

/// What was done after each ambiguous answer that the scenario does not permit, in one finding.
pub(super) fn finding(scene: &FindingContext<'_, '_>) -> Option<Finding> {
    let permitted = &scene.terms.recovery;
    if permitted.is_empty() {
        return None;
    }
    let recovered =
        |doubted: Doubted<'_, '_>| of(doubted.attempt, &afterwards(scene.terms, scene.history, doubted));
    let is_wrong = |doubted: &Doubted<'_, '_>| {
        let how = recovered(*doubted);
        // Nobody was left who could have gone on.
        let is_over =
            how == Recovery::GaveUp && was_ended_by_interrupt(scene.history, doubted.attempt.caller());
        !permitted.contains(&how) && !is_over
    };
    let wrong: Vec<Doubted<'_, '_>> =
        recoverable(scene.terms, scene.history).into_iter().take(MOST_DOUBTS).filter(is_wrong).collect();
    let first = *wrong.first()?;
    let how = recovered(first);
    let words: Vec<&str> = permitted.iter().map(|recovery| recovery.word()).collect();
    let ways: Vec<&str> = permitted.iter().map(|recovery| advice(*recovery)).collect();
    let more = match wrong.len() {
        1 => String::new(),
        number => format!(" The same is true of {} more ambiguous answers.", number - 1),
    };
    let next = afterwards(scene.terms, scene.history, first).into_iter().next();
    let next = next.map(|next| match next {
        Next::Looked(read) => read.n,
        Next::Again(again) => again.n,
    });
    Some(Finding {
        kind: FindingKind::UnexpectedRecovery,
        fails: true,
        message: format!(
            "After attempt {} of {}, where {}, the subject {} ({}). The scenario permits {}.{more}",
            first.attempt.number(),
            shown(first.attempt.operation()),
            seen(first.attempt),
            done(how),
            how.word(),
            words.join(" and "),
        ),
        fix: format!("After an answer that leaves it open, {}.", ways.join(", or ")),
        entries: entries_of(first.attempt).into_iter().chain(next).collect(),
    })
}

/// What the subject did, as a clause.
fn done(how: Recovery) -> &'static str {
    match how {
        Recovery::NoneNeeded => "had nothing to recover from",
        Recovery::SameKey => "repeated the request with the same key",
        Recovery::NewKey => "repeated the request with another key, and no read came before",
        Recovery::Blind => "repeated the request without a key, and no read came before",
        Recovery::VerifiedThenSkipped => "read what was there and did not repeat the request",
        Recovery::VerifiedThenRetried => "read what was there and repeated the request",
        Recovery::GaveUp => "neither read what was there nor repeated the request",
    }
}

/// What the subject should do instead.
fn advice(permitted: Recovery) -> &'static str {
    match permitted {
        Recovery::NoneNeeded | Recovery::GaveUp => "stop and say unknown",
        Recovery::SameKey => "repeat the request with the key of the first attempt",
        Recovery::NewKey => "repeat the request with a new key",
        Recovery::Blind => "repeat the request",
        Recovery::VerifiedThenSkipped => "read what is there and leave it at that",
        Recovery::VerifiedThenRetried => "read what is there and repeat only what is missing",
    }
}

#[cfg(test)]
mod tests;
