use std::time::Duration;

use mock_services::Clock;
use mock_services::ledger::{LateRequest, LateRequestKind, LateSender, Ledger};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use super::*;
use crate::domain::{
    AnswerEvent, AskEvent, CancelSignal, ClaimEvent, ClaimOrigin, ClaimedBeforeLimit, ClaimedOutcome,
    CopyAnswerEvent, CopyReason, CopySignature, Decision, EndEvent, HostRequests, InterruptEvent,
    InterruptKind, OrderMiss, SecondCopy, SentCopyEvent, StartEnd, StartEvent, Transport,
};

/// A ledger keeps whole numbers up to this one.
const LARGEST: u64 = i64::MAX as u64;

fn text() -> impl Strategy<Value = String> {
    "[ -~äß\\n\"]{0,12}"
}

fn interrupt_event() -> impl Strategy<Value = InterruptEvent> {
    (any::<u32>(), prop::sample::select(InterruptKind::ALL.to_vec()), 0..=LARGEST)
        .prop_map(|(interrupt, action, attempt)| InterruptEvent { interrupt, action, attempt })
}

fn numbers() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(any::<u32>(), 0..4)
}

fn order_miss() -> impl Strategy<Value = OrderMiss> {
    (0..6, any::<u32>(), any::<u32>(), numbers(), 0..=LARGEST).prop_map(
        |(kind, caller, number, absent, held_ms)| match kind {
            0 => OrderMiss::GaveUp { caller },
            1 => OrderMiss::Ended { caller, request: number },
            2 => OrderMiss::Waited { caller, request: number },
            3 => OrderMiss::HeldForAbsent { caller, absent, held_ms },
            4 => OrderMiss::HeldForOthers { caller, held_ms },
            _ => OrderMiss::RequestsMissing { made: caller, planned: number },
        },
    )
}

fn end() -> impl Strategy<Value = StartEnd> {
    prop_oneof![
        any::<i32>().prop_map(StartEnd::Exited),
        any::<i32>().prop_map(StartEnd::Signaled),
        any::<u16>().prop_map(StartEnd::Answered),
        Just(StartEnd::NoAnswer),
        Just(StartEnd::TimeUp),
        Just(StartEnd::OverLimit),
    ]
}

fn before_limit() -> impl Strategy<Value = ClaimedBeforeLimit> {
    (0..1_000_000_u64, 0..1_000_000_u64, 0..=LARGEST).prop_map(|(claimed, stopped, requests_in_flight)| {
        ClaimedBeforeLimit {
            claimed_after: Duration::from_millis(claimed),
            stopped_after: Duration::from_millis(stopped),
            requests_in_flight,
        }
    })
}

fn claim_event() -> impl Strategy<Value = ClaimEvent> {
    let outcome = prop::option::of(prop::sample::select(ClaimedOutcome::ALL.to_vec()));
    let origin = prop::option::of(prop::sample::select(ClaimOrigin::ALL.to_vec()));
    (any::<u32>(), outcome, text(), origin, prop::option::of(text())).prop_map(
        |(start, outcome, message, origin, problem)| ClaimEvent { start, outcome, message, origin, problem },
    )
}

fn host_requests() -> impl Strategy<Value = HostRequests> {
    let treatment = prop::sample::select(HostTreatment::ALL.to_vec());
    let tokens = (0..=LARGEST, 0..=LARGEST, 0..=LARGEST);
    (treatment, text(), any::<u16>(), 0..=LARGEST, 0..=LARGEST, tokens).prop_map(
        |(treatment, host, port, requests, failed, (input_tokens, output_tokens, microdollars))| {
            HostRequests {
                requests,
                failed,
                input_tokens,
                output_tokens,
                microdollars,
                ..HostRequests::to(host, port, treatment)
            }
        },
    )
}

fn transport() -> impl Strategy<Value = Transport> {
    prop::sample::select(Transport::ALL.to_vec())
}

fn late_request() -> impl Strategy<Value = LateRequest> {
    let kind = prop::sample::select(LateRequestKind::ALL.to_vec());
    let sender = prop::sample::select(LateSender::ALL.to_vec());
    (text(), text(), text(), kind, sender, prop::option::of(text())).prop_map(
        |(service, method, path, kind, sender, operation)| LateRequest {
            service,
            method,
            path,
            kind,
            sender,
            operation,
        },
    )
}

fn sent_copy() -> impl Strategy<Value = SentCopyEvent> {
    let reason = prop::sample::select(CopyReason::ALL.to_vec());
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
    let signature = prop::sample::select(CopySignature::ALL.to_vec());
    (numbers, text(), text(), text(), reason, signature).prop_map(
        |((start, event, copy, copies, shortened), from, id, kind, reason, signature)| SentCopyEvent {
            start,
            event,
            copy,
            copies,
            from,
            id,
            kind,
            reason,
            signature,
            shortened,
        },
    )
}

fn event() -> impl Strategy<Value = SubjectEvent> {
    prop_oneof![
        (any::<u32>(), text(), text(), any::<u32>()).prop_map(|(start, trial, name, turn)| {
            SubjectEvent::Started(StartEvent { start, trial, name, turn })
        }),
        (any::<u32>(), end(), 0..=LARGEST, prop::option::of(before_limit())).prop_map(
            |(start, end, left_running, claimed_before_limit)| {
                SubjectEvent::Ended(EndEvent { start, end, left_running, claimed_before_limit })
            }
        ),
        (any::<u32>(), text()).prop_map(|(start, error)| SubjectEvent::Unstartable { start, error }),
        text().prop_map(|error| SubjectEvent::Unprepared { error }),
        claim_event().prop_map(SubjectEvent::Claimed),
        (any::<u32>(), any::<u32>(), text(), text(), text()).prop_map(
            |(start, question, id, operation, value)| {
                let fields = Fields::new().with("order", value.as_str()).with("amount", i64::from(start));
                SubjectEvent::Asked(AskEvent { start, question, id, operation, fields })
            }
        ),
        (any::<u32>(), any::<u32>(), any::<u32>(), text(), prop::sample::select(Decision::ALL.to_vec()))
            .prop_map(|(start, asked_by, question, id, decision)| {
                SubjectEvent::Answered(AnswerEvent { start, asked_by, question, id, decision })
            }),
        (text(), text(), text()).prop_map(|(effect, id, order)| SubjectEvent::Happened {
            effect,
            id,
            fields: Fields::new().with("order", order.as_str()),
        }),
        sent_copy().prop_map(SubjectEvent::Delivered),
        sent_copy().prop_map(SubjectEvent::CopyLost),
        (any::<u32>(), any::<u32>(), any::<u16>(), any::<bool>()).prop_map(|(event, copy, status, seen)| {
            SubjectEvent::CopyAnswered(CopyAnswerEvent { event, copy, status, seen })
        }),
        (any::<u32>(), text()).prop_map(|(event, reason)| SubjectEvent::NotDelivered { event, reason }),
        interrupt_event().prop_map(SubjectEvent::Interrupted),
        (interrupt_event(), text()).prop_map(|(InterruptEvent { interrupt, action, attempt }, reason)| {
            SubjectEvent::InterruptMissed { interrupt, action, attempt, reason }
        }),
        any::<u32>().prop_map(|start| SubjectEvent::NotAccepted { start }),
        (text(), prop::sample::select(CancelSignal::ALL.to_vec()))
            .prop_map(|(operation, signal)| SubjectEvent::CallCanceled { operation, signal }),
        text().prop_map(|operation| SubjectEvent::Frozen { operation }),
        (text(), text()).prop_map(|(operation, reason)| SubjectEvent::FreezeMissed { operation, reason }),
        prop::sample::select(SecondCopy::ALL.to_vec()).prop_map(|second| SubjectEvent::Unfrozen { second }),
        (any::<u32>(), text(), numbers()).prop_map(|(number, operation, held)| SubjectEvent::LetIn {
            number,
            operation,
            held
        }),
        order_miss().prop_map(SubjectEvent::OrderMissed),
        (text(), any::<u16>(), transport()).prop_map(|(host, port, transport)| SubjectEvent::Escaped {
            host,
            port,
            transport
        }),
        (text(), any::<u16>(), transport()).prop_map(|(host, port, transport)| SubjectEvent::Contacted {
            host,
            port,
            transport
        }),
        (text(), any::<bool>())
            .prop_map(|(host, carries_data)| SubjectEvent::LookedUp { host, carries_data }),
        (text(), any::<u16>(), text()).prop_map(|(host, port, service)| SubjectEvent::Proxied {
            host,
            port,
            service
        }),
        (text(), any::<u16>()).prop_map(|(host, port)| SubjectEvent::CertificateRefused { host, port }),
        host_requests().prop_map(SubjectEvent::HostRequests),
        text().prop_map(|limit| SubjectEvent::OverLimit { limit }),
        (0..=LARGEST).prop_map(|requests| SubjectEvent::Unanswered { requests }),
        (0..=LARGEST).prop_map(|connections| SubjectEvent::StillSending { connections }),
        (0..=LARGEST).prop_map(|connections| SubjectEvent::IdleClosed { connections }),
        late_request().prop_map(SubjectEvent::LateRequest),
    ]
}

proptest! {
    #[test]
    fn every_event_comes_back_as_itself(event in event(), caller in prop::option::of(1..9_u32)) {
        let Event::Noted { name, caller: back, fields } = event.to_ledger(caller) else {
            panic!("a subject event is a note")
        };
        prop_assert_eq!(back, caller);
        prop_assert_eq!(SubjectEvent::from_ledger(&name, &fields), Ok(event.clone()));
        let json = serde_json::to_string(&event.to_ledger(caller)).unwrap();
        let read: Event = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(SubjectEvent::from_event(&read).unwrap(), Some(event));
    }
}

proptest! {
    /// The services write this note themselves.
    #[test]
    fn every_late_request_that_a_service_records_comes_back_as_itself(late in late_request()) {
        let read = SubjectEvent::from_event(&late.to_event(1)).unwrap();
        prop_assert_eq!(read, Some(SubjectEvent::LateRequest(late)));
    }
}

/// The words of a type, as its own reader lists them.
fn words_of_subject_events() -> Vec<String> {
    let unknown = serde_json::from_str::<SubjectEvent>("{\"none\": {}}").unwrap_err().to_string();
    let listed = unknown.split_once("expected one of").unwrap().1;
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn events_of_every_kind_are_tried() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let events = event();
    let mut tried = std::collections::BTreeSet::new();
    for _ in 0..5_000 {
        let event = proptest::strategy::Strategy::new_tree(&events, &mut runner).unwrap().current();
        let json = serde_json::to_value(&event).unwrap();
        tried.extend(json.as_object().unwrap().keys().cloned());
    }
    let words = words_of_subject_events();
    assert!(words.len() > 20, "{words:?}");
    let forgotten: Vec<&String> = words.iter().filter(|word| !tried.contains(*word)).collect();
    assert!(forgotten.is_empty(), "`event()` makes no {forgotten:?}");
}

#[test]
fn an_event_that_is_written_to_a_ledger_is_read_from_it() {
    let ledger = Ledger::new("trial", 1, Clock::default());
    let event =
        SubjectEvent::Interrupted(InterruptEvent { interrupt: 0, action: InterruptKind::Kill, attempt: 3 });
    ledger.append(event.to_ledger(Some(2)));
    let entries = ledger.entries();
    assert_eq!(
        entries
            .iter()
            .filter_map(|entry| SubjectEvent::from_event(&entry.event).unwrap())
            .collect::<Vec<_>>(),
        [event]
    );
}

/// Saved ledgers have these bytes.
#[test]
fn a_note_has_the_fields_of_its_event_in_their_order() {
    let json = |event: SubjectEvent| {
        let Event::Noted { name, fields, .. } = event.to_ledger(None) else { panic!("a note") };
        format!("{name} {}", serde_json::to_string(&fields).unwrap())
    };
    let end = |end, claimed_before_limit| {
        SubjectEvent::Ended(EndEvent { start: 1, end, left_running: 0, claimed_before_limit })
    };
    let host = |treatment, failed| {
        SubjectEvent::HostRequests(HostRequests {
            requests: 2,
            failed,
            ..HostRequests::to("a", 443, treatment)
        })
    };
    let times = ClaimedBeforeLimit {
        claimed_after: Duration::from_millis(5),
        stopped_after: Duration::from_millis(9),
        requests_in_flight: 0,
    };
    let claim = ClaimEvent {
        start: 1,
        outcome: None,
        message: String::new(),
        origin: Some(ClaimOrigin::LastLine),
        problem: None,
    };
    let start = StartEvent { start: 1, trial: "t".to_owned(), name: "n".to_owned(), turn: 0 };
    let missed = SubjectEvent::InterruptMissed {
        interrupt: 0,
        action: InterruptKind::Kill,
        attempt: 3,
        reason: "gone".to_owned(),
    };
    let events = [
        SubjectEvent::Started(start.clone()),
        SubjectEvent::Started(StartEvent { turn: 2, ..start }),
        end(StartEnd::Exited(0), None),
        end(StartEnd::TimeUp, Some(times)),
        SubjectEvent::Claimed(claim),
        missed,
        host(HostTreatment::Allowed, 1),
        host(HostTreatment::Ignored, 0),
        SubjectEvent::StillSending { connections: 1 },
    ];
    insta::assert_snapshot!(events.map(json).join("\n"), @r#"
    started {"start":1,"trial":"t","name":"n"}
    started {"start":1,"trial":"t","name":"n","turn":2}
    ended {"start":1,"end":"exited","status":0}
    ended {"start":1,"end":"time-up","claimed_after_ms":5,"stopped_after_ms":9,"requests_in_flight":0}
    claimed {"start":1,"outcome":"missing","message":"","origin":"last-line"}
    interrupt-missed {"interrupt":0,"action":"kill","attempt":3,"reason":"gone"}
    allowed {"host":"a","port":443,"requests":2,"failed":1}
    ignored {"host":"a","port":443,"requests":2}
    still-sending {"connections":1}
    "#);
}

#[test]
fn a_note_that_is_not_a_subject_event_is_an_error_that_names_the_problem() {
    let message =
        |name: &str, fields: Fields| SubjectEvent::from_ledger(name, &fields).unwrap_err().to_string();
    let interrupted = || Fields::new().with("interrupt", 0).with("attempt", 1);
    assert_eq!(message("struck", Fields::new()), "`struck` is not the name of a subject event");
    assert_eq!(message("interrupted", interrupted()), "the event `interrupted` has no field `action`");
    assert_eq!(
        message("interrupted", interrupted().with("action", "melt")),
        "the field `action` of the event `interrupted` has the invalid value `melt`"
    );
    assert_eq!(
        message("interrupted", interrupted().with("action", "kill").with("do", "kill")),
        "the event `interrupted` has the unknown field `do`"
    );
    let ended = || Fields::new().with("start", 1);
    for (fields, problem) in [
        (ended().with("end", "exited"), "the event `ended` has no field `status`"),
        (
            ended().with("end", "time-up").with("status", 1),
            "the event `ended` has the unknown field `status`",
        ),
        (
            ended().with("end", "exited").with("status", "0"),
            "the field `status` of the event `ended` has the invalid value `0`",
        ),
        (
            ended().with("end", "time-up").with("claimed_after_ms", 1),
            "the event `ended` has no field `stopped_after_ms`",
        ),
    ] {
        assert_eq!(message("ended", fields), problem);
    }
    assert_eq!(
        message("allowed", Fields::new().with("host", "a").with("port", 1)),
        "the event `allowed` has no field `requests`"
    );
    assert_eq!(
        message("escaped", Fields::new().with("host", "a").with("port", 70_000)),
        "the field `port` of the event `escaped` has the invalid value `70000`"
    );
}
