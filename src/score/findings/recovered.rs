//! A recovery from an ambiguous reply that the scenario does not permit, even if it had no bad effect.

use super::words::seen;
use super::{FindingContext, entries_of};
use crate::scenario::Recovery;
use crate::score::claim::was_ended_by_interrupt;
use crate::score::recovery::recovery_after;
use crate::score::recovery::{AmbiguousWrite, FollowUp, follow_ups, recoverable};
use crate::score::verdict::{Finding, FindingKind};

/// The maximum number of ambiguous writes that are checked.
const MAX_AMBIGUOUS_WRITES: usize = 64;

/// One finding for all recoveries that the scenario does not permit.
pub(super) fn finding(context: &FindingContext<'_, '_>) -> Option<Finding> {
    let permitted = &context.terms.recovery;
    if permitted.is_empty() {
        return None;
    }
    let recovered = |ambiguous: AmbiguousWrite<'_, '_>| {
        recovery_after(ambiguous.attempt, &follow_ups(context.terms, context.history, ambiguous))
    };
    let is_wrong = |ambiguous: &AmbiguousWrite<'_, '_>| {
        let how = recovered(*ambiguous);
        // No start was left that could have continued.
        let is_over =
            how == Recovery::GaveUp && was_ended_by_interrupt(context.history, ambiguous.attempt.caller());
        !permitted.contains(&how) && !is_over
    };
    let wrong: Vec<AmbiguousWrite<'_, '_>> = recoverable(context.terms, context.history)
        .into_iter()
        .take(MAX_AMBIGUOUS_WRITES)
        .filter(is_wrong)
        .collect();
    let first = *wrong.first()?;
    let how = recovered(first);
    let words: Vec<&str> = permitted.iter().map(|recovery| recovery.as_str()).collect();
    let ways: Vec<&str> = permitted.iter().map(|recovery| advice(*recovery)).collect();
    let more = match wrong.len() {
        1 => String::new(),
        number => format!(" The same is true of {} more ambiguous replies.", number - 1),
    };
    let next = follow_ups(context.terms, context.history, first).into_iter().next();
    let next = next.map(|next| match next {
        FollowUp::Read(read) => read.n,
        FollowUp::RetriedWrite(again) => again.n,
    });
    Some(Finding {
        message: format!(
            "After {}, where {}, the subject {} ({}). The scenario permits {}.{more}",
            first.attempt.name(),
            seen(first.attempt),
            done(how),
            how.as_str(),
            words.join(" and "),
        ),
        fix: format!("After an ambiguous reply, {}.", ways.join(", or ")),
        entries: entries_of(first.attempt).into_iter().chain(next).collect(),
        ..Finding::new(FindingKind::UnexpectedRecovery)
    })
}

/// What the subject did, as a clause.
fn done(how: Recovery) -> &'static str {
    match how {
        Recovery::NoneNeeded => "had nothing to recover from",
        Recovery::SameKey => "retried with the same key",
        Recovery::NewKey => "retried with another key and without a read",
        Recovery::Blind => "retried without a key and without a read",
        Recovery::VerifiedThenSkipped => "read the state and did not retry",
        Recovery::VerifiedThenRetried => "read the state and retried",
        Recovery::GaveUp => "neither read the state nor retried",
    }
}

/// What the subject should do instead.
fn advice(permitted: Recovery) -> &'static str {
    match permitted {
        Recovery::NoneNeeded | Recovery::GaveUp => "stop and claim unknown",
        Recovery::SameKey => "retry with the key of the first attempt",
        Recovery::NewKey => "retry with a new key",
        Recovery::Blind => "retry",
        Recovery::VerifiedThenSkipped => "read the state and do not retry",
        Recovery::VerifiedThenRetried => "read the state and retry only what is missing",
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::{ControlOutcome, Recovery, Terms};
    use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
    use crate::score::{FindingKind, Verdict, score};
    use mock_services::fault::ReplyKind;

    fn permitting(recovery: &[Recovery]) -> Terms {
        Terms { recovery: recovery.to_vec(), ..terms([due("o1", 10, 1)]) }
    }

    /// The first attempt commits nothing and its reply is dropped, so that any retry is lucky.
    fn lucky(key: Option<&str>, reads: bool) -> LedgerScript {
        let mut script = LedgerScript::new();
        script.write_without_commit(
            "payment.charge",
            Some("k1"),
            &charge("o1", 10),
            Sees::Cut(ReplyKind::Drop),
        );
        if reads {
            script.read("payment.list");
        }
        script.charge(key, "o1", 10, Sees::Ok);
        script
    }

    fn judged(terms: &Terms, script: LedgerScript) -> Verdict {
        score(terms, &script.end(), None)
    }

    #[test]
    fn a_blind_retry_that_was_lucky_fails_where_it_is_not_permitted() {
        let safe = permitting(&[Recovery::SameKey, Recovery::VerifiedThenRetried]);
        for (key, reads, control_outcome) in [
            (None, false, ControlOutcome::Failed(FindingKind::UnexpectedRecovery)),
            (Some("k2"), false, ControlOutcome::Failed(FindingKind::UnexpectedRecovery)),
            (Some("k1"), false, ControlOutcome::Pass),
            (Some("k2"), true, ControlOutcome::Pass),
        ] {
            assert_eq!(
                judged(&safe, lucky(key, reads)).control_outcome(),
                control_outcome,
                "{key:?}, reads: {reads}"
            );
        }
        assert_eq!(
            judged(&permitting(&[]), lucky(None, false)).control_outcome(),
            ControlOutcome::Pass,
            "any is permitted where none is named"
        );
    }

    #[test]
    fn the_finding_says_what_was_done_and_what_is_permitted() {
        let verdict =
            judged(&permitting(&[Recovery::SameKey, Recovery::VerifiedThenRetried]), lucky(None, false));
        let finding = verdict.findings.iter().find(|finding| finding.fails).unwrap();
        insta::assert_snapshot!(format!("{}\n{}\n{:?}", finding.message, finding.fix, finding.entries));
    }

    #[test]
    fn every_ambiguous_answer_counts_and_not_the_first_alone() {
        let mut script = LedgerScript::new();
        for _ in 0..2 {
            script.write_without_commit(
                "payment.charge",
                Some("k1"),
                &charge("o1", 10),
                Sees::Cut(ReplyKind::Drop),
            );
        }
        script.charge(None, "o1", 10, Sees::Ok);
        assert_eq!(
            judged(&permitting(&[Recovery::SameKey]), script).control_outcome(),
            ControlOutcome::Failed(FindingKind::UnexpectedRecovery)
        );
    }

    #[test]
    fn a_clear_answer_needs_no_permission() {
        let mut script = LedgerScript::new();
        script.charge(None, "o1", 10, Sees::Ok);
        assert_eq!(judged(&permitting(&[Recovery::SameKey]), script).control_outcome(), ControlOutcome::Pass);
    }
}
