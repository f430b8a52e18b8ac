//! How far the conversation is with one step of the task: which calls were made for it, and what came back.

use serde_json::{Map, Value};

use super::arguments::{is_call_for, telling_values};
use super::conversation::{Question, ToolCall, ToolResult};
use super::tool_choice::{is_read, words};
use crate::description::PlannedStep;
use crate::result_text::{ResultText, is_error_object, is_without_content, value_in};

/// How far a step is.
#[derive(Debug, PartialEq)]
pub(super) enum StepState<'a> {
    /// The conversation shows no call.
    NotCalled,
    /// A call succeeded, or a read shows that it did.
    Done,
    /// No call succeeded.
    Failed(FailedStep<'a>),
}

/// A step without a call that succeeded.
#[derive(Debug, PartialEq)]
pub(super) struct FailedStep<'a> {
    /// How many calls were made.
    pub(super) attempts: u32,
    /// The last call.
    pub(super) last: &'a ToolCall,
    /// Whether a read after the last call shows that nothing was made; `None` if there was no such read.
    pub(super) is_absent: Option<bool>,
}

/// What identifies the calls for a step.
pub(super) struct StepCalls<'a> {
    pub(super) step: &'a PlannedStep,
    /// The name of the tool.
    pub(super) tool: &'a str,
    /// The values of its arguments, in each form in which the model sends them.
    pub(super) values: Vec<Map<String, Value>>,
    /// How many equal steps are before this one: each has a successful call of its own.
    pub(super) equal_before: usize,
}

/// How far a step is.
pub(super) fn state_of<'a>(question: &'a Question, wanted: &StepCalls<'_>) -> StepState<'a> {
    let calls: Vec<&ToolCall> = question.calls().collect();
    let (mut attempts, mut successes) = (0, 0);
    let mut last = None;
    for (place, call) in calls.iter().enumerate() {
        let is_same = |values: &Map<String, Value>| is_call_for(values, &call.arguments);
        if call.name != wanted.tool || !wanted.values.iter().any(is_same) {
            continue;
        }
        let is_done = question.result_of(&call.id).is_some_and(|result| !is_error(result));
        if is_done && successes == wanted.equal_before {
            return StepState::Done;
        }
        if is_done {
            // It belongs to an equal step before this one, with all attempts up to it.
            (successes, attempts, last) = (successes + 1, 0, None);
        } else {
            attempts += 1;
            last = Some((place, *call));
        }
    }
    let Some((place, last)) = last else { return StepState::NotCalled };
    let reads = calls.iter().skip(place + 1).filter(|call| is_read(&call.name));
    let shown = reads.filter_map(|call| shows(question.result_of(&call.id)?, wanted.step)).next_back();
    match shown {
        Some(true) => StepState::Done,
        shown => StepState::Failed(FailedStep { attempts, last, is_absent: shown.map(|shown| !shown) }),
    }
}

/// Whether the result of a read shows what the step makes; `None` if the read failed.
fn shows(result: &ToolResult, step: &PlannedStep) -> Option<bool> {
    if is_not_found(&result.text) {
        return Some(false);
    }
    if is_error(result) {
        return None;
    }
    let json = value_in(&result.text);
    if json.as_ref().is_some_and(|json| has_only_empty_lists(json) || says_not_done(json, step)) {
        return Some(false);
    }
    let values = telling_values(&step.fields);
    let has_all = |text: &str| values.iter().all(|value| text.contains(value.as_str()));
    Some(
        !values.is_empty() && json.map_or_else(|| has_all(&result.text), |json| is_shown_in(&json, &has_all)),
    )
}

/// Whether a value shows what has all values of a step: an object that did not fail, or one in a list.
fn is_shown_in(json: &Value, has_all: &dyn Fn(&str) -> bool) -> bool {
    if !has_all(&json.to_string()) {
        return false;
    }
    let items = |list: &[Value]| list.iter().any(|item| is_shown_in(item, has_all));
    match json {
        Value::Array(list) => items(list),
        Value::Object(object) => {
            let mut lists = object.values().filter_map(Value::as_array);
            // Where one item of a list has all values, the object is only around it.
            match lists.find(|list| list.iter().any(|item| item.is_object() && has_all(&item.to_string()))) {
                Some(list) => items(list),
                None => !is_error_object(object) && object.get("paid") != Some(&Value::Bool(false)),
            }
        }
        _ => true,
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

fn is_not_found(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let text = text.trim();
    is_without_content(text)
        || text == "none"
        || ["not found", "no such", "nothing found", "no results", "does not exist"]
            .iter()
            .any(|words| text.contains(words))
}

/// Whether the result of a tool is an error: it is marked as one, or its text says so. A text that says neither is
/// taken for one, unless it is empty: a tool without a return value has such a result.
pub(super) fn is_error(result: &ToolResult) -> bool {
    result.is_error
        || match ResultText::of(&result.text) {
            ResultText::Success => false,
            ResultText::Error => true,
            ResultText::Unclear => !is_without_content(&result.text),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Fields;
    use serde_json::json;

    fn result(text: &str) -> ToolResult {
        ToolResult { call: "c".to_owned(), text: text.to_owned(), is_error: false }
    }

    #[test]
    fn a_result_is_an_error_if_it_is_marked_as_one_or_its_text_says_so() {
        for text in ["Error: connection reset", "{'error': 'HTTP error: 500'}", "The error report was filed"]
        {
            assert!(is_error(&result(text)), "{text}");
        }
        // A tool without a return value.
        for text in ["charged 4999", "{\"status\": 201}", "", "{}", "null", "None", "[]", "\"\""] {
            assert!(!is_error(&result(text)), "{text}");
        }
        assert!(is_error(&ToolResult { is_error: true, ..result("fine") }));
    }

    #[test]
    fn the_same_exception_is_an_error_as_its_message_and_as_its_traceback() {
        let trace = "Traceback (most recent call last):\n  File \"/app/agent.py\", line 41, in charge\n    \
                     return client.charges.create(customer=customer, amount=amount, currency=currency, \
                     metadata={\"order\": order}, idempotency_key=None, expand=[\"customer\", \"balance\"])\n  \
                     File \"/app/client.py\", line 7, in create\n    raise Reset(\"reset\")\nclient.Reset: reset\n";
        for text in ["ConnectionError: reset", trace] {
            assert!(is_error(&result(text)), "{text}");
        }
    }

    #[test]
    fn a_read_shows_what_was_made_only_with_all_values_of_the_step() {
        let fields = Fields::new().with("charge", "ch_1").with("amount", 4999);
        let step = PlannedStep { operation: "payment.refund".to_owned(), fields, nouns: Vec::new() };
        let shown = |text: &str| shows(&result(text), &step);
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
        assert_eq!(
            shown("[{\"charge\": \"ch_1\", \"amount\": 1}, {\"charge\": \"ch_2\", \"amount\": 4999}]"),
            Some(false)
        );
        assert_eq!(shown("{\"error\": \"not found\"}"), Some(false));
        assert_eq!(shown("{\"error\": \"timeout\"}"), None);
    }

    #[test]
    fn only_the_values_of_the_step_identify_its_calls() {
        let values = json!({ "charge": "ch_1", "amount": 4999 });
        let values = values.as_object().unwrap();
        assert!(is_call_for(values, &json!({ "charge": "ch_1", "amount": "4999", "reason": "x" })));
        assert!(!is_call_for(values, &json!({ "charge": "ch_2", "amount": 4999 })));
        assert!(!is_call_for(values, &json!({ "charge": "ch_1" })));
    }
}
