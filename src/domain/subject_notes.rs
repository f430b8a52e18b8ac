//! Subject events as notes of the ledger, and back. The derives of the events say which fields a note has; this
//! module reads them from a note, with errors that name the event and the field.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use mock_services::ledger::{Event, LATE_REQUEST, OVER_LIMIT};
use mock_services::service::{Fields, Value};
use mock_services::word_enum;
use serde::de::value::{EnumAccessDeserializer, MapAccessDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};

use super::{ClaimedBeforeLimit, EndEvent, HostTreatment, StartEnd, SubjectEvent};

/// The names of the notes that mock-services itself writes.
const _: () = assert!(
    matches!(LATE_REQUEST.as_bytes(), b"late-request") && matches!(OVER_LIMIT.as_bytes(), b"over-limit")
);

/// The variant for requests to a host, and its field that stands in the name of the note.
const HOST_REQUESTS: &str = "host-requests";
const TREATMENT: &str = "treatment";

impl SubjectEvent {
    /// The event as an entry of the ledger, about this caller.
    #[must_use]
    pub fn to_ledger(&self, caller: Option<u32>) -> Event {
        // It cannot fail. If it did, a note without a name would make the trial void.
        let (name, fields) = self.parts().unwrap_or_default();
        Event::Noted { name: name.into(), caller, fields }
    }

    /// The name and the fields of the note. They are read from JSON because fields keep their order.
    fn parts(&self) -> Option<(String, Fields)> {
        let json = serde_json::to_string(self).ok()?;
        let (name, fields) = serde_json::from_str::<BTreeMap<String, Fields>>(&json).ok()?.pop_first()?;
        let SubjectEvent::HostRequests(requests) = self else { return Some((name, fields)) };
        let others = fields.iter().filter(|(field, _)| *field != TREATMENT);
        let others = others.fold(Fields::new(), |all, (field, value)| all.with(field, value.clone()));
        Some((requests.treatment.as_str().to_owned(), others))
    }

    /// The event of a note of the ledger.
    ///
    /// # Errors
    /// If the note is not a subject event.
    pub fn from_ledger(name: &str, fields: &Fields) -> Result<Self, SubjectEventError> {
        let treatment = name.parse::<HostTreatment>().ok().map(|treatment| Value::from(treatment.as_str()));
        let mut named: Vec<(&str, &Value)> = fields.iter().collect();
        named.extend(treatment.as_ref().map(|treatment| (TREATMENT, treatment)));
        let variant = if treatment.is_some() { HOST_REQUESTS } else { name };
        let note = NoteReader { variant, fields: named.into_iter(), field: None };
        SubjectEvent::deserialize(EnumAccessDeserializer::new(note))
            .map_err(|problem| SubjectEventError { note: name.to_owned(), problem })
    }

    /// The subject event of an entry of the ledger; `None` if the entry is not a note.
    ///
    /// # Errors
    /// If the note is not a subject event.
    pub fn from_event(event: &Event) -> Result<Option<Self>, SubjectEventError> {
        let Event::Noted { name, fields, .. } = event else { return Ok(None) };
        SubjectEvent::from_ledger(name, fields).map(Some)
    }
}

/// The end of a start as a note of the ledger has it.
#[derive(Serialize, Deserialize)]
pub(super) struct EndNote {
    start: u32,
    end: EndWord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<i32>,
    #[serde(default, skip_serializing_if = "super::is_default")]
    left_running: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claimed_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requests_in_flight: Option<u64>,
}

word_enum! {
    /// The words for how a start ended.
    enum EndWord {
        Exited => "exited",
        Signaled => "signaled",
        Answered => "answered",
        NoAnswer => "no-answer",
        TimeUp => "time-up",
        OverLimit => "over-limit",
    }
}

impl From<EndEvent> for EndNote {
    fn from(event: EndEvent) -> Self {
        let (end, status) = match event.end {
            StartEnd::Exited(status) => (EndWord::Exited, Some(status)),
            StartEnd::Signaled(signal) => (EndWord::Signaled, Some(signal)),
            StartEnd::Answered(status) => (EndWord::Answered, Some(status.into())),
            StartEnd::NoAnswer => (EndWord::NoAnswer, None),
            StartEnd::TimeUp => (EndWord::TimeUp, None),
            StartEnd::OverLimit => (EndWord::OverLimit, None),
        };
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let claimed = event.claimed_before_limit;
        EndNote {
            start: event.start,
            end,
            status,
            left_running: event.left_running,
            claimed_after_ms: claimed.map(|times| milliseconds(times.claimed_after)),
            stopped_after_ms: claimed.map(|times| milliseconds(times.stopped_after)),
            requests_in_flight: claimed.map(|times| times.requests_in_flight),
        }
    }
}

impl<'de> Deserialize<'de> for EndEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use de::Error as _;
        let note = EndNote::deserialize(deserializer)?;
        let status = note.status.ok_or_else(|| D::Error::missing_field("status"));
        let end = match note.end {
            EndWord::Exited => StartEnd::Exited(status?),
            EndWord::Signaled => StartEnd::Signaled(status?),
            EndWord::Answered => StartEnd::Answered(status?.try_into().map_err(D::Error::custom)?),
            EndWord::NoAnswer | EndWord::TimeUp | EndWord::OverLimit if status.is_ok() => {
                return Err(D::Error::unknown_field("status", &[]));
            }
            EndWord::NoAnswer => StartEnd::NoAnswer,
            EndWord::TimeUp => StartEnd::TimeUp,
            EndWord::OverLimit => StartEnd::OverLimit,
        };
        let missing = |field: &'static str| move || D::Error::missing_field(field);
        let claimed_before_limit =
            match (note.claimed_after_ms, note.stopped_after_ms, note.requests_in_flight) {
                (None, None, None) => None,
                (claimed, stopped, requests) => Some(ClaimedBeforeLimit {
                    claimed_after: Duration::from_millis(claimed.ok_or_else(missing("claimed_after_ms"))?),
                    stopped_after: Duration::from_millis(stopped.ok_or_else(missing("stopped_after_ms"))?),
                    requests_in_flight: requests.ok_or_else(missing("requests_in_flight"))?,
                }),
            };
        Ok(EndEvent { start: note.start, end, left_running: note.left_running, claimed_before_limit })
    }
}

/// What a start claimed; a claim that is missing has a word, too.
pub(super) mod claimed_outcome {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    use crate::domain::ClaimedOutcome;

    const MISSING: &str = "missing";

    #[expect(clippy::ref_option, reason = "serde passes a reference")]
    pub(in crate::domain) fn serialize<S: Serializer>(
        outcome: &Option<ClaimedOutcome>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        outcome.map_or(MISSING, ClaimedOutcome::as_str).serialize(serializer)
    }

    pub(in crate::domain) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<ClaimedOutcome>, D::Error> {
        let word = String::deserialize(deserializer)?;
        if word == MISSING { Ok(None) } else { word.parse().map(Some).map_err(de::Error::custom) }
    }
}

/// Fields as JSON: a note has only plain values.
pub(super) mod fields_as_text {
    use mock_services::service::Fields;
    use serde::{Deserialize, Deserializer, Serializer, de, ser};

    pub(in crate::domain) fn serialize<S: Serializer>(
        fields: &Fields,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&serde_json::to_string(fields).map_err(ser::Error::custom)?)
    }

    pub(in crate::domain) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Fields, D::Error> {
        serde_json::from_str(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// Numbers as a list: a note has only lists of texts.
pub(super) mod numbers_as_texts {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(in crate::domain) fn serialize<S: Serializer>(
        numbers: &[u32],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(numbers.iter().map(u32::to_string))
    }

    pub(in crate::domain) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u32>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(de::Error::custom)).collect()
    }
}

/// A note of the ledger is not a subject event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SubjectEventError {
    /// The name of the note.
    note: String,
    problem: NoteProblem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum NoteProblem {
    UnknownName,
    MissingField(&'static str),
    UnknownField(String),
    /// A value of the wrong type, or an unknown word.
    InvalidField {
        field: String,
        value: String,
    },
    /// Fields that do not go together.
    Other(String),
}

impl fmt::Display for SubjectEventError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let note = &self.note;
        match &self.problem {
            NoteProblem::UnknownName => write!(out, "`{note}` is not the name of a subject event"),
            NoteProblem::MissingField(field) => write!(out, "the event `{note}` has no field `{field}`"),
            NoteProblem::UnknownField(field) => {
                write!(out, "the event `{note}` has the unknown field `{field}`")
            }
            NoteProblem::InvalidField { field, value } => {
                write!(out, "the field `{field}` of the event `{note}` has the invalid value `{value}`")
            }
            NoteProblem::Other(why) => write!(out, "the event `{note}` is invalid: {why}"),
        }
    }
}

impl fmt::Display for NoteProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self:?}")
    }
}

impl std::error::Error for NoteProblem {}

impl de::Error for NoteProblem {
    fn custom<T: fmt::Display>(message: T) -> Self {
        NoteProblem::Other(message.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        NoteProblem::MissingField(field)
    }

    fn unknown_field(field: &str, _expected: &'static [&'static str]) -> Self {
        NoteProblem::UnknownField(field.to_owned())
    }
}

/// A note as serde reads it: the name is the variant of an enum, and the fields are its map.
struct NoteReader<'f> {
    variant: &'f str,
    fields: std::vec::IntoIter<(&'f str, &'f Value)>,
    /// The field whose name was read last.
    field: Option<(&'f str, &'f Value)>,
}

impl<'f> de::EnumAccess<'f> for NoteReader<'f> {
    type Error = NoteProblem;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'f>>(self, seed: V) -> Result<(V::Value, Self), NoteProblem> {
        let variant: de::value::StrDeserializer<'_, NoteProblem> = self.variant.into_deserializer();
        Ok((seed.deserialize(variant).map_err(|_| NoteProblem::UnknownName)?, self))
    }
}

impl<'f> de::VariantAccess<'f> for NoteReader<'f> {
    type Error = NoteProblem;

    fn unit_variant(self) -> Result<(), NoteProblem> {
        Err(NoteProblem::UnknownName)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'f>>(self, seed: T) -> Result<T::Value, NoteProblem> {
        seed.deserialize(MapAccessDeserializer::new(self))
    }

    fn tuple_variant<V: Visitor<'f>>(self, _length: usize, _visitor: V) -> Result<V::Value, NoteProblem> {
        Err(NoteProblem::UnknownName)
    }

    fn struct_variant<V: Visitor<'f>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NoteProblem> {
        visitor.visit_map(self)
    }
}

impl<'f> de::MapAccess<'f> for NoteReader<'f> {
    type Error = NoteProblem;

    fn next_key_seed<K: DeserializeSeed<'f>>(&mut self, seed: K) -> Result<Option<K::Value>, NoteProblem> {
        self.field = self.fields.next();
        self.field.map(|(name, _)| seed.deserialize(name.into_deserializer())).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'f>>(&mut self, seed: V) -> Result<V::Value, NoteProblem> {
        let Some((field, value)) = self.field else { return Err(NoteProblem::UnknownName) };
        seed.deserialize(ValueReader { field, value }).map_err(|problem| match problem {
            NoteProblem::UnknownField(_) => problem,
            _ => NoteProblem::InvalidField { field: field.to_owned(), value: value.to_string() },
        })
    }
}

/// The value of a field of a note.
struct ValueReader<'f> {
    field: &'f str,
    value: &'f Value,
}

impl<'de> Deserializer<'de> for ValueReader<'de> {
    type Error = NoteProblem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NoteProblem> {
        match self.value {
            Value::Text(text) => visitor.visit_str(text),
            Value::Number(number) => visitor.visit_i64(*number),
            Value::Bool(is_so) => visitor.visit_bool(*is_so),
            Value::List(texts) => visitor.visit_seq(SeqDeserializer::new(texts.iter().map(String::as_str))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NoteProblem> {
        visitor.visit_some(self)
    }

    /// The event does not have this field.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, NoteProblem> {
        Err(NoteProblem::UnknownField(self.field.to_owned()))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}

#[cfg(test)]
#[path = "subject_notes_tests.rs"]
mod tests;
