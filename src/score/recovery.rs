//! How the subject recovered from the first ambiguous reply.

use super::follow_ups::{FollowUp, RetriedWrite, follow_ups, recoverable};
use super::history::{Attempt, TrialHistory};
use super::verdict::Recovery;
use crate::scenario::Terms;

/// How the subject recovered from the first ambiguous reply.
pub(super) fn recovery(terms: &Terms, history: &TrialHistory<'_>) -> Recovery {
    let Some(first) = recoverable(terms, history).into_iter().next() else { return Recovery::NoneNeeded };
    of(first.attempt, &follow_ups(terms, history, first))
}

/// The name of this action after an ambiguous write.
pub(super) fn of(first: &Attempt<'_>, next: &[FollowUp<'_, '_>]) -> Recovery {
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
    use super::*;
    use crate::score::testing::{LedgerScript, Sees, due, terms};
    use mock_services::fault::ReplyKind;

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
