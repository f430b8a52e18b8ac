//! Events without the secrets in them. The ledger's own words and numbers (kinds, operations, effects,
//! statuses) stay: nothing that a caller sent is in them.

use std::borrow::Cow;

use super::Redactor;
use crate::ledger::entry::{Event, Received};
use crate::service::{Fields, Value};

impl Redactor {
    /// The event without what must be hidden in it.
    pub(in crate::ledger) fn redact<'e>(&mut self, event: &'e Event<'e>) -> Cow<'e, Event<'e>> {
        Cow::Owned(match event {
            Event::Received(received) => Event::Received(self.received(received)),
            Event::Refused {
                service,
                operation,
                method,
                path,
                status,
                caller,
                connection,
                key,
                reason,
                unsupported,
            } => Event::Refused {
                service: borrowed(service),
                operation: operation.as_ref().map(borrowed),
                method: self.member("method", method),
                path: self.member("path", path),
                status: *status,
                caller: *caller,
                connection: *connection,
                key: self.optional("key", key.as_ref()),
                reason: self.optional("reason", reason.as_ref()),
                unsupported: self.optional("unsupported", unsupported.as_ref()),
            },
            Event::Committed { attempt, effect, id, fields, timing } => Event::Committed {
                attempt: *attempt,
                effect: borrowed(effect),
                id: self.member("id", id),
                fields: self.fields(fields),
                timing: *timing,
            },
            Event::Withheld { attempt, effect, id, fields } => Event::Withheld {
                attempt: *attempt,
                effect: borrowed(effect),
                id: self.member("id", id),
                fields: self.fields(fields),
            },
            Event::Noted { name, caller, fields } => {
                Event::Noted { name: self.member("name", name), caller: *caller, fields: self.fields(fields) }
            }
            Event::Opened { .. }
            | Event::Fault { .. }
            | Event::Lapsed { .. }
            | Event::Unsent { .. }
            | Event::Replied { .. }
            | Event::Closed { .. }
            | Event::Barrier { .. }
            | Event::End { .. } => return Cow::Borrowed(event),
        })
    }

    fn received<'e>(&mut self, received: &'e Received<'e>) -> Received<'e> {
        let Received {
            attempt,
            operation,
            method,
            path,
            fields,
            key,
            replay,
            caller,
            connection,
            repeats,
            client,
        } = received;
        Received {
            attempt: *attempt,
            operation: borrowed(operation),
            method: self.member("method", method),
            path: self.member("path", path),
            fields: self.fields(fields),
            key: self.optional("key", key.as_ref()),
            replay: *replay,
            caller: *caller,
            connection: *connection,
            repeats: *repeats,
            client: self.fields(client),
        }
    }

    /// The text of a member of an event. Users can hide members by name, as they can hide fields.
    fn member<'e>(&mut self, name: &str, text: &'e str) -> Cow<'e, str> {
        self.value(self.hides_name(name), text)
    }

    fn optional<'e>(&mut self, name: &str, text: Option<&'e Cow<'e, str>>) -> Option<Cow<'e, str>> {
        text.map(|text| self.member(name, text))
    }

    fn value<'t>(&mut self, is_hidden: bool, text: &'t str) -> Cow<'t, str> {
        match is_hidden {
            true if text.is_empty() => Cow::Borrowed(text),
            true => Cow::Owned(self.mark(text)),
            false => self.redacted(text),
        }
    }

    /// The fields without what must be hidden in their names and values.
    pub(super) fn fields<'e>(&mut self, fields: &'e Fields) -> Cow<'e, Fields> {
        if !fields.iter().any(|(name, value)| self.hides_field(name, value)) {
            return Cow::Borrowed(fields);
        }
        let mut shown = Fields::new();
        for (name, value) in fields.iter() {
            let is_hidden = self.hides_name(name);
            let name = self.redacted(name);
            let value = match value {
                Value::Bool(_) | Value::Number(_) => {
                    let text = value.to_string();
                    // Hidden as a whole: a part of a number is not a number.
                    if is_hidden || self.is_secret(&text) {
                        Value::from(self.mark(&text))
                    } else {
                        value.clone()
                    }
                }
                Value::Text(text) => Value::from(&*self.value(is_hidden, text)),
                Value::List(texts) => {
                    Value::List(texts.iter().map(|text| self.value(is_hidden, text).into_owned()).collect())
                }
            };
            shown.set(&*name, value);
        }
        Cow::Owned(shown)
    }

    /// Whether something must be hidden in a field.
    fn hides_field(&self, name: &str, value: &Value) -> bool {
        let hides = |text: &str| !self.spans(text, false).is_empty();
        let hides_value = || match value {
            Value::Bool(_) => false,
            Value::Number(number) => self.is_secret(&number.to_string()),
            Value::Text(text) => hides(text),
            Value::List(texts) => texts.iter().any(|text| hides(text)),
        };
        self.hides_name(name) || hides(name) || hides_value()
    }
}

fn borrowed<'e>(text: &'e Cow<'e, str>) -> Cow<'e, str> {
    Cow::Borrowed(text)
}
