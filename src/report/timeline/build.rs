//! Builds the timeline from the entries of a ledger: the lanes, and the lanes of each entry.

use std::collections::{BTreeMap, BTreeSet};

use mock_services::catalog::{self, ApprovalPart};
use mock_services::ledger::{AttemptNames, Entry, Event};

use super::events::describe;
use super::{Item, Lane, Timeline};
use crate::domain::SubjectEvent;
use crate::text::line;

/// The maximum number of characters of the name of an operation that are shown.
const MAX_NAME: usize = 60;

/// The caller and the service of each attempt.
type Attempts<'a> = BTreeMap<u64, (u32, &'a str)>;
/// The sender of each event that was sent to the subject.
type Senders = BTreeMap<u32, String>;

impl Timeline {
    /// The timeline of a ledger, without the ends of connections and the first and last entry of the ledger.
    pub(crate) fn new(entries: &[Entry]) -> Timeline {
        let parties = (attempts(entries), senders(entries));
        let lanes = lanes(entries, &parties);
        let texts = attempt_names(entries);
        let index = |lane: &Lane| lanes.iter().position(|known| known == lane);
        let items = entries.iter().filter_map(|entry| {
            let text = describe(&entry.event, &texts)?;
            let (caller, other) = participants(&entry.event, &parties);
            Some(Item {
                n: entry.n,
                at: entry.at,
                attempt: attempt_of(&entry.event),
                shape: text.shape,
                caller: caller.and_then(|caller| index(&Lane::Caller(caller))),
                service: other.and_then(|other| index(&other)),
                label: text.label,
                detail: text.detail,
            })
        });
        let items = items.collect();
        Timeline { items, lanes, left_out: 0 }
    }

    /// The timeline of the first `limit` entries of a ledger.
    pub(crate) fn first_entries(entries: &[Entry], limit: usize) -> Timeline {
        let shown = &entries[..entries.len().min(limit)];
        Timeline { left_out: entries.len() - shown.len(), ..Timeline::new(shown) }
    }
}

fn service_of(operation: &str) -> &str {
    operation.split_once('.').map_or(operation, |(service, _)| service)
}

fn attempts(entries: &[Entry]) -> Attempts<'_> {
    let received = entries.iter().filter_map(|entry| match &entry.event {
        Event::Received(received) => {
            Some((received.attempt, (received.caller, service_of(&received.operation))))
        }
        _ => None,
    });
    received.collect()
}

/// Attempts are numbered for each operation, as in faults.
fn attempt_names(entries: &[Entry]) -> AttemptNames {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut names = AttemptNames::new();
    for entry in entries {
        if let Event::Received(received) = &entry.event {
            let count = counts.entry(&received.operation).or_default();
            *count += 1;
            names.insert(received.attempt, format!("{}#{count}", line(&received.operation, MAX_NAME)));
        }
    }
    names
}

/// The senders of events, in the words of the timeline.
fn senders(entries: &[Entry]) -> Senders {
    let sent = entries.iter().filter_map(|entry| match noted(&entry.event)? {
        SubjectEvent::Delivered(copy) | SubjectEvent::CopyLost(copy) => {
            Some((copy.event, line(&copy.from, MAX_NAME)))
        }
        _ => None,
    });
    sent.collect()
}

/// What a note says about a subject.
fn noted(event: &Event) -> Option<SubjectEvent> {
    let Event::Noted { name, fields, .. } = event else { return None };
    SubjectEvent::from_ledger(name, fields).ok()
}

fn lanes(entries: &[Entry], parties: &(Attempts<'_>, Senders)) -> Vec<Lane> {
    let mut callers = BTreeSet::new();
    let mut others: Vec<Lane> = Vec::new();
    for entry in entries {
        let (caller, other) = participants(&entry.event, parties);
        callers.extend(caller);
        if let Some(other) = other.filter(|other| !others.contains(other)) {
            others.push(other);
        }
    }
    // Senders and the person are on the right of the services.
    others.sort_by_key(|other| match other {
        Lane::Caller(_) | Lane::Service(_) => 0,
        Lane::Sender(_) => 1,
        Lane::Person => 2,
    });
    callers.into_iter().map(Lane::Caller).chain(others).collect()
}

fn attempt_of(event: &Event) -> Option<u64> {
    let is_withheld = matches!(event, Event::Withheld { .. });
    event.attempt().filter(|attempt| *attempt > 0 && !is_withheld)
}

/// The caller of an entry, and the lane of the service, the sender or the person.
fn participants(event: &Event, (attempts, senders): &(Attempts<'_>, Senders)) -> (Option<u32>, Option<Lane>) {
    let (caller, service) = services(event, attempts);
    let of_service = || service.map(|name| Lane::Service(name.to_owned()));
    (caller, person_or_sender(event, senders).or_else(of_service))
}

/// The lane of an entry that is about a sender or the person. A question to a service is on the lane of the service.
fn person_or_sender(event: &Event, senders: &Senders) -> Option<Lane> {
    let sender = |event: u32| senders.get(&event).cloned().map(Lane::Sender);
    match event {
        Event::Noted { .. } => match noted(event)? {
            SubjectEvent::Asked(_) | SubjectEvent::Answered(_) => Some(Lane::Person),
            SubjectEvent::Delivered(copy) | SubjectEvent::CopyLost(copy) => sender(copy.event),
            SubjectEvent::CopyAnswered(answer) => sender(answer.event),
            SubjectEvent::Happened { effect, .. } => Some(Lane::Service(service_of(&effect).to_owned())),
            _ => None,
        },
        Event::Committed { effect, .. } => {
            let answer = Some(ApprovalPart::Answer);
            catalog::describe_effect(effect)
                .is_some_and(|effect| effect.approval == answer)
                .then_some(Lane::Person)
        }
        _ => None,
    }
}

/// The caller and the service of an entry.
fn services<'a>(event: &'a Event, attempts: &Attempts<'a>) -> (Option<u32>, Option<&'a str>) {
    let of = |attempt: &u64| attempts.get(attempt).copied().unzip();
    match event {
        Event::Received(received) => (Some(received.caller), Some(service_of(&received.operation))),
        Event::Refused(refused) => (Some(refused.caller), Some(&refused.service)),
        Event::Replied { attempt, .. } | Event::Unsent { attempt, .. } => of(attempt),
        Event::Fault { attempt, .. } | Event::Lapsed { attempt, .. } => (None, of(attempt).1),
        Event::Committed { effect, .. } | Event::Withheld { effect, .. } | Event::Reverted { effect, .. } => {
            (None, Some(service_of(effect)))
        }
        Event::Barrier { caller, .. } => (Some(*caller), None),
        Event::Noted { caller, .. } => (*caller, None),
        Event::Opened { .. } | Event::Closed { .. } | Event::End { .. } => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use mock_services::ledger::CommitTiming;
    use mock_services::service::Fields;

    use super::*;
    use crate::domain::{AnswerEvent, AskEvent, CopyAnswerEvent, CopyReason, Decision};
    use crate::report::timeline::Shape;
    use crate::results::sample;
    use crate::score::testing::{LedgerScript, Sees, sent_copy};

    #[test]
    fn callers_are_on_the_left_by_number_and_services_on_the_right() {
        let (_, saved) = sample::twelve_callers();
        let timeline = Timeline::new(&saved.entries);
        assert_eq!(timeline.lanes.len(), 13);
        assert_eq!(timeline.lanes[11], Lane::Caller(12));
        assert_eq!(timeline.lanes[12], Lane::Service("payment".to_owned()));
    }

    #[test]
    fn the_first_entries_count_those_that_are_left_out() {
        let (_, saved) = sample::twelve_callers();
        assert_eq!(Timeline::first_entries(&saved.entries, 10).left_out, saved.entries.len() - 10);
        assert_eq!(Timeline::first_entries(&saved.entries, usize::MAX), Timeline::new(&saved.entries));
    }

    #[test]
    fn a_reply_goes_to_the_caller_of_the_attempt() {
        let (_, saved) = sample::twelve_callers();
        let timeline = Timeline::new(&saved.entries);
        for pair in
            timeline.items.iter().filter(|item| item.attempt == Some(5)).collect::<Vec<_>>().windows(2)
        {
            assert_eq!(pair[0].caller, pair[1].caller);
            assert_eq!(pair[0].caller, Some(4));
        }
    }

    #[test]
    fn the_person_has_a_lane_for_questions_and_answers_of_both_ways() {
        let mut script = LedgerScript::new();
        let id = || "q1".to_owned();
        let operation = "payment.refund".to_owned();
        let asked = AskEvent { start: 1, question: 1, id: id(), operation, fields: Fields::new() };
        script.event(&SubjectEvent::Asked(asked));
        let decision = Decision::Approved;
        let answered = AnswerEvent { start: 2, asked_by: 1, question: 1, id: id(), decision };
        script.event(&SubjectEvent::Answered(answered));
        let fields = Fields::new().with("operation", "payment.refund");
        let attempt = script.write("approval.request", None, &fields, Sees::Ok);
        script.committed(attempt, "approval.answer", &fields.with("decision", "denied"), CommitTiming::Now);
        let timeline = Timeline::new(&script.end());
        let service = Lane::Service("approval".to_owned());
        assert_eq!(timeline.lanes, [Lane::Caller(1), service, Lane::Person]);
        let of_person = timeline.items.iter().filter(|item| item.service == Some(2));
        let shapes: Vec<(Shape, Option<usize>)> = of_person.map(|item| (item.shape, item.caller)).collect();
        assert_eq!(shapes, [(Shape::Request, Some(0)), (Shape::Reply, Some(0)), (Shape::Commit, None)]);
    }

    #[test]
    fn a_sender_has_a_lane_for_its_copies_and_their_answers() {
        let mut script = LedgerScript::new();
        let effect = "payment.charge".to_owned();
        script.event(&SubjectEvent::Happened { effect, id: "ch_1".to_owned(), fields: Fields::new() });
        let copy = |copy, reason| sent_copy(copy, 3, reason);
        script.event(&SubjectEvent::CopyLost(copy(1, CopyReason::First)));
        script.event(&SubjectEvent::Delivered(copy(2, CopyReason::CopyLost)));
        let answer = |copy, seen| CopyAnswerEvent { event: 1, copy, status: 200, seen };
        script.event(&SubjectEvent::CopyAnswered(answer(2, false)));
        script.event(&SubjectEvent::Delivered(copy(3, CopyReason::AnswerLost)));
        script.event(&SubjectEvent::CopyAnswered(answer(3, true)));
        let timeline = Timeline::new(&script.end());
        let service = Lane::Service("payment".to_owned());
        assert_eq!(timeline.lanes, [Lane::Caller(1), service, Lane::Sender("Stripe".to_owned())]);
        let lanes: Vec<(Shape, Option<usize>)> =
            timeline.items.iter().map(|item| (item.shape, item.service)).collect();
        let of_sender =
            [Shape::BrokenReply, Shape::Reply, Shape::BrokenRequest, Shape::Reply, Shape::Request];
        assert_eq!(lanes[0], (Shape::Note, Some(1)));
        assert_eq!(lanes[1..], of_sender.map(|shape| (shape, Some(2))));
        assert_eq!(
            timeline.items[4].label,
            "copy 3 of charge.succeeded: the answer to the copy before was lost"
        );
    }
}
