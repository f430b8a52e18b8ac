//! What a caller did after an ambiguous reply: read, retried, or neither.

use mock_services::catalog;

use super::answers::{Ambiguity, ambiguity, is_too_large, reported_success};
use super::effects::FieldNames;
use super::history::{Attempt, TrialHistory};
use crate::scenario::Terms;

/// A write whose result its caller could not know.
#[derive(Debug, Clone, Copy)]
pub(super) struct AmbiguousWrite<'s, 'a> {
    /// The write.
    pub(super) attempt: &'s Attempt<'a>,
    /// From when on the result was ambiguous.
    pub(super) ambiguity: Ambiguity,
}

/// A request after an ambiguous reply.
#[derive(Debug, Clone, Copy)]
pub(super) enum FollowUp<'s, 'a> {
    /// A read that was answered.
    Read(&'s Attempt<'a>),
    /// A retry.
    RetriedWrite(RetriedWrite<'s, 'a>),
}

/// A retry of a write.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetriedWrite<'s, 'a> {
    /// The entry.
    pub(super) n: u64,
    /// Its key.
    pub(super) key: Option<&'s str>,
    /// The attempt, unless the service refused it.
    pub(super) attempt: Option<&'s Attempt<'a>>,
}

/// All writes that need a recovery, the earliest first: ambiguous writes, except those whose reply was too
/// large and whose caller did nothing afterwards.
pub(super) fn recoverable<'s, 'a>(
    terms: &Terms,
    history: &'s TrialHistory<'a>,
) -> Vec<AmbiguousWrite<'s, 'a>> {
    let mut found = ambiguous_writes(history);
    found.retain(|ambiguous| {
        !is_too_large(ambiguous.attempt) || !follow_ups(terms, history, *ambiguous).is_empty()
    });
    found
}

/// All ambiguous writes, the earliest first.
pub(super) fn ambiguous_writes<'s, 'a>(history: &'s TrialHistory<'a>) -> Vec<AmbiguousWrite<'s, 'a>> {
    let mut found: Vec<_> = history
        .attempts
        .iter()
        .filter_map(|attempt| ambiguity(attempt).map(|ambiguity| AmbiguousWrite { attempt, ambiguity }))
        .collect();
    found.sort_by_key(|ambiguous| ambiguous.ambiguity);
    found
}

/// What the same caller did after an ambiguous write, in order. A restarted caller is the same caller.
pub(super) fn follow_ups<'s, 'a>(
    terms: &Terms,
    history: &'s TrialHistory<'a>,
    ambiguous: AmbiguousWrite<'s, 'a>,
) -> Vec<FollowUp<'s, 'a>> {
    let AmbiguousWrite { attempt: first, ambiguity } = ambiguous;
    let concerns = |attempt: &Attempt<'_>| attempt.caller() == first.caller() && attempt.n > ambiguity.n;
    let mut found: Vec<(u64, FollowUp<'s, 'a>)> = Vec::new();
    for attempt in history.attempts.iter().filter(|attempt| concerns(attempt)) {
        if attempt.write && is_retry_of(terms, first, attempt) {
            let key = attempt.received.key.as_deref();
            found.push((
                attempt.n,
                FollowUp::RetriedWrite(RetriedWrite { n: attempt.n, key, attempt: Some(attempt) }),
            ));
        } else if !attempt.write
            && catalog::reveals(attempt.operation(), first.operation())
            && reported_success(attempt)
        {
            found.push((attempt.n, FollowUp::Read(attempt)));
        }
    }
    // A refusal has no fields, so only one with the same key is known to be a retry.
    for refusal in
        history.refusals.iter().filter(|refusal| refusal.caller == first.caller() && refusal.n > ambiguity.n)
    {
        let same_key = refusal.key.is_some() && refusal.key == first.received.key.as_deref();
        if same_key && refusal.operation == Some(first.operation()) {
            found.push((
                refusal.n,
                FollowUp::RetriedWrite(RetriedWrite { n: refusal.n, key: refusal.key, attempt: None }),
            ));
        }
    }
    found.sort_by_key(|(n, _)| *n);
    found.into_iter().map(|(_, next)| next).collect()
}

/// Whether a later write is a retry of an earlier one: the same operation, and no field that identifies an
/// intent differs. A request that only costs something is the same if it asks for the same.
pub(super) fn is_retry_of(terms: &Terms, first: &Attempt<'_>, later: &Attempt<'_>) -> bool {
    if first.operation() != later.operation() {
        return false;
    }
    let names = FieldNames(&terms.fields);
    let term = terms.operations.iter().find(|term| term.cost && term.name == first.operation());
    if let Some(term) = term {
        let value = |attempt: &Attempt<'_>, name: &str| attempt.received.fields.get(name).cloned();
        return term.identity.iter().all(|name| value(first, name) == value(later, name));
    }
    let service = first.service();
    let intents = terms.intents.iter().filter(|intent| super::history::service_of(&intent.effect) == service);
    intents.flat_map(|intent| intent.selector.iter()).all(|(name, _)| {
        match (names.value(&first.received.fields, name), names.value(&later.received.fields, name)) {
            (Some(one), Some(other)) => one.meets(other),
            _ => true,
        }
    })
}
