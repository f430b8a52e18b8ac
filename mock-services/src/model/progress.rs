//! How far the conversation is with one step of the task: which calls were made for it, and what came back.

use super::arguments::{MappedArguments, SentValue, is_call_for, is_exact, sent_in, telling_values};
use super::conversation::{Question, ToolCall, ToolResult};
use super::finding_tools::searches_tools;
use super::shown::shows;
use super::tool_choice::{fits_name, is_read};
use crate::description::PlannedStep;
use crate::result_text::{ResultText, is_without_content};

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
    /// The last call; `None` if only a summary reports it.
    pub(super) last: Option<&'a ToolCall>,
    /// Whether a read after the last call shows that nothing was made; `None` if there was no such read.
    pub(super) is_absent: Option<bool>,
}

/// What identifies the calls for a step.
pub(super) struct StepCalls<'a> {
    pub(super) step: &'a PlannedStep,
    /// The name of the tool, and its arguments in each form in which the model sends them; `None` if the request does not
    /// offer the tool any longer.
    pub(super) tool: Option<(&'a str, Vec<MappedArguments>)>,
    /// How many calls a summary reports that are not in the conversation.
    pub(super) reported: u32,
    /// How many equal steps are before this one: each has a successful call of its own.
    pub(super) equal_before: usize,
}

impl StepCalls<'_> {
    /// The values of the step that a call has sent; `None` if the call is not for the step.
    fn sent_by(&self, call: &ToolCall) -> Option<Vec<SentValue>> {
        let Some((tool, arguments)) = &self.tool else {
            return is_like_call_for(self.step, call).then(|| sent_in(self.step, &call.arguments));
        };
        let is_sent = |arguments: &&MappedArguments| is_call_for(&arguments.values, &call.arguments);
        arguments.iter().find(is_sent).filter(|_| call.name == *tool).map(|arguments| arguments.sent.clone())
    }
}

/// Whether a call of a tool that the request does not offer is for a step: its name fits, it has values of the step, and
/// no argument with the name of a field has another value.
fn is_like_call_for(step: &PlannedStep, call: &ToolCall) -> bool {
    let text = call.arguments.to_string();
    let has_value = telling_values(&step.fields).iter().any(|value| text.contains(value.as_str()));
    let is_other = |(name, value): (&String, &serde_json::Value)| {
        let field = step.fields.iter().find(|(field, _)| is_exact(name, field));
        field.is_some_and(|(_, wanted)| !value.to_string().contains(&wanted.to_string()))
    };
    !is_read(&call.name)
        && fits_name(step, &call.name)
        && has_value
        && !call.arguments.as_object().is_some_and(|arguments| arguments.iter().any(is_other))
}

/// How far a step is.
pub(super) fn state_of<'a>(question: &'a Question, wanted: &StepCalls<'_>) -> StepState<'a> {
    let calls: Vec<&ToolCall> = question.calls().collect();
    let (mut attempts, mut successes) = (wanted.reported, 0);
    let own = wanted.tool.as_ref().and_then(|(_, arguments)| arguments.first());
    let own = own.map_or_else(Vec::new, |arguments| arguments.sent.clone());
    let mut last = (attempts > 0).then_some((0, None, own));
    for (place, call) in calls.iter().enumerate() {
        let Some(sent) = wanted.sent_by(call) else { continue };
        let is_done = question.result_of(&call.id).is_some_and(|result| !is_error(result));
        if is_done && successes == wanted.equal_before {
            return StepState::Done;
        }
        if is_done {
            // It belongs to an equal step before this one, with all attempts up to it.
            (successes, attempts, last) = (successes + 1, 0, None);
        } else {
            attempts += 1;
            last = Some((place + 1, Some(*call), sent));
        }
    }
    let Some((after, last, sent)) = last else { return StepState::NotCalled };
    let reads = calls.iter().skip(after).filter(|call| is_read(&call.name) && !searches_tools(&call.name));
    let shown = |call: &&ToolCall| shows(question.result_of(&call.id)?, wanted.step, &sent);
    let shown = reads.filter_map(shown).next_back();
    match shown {
        Some(true) => StepState::Done,
        shown => StepState::Failed(FailedStep { attempts, last, is_absent: shown.map(|shown| !shown) }),
    }
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
    fn only_the_values_of_the_step_identify_its_calls() {
        let values = json!({ "charge": "ch_1", "amount": 4999 });
        let values = values.as_object().unwrap();
        assert!(is_call_for(values, &json!({ "charge": "ch_1", "amount": "4999", "reason": "x" })));
        assert!(!is_call_for(values, &json!({ "charge": "ch_2", "amount": 4999 })));
        assert!(!is_call_for(values, &json!({ "charge": "ch_1" })));
    }
}
