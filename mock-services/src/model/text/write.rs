//! Writes what the model generates in the words of a text protocol.

use serde_json::{Value, json};

use super::{CodeForm, END_TOOL, TextProtocol};
use crate::model::conversation::{Generation, ToolCall};

/// The text that makes the calls of a generation, or that ends the work if it has none.
pub(super) fn text(protocol: &TextProtocol, generation: &Generation) -> String {
    match protocol {
        TextProtocol::React { json_input, end } => match generation.calls.first() {
            Some(call) => {
                let input = input(call, !json_input);
                let input = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
                format!("{}\nAction: {}\nAction Input: {input}", thought(generation), call.name)
            }
            None => format!("Thought: I now know the final answer\n{end} {}", generation.text),
        },
        TextProtocol::ActionObject { after_label, fenced, plain_input } => {
            let object = match generation.calls.first() {
                Some(call) => json!({ "action": call.name, "action_input": input(call, *plain_input) }),
                None => json!({ "action": "Final Answer", "action_input": generation.text }),
            };
            let object = format!("{object:#}");
            match (after_label, fenced) {
                (_, false) => object,
                (true, true) => format!("{}\nAction:\n```\n{object}\n```", thought(generation)),
                (false, true) => format!("```json\n{object}\n```"),
            }
        }
        TextProtocol::NamedObject { tagged, end } => {
            let last = end.as_ref().filter(|_| generation.calls.is_empty());
            let last = last.map(|(name, argument)| {
                (name.clone(), json!({ argument.as_str(): generation.text.as_str() }))
            });
            let calls = generation.calls.iter().map(|call| (call.name.clone(), call.arguments.clone()));
            let calls: Vec<String> = calls.chain(last).map(|call| named_object(call, *tagged)).collect();
            if calls.is_empty() { generation.text.clone() } else { calls.join("\n") }
        }
        TextProtocol::Code(form) => {
            let code = code(generation);
            match form {
                CodeForm::Block(open, close) => format!("{}\n{open}{code}{close}", thought(generation)),
                CodeForm::Field => {
                    let thought = thought(generation);
                    json!({ "thought": thought.trim_start_matches("Thought: "), "code": code }).to_string()
                }
            }
        }
    }
}

fn thought(generation: &Generation) -> String {
    match generation.calls.first() {
        Some(call) if generation.text.is_empty() => format!("Thought: I call {}.", call.name),
        Some(_) => format!("Thought: {}", generation.text),
        None => "Thought: I now know the final answer.".to_owned(),
    }
}

/// The arguments of a call. Where the prompt asks for a plain input, the value of the only argument.
fn input(call: &ToolCall, is_plain: bool) -> Value {
    let arguments = call.arguments.as_object();
    let mut values = arguments.into_iter().flat_map(serde_json::Map::values);
    match (is_plain, values.next(), values.next()) {
        (true, Some(only), None) => json!(only.as_str().map_or_else(|| only.to_string(), str::to_owned)),
        _ => call.arguments.clone(),
    }
}

fn named_object((name, arguments): (String, Value), tagged: bool) -> String {
    let object = json!({ "name": name, "arguments": arguments });
    if tagged { format!("<tool_call>\n{object}\n</tool_call>") } else { format!("Action:\n{object:#}") }
}

/// The calls as Python. Each result is printed, so that it is in the next request.
fn code(generation: &Generation) -> String {
    if generation.calls.is_empty() {
        return format!("{END_TOOL}({})", python(&json!(generation.text)));
    }
    let lines = generation.calls.iter().map(|call| {
        let arguments = call.arguments.as_object().into_iter().flatten();
        let arguments: Vec<String> =
            arguments.map(|(name, value)| format!("{name}={}", python(value))).collect();
        format!("print({}({}))", call.name, arguments.join(", "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A value as Python writes it. The texts of JSON are texts of Python.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", ")),
        Value::Object(object) => {
            let entries = object.iter().map(|(name, value)| format!("{}: {}", json!(name), python(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}
