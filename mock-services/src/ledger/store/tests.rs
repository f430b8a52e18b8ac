use proptest::prelude::*;

use super::*;
use crate::ledger::entry::{LEDGER_FORMAT, SilenceEnd};

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Number),
        text().prop_map(Value::from),
        proptest::collection::vec(text(), 0..3).prop_map(Value::List),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![20 => "[a-zA-Z0-9é _.:/-]{0,40}", 1 => any::<String>()]
}

fn fields() -> impl Strategy<Value = Fields> {
    let pairs = proptest::collection::vec((text(), value()), 0..4);
    pairs.prop_map(|pairs| {
        pairs.into_iter().fold(Fields::new(), |fields, (name, value)| fields.with(name, value))
    })
}

fn event() -> impl Strategy<Value = Event<'static>> {
    let numbers = any::<(u64, bool, u32, u64, Option<u64>)>();
    let received = (numbers, text(), text(), proptest::option::of(text()), fields(), fields()).prop_map(
        |((attempt, replay, caller, connection, repeats), operation, path, key, fields, client)| {
            Event::Received(Received {
                attempt,
                operation: operation.into(),
                method: "POST".into(),
                path: path.into(),
                fields: Cow::Owned(fields),
                key: key.map(Cow::Owned),
                replay,
                caller,
                connection,
                repeats,
                client: Cow::Owned(client),
                message: None,
            })
        },
    );
    let timing = prop::sample::select(CommitTiming::ALL.to_vec());
    let committed =
        (any::<u64>(), text(), text(), fields(), timing).prop_map(|(attempt, effect, id, fields, timing)| {
            Event::Committed {
                attempt,
                effect: effect.into(),
                id: id.into(),
                fields: Cow::Owned(fields),
                timing,
            }
        });
    let reply = prop::sample::select(ReplyKind::ALL.to_vec());
    let silence = proptest::option::weighted(0.2, prop::sample::select(SilenceEnd::ALL.to_vec()));
    let rare = (proptest::option::weighted(0.2, any::<u64>()), silence);
    let replied = (any::<(u64, Option<u16>, u64, bool, bool)>(), reply, rare).prop_map(
        |((attempt, status, bytes, whole, replay), reply, (retry_after, silence))| Event::Replied {
            attempt,
            reply,
            status,
            bytes,
            whole,
            replay,
            retry_after,
            silence,
            message: None,
        },
    );
    let other = any::<u64>().prop_map(|seed| Event::Opened { format: LEDGER_FORMAT, seed, plan: None });
    prop_oneof![received, committed, replied, other]
}

proptest! {
    #[test]
    fn stored_events_are_read_as_they_were_added(
        events in proptest::collection::vec((event(), any::<(u64, i64)>()), 0..6),
    ) {
        let mut store = EntryStore::default();
        for (event, (at, wall)) in &events {
            store.add(*at, *wall, event);
        }
        let expected: Vec<Entry> = (1u64..)
            .zip(events)
            .map(|(n, (event, (at, wall)))| Entry { n, at, wall, event })
            .collect();
        prop_assert_eq!(store.entries(0, usize::MAX), &expected[..]);
        prop_assert_eq!(store.entries(1, 2), expected.into_iter().skip(1).take(2).collect::<Vec<_>>());
    }
}

fn received_from(client: &Fields) -> Event<'_> {
    Event::Received(Received {
        attempt: 1,
        operation: "payment.charge".into(),
        method: "POST".into(),
        path: "/v1/charges".into(),
        fields: Cow::Owned(Fields::new()),
        key: None,
        replay: false,
        caller: 1,
        connection: 1,
        repeats: None,
        client: Cow::Borrowed(client),
        message: None,
    })
}

#[test]
fn the_headers_of_a_client_are_stored_once() {
    let clients = ["one", "two"].map(|agent| Fields::new().with("user-agent", agent));
    let mut store = EntryStore::default();
    for client in clients.iter().cycle().take(10) {
        store.add(0, 0, &received_from(client));
    }
    assert_eq!(store.clients.len(), 2);
}

#[test]
fn a_row_has_the_size_that_the_memory_of_a_million_entries_is_computed_with() {
    let sizes = [
        size_of::<IndexRow>(),
        size_of::<ReceivedRow>(),
        size_of::<CommittedRow>(),
        size_of::<RepliedRow>(),
        size_of::<FieldRow>(),
    ];
    assert_eq!(sizes, [32, 88, 32, 24, 16]);
}
