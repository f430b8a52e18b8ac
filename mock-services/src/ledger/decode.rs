//! Turns the records of a ledger into JSON.

use super::record::{CLIENT, SHAPE, SHAPED, Times, byte, length, read_counted};
use super::shape::Shape;

/// Turns records into JSON, from the first one on.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    count: u64,
    /// The times of the entry before.
    last: (u64, u64),
    /// The time of day as it stands in that entry: for many it is the same.
    wall: Vec<u8>,
    shapes: Vec<Shape>,
    /// The headers that tell each client, as JSON.
    clients: Vec<Vec<u8>>,
}

impl Decoder {
    /// Writes the next entry as JSON, without its opening brace: what stands before it differs. `None` where
    /// there is none.
    pub(super) fn write_next(&mut self, records: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
        let kind = loop {
            match byte(records)? {
                CLIENT => self.clients.push(read_counted(records)?.to_vec()),
                SHAPE => self.shapes.push(Shape::of(read_counted(records)?)),
                kind => break kind,
            }
        };
        let now = Times::read(records, self.last)?;
        if self.wall.is_empty() || now.1 != self.last.1 {
            self.wall.clear();
            member(&mut self.wall, ",\"wall\":", now.1);
            self.wall.push(b',');
        }
        self.last = now;
        self.count += 1;
        member(out, "\"n\":", self.count);
        member(out, ",\"at\":", now.0);
        out.extend_from_slice(&self.wall);
        if kind == SHAPED {
            self.write_shaped(records, out)
        } else {
            // The event is a map of its own, of which the opening brace is not needed.
            out.extend_from_slice(read_counted(records)?.get(1..)?);
            Some(())
        }
    }

    fn write_shaped(&self, records: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
        let shape = self.shapes.get(length(records)?.checked_sub(1)?)?;
        let client = match length(records)?.checked_sub(1) {
            Some(place) => self.clients.get(place)?,
            None => &Vec::new(),
        };
        shape.fill(records, client, out)
    }
}

#[inline]
fn member(out: &mut Vec<u8>, before: &str, number: u64) {
    out.extend_from_slice(before.as_bytes());
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::*;
    use crate::fault::ReplyKind;
    use crate::ledger::entry::{CommitTiming, Event, LEDGER_FORMAT, Received, SilenceEnd};
    use crate::ledger::record::{Parts, write_json, write_kept};
    use crate::ledger::shape::template;
    use crate::service::{Fields, Value};

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Number),
            some_text().prop_map(Value::from),
            proptest::collection::vec(some_text(), 0..3).prop_map(Value::List),
        ]
    }

    /// Mostly texts that can be kept as they are.
    fn some_text() -> impl Strategy<Value = String> {
        prop_oneof![20 => "[a-zA-Z0-9é _.:/-]{0,40}", 1 => any::<String>()]
    }

    fn fields() -> impl Strategy<Value = Fields> {
        let pairs = proptest::collection::vec((some_text(), value()), 0..4);
        pairs.prop_map(|pairs| {
            pairs.into_iter().fold(Fields::new(), |fields, (name, value)| fields.with(name, value))
        })
    }

    fn event() -> impl Strategy<Value = Event<'static>> {
        let received = (
            any::<(u64, bool, u32, u64)>(),
            some_text(),
            some_text(),
            proptest::option::of(some_text()),
            fields(),
        );
        let received =
            received.prop_map(|((attempt, replay, caller, connection), operation, path, key, fields)| {
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
                    repeats: None,
                    client: Cow::Owned(Fields::new()),
                })
            });
        let timing = prop::sample::select(CommitTiming::ALL.to_vec());
        let committed = (any::<u64>(), some_text(), some_text(), fields(), timing).prop_map(
            |(attempt, effect, id, fields, timing)| Event::Committed {
                attempt,
                effect: effect.into(),
                id: id.into(),
                fields: Cow::Owned(fields),
                timing,
            },
        );
        let reply = prop::sample::select(ReplyKind::ALL.to_vec());
        let silences = [None, Some(SilenceEnd::Caller), Some(SilenceEnd::Released), Some(SilenceEnd::Limit)];
        let more = (proptest::option::weighted(0.2, any::<u64>()), prop::sample::select(silences.to_vec()));
        let replied = (any::<(u64, Option<u16>, u64, bool, bool)>(), reply, more).prop_map(
            |((attempt, status, bytes, whole, replay), reply, (retry_after, silence))| Event::Replied {
                attempt,
                reply,
                status,
                bytes,
                whole,
                replay,
                retry_after,
                silence,
            },
        );
        let other = any::<u64>().prop_map(|seed| Event::Opened { format: LEDGER_FORMAT, seed, plan: None });
        prop_oneof![received, committed, replied, other]
    }

    /// The time of day is often that of the entry before, and can be the very first one.
    fn times() -> impl Strategy<Value = (u64, u64)> {
        (any::<u64>(), prop_oneof![Just(0), Just(1), any::<u64>()])
    }

    proptest! {
        #[test]
        fn what_was_taken_apart_is_read_as_serde_json_writes_it(events in proptest::collection::vec((event(), times()), 0..6)) {
            let (mut records, mut parts, mut expected) = (Vec::new(), Parts::default(), String::new());
            let (mut shapes, mut last) = (0, (0, 0));
            for (n, (event, now)) in (1u64..).zip(&events) {
                let json = serde_json::to_string(event).unwrap();
                let times = Times::since(last, *now);
                last = *now;
                parts.take(event);
                if let Some(shape) = parts.shape() {
                    write_kept(&mut records, SHAPE, &template(shape, |_| {}).unwrap());
                    shapes += 1;
                    parts.write(&mut records, times, shapes, 0);
                } else {
                    write_json(&mut records, times, parts.body());
                }
                expected += &format!("\"n\":{n},\"at\":{},\"wall\":{},{}", now.0, now.1, &json[1..]);
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
