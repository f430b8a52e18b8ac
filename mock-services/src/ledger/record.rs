//! Entries as they are kept in memory. Those that every attempt leaves are taken apart and become JSON only when somebody reads them; all
//! others, and those in which something has to be escaped or hidden, are kept as JSON.
//!
//! Every text stands between bytes that no text holds, so that a search for what must be hidden finds in the parts of an event whatever it would
//! find in its JSON.

use super::entry::{Event, How, Received};
use crate::json;
use crate::service::{Fields, Value};

/// What a record is.
const WRITTEN: u8 = 1;
const CLIENT: u8 = 2;
const RECEIVED: u8 = 3;
const COMMITTED: u8 = 4;
const REPLIED: u8 = 5;

/// What a field is.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const NUMBER: u8 = 3;
const TEXT: u8 = 4;
const LIST: u8 = 5;

/// Ends a text, and stands before the first one.
const END: u8 = 0;

const WITH_KEY: u8 = 1;
const REPLAY: u8 = 2;
const WHOLE: u8 = 1;

const HOWS: [(How, &[u8]); 6] = [
    (How::Now, b"},\"how\":\"now\"}"),
    (How::Later, b"},\"how\":\"later\"}"),
    (How::Twice, b"},\"how\":\"twice\"}"),
    (How::Part, b"},\"how\":\"part\"}"),
    (How::Rest, b"},\"how\":\"rest\"}"),
    (How::Afterwards, b"},\"how\":\"afterwards\"}"),
];

/// An event that was taken apart.
#[derive(Debug, Default)]
pub(super) struct Parts {
    kind: u8,
    bytes: Vec<u8>,
    /// The headers that tell the client: the same in most attempts of a caller, so they are kept once.
    client: Vec<u8>,
}

impl Parts {
    /// Takes the event apart; `false` where it has to be kept as JSON.
    pub(super) fn take(&mut self, event: &Event<'_>) -> bool {
        self.bytes.clear();
        self.client.clear();
        match event {
            Event::Received(received) => self.take_received(received),
            Event::Committed { attempt, effect, id, fields, how } => {
                self.kind = COMMITTED;
                number(&mut self.bytes, *attempt);
                let how = HOWS.iter().position(|(named, _)| named == how).unwrap_or_default();
                self.bytes.push(u8::try_from(how).unwrap_or_default());
                text(&mut self.bytes, effect) && text(&mut self.bytes, id) && take_fields(&mut self.bytes, fields)
            }
            Event::Replied { attempt, reply, status, bytes, whole, replay } => {
                self.kind = REPLIED;
                number(&mut self.bytes, *attempt);
                number(&mut self.bytes, status.map_or(0, |status| u64::from(status) + 1));
                number(&mut self.bytes, *bytes);
                self.bytes.push(if *whole { WHOLE } else { 0 } | if *replay { REPLAY } else { 0 });
                text(&mut self.bytes, reply)
            }
            _ => false,
        }
    }

    fn take_received(&mut self, received: &Received<'_>) -> bool {
        let Received { attempt, operation, method, path, fields, key, replay, caller, connection, client } = received;
        let bytes = &mut self.bytes;
        self.kind = RECEIVED;
        number(bytes, *attempt);
        number(bytes, u64::from(*caller));
        number(bytes, *connection);
        bytes.push(if key.is_some() { WITH_KEY } else { 0 } | if *replay { REPLAY } else { 0 });
        // Whatever stands in the headers is looked at when they are kept.
        take_raw(&mut self.client, client);
        text(bytes, operation)
            && text(bytes, method)
            && text(bytes, path)
            && key.as_ref().is_none_or(|key| text(bytes, key))
            && take_fields(bytes, fields)
    }

    /// All of it, but for the headers that tell the client.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The headers that tell the client, in a form by which they can be compared; empty where there are none.
    pub(super) fn client(&self) -> &[u8] {
        &self.client
    }

    /// Writes the record. `client` is the place of the headers among those that were kept, from 1.
    pub(super) fn write(&self, out: &mut Vec<u8>, at: u64, wall: u64, client: usize) {
        out.push(self.kind);
        number(out, at);
        number(out, wall);
        if self.kind == RECEIVED {
            number(out, client as u64);
        }
        out.extend_from_slice(&self.bytes);
    }
}

/// Writes the record of an event that is kept as JSON.
pub(super) fn write_json(out: &mut Vec<u8>, at: u64, wall: u64, json: &[u8]) {
    out.push(WRITTEN);
    number(out, at);
    number(out, wall);
    number(out, json.len() as u64);
    out.extend_from_slice(json);
}

/// Keeps the headers that tell a client, as JSON; attempts that come later refer to them.
pub(super) fn write_client(out: &mut Vec<u8>, json: &[u8]) {
    out.push(CLIENT);
    number(out, json.len() as u64);
    out.extend_from_slice(json);
}

fn take_fields(out: &mut Vec<u8>, fields: &Fields) -> bool {
    number(out, fields.len() as u64);
    out.push(END);
    fields.iter().all(|(name, value)| {
        text(out, name)
            && match value {
                Value::Bool(value) => {
                    out.push(if *value { TRUE } else { FALSE });
                    true
                }
                // As it will be written: a number can be a secret, too.
                Value::Number(value) => {
                    out.push(NUMBER);
                    out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
                    out.push(END);
                    true
                }
                Value::Text(value) => {
                    out.push(TEXT);
                    text(out, value)
                }
                Value::List(values) => {
                    out.push(LIST);
                    number(out, values.len() as u64);
                    out.push(END);
                    values.iter().all(|value| text(out, value))
                }
            }
    })
}

/// The fields in a form by which they can be compared.
fn take_raw(out: &mut Vec<u8>, fields: &Fields) {
    for (name, value) in fields.iter() {
        out.extend_from_slice(name.as_bytes());
        out.push(END);
        match value {
            Value::Text(value) => out.extend_from_slice(value.as_bytes()),
            other => out.extend_from_slice(other.to_string().as_bytes()),
        }
        out.push(END);
    }
}

/// `false` where the text cannot stand in JSON as it is, or may name a parameter whose value is hidden.
fn text(out: &mut Vec<u8>, text: &str) -> bool {
    out.extend_from_slice(text.as_bytes());
    out.push(END);
    !json::holds_special(text.as_bytes(), b'=')
}

/// Seven bits in each byte, the lowest first; the highest bit tells that more follow.
fn number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Turns records into JSON, from the first one on.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    count: u64,
    /// The headers that tell each client, as JSON.
    clients: Vec<Vec<u8>>,
}

impl Decoder {
    /// Writes the next entry as JSON, without its opening brace: what stands before it differs. `None` where there is none.
    pub(super) fn write_next(&mut self, records: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut kind = byte(records)?;
        while kind == CLIENT {
            let length = length(records)?;
            self.clients.push(records.split_off(..length)?.to_vec());
            kind = byte(records)?;
        }
        self.count += 1;
        member(out, "\"n\":", self.count);
        member(out, ",\"at\":", read_number(records)?);
        member(out, ",\"wall\":", read_number(records)?);
        match kind {
            RECEIVED => self.received(records, out),
            COMMITTED => committed(records, out),
            REPLIED => replied(records, out),
            _ => {
                let length = length(records)?;
                // The event is a map of its own: its opening brace becomes a comma.
                out.push(b',');
                out.extend_from_slice(records.split_off(..length)?.get(1..)?);
                Some(())
            }
        }
    }

    fn received(&self, records: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
        let client = length(records)?;
        member(out, ",\"kind\":\"received\",\"attempt\":", read_number(records)?);
        let (caller, connection, flags) = (read_number(records)?, read_number(records)?, byte(records)?);
        quoted(out, ",\"operation\":\"", records)?;
        quoted(out, "\",\"method\":\"", records)?;
        quoted(out, "\",\"path\":\"", records)?;
        let key = if flags & WITH_KEY == 0 { None } else { Some(read_text(records)?) };
        out.extend_from_slice(b"\",\"fields\":{");
        fields(out, records)?;
        if let Some(key) = key {
            out.extend_from_slice(b"},\"key\":\"");
            out.extend_from_slice(key);
            out.push(b'"');
        } else {
            out.push(b'}');
        }
        if flags & REPLAY != 0 {
            out.extend_from_slice(b",\"replay\":true");
        }
        member(out, ",\"caller\":", caller);
        member(out, ",\"connection\":", connection);
        if let Some(place) = client.checked_sub(1) {
            out.extend_from_slice(b",\"client\":");
            out.extend_from_slice(self.clients.get(place)?);
        }
        out.push(b'}');
        Some(())
    }
}

fn committed(records: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
    member(out, ",\"kind\":\"committed\",\"attempt\":", read_number(records)?);
    let (_, how) = HOWS.get(usize::from(byte(records)?))?;
    quoted(out, ",\"effect\":\"", records)?;
    quoted(out, "\",\"id\":\"", records)?;
    out.extend_from_slice(b"\",\"fields\":{");
    fields(out, records)?;
    out.extend_from_slice(how);
    Some(())
}

fn replied(records: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
    member(out, ",\"kind\":\"replied\",\"attempt\":", read_number(records)?);
    let (status, bytes, flags) = (read_number(records)?, read_number(records)?, byte(records)?);
    quoted(out, ",\"reply\":\"", records)?;
    match status.checked_sub(1) {
        Some(status) => {
            member(out, "\",\"status\":", status);
            member(out, ",\"bytes\":", bytes);
        }
        None => member(out, "\",\"bytes\":", bytes),
    }
    out.extend_from_slice(if flags & WHOLE == 0 { b",\"whole\":false" } else { b",\"whole\":true" });
    out.extend_from_slice(if flags & REPLAY == 0 { b"}" } else { b",\"replay\":true}" });
    Some(())
}

/// Writes the fields, without the braces around them.
fn fields(out: &mut Vec<u8>, records: &mut &[u8]) -> Option<()> {
    let count = length(records)?;
    byte(records)?;
    for place in 0..count {
        quoted(out, if place == 0 { "\"" } else { ",\"" }, records)?;
        match byte(records)? {
            TRUE => out.extend_from_slice(b"\":true"),
            FALSE => out.extend_from_slice(b"\":false"),
            NUMBER => quoted(out, "\":", records)?,
            TEXT => {
                quoted(out, "\":\"", records)?;
                out.push(b'"');
            }
            _ => {
                out.extend_from_slice(b"\":[");
                let count = length(records)?;
                byte(records)?;
                for place in 0..count {
                    quoted(out, if place == 0 { "\"" } else { ",\"" }, records)?;
                    out.push(b'"');
                }
                out.push(b']');
            }
        }
    }
    Some(())
}

#[inline]
fn member(out: &mut Vec<u8>, before: &str, number: u64) {
    out.extend_from_slice(before.as_bytes());
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Writes the next text behind `before`.
#[inline]
fn quoted(out: &mut Vec<u8>, before: &str, records: &mut &[u8]) -> Option<()> {
    out.extend_from_slice(before.as_bytes());
    out.extend_from_slice(read_text(records)?);
    Some(())
}

fn byte(records: &mut &[u8]) -> Option<u8> {
    records.split_off_first().copied()
}

fn read_text<'a>(records: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = records.iter().position(|byte| *byte == END)?;
    let text = records.split_off(..end)?;
    byte(records)?;
    Some(text)
}

fn read_number(records: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in (0..64).step_by(7) {
        let byte = byte(records)?;
        number |= u64::from(byte & 0x7f) << place;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn length(records: &mut &[u8]) -> Option<usize> {
    usize::try_from(read_number(records)?).ok()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Number),
            some_text().prop_map(Value::Text),
            proptest::collection::vec(some_text(), 0..3).prop_map(Value::List),
        ]
    }

    /// Mostly texts that can be kept as they are.
    fn some_text() -> impl Strategy<Value = String> {
        prop_oneof![20 => "[a-zA-Z0-9é _.:/-]{0,40}", 1 => any::<String>()]
    }

    fn fields() -> impl Strategy<Value = Fields> {
        let pairs = proptest::collection::vec((some_text(), value()), 0..4);
        pairs.prop_map(|pairs| pairs.into_iter().fold(Fields::new(), |fields, (name, value)| fields.with(name, value)))
    }

    fn event() -> impl Strategy<Value = Event<'static>> {
        let received = (any::<(u64, bool, u32, u64)>(), some_text(), some_text(), proptest::option::of(some_text()), fields());
        let received = received.prop_map(|((attempt, replay, caller, connection), operation, path, key, fields)| {
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
                client: Cow::Owned(Fields::new()),
            })
        });
        let how = prop::sample::select(HOWS.map(|(how, _)| how).to_vec());
        let committed = (any::<u64>(), some_text(), some_text(), fields(), how).prop_map(|(attempt, effect, id, fields, how)| {
            Event::Committed { attempt, effect: effect.into(), id: id.into(), fields: Cow::Owned(fields), how }
        });
        let replied = (any::<(u64, Option<u16>, u64, bool, bool)>(), some_text()).prop_map(
            |((attempt, status, bytes, whole, replay), reply)| Event::Replied {
                attempt,
                reply: reply.into(),
                status,
                bytes,
                whole,
                replay,
            },
        );
        let other = any::<u64>().prop_map(|seed| Event::Opened { seed });
        prop_oneof![received, committed, replied, other]
    }

    proptest! {
        #[test]
        fn what_was_taken_apart_is_read_as_serde_json_writes_it(events in proptest::collection::vec((event(), any::<(u64, u64)>()), 0..6)) {
            let (mut records, mut parts, mut expected) = (Vec::new(), Parts::default(), String::new());
            for (n, (event, (at, wall))) in (1u64..).zip(&events) {
                let json = serde_json::to_string(event).unwrap();
                if parts.take(event) {
                    parts.write(&mut records, *at, *wall, 0);
                } else {
                    write_json(&mut records, *at, *wall, json.as_bytes());
                }
                expected += &format!("\"n\":{n},\"at\":{at},\"wall\":{wall},{}", &json[1..]);
            }
            let (mut decoder, mut lines, mut rest) = (Decoder::default(), Vec::new(), &records[..]);
            while decoder.write_next(&mut rest, &mut lines).is_some() {}
            prop_assert_eq!(String::from_utf8(lines).unwrap(), expected);
        }

        #[test]
        fn no_bytes_make_a_decoder_panic(bytes in proptest::collection::vec(prop_oneof![0u8..8, any::<u8>()], 0..60)) {
            let (mut decoder, mut rest) = (Decoder::default(), &bytes[..]);
            while decoder.write_next(&mut rest, &mut Vec::new()).is_some() {}
        }
    }
}
