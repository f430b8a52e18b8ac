//! Reads the texts of a conversation as calls and their results.

use serde_json::{Map, Value};

use super::prompt_tools::{closing, items, value_at};
use super::{END_TOOL, json_objects};
use crate::model::conversation::{CallForm, Generation, OfferedTool, Question, ToolCall, ToolResult, Turn};
use crate::model::progress::is_error;
use crate::model::stuck::Stuck;
use crate::result_text::value_in;

/// Whether a message after a call is its result only if it says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    /// The request offers tools, and a text may only look like a call.
    Required,
    /// The prompt asks for calls as text, so the next message is the result.
    Optional,
}

/// What stands before the result of a call.
const RESULT_MARKS: [&str; 8] = [
    "observation:",
    "execution logs:",
    "tool response:",
    "tool result:",
    "tool output:",
    "function result:",
    "<tool_response>",
    "tool_response:",
];
/// What stands before a text that reports an error of the call before it.
const ERROR_MARKS: [&str; 2] = ["call id:", "error:"];
/// What follows a result in the same text.
const RESULT_ENDS: [&str; 7] = [
    "\nThought:",
    "\nAction:",
    "\nFinal Answer:",
    "\nAnswer:",
    "</tool_response>",
    "\nUSER'S INPUT",
    "\nNow let's retry:",
];

/// A call in a text, with its result if that is in the same text.
#[derive(Debug)]
struct TextCall {
    name: String,
    arguments: Value,
    result: Option<String>,
}

/// The turns of a conversation, with the calls and results that are in their texts. The error says that a result has no
/// call.
pub(super) fn turns(question: &Question, tools: &[OfferedTool], marks: Marks) -> Result<Vec<Turn>, Stuck> {
    let mut reader = TurnReader { tools, turns: Vec::new(), calls: 0 };
    let mut given = question.turns.iter().peekable();
    while let Some(turn) = given.next() {
        match turn {
            Turn::Assistant(generation) if generation.calls.is_empty() => {
                let calls = calls_in(&generation.text, tools);
                let next = given.peek().and_then(|next| match next {
                    Turn::User(text) => Some(text.as_str()),
                    Turn::System(_) | Turn::Assistant(_) | Turn::ToolResult(_) => None,
                });
                let has_result =
                    next.is_some_and(is_marked) || calls.iter().any(|call| call.result.is_some());
                if calls.is_empty() || (marks == Marks::Required && !has_result) {
                    let is_orphan = |text: &str| is_result(text) && !is_failure(text);
                    let is_end =
                        generation.text.contains(END_TOOL) || generation.text.contains("Final Answer");
                    if !is_end && next.is_some_and(is_orphan) {
                        return Err(Stuck::result_without_call());
                    }
                    reader.turns.push(turn.clone());
                    continue;
                }
                let results = next.map(|text| results(text, calls.len())).unwrap_or_default();
                reader.add(calls, &results);
            }
            Turn::User(text) => {
                reader.turns.push(turn.clone());
                let transcript = text.rsplit_once("Begin!").map_or(text.as_str(), |(_, after)| after);
                let mut shown = calls_in(transcript, tools);
                shown.retain(|call| call.result.is_some());
                shown.extend(failed_call(text, tools));
                reader.add(shown, &[]);
            }
            Turn::System(text) => {
                reader.turns.push(turn.clone());
                if let Some((_, transcript)) = text.rsplit_once("Begin!") {
                    let mut shown = calls_in(transcript, tools);
                    shown.retain(|call| call.result.is_some());
                    reader.add(shown, &[]);
                }
            }
            Turn::Assistant(_) | Turn::ToolResult(_) => reader.turns.push(turn.clone()),
        }
    }
    Ok(reader.turns)
}

struct TurnReader<'a> {
    tools: &'a [OfferedTool],
    turns: Vec<Turn>,
    /// How many calls were read.
    calls: usize,
}

impl TurnReader<'_> {
    /// Adds the calls of one answer, with the results after it, or calls that each have their result beside them.
    fn add(&mut self, calls: Vec<TextCall>, results: &[String]) {
        let mut answer = Generation::default();
        let mut after = Vec::new();
        for (at, call) in calls.into_iter().enumerate() {
            self.calls += 1;
            let id = format!("text-{}", self.calls);
            let arguments = self.arguments(&call);
            let made = ToolCall { id: id.clone(), name: call.name, arguments, form: CallForm::Function };
            let result = |text| Turn::ToolResult(ToolResult { call: id, text, is_error: false });
            match call.result {
                Some(text) => {
                    let alone = Generation { calls: vec![made], ..Generation::default() };
                    self.turns.extend([Turn::Assistant(alone), result(text)]);
                }
                None => {
                    answer.calls.push(made);
                    after.extend(results.get(at).cloned().map(result));
                }
            }
        }
        if !answer.calls.is_empty() {
            self.turns.push(Turn::Assistant(answer));
            self.turns.extend(after);
        }
    }

    /// The arguments by their names. A plain value is that of the only argument.
    fn arguments(&self, call: &TextCall) -> Value {
        if call.arguments.is_object() {
            return call.arguments.clone();
        }
        let tool = self.tools.iter().find(|tool| tool.name == call.name);
        let names = tool.and_then(|tool| tool.schema["properties"].as_object());
        let only = names.filter(|names| names.len() == 1).and_then(|names| names.keys().next());
        let named = only.map(|name| (name.clone(), call.arguments.clone()));
        Value::Object(named.into_iter().collect())
    }
}

/// Whether a message says that it is the result of a call.
fn is_result(text: &str) -> bool {
    let text = text.trim_start().to_lowercase();
    RESULT_MARKS.iter().any(|mark| text.starts_with(mark))
}

fn is_marked(text: &str) -> bool {
    let plain = text.trim_start().to_lowercase();
    is_result(text) || ERROR_MARKS.iter().any(|mark| plain.starts_with(mark))
}

fn is_failure(text: &str) -> bool {
    is_error(&ToolResult { call: String::new(), text: result(text), is_error: false })
}

/// The results in the message after so many calls: one for each, or one for all.
fn results(text: &str, calls: usize) -> Vec<String> {
    let parts: Vec<&str> = text.split("<tool_response>").skip(1).collect();
    if parts.len() == calls {
        return parts.into_iter().map(result).collect();
    }
    vec![result(text); calls]
}

/// The result in a text, without what the framework writes around it.
fn result(text: &str) -> String {
    let mut rest = text.trim();
    loop {
        let mark = RESULT_MARKS.iter().find(|mark| {
            rest.get(..mark.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(mark))
        });
        rest = match mark {
            Some(mark) => rest[mark.len()..].trim_start_matches(['-', ' ', '\n']),
            None if rest.starts_with("Call id:") => rest.split_once('\n').map_or("", |(_, after)| after),
            None => break,
        };
    }
    for end in RESULT_ENDS {
        rest = rest.split_once(end).map_or(rest, |(before, _)| before);
    }
    if let Some((logs, last)) = rest.split_once("Last output from code snippet:") {
        rest = if logs.trim().is_empty() { last } else { logs };
    }
    let rest = rest.trim();
    // Other messages can follow a value in the same text.
    let value = if rest.starts_with(['{', '[']) && value_in(rest).is_none() {
        value_at(rest)
    } else {
        value_in(rest)
    };
    match value {
        Some(Value::Object(object)) => match (object.get("content"), object.contains_key("name")) {
            (Some(Value::String(content)), true) => content.clone(),
            (Some(content), true) => content.to_string(),
            _ => Value::Object(object).to_string(),
        },
        Some(value @ Value::Array(_)) => value.to_string(),
        _ => rest.to_owned(),
    }
}

/// The calls in a text, in order.
fn calls_in(text: &str, tools: &[OfferedTool]) -> Vec<TextCall> {
    if let Some((_, list)) = text.rsplit_once("Calling tools:") {
        let list = value_at(list.trim_start()).unwrap_or_default();
        let functions = list.as_array().into_iter().flatten().filter_map(|call| call.get("function"));
        return functions.flat_map(|function| calls_of_function(function, tools)).collect();
    }
    let readers = [action_lines, objects, code_blocks];
    readers.iter().map(|read| read(text, tools)).find(|calls| !calls.is_empty()).unwrap_or_default()
}

/// The call of smolagents' list, or the calls in the code that it gives its interpreter.
fn calls_of_function(function: &Value, tools: &[OfferedTool]) -> Vec<TextCall> {
    let arguments = function.get("arguments").cloned().unwrap_or_default();
    match (function.get("name").and_then(Value::as_str), arguments.as_str()) {
        (Some("python_interpreter"), Some(code)) => code_calls(code, tools),
        (Some(name), _) if is_offered(name, tools) => {
            vec![TextCall { name: name.to_owned(), arguments, result: None }]
        }
        _ => Vec::new(),
    }
}

fn is_offered(name: &str, tools: &[OfferedTool]) -> bool {
    tools.iter().any(|tool| tool.name == name)
}

/// `Action: charge`, `Action Input: …` and, if it is there, `Observation: …`.
fn action_lines(text: &str, tools: &[OfferedTool]) -> Vec<TextCall> {
    let parts = text.split("Action:").skip(1).filter_map(|part| {
        let (name, rest) = part.split_once("Action Input:")?;
        let name = name.trim().trim_matches(['`', '"', '\'', '[', ']']);
        if !is_offered(name, tools) {
            return None;
        }
        let (input, result) = with_observation(rest);
        let input = input.split_once("\nThought:").map_or(input, |(before, _)| before).trim();
        let arguments = value_at(input).filter(Value::is_object);
        let arguments = arguments.unwrap_or_else(|| Value::from(input.trim_matches(['"', '\''])));
        Some(TextCall { name: name.to_owned(), arguments, result })
    });
    parts.collect()
}

/// The text before an observation, and the observation.
fn with_observation(text: &str) -> (&str, Option<String>) {
    let Some((before, after)) = text.split_once("Observation:") else { return (text, None) };
    (before, Some(result(after)))
}

/// `{"action": "charge", "action_input": {…}}` or `{"name": "charge", "arguments": {…}}`.
fn objects(text: &str, tools: &[OfferedTool]) -> Vec<TextCall> {
    let mut calls: Vec<TextCall> = Vec::new();
    for (value, rest) in json_objects(text) {
        let pair =
            [("action", "action_input"), ("name", "arguments")].into_iter().find_map(|(name, input)| {
                let name = value.get(name).and_then(Value::as_str).filter(|name| is_offered(name, tools))?;
                Some((name.to_owned(), value.get(input)?.clone()))
            });
        if let Some((name, arguments)) = pair {
            let next = rest.find("\nAction:").map_or(rest, |at| &rest[..at]);
            let (_, result) = with_observation(next);
            calls.push(TextCall { name, arguments, result });
        } else if let Some(code) = value.get("code").and_then(Value::as_str) {
            calls.extend(code_calls(code, tools));
        }
    }
    calls
}

/// The calls in blocks of code.
fn code_blocks(text: &str, tools: &[OfferedTool]) -> Vec<TextCall> {
    let blocks = [("<code>", "</code>"), ("```python", "```"), ("```py", "```")];
    let block = blocks.iter().find(|(open, _)| text.contains(open));
    let Some((open, close)) = block else { return Vec::new() };
    let parts = text.split(open).skip(1).map(|part| part.split_once(close).map_or(part, |(code, _)| code));
    parts.flat_map(|code| code_calls(code, tools)).collect()
}

/// The calls of tools in Python: `charge(customer="cus_42", amount=4999)`.
fn code_calls(code: &str, tools: &[OfferedTool]) -> Vec<TextCall> {
    let mut calls: Vec<(usize, TextCall)> = Vec::new();
    for tool in tools {
        for (at, name) in code.match_indices(&format!("{}(", tool.name)) {
            let is_inside = |before: char| before.is_alphanumeric() || before == '_' || before == '.';
            if code[..at].ends_with(is_inside) {
                continue;
            }
            let rest = &code[at + name.len()..];
            let Some(end) = closing(rest, ')') else { continue };
            let arguments: Map<String, Value> =
                items(&rest[..end]).into_iter().filter_map(argument).collect();
            let call =
                TextCall { name: tool.name.clone(), arguments: Value::Object(arguments), result: None };
            calls.push((at, call));
        }
    }
    calls.sort_by_key(|(at, _)| *at);
    calls.into_iter().map(|(_, call)| call).collect()
}

fn argument(item: &str) -> Option<(String, Value)> {
    let (name, value) = item.split_once('=')?;
    let value = match value.trim() {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        "None" => Value::Null,
        value => value_in(value)?,
    };
    Some((name.trim().to_owned(), value))
}

/// The failed call that a message of smolagents reports instead of the call itself.
fn failed_call(text: &str, tools: &[OfferedTool]) -> Vec<TextCall> {
    let parts = text.split("Error executing tool '").skip(1).filter_map(|part| {
        let (name, rest) = part.split_once("' with arguments ")?;
        let arguments = value_at(rest)?;
        let result = Some(format!("Error executing tool '{part}"));
        is_offered(name, tools).then(|| TextCall { name: name.to_owned(), arguments, result })
    });
    parts.collect()
}
