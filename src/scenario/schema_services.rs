//! The schema of `services`.

use mock_services::catalog::{self, OptionType, ServiceDescription};
use mock_services::idempotency::Profile;
use serde_json::{Map, Value, json};

use mock_services::yaml::shape::Shape;

/// The services with their options; services of the user name their file.
pub(super) fn services() -> Value {
    let set_up = |service: &ServiceDescription| {
        let options = service.options.iter().map(|(name, option)| (*name, option_type(option)));
        let all = [("idempotency", idempotency()), ("hosts", list(text()))].into_iter().chain(options);
        json!({ "anyOf": [object(all, &[]), { "type": "null" }, reference("name")] })
    };
    let properties: Map<String, Value> =
        catalog::services().iter().map(|service| (service.name.clone(), set_up(service))).collect();
    let own = object([("idempotency", idempotency()), ("hosts", list(text())), ("file", text())], &["file"]);
    or_name(json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": or_name(own),
    }))
}

/// The schema of an option. A name of the matrix can stand for its value.
fn option_type(option: &OptionType) -> Value {
    match option {
        OptionType::Any => json!(true),
        OptionType::Text => text(),
        OptionType::Flag => flag(),
        OptionType::Whole(Some(least)) => whole(*least),
        OptionType::Whole(None) => or_name(json!({ "type": "integer" })),
        OptionType::Word(words) => word(words.iter().copied()),
        OptionType::After => reference("after"),
        OptionType::List(items) => list(option_type(items)),
        OptionType::MapOf(values) | OptionType::ByOperation(values) => map_of(option_type(values)),
        OptionType::Object { .. } => or_name(one_of_several(option)),
        OptionType::OneOf(options) => {
            json!({ "anyOf": options.iter().map(one_of_several).collect::<Vec<_>>() })
        }
    }
}

/// The schema of one of several types; a name of the matrix is allowed by another one of them.
fn one_of_several(option: &OptionType) -> Value {
    match option {
        OptionType::Object { keys, required } => {
            object(keys.iter().map(|(name, option)| (*name, option_type(option))), required)
        }
        other => option_type(other),
    }
}

fn idempotency() -> Value {
    let profile = || word(Profile::ALL.map(Profile::as_str));
    let with_lifetime = object([("profile", profile()), ("lifetime", reference("after"))], &["profile"]);
    json!({ "anyOf": [profile(), with_lifetime] })
}

fn object<'a>(keys: impl IntoIterator<Item = (&'a str, Value)>, required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        keys.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn or_name(value: Value) -> Value {
    json!({ "anyOf": [value, reference("name")] })
}

fn reference(name: &'static str) -> Value {
    Shape::Ref(name).schema(true)
}

fn text() -> Value {
    Shape::Text.schema(true)
}

fn flag() -> Value {
    Shape::Flag.schema(true)
}

fn whole(min: u32) -> Value {
    or_name(json!({ "type": "integer", "minimum": min }))
}

fn list(items: Value) -> Value {
    or_name(json!({ "type": "array", "items": items }))
}

fn map_of(values: Value) -> Value {
    or_name(json!({ "type": "object", "additionalProperties": values }))
}

fn word<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    let words: Vec<&str> = words.into_iter().collect();
    or_name(json!({ "enum": words }))
}
