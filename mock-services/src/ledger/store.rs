//! The entries of a ledger in memory. The events that every attempt leaves (received, committed, replied) are
//! rows of a table each, with their texts one after the other in one string and their names shared; all
//! others, which are rare, are kept as they are.

use std::borrow::Cow;

use super::entry::{CommitTiming, Entry, Event, Received};
use super::names::{NameId, NameTable};
use crate::fault::ReplyKind;
use crate::service::{Fields, Value};

/// How many of the latest clients a new one is compared with. Attempts of one client share one copy of its
/// headers.
const COMPARED_CLIENTS: usize = 16;

/// All entries of one ledger.
#[derive(Debug, Default)]
pub(super) struct EntryStore {
    index: Vec<IndexRow>,
    received: Vec<ReceivedRow>,
    committed: Vec<CommittedRow>,
    replied: Vec<RepliedRow>,
    others: Vec<Event<'static>>,
    /// The fields of all rows.
    fields: Vec<FieldRow>,
    /// The texts of all lists in fields.
    lists: Vec<TextRange>,
    /// The texts of all rows.
    texts: String,
    names: NameTable,
    /// The headers that identify clients.
    clients: Vec<Fields>,
}

/// When an entry was added, and where its event is.
#[derive(Debug, Clone, Copy)]
struct IndexRow {
    at: u64,
    wall: i64,
    place: EventPlace,
}

/// The table of an event, and its row there.
#[derive(Debug, Clone, Copy)]
enum EventPlace {
    Received(usize),
    Committed(usize),
    Replied(usize),
    Other(usize),
}

#[derive(Debug)]
struct ReceivedRow {
    attempt: u64,
    connection: u64,
    repeats: Option<u64>,
    path: TextRange,
    key: Option<TextRange>,
    fields: RowRange,
    client: Option<u32>,
    operation: NameId,
    method: NameId,
    caller: u32,
    replay: bool,
}

#[derive(Debug)]
struct CommittedRow {
    attempt: u64,
    effect: NameId,
    id: TextRange,
    fields: RowRange,
    timing: CommitTiming,
}

/// A reply without `retry_after`, `silence` and `message`: the few that have them are kept as they are.
#[derive(Debug)]
struct RepliedRow {
    attempt: u64,
    bytes: u64,
    status: Option<u16>,
    reply: ReplyKind,
    whole: bool,
    replay: bool,
}

/// A field of an event.
#[derive(Debug, Clone, Copy)]
enum FieldRow {
    Bool { name: NameId, value: bool },
    Number { name: NameId, value: i64 },
    Text { name: NameId, text: TextRange },
    List { name: NameId, texts: RowRange },
}

/// A part of the texts.
#[derive(Debug, Clone, Copy)]
struct TextRange {
    start: u32,
    end: u32,
}

/// Some rows of a table, one after the other.
#[derive(Debug, Clone, Copy)]
struct RowRange {
    start: u32,
    end: u32,
}

impl EntryStore {
    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// The time of the last entry, 0 if there is none.
    pub(super) fn last_at(&self) -> u64 {
        self.index.last().map_or(0, |row| row.at)
    }

    /// Adds an event. `at` must not be less than that of the last entry.
    pub(super) fn add(&mut self, at: u64, wall: i64, event: &Event<'_>) {
        let place = self.add_row(event).unwrap_or_else(|| {
            self.others.push(event.to_owned_event());
            EventPlace::Other(self.others.len() - 1)
        });
        self.index.push(IndexRow { at, wall, place });
    }

    /// Adds an event as a row; `None` if it has no table, or does not fit into it.
    fn add_row(&mut self, event: &Event<'_>) -> Option<EventPlace> {
        match event {
            Event::Received(received) if received.message.is_none() => {
                let row = self.received_row(received)?;
                self.received.push(row);
                Some(EventPlace::Received(self.received.len() - 1))
            }
            Event::Committed { attempt, effect, id, fields, timing } => {
                let row = CommittedRow {
                    attempt: *attempt,
                    effect: self.names.id(effect)?,
                    id: self.add_text(id)?,
                    fields: self.add_fields(fields)?,
                    timing: *timing,
                };
                self.committed.push(row);
                Some(EventPlace::Committed(self.committed.len() - 1))
            }
            Event::Replied {
                attempt,
                reply,
                status,
                bytes,
                whole,
                replay,
                retry_after: None,
                silence: None,
                message: None,
            } => {
                self.replied.push(RepliedRow {
                    attempt: *attempt,
                    bytes: *bytes,
                    status: *status,
                    reply: *reply,
                    whole: *whole,
                    replay: *replay,
                });
                Some(EventPlace::Replied(self.replied.len() - 1))
            }
            _ => None,
        }
    }

    fn received_row(&mut self, received: &Received<'_>) -> Option<ReceivedRow> {
        Some(ReceivedRow {
            attempt: received.attempt,
            connection: received.connection,
            repeats: received.repeats,
            path: self.add_text(&received.path)?,
            key: match &received.key {
                Some(key) => Some(self.add_text(key)?),
                None => None,
            },
            fields: self.add_fields(&received.fields)?,
            client: if received.client.is_empty() { None } else { Some(self.client(&received.client)?) },
            operation: self.names.id(&received.operation)?,
            method: self.names.id(&received.method)?,
            caller: received.caller,
            replay: received.replay,
        })
    }

    /// The number of a client's headers.
    fn client(&mut self, client: &Fields) -> Option<u32> {
        let compared = self.clients.len().saturating_sub(COMPARED_CLIENTS);
        let known = self.clients[compared..].iter().rposition(|known| known == client);
        let place = known.map_or(self.clients.len(), |place| compared + place);
        if place == self.clients.len() {
            self.clients.push(client.clone());
        }
        u32::try_from(place).ok()
    }

    fn add_text(&mut self, text: &str) -> Option<TextRange> {
        let start = u32::try_from(self.texts.len()).ok()?;
        let end = u32::try_from(self.texts.len() + text.len()).ok()?;
        self.texts.push_str(text);
        Some(TextRange { start, end })
    }

    fn add_fields(&mut self, fields: &Fields) -> Option<RowRange> {
        let start = u32::try_from(self.fields.len()).ok()?;
        let end = u32::try_from(self.fields.len() + fields.len()).ok()?;
        for (name, value) in fields.iter() {
            let name = self.names.id(name)?;
            let row = match value {
                Value::Bool(value) => FieldRow::Bool { name, value: *value },
                Value::Number(value) => FieldRow::Number { name, value: *value },
                Value::Text(text) => FieldRow::Text { name, text: self.add_text(text)? },
                Value::List(texts) => FieldRow::List { name, texts: self.add_list(texts)? },
            };
            self.fields.push(row);
        }
        Some(RowRange { start, end })
    }

    fn add_list(&mut self, texts: &[String]) -> Option<RowRange> {
        let start = u32::try_from(self.lists.len()).ok()?;
        for text in texts {
            let text = self.add_text(text)?;
            self.lists.push(text);
        }
        Some(RowRange { start, end: u32::try_from(self.lists.len()).ok()? })
    }

    /// At most `count` entries from this place on.
    pub(super) fn entries(&self, from: usize, count: usize) -> Vec<Entry> {
        let rows = self.index.iter().enumerate().skip(from).take(count);
        rows.map(|(place, row)| Entry {
            n: place as u64 + 1,
            at: row.at,
            wall: row.wall,
            event: self.event(row.place),
        })
        .collect()
    }

    fn event(&self, place: EventPlace) -> Event<'static> {
        match place {
            EventPlace::Received(row) => Event::Received(self.received(&self.received[row])),
            EventPlace::Committed(row) => {
                let CommittedRow { attempt, effect, id, fields, timing } = &self.committed[row];
                Event::Committed {
                    attempt: *attempt,
                    effect: self.name(*effect),
                    id: self.text(*id),
                    fields: Cow::Owned(self.fields(*fields)),
                    timing: *timing,
                }
            }
            EventPlace::Replied(row) => {
                let RepliedRow { attempt, bytes, status, reply, whole, replay } = self.replied[row];
                Event::Replied {
                    attempt,
                    reply,
                    status,
                    bytes,
                    whole,
                    replay,
                    retry_after: None,
                    silence: None,
                    message: None,
                }
            }
            EventPlace::Other(row) => self.others[row].clone(),
        }
    }

    fn received(&self, row: &ReceivedRow) -> Received<'static> {
        Received {
            attempt: row.attempt,
            operation: self.name(row.operation),
            method: self.name(row.method),
            path: self.text(row.path),
            fields: Cow::Owned(self.fields(row.fields)),
            key: row.key.map(|key| self.text(key)),
            replay: row.replay,
            caller: row.caller,
            connection: row.connection,
            repeats: row.repeats,
            client: Cow::Owned(
                row.client.map_or_else(Fields::new, |client| self.clients[client as usize].clone()),
            ),
            message: None,
        }
    }

    fn name(&self, name: NameId) -> Cow<'static, str> {
        Cow::Owned(self.names.name(name).to_owned())
    }

    fn text(&self, text: TextRange) -> Cow<'static, str> {
        Cow::Owned(self.str(text).to_owned())
    }

    fn str(&self, TextRange { start, end }: TextRange) -> &str {
        &self.texts[start as usize..end as usize]
    }

    fn fields(&self, RowRange { start, end }: RowRange) -> Fields {
        let mut fields = Fields::new();
        for row in &self.fields[start as usize..end as usize] {
            match *row {
                FieldRow::Bool { name, value } => fields.set(self.names.name(name), value),
                FieldRow::Number { name, value } => fields.set(self.names.name(name), value),
                FieldRow::Text { name, text } => fields.set(self.names.name(name), self.str(text)),
                FieldRow::List { name, texts } => {
                    let texts = &self.lists[texts.start as usize..texts.end as usize];
                    let texts: Vec<String> = texts.iter().map(|text| self.str(*text).to_owned()).collect();
                    fields.set(self.names.name(name), texts);
                }
            }
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ledger::{LEDGER_FORMAT, SilenceEnd};

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
        let committed = (any::<u64>(), text(), text(), fields(), timing).prop_map(
            |(attempt, effect, id, fields, timing)| Event::Committed {
                attempt,
                effect: effect.into(),
                id: id.into(),
                fields: Cow::Owned(fields),
                timing,
            },
        );
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
}
