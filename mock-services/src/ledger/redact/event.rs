//! Events without the secrets in them.

use std::borrow::Cow;

use super::prose::TextKind;
use super::{Redactor, is_mark};
use crate::ledger::entry::Event;
use crate::ledger::event_texts::EventTexts;
use crate::service::{Fields, Value};

impl<'e> EventTexts<'e, 'e> for Redactor {
    fn own(&mut self, text: &'e str) -> Cow<'e, str> {
        Cow::Borrowed(text)
    }

    /// Users can hide members of events by name, as they can hide fields.
    fn sent(&mut self, member: &'static str, text: &'e str) -> Cow<'e, str> {
        self.value(self.hides_name(member), text)
    }

    fn message(&mut self, text: &'e str) -> Cow<'e, str> {
        Cow::Owned(Redactor::message(self, text))
    }

    fn fields(&mut self, fields: &'e Fields) -> Cow<'e, Fields> {
        self.redacted_fields(fields)
    }
}

impl Redactor {
    /// The event without what must be hidden in it.
    pub(in crate::ledger) fn redact<'e>(&mut self, event: &'e Event<'_>) -> Event<'e> {
        event.with_texts(self)
    }

    fn value<'t>(&mut self, is_hidden: bool, text: &'t str) -> Cow<'t, str> {
        match is_hidden {
            true if text.is_empty() || is_mark(text.as_bytes()) || self.shown_values.has(text) => {
                Cow::Borrowed(text)
            }
            true => Cow::Owned(self.mark(text)),
            false => self.redacted(text),
        }
    }

    /// The fields without what must be hidden in their names and values.
    pub(super) fn redacted_fields<'e>(&mut self, fields: &'e Fields) -> Cow<'e, Fields> {
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
                    if (is_hidden || self.is_secret(&text)) && !self.shown_values.has(&text) {
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
        let hides = |text: &str| !self.spans(text, TextKind::Field).is_empty();
        let hides_value = || match value {
            Value::Bool(_) => false,
            Value::Number(number) => self.is_secret(&number.to_string()),
            Value::Text(text) => hides(text),
            Value::List(texts) => texts.iter().any(|text| hides(text)),
        };
        self.hides_name(name) || hides(name) || hides_value()
    }
}
