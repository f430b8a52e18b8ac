//! Events without the secrets in them.

use std::borrow::Cow;

use compact_str::CompactString;

use super::prose::TextKind;
use super::{Redactor, is_mark};
use crate::ledger::entry::Event;
use crate::ledger::event_texts::SentPart;
use crate::service::{Fields, Value};

impl Redactor {
    /// The event without what must be hidden in it.
    pub(in crate::ledger) fn redact(&mut self, mut event: Event) -> Event {
        event.sent_parts(&mut |part| match part {
            // Users can hide members of events by name, as they can hide fields.
            SentPart::Member(name, text) => {
                let is_hidden = self.name_rule(name).hides_value;
                if let Cow::Owned(shown) = self.value(is_hidden, text) {
                    *text = CompactString::from(shown);
                }
            }
            SentPart::Message(text) => *text = self.message(text),
            SentPart::Fields(fields) => self.redact_fields(fields),
        });
        event
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

    /// Hides what must be hidden in the names and values of fields.
    pub(super) fn redact_fields(&mut self, fields: &mut Fields) {
        if !fields.iter().any(|(name, value)| self.hides_field(name, value)) {
            return;
        }
        let mut shown = Fields::new();
        for (name, value) in fields.iter() {
            let is_hidden = self.name_rule(name).hides_value;
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
        *fields = shown;
    }

    /// Whether something must be hidden in a field.
    fn hides_field(&mut self, name: &str, value: &Value) -> bool {
        let rule = self.name_rule(name);
        let hides = |text: &str| !self.spans(text, TextKind::Field).is_empty();
        let hides_value = || match value {
            Value::Bool(_) => false,
            Value::Number(number) => self.is_secret(&number.to_string()),
            Value::Text(text) => hides(text),
            Value::List(texts) => texts.iter().any(|text| hides(text)),
        };
        rule.hides_value || rule.hides_name || hides_value()
    }
}
