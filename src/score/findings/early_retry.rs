//! Retries that came before the time that the service had asked for with `Retry-After`.

use super::{FindingContext, entries_of};
use crate::score::history::Attempt;
use crate::score::recovery::is_retry_of;
use crate::score::verdict::{Finding, FindingKind};

/// A retry that is early by no more than this is not a finding, in microseconds: timers of clients may be a
/// little short.
const TOLERANCE: u64 = 10_000;
/// Or this part of the wait, if that is more.
const TOLERANCE_PART: u64 = 100;

/// The retries that came too early, in one finding.
pub(super) fn finding(context: &FindingContext<'_, '_>) -> Option<Finding> {
    let early: Vec<_> = context
        .history
        .attempts
        .iter()
        .filter_map(|first| Some((first, too_early(context, first)?)))
        .collect();
    let (first, again) = *early.first()?;
    let (answer, seconds) = (first.answer?, first.answer?.retry_after?);
    let more = match early.len() {
        1 => String::new(),
        count => format!(" This happened {count} times."),
    };
    Some(Finding {
        message: format!(
            "The reply to {} was {} with Retry-After: {seconds}, and {} was sent {} later.{more}",
            first.name(),
            answer.status.unwrap_or_default(),
            again.name(),
            passed(again.at.saturating_sub(answer.at)),
        ),
        fix: "Wait as long as Retry-After says before the next attempt, in every layer that retries: the \
              HTTP client, the SDK and the agent itself."
            .to_owned(),
        entries: early
            .iter()
            .flat_map(|(first, again)| entries_of(first).into_iter().chain([again.n]))
            .collect(),
        ..Finding::where_required(FindingKind::EarlyRetry, context.terms.respect_retry_after)
    })
}

/// The first attempt at the same thing that the same start of the caller made before the time was over.
fn too_early<'s, 'a>(context: &FindingContext<'s, 'a>, first: &Attempt<'_>) -> Option<&'s Attempt<'a>> {
    let answer = first.answer.filter(|answer| answer.whole && first.unsent.is_none())?;
    let wait = answer.retry_after?.saturating_mul(1_000_000);
    // A caller that was interrupted while the reply was still in its socket has not read it.
    if first.interruption.is_some_and(|interruption| !interruption.action.is_temporary()) {
        return None;
    }
    let due = answer.at.saturating_add(wait - (wait / TOLERANCE_PART).max(TOLERANCE).min(wait));
    let behind = |attempt: &&Attempt<'_>| attempt.n > answer.n && attempt.caller() == first.caller();
    let again = context
        .history
        .attempts
        .iter()
        .filter(behind)
        .find(|attempt| is_retry_of(context.terms, first, attempt))?;
    // A new start need not know the reply to an earlier start.
    let is_restarted = context.history.was_restarted(first.caller(), answer.n..again.n);
    (again.at < due && !is_restarted).then_some(again)
}

/// A time in microseconds, as text.
pub(super) fn passed(time: u64) -> String {
    format!("{}.{:02} s", time / 1_000_000, time % 1_000_000 / 10_000)
}

#[cfg(test)]
mod tests {
    use mock_services::fault::ReplyKind;
    use mock_services::ledger::Event;

    use super::*;
    use crate::domain::StartEnd;
    use crate::scenario::{ClaimedOutcome, Terms};
    use crate::score::score;
    use crate::score::testing::{LedgerScript, Sees, charge, due, terms};
    use crate::score::verdict::TrialStatus;

    /// A 429 that says when to come again, and the next attempt so many milliseconds after it.
    fn retried(seconds: u64, after: u64, between: impl FnOnce(&mut LedgerScript)) -> LedgerScript {
        let mut script = LedgerScript::new();
        script.started(1);
        let attempt = script.received("payment.charge", None, &charge("ord_1001", 4999));
        script.add(Event::Replied {
            attempt,
            reply: ReplyKind::Status,
            status: Some(429),
            bytes: 100,
            whole: true,
            replay: false,
            retry_after: Some(seconds),
            silence: None,
            message: None,
        });
        between(&mut script);
        // The entry of the attempt is written a millisecond after what was before it.
        script.wait(after - 1);
        script
    }

    fn again(mut script: LedgerScript, order: &str) -> LedgerScript {
        script.charge(None, order, 4999, Sees::Ok);
        script
    }

    fn respectful() -> Terms {
        Terms { respect_retry_after: true, ..terms([due("ord_1001", 4999, 1)]) }
    }

    fn early(terms: &Terms, script: LedgerScript) -> Option<Finding> {
        let mut script = script;
        script.ended(1, StartEnd::Exited(0));
        script.claims(1, ClaimedOutcome::Done);
        let verdict = score(terms, &script.end(), None);
        let found = verdict.findings.into_iter().find(|finding| finding.kind == FindingKind::EarlyRetry);
        assert_eq!(verdict.result == TrialStatus::Fail, found.as_ref().is_some_and(|finding| finding.fails));
        found
    }

    #[test]
    fn an_early_retry_fails_where_the_scenario_requires_it_and_is_a_note_elsewhere() {
        let script = || again(retried(2, 500, |_| {}), "ord_1001");
        let finding = early(&respectful(), script()).unwrap();
        assert!(finding.fails);
        assert_eq!(
            finding.message,
            "The reply to payment.charge#1 was 429 with Retry-After: 2, and payment.charge#2 was sent 0.50 s later."
        );
        assert_eq!(finding.entries.len(), 3);
        assert!(!early(&terms([due("ord_1001", 4999, 1)]), script()).unwrap().fails);
    }

    #[test]
    fn a_retry_in_time_is_no_finding_nor_is_one_that_is_early_by_the_width_of_a_timer() {
        for after in [2_000, 1_990, 1_981, 5_000] {
            assert_eq!(
                early(&respectful(), again(retried(2, after, |_| {}), "ord_1001")),
                None,
                "{after} ms"
            );
        }
        assert!(early(&respectful(), again(retried(2, 1_970, |_| {}), "ord_1001")).is_some());
    }

    #[test]
    fn another_order_another_caller_and_another_start_are_no_retry() {
        let two = Terms {
            respect_retry_after: true,
            ..terms([due("ord_1001", 4999, 0), due("ord_1002", 4999, 1)])
        };
        assert_eq!(early(&two, again(retried(2, 5, |_| {}), "ord_1002")), None);
        let by_another = retried(2, 5, |script| _ = script.by(2));
        assert_eq!(early(&respectful(), again(by_another, "ord_1001")).map(|finding| finding.message), None);
        let restarted = retried(2, 5, |script| _ = script.started(2));
        assert_eq!(early(&respectful(), again(restarted, "ord_1001")), None);
    }
}
