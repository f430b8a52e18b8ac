//! OpenAI's responses.

use serde_json::{Map, Value, json};

use super::chat::offered;
use super::json::{arguments, calling, content_text, flag, items, text};
use super::sse::EventStream;
use crate::model::conversation::{
    CallForm, Generation, ModelApi, OfferedTool, Question, StreamForm, ToolCall, ToolResult, Turn, pieces,
};
use crate::service::{Answer, Context};

/// The name of the search that the client makes: the API has none.
const SEARCH: &str = "tool_search";

pub(super) fn read(body: &Value) -> Result<Question, String> {
    let model = text(body, "model").ok_or("Missing required parameter: 'model'.")?.to_owned();
    let mut turns = Vec::new();
    if let Some(instructions) = text(body, "instructions") {
        turns.push(Turn::System(instructions.to_owned()));
    }
    match body.get("input") {
        Some(Value::String(input)) => turns.push(Turn::User(input.clone())),
        Some(Value::Array(input)) => input.iter().filter_map(turn).for_each(|turn| turns.push(turn)),
        _ => return Err("Missing required parameter: 'input'.".to_owned()),
    }
    let choice = body.get("tool_choice");
    Ok(Question {
        api: ModelApi::Responses,
        model,
        turns,
        tools: all_tools(body),
        calling: calling(choice, choice.and_then(|choice| text(choice, "name"))),
        schema: body.get("text").and_then(|text| text.get("format")).and_then(|format| {
            match text(format, "type")? {
                "json_schema" => format.get("schema").cloned(),
                "json_object" => Some(json!({ "type": "object" })),
                _ => None,
            }
        }),
        stop: Vec::new(),
        stream: flag(body, "stream").then_some(StreamForm::Events),
        stream_usage: true,
        previous: text(body, "previous_response_id").map(str::to_owned),
        is_stored: body.get("store").and_then(Value::as_bool) != Some(false),
        reasons: body
            .get("reasoning")
            .is_some_and(|reasoning| !reasoning.is_null() && text(reasoning, "effort") != Some("none")),
        echoed: echoed(body),
        is_full: false,
    })
}

/// The parameters that a response repeats.
fn echoed(body: &Value) -> Map<String, Value> {
    const ECHOED: [&str; 14] = [
        "instructions",
        "max_output_tokens",
        "metadata",
        "parallel_tool_calls",
        "previous_response_id",
        "reasoning",
        "store",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_p",
        "truncation",
        "user",
    ];
    let parameters = body.as_object().into_iter().flatten();
    let is_echoed = |name: &str, value: &Value| ECHOED.contains(&name) && !value.is_null();
    let echoed = parameters.filter(|(name, value)| is_echoed(name, value));
    echoed.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The tools of the request, and those that its input has: what a search found, and what was added later.
fn all_tools(body: &Value) -> Vec<OfferedTool> {
    let is_list =
        |item: &&Value| matches!(text(item, "type"), Some("tool_search_output" | "additional_tools"));
    let later = items(body, "input").iter().filter(is_list).flat_map(|item| items(item, "tools"));
    let mut tools: Vec<OfferedTool> = Vec::new();
    for tool in items(body, "tools").iter().chain(later).flat_map(tools_in) {
        if !tools.iter().any(|have| (&have.name, &have.form) == (&tool.name, &tool.form)) {
            tools.push(tool);
        }
    }
    tools
}

/// The tools that an entry stands for: a function, the functions of a namespace, or the search that the client makes.
/// Tools that run at OpenAI are left out.
fn tools_in(entry: &Value) -> Vec<OfferedTool> {
    match text(entry, "type") {
        Some("function") => offered(entry).into_iter().collect(),
        Some("namespace") => {
            let namespace = text(entry, "name").unwrap_or_default();
            let functions = items(entry, "tools").iter().filter_map(offered);
            functions
                .map(|tool| OfferedTool { form: CallForm::Namespaced(namespace.to_owned()), ..tool })
                .collect()
        }
        Some("tool_search") if text(entry, "execution") == Some("client") => {
            let mut named = entry.clone();
            named["name"] = json!(SEARCH);
            offered(&named).map(|tool| OfferedTool { form: CallForm::Search, ..tool }).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// An item of the input. Reasoning and other items that are no part of the conversation are left out.
fn turn(item: &Value) -> Option<Turn> {
    match text(item, "type").unwrap_or("message") {
        "function_call" => {
            let call = ToolCall {
                id: text(item, "call_id")?.to_owned(),
                name: text(item, "name")?.to_owned(),
                arguments: arguments(text(item, "arguments")),
                form: text(item, "namespace")
                    .map_or(CallForm::Function, |namespace| CallForm::Namespaced(namespace.to_owned())),
            };
            Some(Turn::Assistant(Generation { calls: vec![call], ..Generation::default() }))
        }
        // A search that OpenAI makes has no id of a call.
        "tool_search_call" => {
            let call = ToolCall {
                id: text(item, "call_id")?.to_owned(),
                name: SEARCH.to_owned(),
                arguments: item.get("arguments").cloned().unwrap_or_default(),
                form: CallForm::Search,
            };
            Some(Turn::Assistant(Generation { calls: vec![call], ..Generation::default() }))
        }
        "tool_search_output" => Some(Turn::ToolResult(ToolResult {
            call: text(item, "call_id")?.to_owned(),
            text: item.get("tools").map(Value::to_string).unwrap_or_default(),
            is_error: false,
        })),
        "function_call_output" => Some(Turn::ToolResult(ToolResult {
            call: text(item, "call_id")?.to_owned(),
            text: content_text(item.get("output")),
            is_error: false,
        })),
        "message" => {
            let content = content_text(item.get("content"));
            Some(match text(item, "role")? {
                "assistant" => Turn::Assistant(Generation::text(content)),
                "user" => Turn::User(content),
                _ => Turn::System(content),
            })
        }
        _ => None,
    }
}

pub(super) fn answer(question: &Question, generation: &Generation, context: &Context) -> Answer {
    let output = output(question, generation, context);
    let whole = response(question, generation, context, &output);
    if question.stream.is_some() { stream(&whole, &output) } else { Answer::json(200, &whole) }
}

/// The items of the output: what the model thinks, the text, then the calls.
fn output(question: &Question, generation: &Generation, context: &Context) -> Vec<Value> {
    let mut output = Vec::new();
    if question.reasons {
        let asked = question.echoed.get("reasoning").and_then(|reasoning| text(reasoning, "summary"));
        let summary = asked.map(|_| json!({ "type": "summary_text", "text": super::THOUGHT }));
        output.push(json!({
            "id": context.ids.alphanumeric("rs_", 48),
            "type": "reasoning",
            "summary": summary.into_iter().collect::<Vec<_>>(),
            "encrypted_content": context.ids.alphanumeric("gAAAA", 120),
        }));
    }
    if !generation.text.is_empty() || generation.calls.is_empty() {
        output.push(json!({
            "id": context.ids.alphanumeric("msg_", 48),
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{
                "type": "output_text", "text": generation.text, "annotations": [], "logprobs": [],
            }],
        }));
    }
    for (index, call) in generation.calls.iter().enumerate() {
        output.push(written_call(call, index, context));
    }
    output
}

fn written_call(call: &ToolCall, index: usize, context: &Context) -> Value {
    if call.form == CallForm::Search {
        return json!({
            "id": context.ids.alphanumeric(&format!("tsc_{index}"), 46),
            "type": "tool_search_call",
            "status": "completed",
            "execution": "client",
            "call_id": call.id,
            "arguments": call.arguments,
        });
    }
    let mut item = json!({
        "id": context.ids.alphanumeric(&format!("fc_{index}"), 46),
        "type": "function_call",
        "status": "completed",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments.to_string(),
    });
    if let CallForm::Namespaced(namespace) = &call.form {
        item["namespace"] = json!(namespace);
    }
    item
}

/// The id of the response to a request.
pub(super) fn response_id(context: &Context) -> String {
    context.ids.alphanumeric("resp_", 48)
}

fn response(question: &Question, generation: &Generation, context: &Context, output: &[Value]) -> Value {
    let (input, output_tokens) = (question.input_tokens(), generation.output_tokens());
    let mut response = json!({
        "id": response_id(context),
        "object": "response",
        "created_at": context.now.as_second(),
        "status": "completed",
        "background": false,
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "max_output_tokens": null,
        "model": question.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": { "effort": null, "summary": null },
        "service_tier": "default",
        "store": true,
        "temperature": 1.0,
        "text": { "format": { "type": "text" } },
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": {
            "input_tokens": input,
            "input_tokens_details": { "cached_tokens": 0, "cache_write_tokens": 0 },
            "output_tokens": output_tokens,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input + output_tokens,
        },
        "user": null,
        "metadata": {},
    });
    for (name, value) in &question.echoed {
        response[name.as_str()] = value.clone();
    }
    response
}

/// Numbers the events of one stream.
#[derive(Default)]
struct NumberedEvents {
    events: EventStream,
    next: u64,
}

impl NumberedEvents {
    fn add(&mut self, mut event: Value) {
        event["sequence_number"] = json!(self.next);
        self.next += 1;
        self.events.event(&event);
    }
}

fn stream(whole: &Value, output: &[Value]) -> Answer {
    let mut begun = whole.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = NumberedEvents::default();
    events.add(json!({ "type": "response.created", "response": begun }));
    events.add(json!({ "type": "response.in_progress", "response": begun }));
    for (index, item) in output.iter().enumerate() {
        let mut started = item.clone();
        let kind = text(item, "type");
        if kind != Some("reasoning") {
            started["status"] = json!("in_progress");
        }
        match kind {
            Some("reasoning") => started["summary"] = json!([]),
            Some("message") => started["content"] = json!([]),
            Some("function_call") => started["arguments"] = json!(""),
            _ => {}
        }
        events.add(json!({ "type": "response.output_item.added", "output_index": index, "item": started }));
        match kind {
            Some("reasoning") => stream_reasoning(&mut events, index, item),
            Some("message") => stream_message(&mut events, index, item),
            Some("function_call") => stream_call(&mut events, index, item),
            _ => {}
        }
        events.add(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
    }
    events.add(json!({ "type": "response.completed", "response": whole }));
    events.events.into_answer()
}

fn stream_reasoning(events: &mut NumberedEvents, index: usize, item: &Value) {
    for (part_index, part) in items(item, "summary").iter().enumerate() {
        let whole = text(part, "text").unwrap_or_default();
        let with = |kind: &str, name: &str, value: Value| {
            let id = &item["id"];
            json!({
                "type": kind, "item_id": id, "output_index": index, "summary_index": part_index, name: value,
            })
        };
        let empty = json!({ "type": "summary_text", "text": "" });
        events.add(with("response.reasoning_summary_part.added", "part", empty));
        for piece in pieces(whole) {
            events.add(with("response.reasoning_summary_text.delta", "delta", json!(piece)));
        }
        events.add(with("response.reasoning_summary_text.done", "text", json!(whole)));
        events.add(with("response.reasoning_summary_part.done", "part", part.clone()));
    }
}

fn stream_message(events: &mut NumberedEvents, index: usize, item: &Value) {
    let part = item["content"][0].clone();
    let whole = text(&part, "text").unwrap_or_default().to_owned();
    let mut empty = part.clone();
    empty["text"] = json!("");
    let with = |kind: &str, name: &str, value: Value| {
        let id = &item["id"];
        json!({ "type": kind, "item_id": id, "output_index": index, "content_index": 0, name: value })
    };
    events.add(with("response.content_part.added", "part", empty));
    for piece in pieces(&whole) {
        let mut event = with("response.output_text.delta", "delta", json!(piece));
        event["logprobs"] = json!([]);
        events.add(event);
    }
    let mut event = with("response.output_text.done", "text", json!(whole));
    event["logprobs"] = json!([]);
    events.add(event);
    events.add(with("response.content_part.done", "part", part));
}

fn stream_call(events: &mut NumberedEvents, index: usize, item: &Value) {
    let whole = text(item, "arguments").unwrap_or_default();
    for piece in pieces(whole) {
        events.add(json!({
            "type": "response.function_call_arguments.delta",
            "item_id": item["id"], "output_index": index, "delta": piece,
        }));
    }
    events.add(json!({
        "type": "response.function_call_arguments.done",
        "item_id": item["id"], "output_index": index, "name": item["name"], "arguments": whole,
    }));
}
