//! The arguments of a tool call: which field of a step goes into which argument of a tool.

use serde_json::{Map, Value as Json, json};

use super::conversation::OfferedTool;
use super::labels::labels;
use super::tool_choice::{is_same_word, words};
use crate::description::PlannedStep;
use crate::service::{Fields, Value};

/// The arguments of a call that come from a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct MappedArguments {
    /// The arguments with values of the step.
    pub(super) values: Map<String, Json>,
    /// The values of the step that are in them.
    pub(super) sent: Vec<SentValue>,
    /// The argument for an idempotency key.
    pub(super) key: Option<String>,
    /// The required arguments for free text that the step does not have.
    pub(super) free_text: Vec<String>,
    /// The optional ones.
    pub(super) optional_text: Vec<String>,
}

/// A value of a step in the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentValue {
    /// The field of the step, without the names before it.
    field: String,
    /// The argument that holds it.
    argument: String,
    /// Whether the argument takes labels.
    pub(super) is_label: bool,
    /// The value as the step has it: its items, if it is a list.
    planned: Vec<String>,
    /// The value as the call sends it.
    sent: String,
}

/// Words for one thing: an argument of a tool and a field of a step match if they have words of the same row.
const SYNONYMS: [&[&str]; 10] = [
    &["to", "recipient", "email", "address"],
    &["text", "body", "content", "html", "message"],
    &["subject", "title"],
    &["amount", "cents", "dollars", "total", "price", "value"],
    &["order", "reference"],
    &["version", "ref", "tag", "sha", "commit"],
    &["environment", "env", "target", "stage"],
    &["service", "app", "application", "repository", "repo", "project"],
    &["charge", "payment"],
    &["customer", "user", "account"],
];

/// Words at the end of a name that do not say what it is.
const NOT_NOUNS: [&str; 5] = ["id", "cents", "dollars", "euros", "name"];

/// The names of arguments that hold free text.
const FREE_TEXT: [&str; 9] =
    ["reason", "note", "notes", "memo", "comment", "description", "message", "explanation", "summary"];

/// Maps the fields of a step to the arguments of a tool; what has no argument of its own goes into the one for labels.
/// The error names the required arguments that the step
/// does not have.
pub(super) fn map_arguments(step: &PlannedStep, tool: &OfferedTool) -> Result<MappedArguments, Vec<String>> {
    let empty = Map::new();
    let properties = tool.schema.get("properties").and_then(Json::as_object).unwrap_or(&empty);
    let required: Vec<&str> = tool
        .schema
        .get("required")
        .and_then(Json::as_array)
        .map(|names| names.iter().filter_map(Json::as_str).collect())
        .unwrap_or_default();
    let mut arguments = MappedArguments::default();
    let mut used: Vec<&str> = Vec::new();
    // Exact names first, so that no synonym takes a field that has an argument of its own.
    for exact in [true, false] {
        for (name, schema) in properties {
            if arguments.values.contains_key(name) || is_key(name) {
                continue;
            }
            let field = step.fields.iter().find(|(field, _)| {
                !used.contains(field) && if exact { is_exact(name, field) } else { is_synonym(name, field) }
            });
            if let Some((field, value)) = field {
                used.push(field);
                let converted = converted(value, name, schema);
                arguments.sent.push(SentValue::new(field, value, name, &converted));
                arguments.values.insert(name.clone(), converted);
            }
        }
    }
    for (name, schema) in properties {
        if arguments.values.contains_key(name) {
            continue;
        }
        let rest: Vec<(&str, &Value)> =
            step.fields.iter().filter(|(field, _)| !used.contains(field)).collect();
        if let Some((all, held)) = labels(name, schema, &rest) {
            let held: Vec<(&str, &Value)> =
                rest.into_iter().filter(|(field, _)| held.contains(field)).collect();
            for (field, value) in held {
                used.push(field);
                let sent = SentValue::new(field, value, name, &json!(value.to_string()));
                arguments.sent.push(SentValue { is_label: true, ..sent });
            }
            arguments.values.insert(name.clone(), all);
        }
    }
    let mut missing = Vec::new();
    for (name, schema) in properties {
        let is_required = required.contains(&name.as_str());
        if is_key(name) {
            arguments.key = arguments.key.or_else(|| Some(name.clone()));
        } else if arguments.values.contains_key(name) {
            // It has a value of the step.
        } else if let Some(only) = only_value(schema).filter(|_| is_required) {
            arguments.values.insert(name.clone(), only);
        } else if is_free_text(name) {
            let list = if is_required { &mut arguments.free_text } else { &mut arguments.optional_text };
            list.push(name.clone());
        } else if is_required {
            missing.push(name.clone());
        }
    }
    let undeclared = required.iter().filter(|name| !properties.contains_key(**name));
    missing.extend(undeclared.map(|name| (*name).to_owned()));
    if missing.is_empty() { Ok(arguments) } else { Err(missing) }
}

impl MappedArguments {
    /// Whether a value of the step has an argument of its own.
    pub(super) fn has_own_value(&self) -> bool {
        self.sent.iter().any(|sent| !sent.is_label)
    }
}

impl SentValue {
    fn new(field: &str, value: &Value, argument: &str, converted: &Json) -> Self {
        SentValue {
            field: last_name(field).to_owned(),
            argument: argument.to_owned(),
            is_label: false,
            planned: match value {
                Value::List(items) => items.clone(),
                value => vec![value.to_string()],
            },
            sent: plain(converted),
        }
    }

    /// Whether a text has the value.
    pub(super) fn is_in(&self, text: &str) -> bool {
        let has = |value: &String| {
            let quoted = Json::from(value.as_str()).to_string();
            text.contains(value.as_str()) || text.contains(&quoted[1..quoted.len() - 1])
        };
        has(&self.sent) || self.planned.iter().all(has)
    }

    /// Whether a text that has the value hardly has it by chance.
    pub(super) fn is_telling(&self) -> bool {
        self.planned.iter().all(|value| value.len() >= 3)
    }

    /// Whether the value is prose, which a list may leave out.
    pub(super) fn is_prose(&self) -> bool {
        self.planned.iter().any(|value| value.contains(char::is_whitespace))
    }

    /// Whether a name in a result is that of the value: the name of the field or of the argument.
    pub(super) fn is_named(&self, name: &str) -> bool {
        if self.is_label {
            is_exact(name, &self.field)
        } else {
            name == self.argument || is_exact(name, &self.field)
        }
    }

    /// Whether a name in a result is that of the argument that takes the labels.
    pub(super) fn is_label_in(&self, name: &str) -> bool {
        self.is_label && name == self.argument
    }
}

/// The values of a step that the arguments of a call have.
pub(super) fn sent_in(step: &PlannedStep, arguments: &Json) -> Vec<SentValue> {
    let arguments = || arguments.as_object().into_iter().flatten();
    let sent = step.fields.iter().filter_map(|(field, value)| {
        let planned = SentValue::new(field, value, "", &json!(value.to_string()));
        let holds = |held: &Json| planned.is_in(&held.to_string());
        let own = arguments().find(|(name, held)| is_exact(name, field) && holds(held));
        let (name, held) = own.or_else(|| arguments().find(|(_, held)| holds(held)))?;
        let sent = SentValue::new(field, value, name, held);
        Some(SentValue { is_label: held.is_object() || held.is_array() && !is_exact(name, field), ..sent })
    });
    sent.collect()
}

/// The name of a field without the names before it: `order` of `body.order`.
pub(super) fn last_name(field: &str) -> &str {
    field.rsplit('.').next().unwrap_or(field)
}

/// Whether an argument is for an idempotency key.
pub(super) fn is_key(name: &str) -> bool {
    let words = words(name);
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    has("idempotency") || has("idempotence") || (has("request") && has("key")) || (has("dedup") && has("key"))
}

fn is_free_text(name: &str) -> bool {
    words(name).iter().any(|word| FREE_TEXT.contains(&word.as_str()))
}

/// Whether a name is that of the field, or of the field with `id` after it: `order` and `order_id`.
pub(super) fn is_exact(argument: &str, field: &str) -> bool {
    let field = last_name(field);
    let without_id = |name: &str| -> Vec<String> {
        let mut words = words(name);
        if words.len() > 1 && words.last().is_some_and(|word| word == "id") {
            words.pop();
        }
        words
    };
    without_id(argument) == without_id(field)
}

/// Whether the last words of both, without `id` and units, are the same or mean the same: `refund_amount` and
/// `amount`, `recipient_email` and `to`.
pub(super) fn is_synonym(argument: &str, field: &str) -> bool {
    let last = |name: &str| {
        let mut words = words(last_name(name));
        while words.len() > 1 && words.last().is_some_and(|word| NOT_NOUNS.contains(&word.as_str())) {
            words.pop();
        }
        words.pop().unwrap_or_default()
    };
    let (argument, field) = (last(argument), last(field));
    let is_in = |word: &str, row: &[&str]| row.iter().any(|wanted| is_same_word(word, wanted));
    is_same_word(&argument, &field) || SYNONYMS.iter().any(|row| is_in(&argument, row) && is_in(&field, row))
}

/// The only value that a schema allows.
fn only_value(schema: &Json) -> Option<Json> {
    if let Some(only) = schema.get("const").or_else(|| schema.get("default")) {
        return Some(only.clone());
    }
    match schema.get("enum").and_then(Json::as_array)?.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// A value in the type that the schema asks for, and in the unit that the name of the argument has: amounts
/// of steps are in cents.
fn converted(value: &Value, name: &str, schema: &Json) -> Json {
    let is_in_whole_units = words(name).iter().any(|word| word == "dollars" || word == "euros");
    if let (true, Value::Number(cents)) = (is_in_whole_units, value) {
        let rest = cents % 100;
        return if rest == 0 {
            json!(cents / 100)
        } else {
            json!(format!("{}.{rest:02}", cents / 100).parse::<f64>().unwrap_or_default())
        };
    }
    let types = types(schema);
    let wants = |name: &str| types.contains(&name);
    match value {
        Value::Number(number) if wants("string") && !wants("integer") && !wants("number") => {
            json!(number.to_string())
        }
        Value::Text(text) if wants("array") && !wants("string") => json!([text.as_str()]),
        Value::Text(text) if (wants("integer") || wants("number")) && !wants("string") => {
            text.parse::<i64>().map_or_else(|_| json!(text.as_str()), Json::from)
        }
        Value::List(list) if wants("string") && !wants("array") => json!(list.join(", ")),
        value => serde_json::to_value(value).unwrap_or_default(),
    }
}

/// The types that a schema allows, also as alternatives: `anyOf: [{type: string}, {type: null}]`.
pub(super) fn types(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
        _ => {
            let lists = ["anyOf", "oneOf"].iter().filter_map(|name| schema.get(*name)?.as_array());
            lists.flatten().filter_map(|one| one.get("type")?.as_str()).collect()
        }
    }
}

/// Whether a call has the values that a step gives a tool; keys and free text do not matter.
pub(super) fn is_call_for(values: &Map<String, Json>, call: &Json) -> bool {
    let is_same = |have: &Json, want: &Json| have == want || plain(have) == plain(want);
    values.iter().all(|(name, want)| call.get(name).is_some_and(|have| is_same(have, want)))
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The values of a step that identify it in a text: all texts and numbers with at least three characters.
pub(super) fn telling_values(fields: &Fields) -> Vec<String> {
    let values = fields.iter().map(|(_, value)| value.to_string());
    values.filter(|value| value.len() >= 3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::conversation::CallForm;

    fn step(fields: Fields) -> PlannedStep {
        PlannedStep { operation: "payment.charge".to_owned(), fields, nouns: Vec::new() }
    }

    fn tool(properties: Json, required: &[&str]) -> OfferedTool {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        OfferedTool {
            name: "charge".to_owned(),
            description: String::new(),
            schema,
            form: CallForm::Function,
        }
    }

    fn values(fields: Fields, properties: Json, required: &[&str]) -> Json {
        Json::Object(map_arguments(&step(fields), &tool(properties, required)).unwrap().values)
    }

    #[test]
    fn a_field_goes_into_the_argument_with_its_name_or_one_that_means_the_same() {
        let fields = Fields::new().with("customer", "cus_42").with("amount", 4999).with("order", "ord_1");
        let properties = json!({
            "customer_id": { "type": "string" },
            "refund_amount": { "type": "integer" },
            "reference": { "type": "string" },
            "currency": { "type": "string" },
        });
        assert_eq!(
            values(fields, properties, &["customer_id", "refund_amount"]),
            json!({ "customer_id": "cus_42", "refund_amount": 4999, "reference": "ord_1" })
        );
        let mail = Fields::new().with("to", "ann@x.example").with("customer", "cus_42").with("text", "Hello");
        let properties = json!({ "customer_email": {}, "email_body": {}, "customer": {} });
        assert_eq!(
            values(mail, properties, &["customer_email"]),
            json!({ "customer_email": "ann@x.example", "email_body": "Hello", "customer": "cus_42" })
        );
    }

    #[test]
    fn a_value_has_the_type_that_the_schema_asks_for() {
        let converted = |value: Value, schema: Json| super::converted(&value, "x", &schema);
        assert_eq!(converted(Value::from(4999), json!({ "type": "string" })), json!("4999"));
        assert_eq!(converted(Value::from("4999"), json!({ "type": "integer" })), json!(4999));
        assert_eq!(converted(Value::from("a"), json!({ "type": "array" })), json!(["a"]));
        assert_eq!(converted(Value::from(vec!["a".to_owned()]), json!({ "type": "array" })), json!(["a"]));
        let optional = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
        assert_eq!(converted(Value::from(7), optional), json!("7"));
        assert_eq!(super::converted(&Value::from(4999), "amount_dollars", &json!({})), json!(49.99));
        assert_eq!(super::converted(&Value::from(5000), "amount_dollars", &json!({})), json!(50));
    }

    #[test]
    fn keys_and_free_text_are_not_values_of_the_step() {
        let fields = Fields::new().with("customer", "cus_42");
        let properties = json!({
            "customer": {}, "idempotency_key": {}, "reason": {}, "note": {}, "mode": { "enum": ["live"] },
        });
        let mapped = map_arguments(
            &step(fields),
            &tool(properties, &["customer", "idempotency_key", "reason", "mode"]),
        )
        .unwrap();
        assert_eq!(mapped.key.as_deref(), Some("idempotency_key"));
        assert_eq!(
            (mapped.free_text, mapped.optional_text),
            (vec!["reason".to_owned()], vec!["note".to_owned()])
        );
        assert_eq!(Json::Object(mapped.values), json!({ "customer": "cus_42", "mode": "live" }));
    }

    #[test]
    fn required_arguments_that_the_step_does_not_have_are_named() {
        let fields = Fields::new().with("customer", "cus_42");
        let properties = json!({ "customer": {}, "cvc": {} });
        let missing =
            map_arguments(&step(fields), &tool(properties, &["customer", "cvc", "pin"])).unwrap_err();
        assert_eq!(missing, ["cvc", "pin"]);
    }
}
