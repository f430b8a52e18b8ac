use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use super::*;
use crate::fault::{CommitKind, ReplyKind};
use crate::service::TaskShare;

/// Words that are no secrets.
fn word() -> impl Strategy<Value = String> {
    "[a-z]{1,6}( [a-z]{1,6})?"
}

fn fields() -> impl Strategy<Value = Fields> {
    prop::collection::vec((word(), any::<i64>()), 0..3).prop_map(|all| {
        all.into_iter().fold(Fields::new(), |fields, (value, number)| {
            fields.with("order", value.as_str()).with("amount", number)
        })
    })
}

fn received() -> impl Strategy<Value = Event> {
    let share = prop::sample::select(vec![TaskShare::None, TaskShare::Part, TaskShare::Full]);
    let texts = (word(), word(), word(), prop::option::of(word()), prop::option::of(word()));
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), prop::option::of(any::<u32>()));
    (texts, numbers, share, any::<bool>(), fields(), fields(), prop::option::of(0..9_usize)).prop_map(
        |((operation, method, path, key, message), numbers, share, replay, fields, client, declared)| {
            let (attempt, caller, connection, repeats) = numbers;
            Event::Received(Box::new(Received {
                attempt: attempt.into(),
                operation: operation.into(),
                method: method.into(),
                path: path.into(),
                fields,
                key: key.map(Into::into),
                replay,
                share,
                caller,
                connection: connection.into(),
                repeats: repeats.map(Into::into),
                declared_answer: declared,
                client,
                message,
            }))
        },
    )
}

fn refused() -> impl Strategy<Value = Event> {
    let optional = || prop::option::of(word());
    let texts = (word(), word(), word(), optional(), optional(), optional(), optional(), optional());
    (texts, any::<u16>(), any::<u32>(), any::<u32>(), prop::option::of(0..9_usize), (optional(), optional()))
        .prop_map(|(texts, status, caller, connection, declared, (message, answer))| {
            let (service, method, path, operation, key, reason, unsupported, undecided) = texts;
            Event::Refused(Box::new(RefusedRequest {
                service: service.into(),
                operation: operation.map(Into::into),
                method: method.into(),
                path: path.into(),
                status,
                caller,
                connection: connection.into(),
                key: key.map(Into::into),
                reason: reason.map(Into::into),
                unsupported: unsupported.map(Into::into),
                undecided: undecided.map(Into::into),
                declared_answer: declared,
                message,
                answer,
            }))
        })
}

fn replied() -> impl Strategy<Value = Event> {
    let kinds = (
        prop::sample::select(ReplyKind::ALL.to_vec()),
        prop::option::of(prop::sample::select(SilenceEnd::ALL.to_vec())),
    );
    let numbers =
        (any::<u32>(), prop::option::of(any::<u16>()), any::<u32>(), prop::option::of(any::<u32>()));
    (kinds, numbers, any::<bool>(), any::<bool>(), prop::option::of(word())).prop_map(
        |((reply, silence), (attempt, status, bytes, retry_after), whole, replay, message)| Event::Replied {
            attempt: attempt.into(),
            reply,
            status,
            bytes: bytes.into(),
            whole,
            replay,
            retry_after: retry_after.map(Into::into),
            silence,
            message,
        },
    )
}

fn late() -> impl Strategy<Value = Event> {
    let kind = prop::sample::select(LateRequestKind::ALL.to_vec());
    let sender = prop::sample::select(LateSender::ALL.to_vec());
    (word(), word(), word(), kind, sender, prop::option::of(word())).prop_map(
        |(service, method, path, kind, sender, operation)| {
            LateRequest { service, method, path, kind, sender, operation }.to_event(1)
        },
    )
}

/// Every event but the first and the last, which the ledger writes itself.
fn event() -> impl Strategy<Value = Event> {
    let commit = prop::sample::select(CommitKind::ALL.to_vec());
    let reply = prop::sample::select(ReplyKind::ALL.to_vec());
    let timing = prop::sample::select(CommitTiming::ALL.to_vec());
    let by = prop::sample::select(ClosedBy::ALL.to_vec());
    let barrier = prop::sample::select(BarrierEvent::ALL.to_vec());
    prop_oneof![
        received(),
        refused(),
        replied(),
        late(),
        (any::<u32>(), 0..9_usize, commit, reply, prop::option::of(any::<u16>()), prop::option::of(word()))
            .prop_map(|(attempt, fault, commit, reply, status, drawn)| Event::Fault {
                attempt: attempt.into(),
                fault,
                commit,
                reply,
                status,
                drawn: drawn.map(Into::into),
            }),
        (any::<u32>(), word(), word(), fields(), timing).prop_map(|(attempt, effect, id, fields, timing)| {
            Event::Committed { attempt: attempt.into(), effect: effect.into(), id: id.into(), fields, timing }
        }),
        (any::<u32>(), word(), word(), fields()).prop_map(|(attempt, effect, id, fields)| Event::Withheld {
            attempt: attempt.into(),
            effect: effect.into(),
            id: id.into(),
            fields,
        }),
        (any::<u32>(), word(), word()).prop_map(|(attempt, effect, id)| Event::Reverted {
            attempt: attempt.into(),
            effect: effect.into(),
            id: id.into(),
        }),
        (any::<u32>(), any::<u16>())
            .prop_map(|(attempt, status)| Event::Lapsed { attempt: attempt.into(), status }),
        (any::<u32>(), any::<u32>())
            .prop_map(|(attempt, bytes)| Event::Unsent { attempt: attempt.into(), bytes: bytes.into() }),
        (word(), any::<u32>(), any::<u32>(), by).prop_map(|(service, connection, caller, by)| {
            Event::Closed { service: service.into(), connection: connection.into(), caller, by }
        }),
        (any::<u32>(), barrier).prop_map(|(caller, event)| Event::Barrier { caller, event }),
        (word(), prop::option::of(any::<u32>()), fields()).prop_map(|(name, caller, fields)| Event::Noted {
            name: name.into(),
            caller,
            fields
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_event_that_is_written_to_a_file_is_read_back(events in prop::collection::vec(event(), 1..20)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let file = LedgerFile::create(&path).unwrap();
        let ledger = Ledger::in_file("t", 7, Clock::default(), &file);
        events.iter().for_each(|event| ledger.append(event.clone()));
        ledger.close();
        drop(file);
        let saved = read_ledgers(&std::fs::read(&path).unwrap()[..]).unwrap().remove("t").unwrap();
        prop_assert_eq!(saved.torn, None);
        prop_assert_eq!(&saved.entries, &ledger.entries());
        // One for each event, the first and the last.
        prop_assert_eq!(saved.entries.len(), events.len() + 2);
    }
}

#[test]
fn events_of_every_kind_are_tried() {
    let unknown = serde_json::from_str::<Event>("{\"kind\": \"none\"}").unwrap_err().to_string();
    let listed = unknown.split_once("expected one of").unwrap().1;
    let words: BTreeSet<String> = listed.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let events = event();
    let mut tried = BTreeSet::from(["opened".to_owned(), "end".to_owned()]);
    for _ in 0..2_000 {
        let event = serde_json::to_value(events.new_tree(&mut runner).unwrap().current()).unwrap();
        tried.insert(event["kind"].as_str().unwrap().to_owned());
    }
    assert_eq!(tried, words);
}
