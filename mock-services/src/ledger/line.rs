//! The entries that every attempt leaves, written member by member: the bytes are those that `serde_json` makes of them, at a fraction
//! of its work. All other entries are rare and take the usual way.

use super::entry::{Event, How, Received};
use crate::json;
use crate::service::{Fields, Value};

/// Writes the event as JSON behind what is there.
pub(super) fn write(out: &mut Vec<u8>, event: &Event<'_>) {
    match event {
        Event::Received(received) => write_received(out, received),
        Event::Committed { attempt, effect, id, fields, how } => {
            number(out, "{\"kind\":\"committed\",\"attempt\":", *attempt);
            text(out, ",\"effect\":", effect);
            text(out, ",\"id\":", id);
            write_fields(out, ",\"fields\":", fields);
            text(out, ",\"how\":", how_word(*how));
            out.push(b'}');
        }
        Event::Replied { attempt, reply, status, bytes, whole, replay } => {
            number(out, "{\"kind\":\"replied\",\"attempt\":", *attempt);
            text(out, ",\"reply\":", reply);
            if let Some(status) = status {
                number(out, ",\"status\":", u64::from(*status));
            }
            number(out, ",\"bytes\":", *bytes);
            out.extend_from_slice(if *whole { b",\"whole\":true" } else { b",\"whole\":false" });
            out.extend_from_slice(if *replay { b",\"replay\":true}" } else { b"}" });
        }
        // Plain data written into memory cannot fail.
        other => drop(serde_json::to_writer(out, other)),
    }
}

fn write_received(out: &mut Vec<u8>, received: &Received<'_>) {
    number(out, "{\"kind\":\"received\",\"attempt\":", received.attempt);
    text(out, ",\"operation\":", &received.operation);
    text(out, ",\"method\":", &received.method);
    text(out, ",\"path\":", &received.path);
    write_fields(out, ",\"fields\":", &received.fields);
    if let Some(key) = &received.key {
        text(out, ",\"key\":", key);
    }
    if received.replay {
        out.extend_from_slice(b",\"replay\":true");
    }
    number(out, ",\"caller\":", u64::from(received.caller));
    number(out, ",\"connection\":", received.connection);
    if !received.client.is_empty() {
        write_fields(out, ",\"client\":", &received.client);
    }
    out.push(b'}');
}

fn write_fields(out: &mut Vec<u8>, before: &str, fields: &Fields) {
    out.extend_from_slice(before.as_bytes());
    let mut separator = "{";
    for (name, value) in fields.iter() {
        text(out, separator, name);
        separator = ",";
        match value {
            Value::Bool(value) => out.extend_from_slice(if *value { b":true" } else { b":false" }),
            Value::Number(value) => number(out, ":", *value),
            Value::Text(value) => text(out, ":", value),
            Value::List(values) => {
                out.extend_from_slice(b":[");
                for (place, value) in values.iter().enumerate() {
                    text(out, if place == 0 { "" } else { "," }, value);
                }
                out.push(b']');
            }
        }
    }
    out.extend_from_slice(if fields.is_empty() { b"{}" } else { b"}" });
}

#[inline]
fn text(out: &mut Vec<u8>, before: &str, value: &str) {
    out.extend_from_slice(before.as_bytes());
    json::text(out, value);
}

#[inline]
fn number(out: &mut Vec<u8>, before: &str, value: impl itoa::Integer) {
    out.extend_from_slice(before.as_bytes());
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

const fn how_word(how: How) -> &'static str {
    match how {
        How::Now => "now",
        How::Later => "later",
        How::Twice => "twice",
        How::Part => "part",
        How::Rest => "rest",
        How::Afterwards => "afterwards",
    }
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
            any::<String>().prop_map(Value::Text),
            proptest::collection::vec(any::<String>(), 0..3).prop_map(Value::List),
        ]
    }

    fn fields() -> impl Strategy<Value = Fields> {
        let pairs = proptest::collection::vec((any::<String>(), value()), 0..4);
        pairs.prop_map(|pairs| pairs.into_iter().fold(Fields::new(), |fields, (name, value)| fields.with(name, value)))
    }

    fn event() -> impl Strategy<Value = Event<'static>> {
        let received = (any::<(u64, String, String, Option<String>, bool, u32, u64)>(), fields(), fields());
        let received = received.prop_map(|((attempt, operation, path, key, replay, caller, connection), fields, client)| {
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
                client: Cow::Owned(client),
            })
        });
        let how = prop::sample::select(vec![How::Now, How::Later, How::Twice, How::Part, How::Rest, How::Afterwards]);
        let committed = (any::<(u64, String, String)>(), fields(), how).prop_map(|((attempt, effect, id), fields, how)| {
            Event::Committed { attempt, effect: effect.into(), id: id.into(), fields: Cow::Owned(fields), how }
        });
        let replied =
            any::<(u64, String, Option<u16>, u64, bool, bool)>().prop_map(|(attempt, reply, status, bytes, whole, replay)| {
                Event::Replied { attempt, reply: reply.into(), status, bytes, whole, replay }
            });
        let other = any::<u64>().prop_map(|seed| Event::Opened { seed });
        prop_oneof![received, committed, replied, other]
    }

    proptest! {
        #[test]
        fn the_bytes_are_those_of_serde_json(event in event()) {
            let mut out = b"before".to_vec();
            write(&mut out, &event);
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("before{}", serde_json::to_string(&event).unwrap()));
        }
    }
}
