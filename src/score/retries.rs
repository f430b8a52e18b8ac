//! What a caller did after an answer that left it in doubt: looked, tried again, or neither.

use mock_services::catalog;

use super::answers::{Doubt, doubt, is_too_large, said_yes};
use super::effects::Names;
use super::history::{Attempt, TrialHistory};
use crate::scenario::Terms;

/// A write that left its caller in doubt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Doubted<'s, 'a> {
    /// The write.
    pub(super) attempt: &'s Attempt<'a>,
    /// From when on.
    pub(super) doubt: Doubt,
}

/// A request that came after a doubt.
#[derive(Debug, Clone, Copy)]
pub(super) enum Next<'s, 'a> {
    /// It looked, and was answered.
    Looked(&'s Attempt<'a>),
    /// It tried again.
    Again(Again<'s, 'a>),
}

/// Another try of a write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Again<'s, 'a> {
    /// The entry.
    pub(super) n: u64,
    /// With which key.
    pub(super) key: Option<&'s str>,
    /// The attempt, unless the service refused it.
    pub(super) attempt: Option<&'s Attempt<'a>>,
}

/// All writes after which their callers had to recover, the earliest first: those that left them in doubt,
/// without those whose reply was too large and was taken all the same, because nothing was done about it.
pub(super) fn recoverable<'s, 'a>(terms: &Terms, history: &'s TrialHistory<'a>) -> Vec<Doubted<'s, 'a>> {
    let mut found = doubts(history);
    found
        .retain(|doubted| !is_too_large(doubted.attempt) || !afterwards(terms, history, *doubted).is_empty());
    found
}

/// All writes that left their callers in doubt, the earliest doubt first.
pub(super) fn doubts<'s, 'a>(history: &'s TrialHistory<'a>) -> Vec<Doubted<'s, 'a>> {
    let mut found: Vec<_> = history
        .attempts
        .iter()
        .filter_map(|attempt| doubt(attempt).map(|doubt| Doubted { attempt, doubt }))
        .collect();
    found.sort_by_key(|doubted| doubted.doubt);
    found
}

/// What the same caller did about a doubted write afterwards, in order. A restarted caller is the same
/// caller.
pub(super) fn afterwards<'s, 'a>(
    terms: &Terms,
    history: &'s TrialHistory<'a>,
    doubted: Doubted<'s, 'a>,
) -> Vec<Next<'s, 'a>> {
    let Doubted { attempt: first, doubt } = doubted;
    let concerns = |attempt: &Attempt<'_>| attempt.caller() == first.caller() && attempt.n > doubt.n;
    let mut found: Vec<(u64, Next<'s, 'a>)> = Vec::new();
    for attempt in history.attempts.iter().filter(|attempt| concerns(attempt)) {
        if attempt.write && is_again(terms, first, attempt) {
            let key = attempt.received.key.as_deref();
            found.push((attempt.n, Next::Again(Again { n: attempt.n, key, attempt: Some(attempt) })));
        } else if !attempt.write
            && catalog::reveals(attempt.operation(), first.operation())
            && said_yes(attempt)
        {
            found.push((attempt.n, Next::Looked(attempt)));
        }
    }
    // A refusal tells no fields, so only one of the very same key is known to be another try.
    for refusal in
        history.refusals.iter().filter(|refusal| refusal.caller == first.caller() && refusal.n > doubt.n)
    {
        let same_key = refusal.key.is_some() && refusal.key == first.received.key.as_deref();
        if same_key && refusal.operation == Some(first.operation()) {
            found.push((refusal.n, Next::Again(Again { n: refusal.n, key: refusal.key, attempt: None })));
        }
    }
    found.sort_by_key(|(n, _)| *n);
    found.into_iter().map(|(_, next)| next).collect()
}

/// Whether a later write is another try of an earlier one: the same operation, and no field that tells
/// intents apart says otherwise.
pub(super) fn is_again(terms: &Terms, first: &Attempt<'_>, later: &Attempt<'_>) -> bool {
    if first.operation() != later.operation() {
        return false;
    }
    let names = Names(&terms.fields);
    let service = first.service();
    let intents = terms.intents.iter().filter(|intent| super::history::service_of(&intent.effect) == service);
    intents.flat_map(|intent| intent.selector.iter()).all(|(name, _)| {
        match (names.value(&first.received.fields, name), names.value(&later.received.fields, name)) {
            (Some(one), Some(other)) => one.meets(other),
            _ => true,
        }
    })
}
