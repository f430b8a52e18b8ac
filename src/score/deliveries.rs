//! The copies of events that a sender brought, what became of each, and why a trial without them proves nothing.

use yaml_reader::shown;

use super::history::{PlacedEvent, TrialHistory};
use super::void_reason::VoidReason;
use crate::domain::{CLIENT, CopyAnswerEvent, CopyReason, SentCopyEvent, SubjectEvent};
use crate::scenario::Terms;

/// The statuses of an address at which nobody takes events.
const NOT_THERE: [u16; 2] = [404, 405];

/// The copies that arrived, in their order.
pub(super) fn deliveries<'s>(
    history: &'s TrialHistory<'_>,
) -> impl DoubleEndedIterator<Item = PlacedEvent<'s, SentCopyEvent>> {
    history.placed(|event| if let SubjectEvent::Delivered(copy) = event { Some(copy) } else { None })
}

fn answers<'s>(
    history: &'s TrialHistory<'_>,
) -> impl DoubleEndedIterator<Item = PlacedEvent<'s, CopyAnswerEvent>> {
    history.placed(|event| if let SubjectEvent::CopyAnswered(answer) = event { Some(answer) } else { None })
}

/// The copy that a caller handled at an entry; `None` if it handled several at once, or none.
pub(super) fn handled<'s>(
    history: &'s TrialHistory<'_>,
    caller: u32,
    entry: u64,
) -> Option<PlacedEvent<'s, SentCopyEvent>> {
    let is_answered = |copy: &PlacedEvent<'_, SentCopyEvent>| {
        answer_to(history, copy).is_some_and(|answer| answer.n < entry)
    };
    let mut open = deliveries(history)
        .filter(|copy| copy.caller == Some(caller) && copy.n < entry)
        .filter(|copy| !is_answered(copy));
    let last = open.next_back()?;
    open.next_back().is_none().then_some(last)
}

/// The answer to a copy that arrived.
fn answer_to<'s>(
    history: &'s TrialHistory<'_>,
    copy: &PlacedEvent<'_, SentCopyEvent>,
) -> Option<PlacedEvent<'s, CopyAnswerEvent>> {
    answers(history).find(|answer| {
        let is_same = answer.event.event == copy.event.event && answer.event.copy == copy.event.copy;
        is_same && answer.caller == copy.caller && answer.n > copy.n
    })
}

/// The genuine copies that the subject took, and those that it did not although nothing kept it from it.
pub(super) struct Acknowledgments<'s> {
    pub(super) taken: usize,
    pub(super) missed: Vec<(PlacedEvent<'s, SentCopyEvent>, PlacedEvent<'s, CopyAnswerEvent>)>,
}

pub(super) fn acknowledgments<'s>(history: &'s TrialHistory<'_>) -> Acknowledgments<'s> {
    let mut found = Acknowledgments { taken: 0, missed: Vec::new() };
    let genuine =
        deliveries(history).filter(|copy| !copy.event.signature.is_forged() && copy.event.from != CLIENT);
    for copy in genuine {
        match answer_to(history, &copy) {
            Some(answer) if answer.event.is_acknowledged() => found.taken += 1,
            Some(answer) if !was_disturbed(history, &copy, &answer) => found.missed.push((copy, answer)),
            _ => {}
        }
    }
    found
}

/// Whether something that the scenario planned can be why the subject did not take a copy: a fault on one of its calls
/// meanwhile, or an interrupt.
fn was_disturbed(
    history: &TrialHistory<'_>,
    copy: &PlacedEvent<'_, SentCopyEvent>,
    answer: &PlacedEvent<'_, CopyAnswerEvent>,
) -> bool {
    let meanwhile = copy.n..answer.n;
    let is_meant = |caller: Option<u32>| copy.caller.is_none() || caller.is_none() || caller == copy.caller;
    let is_interrupt = |event: &SubjectEvent| {
        matches!(
            event,
            SubjectEvent::Interrupted(_) | SubjectEvent::Frozen { .. } | SubjectEvent::Unfrozen { .. }
        )
    };
    let mut notes = history.notes.iter().filter(|note| meanwhile.contains(&note.n) && is_meant(note.caller));
    let mut attempts = history.attempts.iter().filter(|attempt| meanwhile.contains(&attempt.n));
    notes.any(|note| is_interrupt(&note.event))
        || attempts.any(|attempt| attempt.fault.is_some() || attempt.interruption.is_some())
}

/// What became of the last copies that arrived, and their entries; `None` if none did.
pub(super) fn fates(history: &TrialHistory<'_>, most: usize) -> Option<(String, Vec<u64>)> {
    let mut last: Vec<PlacedEvent<'_, SentCopyEvent>> = deliveries(history).rev().take(most).collect();
    last.reverse();
    let mut entries = Vec::new();
    let fate = |copy: &PlacedEvent<'_, SentCopyEvent>| {
        let answer = answer_to(history, copy);
        entries.extend([Some(copy.n), answer.map(|answer| answer.n)].into_iter().flatten());
        match answer.map_or(0, |answer| answer.event.status) {
            0 => format!("The subject got {}, and did not answer.", words(copy.event)),
            status => format!("The subject got {}, and answered {status}.", words(copy.event)),
        }
    };
    let fates: Vec<String> = last.iter().map(fate).collect();
    (!fates.is_empty()).then(|| (fates.join(" "), entries))
}

/// The status with which all copies were answered, if nobody takes events at that address.
pub(super) fn nobody_receives(history: &TrialHistory<'_>) -> Option<u16> {
    let mut statuses = answers(history).map(|answer| answer.event.status);
    let first = statuses.next().filter(|status| NOT_THERE.contains(status))?;
    (statuses.all(|status| status == first) && history.attempts.is_empty()).then_some(first)
}

/// A copy in words: `copy 2 of 2, sent again because the answer to copy 1 was lost`.
pub(super) fn words(copy: &SentCopyEvent) -> String {
    let number = match copy.copies {
        0 => format!("copy {}", copy.copy),
        copies => format!("copy {} of {copies}", copy.copy),
    };
    let before = copy.copy.saturating_sub(1);
    let forged = copy.signature.words();
    let why = match copy.reason {
        CopyReason::First => return format!("{number} of {} {}{forged}", shown(&copy.kind), shown(&copy.id)),
        CopyReason::CopyLost => format!("sent again because copy {before} did not arrive"),
        CopyReason::AnswerLost => format!("sent again because the answer to copy {before} was lost"),
        CopyReason::Refused => format!("sent again because copy {before} was not answered with a 2xx"),
        CopyReason::Unanswered => format!("sent again because copy {before} was not answered"),
        CopyReason::StillHandled => format!("sent while copy {before} was still handled"),
        CopyReason::AtOnce => format!("sent at the same time as copy {before}"),
        CopyReason::Repeated => "delivered twice by the network".to_owned(),
        CopyReason::ByHand => "sent again by hand".to_owned(),
        CopyReason::Again => format!("sent again although copy {before} was answered"),
    };
    let why =
        if copy.copy == 1 && copy.reason != CopyReason::Repeated { "arrived last".to_owned() } else { why };
    format!("{number}, {why}{forged}")
}

/// Why the deliveries of a trial prove nothing.
pub(super) fn void_reasons(terms: &Terms, history: &TrialHistory<'_>) -> Vec<VoidReason> {
    if terms.events.is_empty() {
        return Vec::new();
    }
    let mut reasons: Vec<VoidReason> = history
        .notes
        .iter()
        .filter_map(|note| match &note.event {
            SubjectEvent::NotDelivered { reason, .. } => Some(VoidReason::NotDelivered(reason.clone())),
            _ => None,
        })
        .collect();
    let planned: u32 = terms.events.iter().map(|event| event.arrivals).sum();
    // Those of a schedule come in addition.
    let of_scenario = deliveries(history).filter(|copy| copy.event.shortened == 0);
    let arrived = u32::try_from(of_scenario.count()).unwrap_or(u32::MAX);
    if arrived < planned && reasons.is_empty() {
        reasons.push(VoidReason::CopiesMissing { planned, arrived });
    }
    reasons.extend(nobody_receives(history).map(VoidReason::NobodyReceives));
    reasons
}

#[cfg(test)]
mod tests {
    use mock_services::fault::{CommitKind, ReplyKind};
    use mock_services::service::Fields;

    use super::*;
    use crate::domain::{CopySignature, FindingKind};
    use crate::scenario::EventTerm;
    use crate::score::score;
    use crate::score::testing::{LedgerScript, Sees, due, sent_copy, terms};
    use crate::score::verdict::{TrialStatus, Verdict};

    /// One charge is due, and so many copies of an event arrive.
    fn told(arrivals: u32, times: u32, tell: impl FnOnce(&mut LedgerScript)) -> Verdict {
        let mut terms = terms([due("o1", 10, times)]);
        terms.events = vec![EventTerm { of: "payment.charge".to_owned(), arrivals }];
        let mut script = LedgerScript::new();
        tell(&mut script);
        score(&terms, &script.end(), None)
    }

    fn deliver(script: &mut LedgerScript, copy: u32, reason: CopyReason) {
        script.event(&SubjectEvent::Delivered(sent_copy(copy, 2, reason)));
    }

    fn answer(script: &mut LedgerScript, copy: u32, status: u16, seen: bool) {
        script.event(&SubjectEvent::CopyAnswered(CopyAnswerEvent { event: 1, copy, status, seen }));
    }

    fn message(verdict: &Verdict, kind: FindingKind) -> &str {
        let found = verdict.findings.iter().find(|finding| finding.kind == kind);
        found.map_or("", |finding| finding.message.as_str())
    }

    #[test]
    fn every_reason_of_a_copy_has_words() {
        let words_of = |copy, reason| words(&sent_copy(copy, 3, reason));
        assert_eq!(words_of(1, CopyReason::First), "copy 1 of 3 of charge.succeeded evt_1");
        let expected = [
            (CopyReason::CopyLost, "sent again because copy 1 did not arrive"),
            (CopyReason::AnswerLost, "sent again because the answer to copy 1 was lost"),
            (CopyReason::Refused, "sent again because copy 1 was not answered with a 2xx"),
            (CopyReason::Unanswered, "sent again because copy 1 was not answered"),
            (CopyReason::StillHandled, "sent while copy 1 was still handled"),
            (CopyReason::AtOnce, "sent at the same time as copy 1"),
            (CopyReason::Repeated, "delivered twice by the network"),
            (CopyReason::ByHand, "sent again by hand"),
            (CopyReason::Again, "sent again although copy 1 was answered"),
        ];
        for (reason, why) in expected {
            assert_eq!(words_of(2, reason), format!("copy 2 of 3, {why}"));
        }
        assert_eq!(words_of(1, CopyReason::Again), "copy 1 of 3, arrived last");
        let forged = SentCopyEvent {
            signature: CopySignature::Wrong,
            copies: 0,
            ..sent_copy(1, 0, CopyReason::First)
        };
        assert_eq!(words(&forged), "copy 1 of charge.succeeded evt_1, with a wrong signature");
    }

    #[test]
    fn a_duplicate_names_the_copies_that_were_handled() {
        let verdict = told(2, 1, |script| {
            deliver(script, 1, CopyReason::First);
            script.charge(None, "o1", 10, Sees::Ok);
            answer(script, 1, 200, false);
            deliver(script, 2, CopyReason::AnswerLost);
            script.charge(None, "o1", 10, Sees::Ok);
            answer(script, 2, 200, true);
        });
        assert_eq!(verdict.result, TrialStatus::Fail);
        let message = message(&verdict, FindingKind::Duplicated);
        let copies = "payment.charge#1 handled copy 1 of 2 of charge.succeeded evt_1. payment.charge#2 handled copy 2 of \
                      2, sent again because the answer to copy 1 was lost.";
        assert!(message.ends_with(copies), "{message}");
    }

    #[test]
    fn what_is_done_while_two_copies_are_handled_is_of_neither() {
        let verdict = told(2, 1, |script| {
            deliver(script, 1, CopyReason::First);
            deliver(script, 2, CopyReason::AtOnce);
            script.charge(None, "o1", 10, Sees::Ok);
            script.charge(None, "o1", 10, Sees::Ok);
        });
        let message = message(&verdict, FindingKind::Duplicated);
        assert!(!message.is_empty() && !message.contains("handled copy"), "{message}");
    }

    #[test]
    fn an_event_that_is_answered_without_an_effect_is_lost_and_its_answer_is_named() {
        let verdict = told(1, 1, |script| {
            deliver(script, 1, CopyReason::First);
            answer(script, 1, 200, true);
        });
        assert_eq!(verdict.result, TrialStatus::Fail);
        let message = message(&verdict, FindingKind::Lost);
        let got = "The subject got copy 1 of 2 of charge.succeeded evt_1, and answered 200.";
        assert!(message.contains(got), "{message}");
        assert!(verdict.findings[0].fix.contains("answer 2xx only when the effect has happened"));
    }

    #[test]
    fn a_lost_effect_of_a_wrong_path_says_how_to_name_the_path() {
        let verdict = told(1, 1, |script| {
            deliver(script, 1, CopyReason::First);
            answer(script, 1, 404, true);
        });
        assert!(verdict.findings[0].fix.contains("receives: {path: /hooks}"), "{:?}", verdict.findings);
    }

    /// Whether the finding fails; `None` if there is none.
    fn unacknowledged(verdict: &Verdict) -> Option<bool> {
        let kind = FindingKind::Unacknowledged;
        verdict.findings.iter().find(|finding| finding.kind == kind).map(|finding| finding.fails)
    }

    #[test]
    fn a_receiver_that_acknowledges_nothing_fails_and_one_that_misses_some_does_not() {
        for status in [0, 302, 500] {
            let verdict = told(2, 1, |script| {
                deliver(script, 1, CopyReason::First);
                script.charge(Some("k"), "o1", 10, Sees::Ok);
                answer(script, 1, status, true);
                deliver(script, 2, CopyReason::Refused);
                answer(script, 2, status, false);
            });
            assert_eq!(
                (verdict.result, unacknowledged(&verdict)),
                (TrialStatus::Fail, Some(true)),
                "{status}"
            );
        }
        let some = told(2, 1, |script| {
            deliver(script, 1, CopyReason::First);
            script.charge(Some("k"), "o1", 10, Sees::Ok);
            answer(script, 1, 500, true);
            deliver(script, 2, CopyReason::Refused);
            answer(script, 2, 204, true);
        });
        assert_eq!(
            (some.result, unacknowledged(&some)),
            (TrialStatus::Pass, Some(false)),
            "{:?}",
            some.findings
        );
        let message = message(&some, FindingKind::Unacknowledged);
        assert!(message.contains("Copy 1 of 2") && message.contains("answered 500"), "{message}");
    }

    #[test]
    fn an_answer_that_the_sender_did_not_see_is_an_acknowledgment() {
        let verdict = told(1, 1, |script| {
            deliver(script, 1, CopyReason::First);
            script.charge(Some("k"), "o1", 10, Sees::Ok);
            answer(script, 1, 200, false);
        });
        assert_eq!((verdict.result, unacknowledged(&verdict)), (TrialStatus::Pass, None));
    }

    #[test]
    fn what_a_fault_or_a_forged_copy_was_answered_with_shows_nothing() {
        let faulted = told(1, 0, |script| {
            deliver(script, 1, CopyReason::First);
            let attempt = script.received("payment.charge", None, &Fields::new());
            script.fault(attempt, 0, CommitKind::Never, ReplyKind::Status);
            script.replied(attempt, Sees::Status(503));
            answer(script, 1, 500, true);
        });
        assert_eq!(unacknowledged(&faulted), None);
        let forged = told(1, 0, |script| {
            let copy = sent_copy(1, 1, CopyReason::First);
            script.event(&SubjectEvent::Delivered(SentCopyEvent { signature: CopySignature::Wrong, ..copy }));
            answer(script, 1, 400, true);
        });
        assert_eq!((forged.result, unacknowledged(&forged)), (TrialStatus::Pass, None));
        let task = told(1, 0, |script| {
            let copy = sent_copy(1, 1, CopyReason::First);
            script.event(&SubjectEvent::Delivered(SentCopyEvent { from: CLIENT.to_owned(), ..copy }));
            answer(script, 1, 500, true);
        });
        assert_eq!(unacknowledged(&task), None, "the exit status of a task is no acknowledgment");
    }

    #[test]
    fn a_trial_without_its_copies_is_void() {
        let nothing = |_: &mut LedgerScript| {};
        let status = |verdict: Verdict| verdict.result;
        assert_eq!(status(told(1, 0, nothing)), TrialStatus::Void, "no copy came");
        let taken = |script: &mut LedgerScript| {
            deliver(script, 1, CopyReason::First);
            answer(script, 1, 200, true);
        };
        assert_eq!(status(told(1, 0, taken)), TrialStatus::Pass, "it came, and nothing was due");
        assert_eq!(status(told(2, 0, taken)), TrialStatus::Void, "one of two came");
        let unreached = |script: &mut LedgerScript| {
            deliver(script, 1, CopyReason::First);
            script.event(&SubjectEvent::NotDelivered { event: 1, reason: "no connection".to_owned() });
        };
        assert_eq!(status(told(1, 0, unreached)), TrialStatus::Void, "another did not arrive");
        let elsewhere = |script: &mut LedgerScript| {
            deliver(script, 1, CopyReason::First);
            answer(script, 1, 405, true);
        };
        assert_eq!(status(told(1, 0, elsewhere)), TrialStatus::Void, "nobody takes events there");
    }

    #[test]
    fn copies_of_a_schedule_do_not_stand_for_those_of_the_scenario() {
        let verdict = told(2, 0, |script| {
            deliver(script, 1, CopyReason::First);
            let scheduled = SentCopyEvent { shortened: 100, ..sent_copy(3, 0, CopyReason::Refused) };
            script.event(&SubjectEvent::Delivered(scheduled));
        });
        assert_eq!(verdict.result, TrialStatus::Void);
    }

    #[test]
    fn what_happens_by_the_scenario_is_nobodys_effect() {
        let verdict = told(1, 0, |script| {
            let fields = Fields::new().with("order", "o1").with("amount", 10);
            let (effect, id) = ("payment.charge".to_owned(), "ch_1".to_owned());
            script.event(&SubjectEvent::Happened { effect, id, fields });
            deliver(script, 1, CopyReason::First);
            answer(script, 1, 200, true);
        });
        assert_eq!(verdict.result, TrialStatus::Pass, "{:?}", verdict.findings);
    }
}
