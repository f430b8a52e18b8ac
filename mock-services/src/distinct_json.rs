//! JSON in which no object has two members of one name: programs differ in which of two they take, so it is not
//! known what is meant.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Such a value. Reading another one is an error.
#[derive(Debug, Clone, PartialEq)]
pub struct DistinctJson(pub Value);

impl<'de> Deserialize<'de> for DistinctJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(DistinctJson)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((name, DistinctJson(value))) = map.next_entry::<String, DistinctJson>()? {
            if members.contains_key(&name) {
                return Err(A::Error::custom(format_args!("`{name}` occurs more than once in an object")));
            }
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(DistinctJson(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_members_of_one_name_are_an_error_at_any_depth_and_everything_else_is_read() {
        let read = |text| serde_json::from_str::<DistinctJson>(text);
        let text = r#"{"a": [{"b": 1.5, "c": null}, {"b": -1, "c": true}], "d": "e"}"#;
        assert_eq!(read(text).unwrap().0, serde_json::from_str::<Value>(text).unwrap());
        for text in [r#"{"a": 1, "a": 1}"#, r#"{"x": [{"a": 1, "b": {"a": 1}, "a": 2}]}"#] {
            let error = read(text).unwrap_err();
            assert!(error.is_data() && error.to_string().contains("`a` occurs more than once"), "{error}");
        }
        assert!(read("{").unwrap_err().is_eof());
    }
}
