//! The argument of a tool that takes labels, such as `metadata`: what the tool has no other argument for goes there.

use serde_json::{Map, Value as Json, json};

use super::arguments::{is_exact, is_synonym, last_name, types};
use super::tool_choice::words;
use crate::service::Value;

/// The names of arguments that hold labels.
const NAMES: [&str; 8] =
    ["metadata", "meta", "labels", "tags", "attributes", "annotations", "custom fields", "custom args"];

/// The fields of a step in the form in which this argument holds labels, and the names of those that it has a place for;
/// `None` if it holds none of them.
pub(super) fn labels<'s>(
    argument: &str,
    schema: &Json,
    fields: &[(&'s str, &Value)],
) -> Option<(Json, Vec<&'s str>)> {
    let name = words(argument).join(" ");
    if !NAMES.contains(&name.as_str()) {
        return None;
    }
    let kinds = types(schema);
    if kinds.is_empty() || kinds.contains(&"object") {
        return in_object(schema, fields);
    }
    let (all, held) = in_object(&Json::Null, fields)?;
    let items = schema.get("items").unwrap_or(&Json::Null);
    if kinds.contains(&"array") && types(items).contains(&"object") {
        return Some((pairs(&all, schema, items), held));
    }
    (kinds.contains(&"string") && name == "metadata").then(|| (json!(all.to_string()), held))
}

/// `{"order": "ord_1"}`: with the names that the schema has, or with those of the fields.
fn in_object<'s>(schema: &Json, fields: &[(&'s str, &Value)]) -> Option<(Json, Vec<&'s str>)> {
    let own = schema.get("properties").and_then(Json::as_object).filter(|names| !names.is_empty());
    if own.is_none() && schema.get("additionalProperties") == Some(&json!(false)) {
        return None;
    }
    let (mut object, mut held) = (Map::new(), Vec::new());
    for (field, value) in fields {
        let name = match own {
            None => Some(last_name(field)),
            Some(own) => {
                let exact = own.keys().find(|name| is_exact(name, field));
                exact.or_else(|| own.keys().find(|name| is_synonym(name, field))).map(String::as_str)
            }
        };
        if let Some(name) = name.filter(|name| !object.contains_key(*name)) {
            object.insert(name.to_owned(), json!(value.to_string()));
            held.push(*field);
        }
    }
    (!held.is_empty()).then_some((Json::Object(object), held))
}

/// `[{"name": "order", "value": "ord_1"}]`, or with `key`, if the schema or its description says so.
fn pairs(all: &Json, schema: &Json, items: &Json) -> Json {
    let is_declared = items.get("properties").is_some_and(|names| names.get("key").is_some());
    let about = schema.get("description").and_then(Json::as_str).unwrap_or_default();
    let name = if is_declared || about.contains("`key`") { "key" } else { "name" };
    let labels = all.as_object().into_iter().flatten();
    labels.map(|(label, value)| json!({ name: label, "value": value })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(argument: &str, schema: Json) -> Option<Json> {
        let (order, note) = (Value::from("ord_1001"), Value::from("gift"));
        labels(argument, &schema, &[("body.order", &order), ("note", &note)]).map(|(value, _)| value)
    }

    #[test]
    fn labels_have_the_form_that_the_schema_asks_for() {
        let both = json!({ "order": "ord_1001", "note": "gift" });
        let open = json!({ "type": "object", "additionalProperties": { "type": "string" } });
        assert_eq!(order("metadata", open), Some(both.clone()));
        assert_eq!(order("customFields", json!({})), Some(both.clone()));
        let optional = json!({ "anyOf": [{ "type": "object" }, { "type": "null" }] });
        assert_eq!(order("metadata", optional), Some(both.clone()));
        let named = json!({ "type": "object", "properties": { "order_id": {}, "channel": {} } });
        assert_eq!(order("metadata", named), Some(json!({ "order_id": "ord_1001" })));
        assert_eq!(order("metadata", json!({ "type": "string" })), Some(json!(both.to_string())));
        let pairs = json!({ "type": "array", "items": { "type": "object" } });
        let listed =
            |name: &str| json!([{ name: "note", "value": "gift" }, { name: "order", "value": "ord_1001" }]);
        assert_eq!(order("tags", pairs.clone()), Some(listed("name")));
        let mut keyed = pairs;
        keyed["description"] = json!("Labels, each with `key` and `value`.");
        assert_eq!(order("tags", keyed), Some(listed("key")));
    }

    #[test]
    fn an_argument_that_takes_no_labels_gets_none() {
        assert_eq!(order("options", json!({ "type": "object" })), None);
        assert_eq!(order("metadata", json!({ "type": "object", "additionalProperties": false })), None);
        assert_eq!(order("tags", json!({ "type": "array", "items": { "type": "string" } })), None);
        let named = json!({ "type": "object", "properties": { "channel": {} } });
        assert_eq!(order("metadata", named), None);
    }
}
