//! What a reply shows its caller: success, failure, or nothing certain.

use mock_services::fault::ReplyContent;

use super::history::{Attempt, Interruption};

/// The moment from which a caller could not know whether its write had happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ambiguity {
    /// The entry.
    pub(super) n: u64,
    /// The time.
    pub(super) at: u64,
}

/// From when on the outcome of a write was ambiguous; `None` if the reply was clear, and for reads.
pub(super) fn ambiguity(attempt: &Attempt<'_>) -> Option<Ambiguity> {
    if !attempt.write {
        return None;
    }
    // A frozen caller continues later and still gets its reply.
    if let Some(Interruption { n, at, .. }) = attempt.interruption.filter(|one| !one.action.is_temporary()) {
        return Some(Ambiguity { n, at });
    }
    if let Some((n, at)) = attempt.unsent {
        return Some(Ambiguity { n, at });
    }
    let Some(answer) = &attempt.answer else { return Some(Ambiguity { n: attempt.n, at: attempt.at }) };
    let is_clear = answer.reply.is_usable(answer.as_sent()) && answer.status.is_some_and(is_clear);
    (!is_clear).then_some(Ambiguity { n: answer.n, at: answer.at })
}

/// Whether the complete reply was sent, and may have been larger than the caller accepts: only its next
/// requests show whether it read the reply.
pub(super) fn is_too_large(attempt: &Attempt<'_>) -> bool {
    attempt.unsent.is_none()
        && attempt
            .answer
            .is_some_and(|answer| answer.whole && answer.reply.facts().content == ReplyContent::TooLarge)
}

/// Whether a reply with this status shows the result of the request. A status that asks for a retry does not,
/// because a fault can commit and then send it. 421 and 450 to 452 are statuses of mail servers.
fn is_clear(status: u16) -> bool {
    !matches!(status, 408 | 409 | 421 | 425 | 429 | 450..=452 | 500..)
}

/// Whether the caller got a complete reply with a success status.
pub(super) fn reported_success(attempt: &Attempt<'_>) -> bool {
    attempt.unsent.is_none()
        && attempt.answer.is_some_and(|answer| {
            answer.whole
                && answer.reply.can_be_parsed()
                && answer.status.is_some_and(|status| (200..300).contains(&status))
        })
}

/// Whether a read was answered from an older state, or about another object.
pub(super) fn was_stale(attempt: &Attempt<'_>) -> bool {
    attempt.fault.is_some_and(|(_, reply)| reply.facts().content.is_for_reads())
}

#[cfg(test)]
mod tests {
    use mock_services::fault::ReplyKind;

    use super::*;
    use crate::domain::{InterruptEvent, InterruptKind, SubjectEvent};
    use crate::score::history::TrialHistory;
    use crate::score::testing::{LedgerScript, Sees, terms};

    fn leaves_doubt(sees: Sees) -> bool {
        let mut script = LedgerScript::new();
        script.charge(None, "o1", 10, sees);
        let entries = script.end();
        let history = TrialHistory::new(&terms([]), &entries);
        ambiguity(&history.attempts[0]).is_some()
    }

    #[test]
    fn an_answer_that_did_not_arrive_or_asks_to_come_again_leaves_a_doubt() {
        for reply in
            [ReplyKind::Drop, ReplyKind::Reset, ReplyKind::Hang, ReplyKind::Truncate, ReplyKind::Garble]
        {
            assert!(leaves_doubt(Sees::Cut(reply)), "{reply}");
        }
        for status in [408, 409, 429, 451, 500, 502, 503, 504] {
            assert!(leaves_doubt(Sees::Status(status)), "{status}");
        }
    }

    #[test]
    fn a_yes_and_a_plain_no_are_clear() {
        assert!(!leaves_doubt(Sees::Ok));
        for status in [200, 202, 400, 402, 404, 422] {
            assert!(!leaves_doubt(Sees::Status(status)), "{status}");
        }
    }

    #[test]
    fn an_interrupt_leaves_a_doubt_after_any_answer_and_a_freeze_does_not() {
        for (action, expected) in
            [(InterruptKind::Kill, true), (InterruptKind::Stop, true), (InterruptKind::Freeze, false)]
        {
            let mut script = LedgerScript::new();
            let attempt = script.charge(None, "o1", 10, Sees::Ok);
            script.event(&SubjectEvent::Interrupted(InterruptEvent { interrupt: 0, action, attempt }));
            let entries = script.end();
            assert_eq!(
                ambiguity(&TrialHistory::new(&terms([]), &entries).attempts[0]).is_some(),
                expected,
                "{action}"
            );
        }
    }
}
