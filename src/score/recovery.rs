//! What a caller did after an ambiguous reply: read, retried, or neither.

use super::answers::{Ambiguity, ambiguity, is_too_large, reported_success};
use super::history::{Attempt, TrialHistory};
use super::showing_reads::could_show;
use super::verdict::Recovery;
use crate::fit::FieldNames;
use crate::scenario::Terms;

/// The shortest time that something waits for a reply, in microseconds. Requests that come closer together are
/// concurrent.
const MIN_DEADLINE: u64 = 200_000;

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
        } else if !attempt.write && reported_success(attempt) && could_show(history, attempt, first) {
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

/// What the same caller did while an ambiguous write waited for its reply, in order: what did it waited no longer. Requests
/// that come together are concurrent.
pub(super) fn while_waiting<'s, 'a>(
    terms: &Terms,
    history: &'s TrialHistory<'a>,
    ambiguous: AmbiguousWrite<'s, 'a>,
) -> Vec<FollowUp<'s, 'a>> {
    let AmbiguousWrite { attempt: first, ambiguity } = ambiguous;
    if first.answer.is_none_or(|answer| answer.silence.is_none()) {
        return Vec::new();
    }
    let is_later = |attempt: &&Attempt<'_>| {
        attempt.caller() == first.caller()
            && (first.n + 1..ambiguity.n).contains(&attempt.n)
            && attempt.at.saturating_sub(first.at) >= MIN_DEADLINE
    };
    let later = history.attempts.iter().filter(is_later).filter_map(|attempt| {
        if attempt.write {
            let key = attempt.received.key.as_deref();
            let again = RetriedWrite { n: attempt.n, key, attempt: Some(attempt) };
            is_retry_of(terms, first, attempt).then_some(FollowUp::RetriedWrite(again))
        } else {
            let is_check = reported_success(attempt) && could_show(history, attempt, first);
            is_check.then_some(FollowUp::Read(attempt))
        }
    });
    later.collect()
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

/// How the subject recovered from the first ambiguous reply.
pub(super) fn recovery(terms: &Terms, history: &TrialHistory<'_>) -> Recovery {
    let Some(first) = recoverable(terms, history).into_iter().next() else { return Recovery::NoneNeeded };
    let next = [while_waiting(terms, history, first), follow_ups(terms, history, first)].concat();
    recovery_after(first.attempt, &next)
}

/// The name of this action after an ambiguous write.
pub(super) fn recovery_after(first: &Attempt<'_>, next: &[FollowUp<'_, '_>]) -> Recovery {
    match next.first() {
        None => Recovery::GaveUp,
        Some(FollowUp::Read(_)) if next.iter().any(|next| matches!(next, FollowUp::RetriedWrite(_))) => {
            Recovery::VerifiedThenRetried
        }
        Some(FollowUp::Read(_)) => Recovery::VerifiedThenSkipped,
        Some(FollowUp::RetriedWrite(again)) => by_key(first, again),
    }
}

fn by_key(first: &Attempt<'_>, again: &RetriedWrite<'_, '_>) -> Recovery {
    match (first.received.key.as_deref(), again.key) {
        (_, None) => Recovery::Blind,
        (Some(one), Some(other)) if one == other => Recovery::SameKey,
        (_, Some(_)) => Recovery::NewKey,
    }
}

#[cfg(test)]
mod tests {
    use mock_services::fault::ReplyKind;

    use super::*;
    use crate::score::testing::{LedgerScript, Sees, due, terms};

    fn after_a_drop(go_on: impl FnOnce(&mut LedgerScript)) -> Recovery {
        let mut script = LedgerScript::new();
        script.charge(Some("k1"), "o1", 10, Sees::Cut(ReplyKind::Drop));
        go_on(&mut script);
        let terms = terms([due("o1", 10, 1), due("o2", 10, 1)]);
        let entries = script.end();
        recovery(&terms, &TrialHistory::new(&terms, &entries))
    }

    #[test]
    fn each_way_to_go_on_has_its_name() {
        let again = |script: &mut LedgerScript, key: Option<&str>| {
            script.charge(key, "o1", 10, Sees::Ok);
        };
        assert_eq!(after_a_drop(|script| again(script, Some("k1"))), Recovery::SameKey);
        assert_eq!(after_a_drop(|script| again(script, Some("k2"))), Recovery::NewKey);
        assert_eq!(after_a_drop(|script| again(script, None)), Recovery::Blind);
        assert_eq!(after_a_drop(|_| {}), Recovery::GaveUp);
        assert_eq!(after_a_drop(|script| _ = script.read("payment.list")), Recovery::VerifiedThenSkipped);
        let verified = after_a_drop(|script| {
            script.read("payment.list");
            again(script, Some("k2"));
        });
        assert_eq!(verified, Recovery::VerifiedThenRetried);
    }

    #[test]
    fn a_clear_answer_needs_no_recovery() {
        let mut script = LedgerScript::new();
        script.charge(Some("k1"), "o1", 10, Sees::Ok);
        script.charge(Some("k2"), "o1", 10, Sees::Ok);
        let (terms, entries) = (terms([due("o1", 10, 1)]), script.end());
        assert_eq!(recovery(&terms, &TrialHistory::new(&terms, &entries)), Recovery::NoneNeeded);
    }

    #[test]
    fn going_on_with_other_work_is_no_other_try() {
        assert_eq!(
            after_a_drop(|script| _ = script.charge(Some("k2"), "o2", 10, Sees::Ok)),
            Recovery::GaveUp
        );
        assert_eq!(after_a_drop(|script| _ = script.read("payment.customers")), Recovery::GaveUp);
        assert_eq!(
            after_a_drop(|script| _ = script.by(2).charge(Some("k2"), "o1", 10, Sees::Ok)),
            Recovery::GaveUp
        );
    }

    #[test]
    fn a_read_that_was_not_answered_is_no_look() {
        let blind = after_a_drop(|script| {
            let read = script.received("payment.list", None, &mock_services::service::Fields::new());
            script.replied(read, Sees::Status(503));
            script.charge(Some("k2"), "o1", 10, Sees::Ok);
        });
        assert_eq!(blind, Recovery::NewKey);
    }

    #[test]
    fn a_reply_that_is_too_large_needs_a_recovery_only_where_the_caller_did_something_about_it() {
        let after_a_large_reply = |go_on: fn(&mut LedgerScript)| {
            let mut script = LedgerScript::new();
            let attempt = script.charge(Some("k1"), "o1", 10, Sees::Ok);
            let replied = script.entries.last_mut().unwrap();
            if let mock_services::ledger::Event::Replied { reply, .. } = &mut replied.event {
                *reply = ReplyKind::Oversize;
            }
            assert_eq!(attempt, 1);
            go_on(&mut script);
            let (terms, entries) = (terms([due("o1", 10, 1)]), script.end());
            recovery(&terms, &TrialHistory::new(&terms, &entries))
        };
        assert_eq!(after_a_large_reply(|_| {}), Recovery::NoneNeeded);
        assert_eq!(
            after_a_large_reply(|script| _ = script.charge(None, "o1", 10, Sees::Ok)),
            Recovery::Blind
        );
        assert_eq!(
            after_a_large_reply(|script| _ = script.read("payment.list")),
            Recovery::VerifiedThenSkipped
        );
    }
}
