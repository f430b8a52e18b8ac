//! Whether the result of a read shows what an earlier call has made. What the call sent is what is looked for.

use serde_json::{Map, Value};

use super::arguments::SentValue;
use super::conversation::ToolResult;
use super::progress::is_error;
use super::tool_choice::words;
use crate::description::PlannedStep;
use crate::result_text::{is_error_object, is_without_content, last_value_in, value_in};

/// Whether the result of a read shows what a call for the step has made; `None` if the result does not say it.
pub(super) fn shows(result: &ToolResult, step: &PlannedStep, sent: &[SentValue]) -> Option<bool> {
    if is_without_content(&result.text) {
        return Some(false);
    }
    if says_not_found(&result.text) {
        return (!is_about_the_way(&result.text)).then_some(false);
    }
    if is_error(result) {
        return None;
    }
    let looked_for = LookedFor::new(sent);
    match value_in(&result.text).or_else(|| last_value_in(&result.text)) {
        Some(json) if has_only_empty_lists(&json) || says_not_done(&json, step) => Some(false),
        _ if looked_for.needed.is_empty() => None,
        Some(json) => Some(looked_for.is_shown_in(&json)),
        None => Some(looked_for.is_in_text(&result.text)),
    }
}

/// The values that a call has sent.
struct LookedFor<'a> {
    sent: &'a [SentValue],
    /// Those that every view of the object shows: labels and prose are missing in some.
    needed: Vec<&'a SentValue>,
}

impl<'a> LookedFor<'a> {
    fn new(sent: &'a [SentValue]) -> Self {
        let telling = || sent.iter().filter(|value| value.is_telling());
        let mut needed: Vec<&SentValue> =
            telling().filter(|value| !value.is_label && !value.is_prose()).collect();
        if needed.is_empty() {
            needed = telling().collect();
        }
        LookedFor { sent, needed }
    }

    fn has_needed(&self, text: &str) -> bool {
        self.needed.iter().all(|value| value.is_in(text))
    }

    /// Whether a text that is no JSON shows the object. It must have the labels, too: nothing else tells whose they are.
    fn is_in_text(&self, text: &str) -> bool {
        let labels = self.sent.iter().filter(|value| value.is_label && value.is_telling());
        self.has_needed(text) && labels.into_iter().all(|label| label.is_in(text))
    }

    /// Whether a value is the object, or holds it in a list.
    fn is_shown_in(&self, json: &Value) -> bool {
        match json {
            Value::Array(items) => items.iter().any(|item| self.is_shown_in(item)),
            Value::Object(object) => {
                let lists = lists_of_objects(json);
                let has_it = |item: &&Value| self.has_needed(&item.to_string());
                let mut holding = lists.iter().flat_map(|list| list.iter()).filter(has_it).peekable();
                if holding.peek().is_some() {
                    return holding.any(|item| self.is_shown_in(item));
                }
                // Where no item has all values, an object with none of its own is only around the list.
                let own = without_lists(json).to_string();
                let is_around = !lists.is_empty() && !self.needed.iter().any(|value| value.is_in(&own));
                !is_around && self.is_object(object)
            }
            value => self.is_in_text(&value.to_string()),
        }
    }

    fn is_object(&self, object: &Map<String, Value>) -> bool {
        let whole = Value::Object(object.clone());
        self.has_needed(&whole.to_string())
            && !is_error_object(object)
            && object.get("paid") != Some(&Value::Bool(false))
            && !self.sent.iter().any(|value| is_contradicted(value, &whole))
    }
}

/// Whether an object has another value than was sent, or the place for labels without the label.
fn is_contradicted(sent: &SentValue, object: &Value) -> bool {
    let mut has_other = false;
    let mut stack = vec![object];
    while let Some(value) = stack.pop() {
        match value {
            Value::Array(items) => stack.extend(items),
            Value::Object(fields) => {
                for (name, value) in fields {
                    let is_empty = value.is_null() || value.as_str() == Some("");
                    if sent.is_label_in(name) || (sent.is_named(name) && !is_empty && !value.is_object()) {
                        if sent.is_in(&value.to_string()) {
                            return false;
                        }
                        has_other = true;
                    }
                    stack.push(value);
                }
            }
            _ => {}
        }
    }
    has_other
}

/// The lists of objects in a value, without those within other lists.
fn lists_of_objects(json: &Value) -> Vec<&Vec<Value>> {
    match json {
        Value::Object(object) => object.values().flat_map(lists_of_objects).collect(),
        Value::Array(items) if items.iter().any(Value::is_object) => vec![items],
        _ => Vec::new(),
    }
}

fn without_lists(json: &Value) -> Value {
    match json {
        Value::Object(object) => {
            object.iter().map(|(name, value)| (name.clone(), without_lists(value))).collect()
        }
        Value::Array(items) if items.iter().any(Value::is_object) => Value::Null,
        value => value.clone(),
    }
}

/// Whether a value has lists, and all of them are empty: nothing was found.
fn has_only_empty_lists(json: &Value) -> bool {
    let Some(object) = json.as_object() else { return json.as_array().is_some_and(Vec::is_empty) };
    let mut lists = object.values().filter_map(Value::as_array).peekable();
    lists.peek().is_some() && lists.all(Vec::is_empty)
}

/// Whether a value says with a flag or an amount that the step was not done: `refunded: false`,
/// `amount_refunded: 0`.
fn says_not_done(json: &Value, step: &PlannedStep) -> bool {
    let verb = step.operation.split_once('.').map_or("", |(_, verb)| verb);
    let done = if verb.ends_with('e') { format!("{verb}d") } else { format!("{verb}ed") };
    let is_no = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        _ => false,
    };
    match json {
        Value::Object(object) => object
            .iter()
            .any(|(name, value)| (is_no(value) && words(name).contains(&done)) || says_not_done(value, step)),
        Value::Array(items) => !items.is_empty() && items.iter().all(|item| says_not_done(item, step)),
        _ => false,
    }
}

fn says_not_found(text: &str) -> bool {
    const WORDS: [&str; 5] = ["not found", "no such", "nothing found", "no results", "does not exist"];
    let text = text.to_ascii_lowercase();
    WORDS.iter().any(|words| text.contains(words))
}

/// Whether a text is about the way to the object, not about the object: a session, a tool or a server was not found. In
/// JSON only the words before `not found` say it, because others can be those of the object.
fn is_about_the_way(text: &str) -> bool {
    const WAYS: [&str; 12] = [
        "session",
        "tool",
        "server",
        "endpoint",
        "host",
        "method",
        "function",
        "command",
        "module",
        "route",
        "url",
        "connection",
    ];
    let is_way = |text: &str| words(text).iter().rev().take(3).any(|word| WAYS.contains(&word.as_str()));
    if value_in(text).is_some() {
        let text = text.to_ascii_lowercase();
        return text.match_indices("not found").any(|(at, _)| is_way(&text[..at]));
    }
    words(text).iter().any(|word| WAYS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::arguments::map_arguments;
    use crate::model::conversation::{CallForm, OfferedTool};
    use crate::service::Fields;
    use serde_json::json;

    fn shown(step: &PlannedStep, properties: Value, text: &str) -> Option<bool> {
        let schema = json!({ "type": "object", "properties": properties });
        let tool = OfferedTool {
            name: "make".to_owned(),
            description: String::new(),
            schema,
            form: CallForm::Function,
        };
        let sent = map_arguments(step, &tool).unwrap().sent;
        let result = ToolResult { call: "c".to_owned(), text: text.to_owned(), is_error: false };
        shows(&result, step, &sent)
    }

    fn step(operation: &str, fields: Fields) -> PlannedStep {
        PlannedStep { operation: operation.to_owned(), fields, nouns: Vec::new() }
    }

    #[test]
    fn a_read_shows_what_was_made_only_with_all_values_of_the_step() {
        let step = step("payment.refund", Fields::new().with("charge", "ch_1").with("amount", 4999));
        let shown = |text: &str| shown(&step, json!({ "charge": {}, "amount": {} }), text);
        assert_eq!(shown("[{\"charge\": \"ch_1\", \"amount\": 4999}]"), Some(true));
        assert_eq!(shown("[{\"charge\": \"ch_2\", \"amount\": 4999}]"), Some(false));
        assert_eq!(shown("{\"charge\": \"ch_1\", \"data\": []}"), Some(false));
        assert_eq!(shown("{\"id\": \"ch_1\", \"amount\": 4999, \"refunded\": false}"), Some(false));
        assert_eq!(shown("{\"id\": \"ch_1\", \"amount\": 4999, \"amount_refunded\": 4999}"), Some(true));
        assert_eq!(shown("No such charge"), Some(false));
        let failed = "{\"charge\": \"ch_1\", \"amount\": 4999, \"status\": \"failed\"}";
        let made = "{\"charge\": \"ch_1\", \"amount\": 4999, \"status\": \"succeeded\"}";
        assert_eq!(shown(&format!("{{\"data\": [{failed}]}}")), Some(false));
        assert_eq!(shown(&format!("{{\"data\": [{failed}, {made}]}}")), Some(true));
        // The values of two objects are not those of one.
        let two = "[{\"charge\": \"ch_1\", \"amount\": 1}, {\"charge\": \"ch_2\", \"amount\": 4999}]";
        assert_eq!(shown(two), Some(false));
        assert_eq!(shown(&format!("{{\"status\": 200, \"body\": {{\"data\": {two}}}}}")), Some(false));
        assert_eq!(shown("{\"error\": \"not found\"}"), Some(false));
        assert_eq!(shown("{\"error\": \"timeout\"}"), None);
    }

    #[test]
    fn what_the_call_did_not_send_is_not_looked_for() {
        let fields = Fields::new().with("customer", "cus_42").with("amount", 4999).with("order", "ord_1001");
        let step = step("payment.charge", fields);
        let listed = |metadata: Value| {
            json!({ "data": [{ "customer": "cus_42", "amount": 4999, "metadata": metadata }] }).to_string()
        };
        let (own, none) = (listed(json!({ "order": "ord_1001" })), listed(json!({})));
        let other = listed(json!({ "order": "ord_0999" }));
        let plain = json!({ "customer": {}, "amount": {} });
        for text in [&own, &none] {
            assert_eq!(shown(&step, plain.clone(), text), Some(true), "{text}");
        }
        let labeled = json!({ "customer": {}, "amount": {}, "metadata": { "type": "object" } });
        let with_labels = |text: &str| shown(&step, labeled.clone(), text);
        assert_eq!(with_labels(&own), Some(true));
        assert_eq!((with_labels(&none), with_labels(&other)), (Some(false), Some(false)));
        // A read that has no place for labels.
        assert_eq!(with_labels("[{\"customer\": \"cus_42\", \"amount\": 4999}]"), Some(true));
        assert_eq!(with_labels("cus_42 paid 4999 for ord_0999"), Some(false));
        let dollars = json!({ "customer": {}, "amount_dollars": {} });
        assert_eq!(shown(&step, dollars.clone(), "cus_42 49.99"), Some(true));
        assert_eq!(shown(&step, dollars, &own), Some(true));
    }

    #[test]
    fn a_list_of_mails_need_not_have_their_texts() {
        let fields = Fields::new()
            .with("to", "ann@x.example")
            .with("subject", "Your receipt")
            .with("text", "Thank you.");
        let step = step("email.send", fields.with("order", "ord_1"));
        let properties = json!({ "to": { "type": "array" }, "subject": {}, "text": {},
            "tags": { "type": "array", "items": { "type": "object" } } });
        let shown = |text: &str| shown(&step, properties.clone(), text);
        let mail =
            |subject: &str| json!({ "messages": [{ "to_email": "ann@x.example", "subject": subject }] });
        assert_eq!(shown(&mail("Your receipt").to_string()), Some(true));
        assert_eq!(shown(&mail("Welcome").to_string()), Some(false));
    }

    #[test]
    fn that_a_session_or_a_tool_is_not_found_says_nothing_about_the_object() {
        let step = step("payment.charge", Fields::new().with("customer", "cus_42"));
        for text in [
            "Error POSTing to endpoint (HTTP 404): Session not found",
            "Tool list_charges not found",
            r#"{"error": "MCP: {\"code\": -32001, \"message\": \"Session not found\"}"}"#,
        ] {
            assert_eq!(shown(&step, json!({ "customer": {} }), text), None, "{text}");
        }
    }
}
