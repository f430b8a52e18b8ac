//! The fields of a request or of an effect: names and plain values, in the order in which the service set
//! them.

use std::fmt;

use compact_str::CompactString;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};

/// A plain value: what a field of a request, of an effect or of a condition can be.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number: amounts, versions, counts.
    Number(i64),
    /// Text.
    Text(CompactString),
    /// Several texts: the recipients of a mail.
    List(Vec<String>),
}

impl Value {
    /// Whether a condition on this field holds: `4999` and `"4999"` are the same, and a list meets a
    /// condition that names one of its members or, in any order, all of them.
    #[must_use]
    pub fn meets(&self, wanted: &Value) -> bool {
        match (self, wanted) {
            (Value::List(have), Value::List(want)) => {
                let (mut have, mut want) = (have.clone(), want.clone());
                have.sort();
                want.sort();
                have == want
            }
            (Value::List(have), single) => have.iter().any(|member| *member == single.to_string()),
            (single, Value::List(want)) => want.len() == 1 && single.to_string() == want[0],
            (have, want) => have == want || have.to_string() == want.to_string(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(value) => write!(f, "{value}"),
            Value::Text(value) => f.write_str(value),
            Value::List(values) => f.write_str(&values.join(", ")),
        }
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Number(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<Vec<String>> for Value {
    fn from(values: Vec<String>) -> Self {
        Value::List(values)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Plain;
        impl<'de> serde::de::Visitor<'de> for Plain {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a whole number, true, false or a list of texts")
            }
            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Number(value))
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
                i64::try_from(value).map(Value::Number).map_err(|_| E::custom("the number is too large"))
            }
            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(Value::Text(value.into()))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = seq.next_element::<String>()? {
                    values.push(value);
                }
                Ok(Value::List(values))
            }
        }
        deserializer.deserialize_any(Plain)
    }
}

/// The initial capacity of a set of fields.
const INITIAL_CAPACITY: usize = 8;

/// Named values, in order. A name occurs at most once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<(CompactString, Value)>);

impl Fields {
    /// No fields.
    #[must_use]
    pub const fn new() -> Self {
        Fields(Vec::new())
    }

    /// Sets a field; an earlier value of that name is replaced.
    pub fn set(&mut self, name: impl Into<CompactString>, value: impl Into<Value>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(have, _)| *have == name) {
            Some(slot) => slot.1 = value,
            None => {
                if self.0.is_empty() {
                    self.0.reserve_exact(INITIAL_CAPACITY);
                }
                self.0.push((name, value));
            }
        }
    }

    /// Sets a field and returns the fields, for building them in one expression.
    #[must_use]
    pub fn with(mut self, name: impl Into<CompactString>, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets a field if there is a value.
    #[must_use]
    pub fn with_some(self, name: impl Into<CompactString>, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(have, _)| have == name).map(|(_, value)| value)
    }

    /// All fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The number of fields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether these fields have every field of `wanted`, with a value that meets it.
    #[must_use]
    pub fn meet(&self, wanted: &Fields) -> bool {
        wanted.iter().all(|(name, value)| self.get(name).is_some_and(|have| have.meets(value)))
    }
}

impl Serialize for Fields {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Named;
        impl<'de> serde::de::Visitor<'de> for Named {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("names and plain values")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Fields::new();
                while let Some((name, value)) = map.next_entry::<CompactString, Value>()? {
                    fields.set(name, value);
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_meets_the_same_number_as_text() {
        assert!(Value::from(4999).meets(&Value::from("4999")));
        assert!(!Value::from(4999).meets(&Value::from("499")));
    }

    #[test]
    fn a_list_meets_one_of_its_members_and_all_of_them_in_any_order() {
        let have = Value::from(vec!["a@x".to_owned(), "b@x".to_owned()]);
        assert!(have.meets(&Value::from("b@x")));
        assert!(have.meets(&Value::from(vec!["b@x".to_owned(), "a@x".to_owned()])));
        assert!(!have.meets(&Value::from(vec!["b@x".to_owned()])));
    }

    #[test]
    fn a_condition_on_an_absent_field_is_not_met() {
        let have = Fields::new().with("order", "o1");
        assert!(have.meet(&Fields::new().with("order", "o1")));
        assert!(!have.meet(&Fields::new().with("customer", "c1")));
    }
}
