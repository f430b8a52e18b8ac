//! OpenAI's chat completions.

use serde_json::{Map, Value, json};

use super::json::{arguments, calling, content_text, flag, items, text, texts};
use super::sse::EventStream;
use crate::model::conversation::{
    CallForm, Generation, ModelApi, OfferedTool, Question, StreamForm, ToolCall, ToolResult, Turn, pieces,
};
use crate::service::{Answer, Context};

pub(super) fn read(body: &Value) -> Result<Question, String> {
    let model = text(body, "model").ok_or("you must provide a model parameter")?.to_owned();
    let messages = items(body, "messages");
    if messages.is_empty() {
        return Err("Missing required parameter: 'messages'.".to_owned());
    }
    let choice = body.get("tool_choice");
    Ok(Question {
        api: ModelApi::Chat,
        model,
        turns: messages.iter().map(turn).collect::<Result<_, _>>()?,
        tools: items(body, "tools").iter().filter_map(|tool| offered(tool.get("function")?)).collect(),
        calling: calling(choice, choice.and_then(|choice| text(choice.get("function")?, "name"))),
        schema: body.get("response_format").and_then(|format| match text(format, "type")? {
            "json_schema" => format.get("json_schema")?.get("schema").cloned(),
            "json_object" => Some(json!({ "type": "object" })),
            _ => None,
        }),
        stop: texts(body.get("stop")),
        stream: flag(body, "stream").then_some(StreamForm::Events),
        stream_usage: body.get("stream_options").is_some_and(|options| flag(options, "include_usage")),
        previous: None,
        is_stored: false,
        // This API never shows it.
        reasons: false,
        echoed: Map::new(),
        is_full: false,
    })
}

pub(super) fn offered(tool: &Value) -> Option<OfferedTool> {
    Some(OfferedTool {
        name: text(tool, "name")?.to_owned(),
        description: text(tool, "description").unwrap_or_default().to_owned(),
        schema: tool.get("parameters").cloned().unwrap_or_default(),
        form: CallForm::Function,
    })
}

fn turn(message: &Value) -> Result<Turn, String> {
    let content = content_text(message.get("content"));
    match text(message, "role") {
        Some("system" | "developer") => Ok(Turn::System(content)),
        Some("user") => Ok(Turn::User(content)),
        Some("assistant") => {
            let calls = items(message, "tool_calls").iter().filter_map(call).collect();
            Ok(Turn::Assistant(Generation { calls, ..Generation::text(content) }))
        }
        Some("tool") => Ok(Turn::ToolResult(ToolResult {
            call: text(message, "tool_call_id").unwrap_or_default().to_owned(),
            text: content,
            is_error: false,
        })),
        Some(role) => Err(format!("Invalid value: '{role}' for the role of a message.")),
        None => Err("Missing required parameter: 'messages[].role'.".to_owned()),
    }
}

fn call(call: &Value) -> Option<ToolCall> {
    let function = call.get("function")?;
    Some(ToolCall {
        id: text(call, "id")?.to_owned(),
        name: text(function, "name")?.to_owned(),
        arguments: arguments(text(function, "arguments")),
        form: CallForm::Function,
    })
}

pub(super) fn answer(question: &Question, generation: &Generation, context: &Context) -> Answer {
    let id = context.ids.alphanumeric("chatcmpl-", 29);
    if question.stream.is_some() {
        return stream(question, generation, &id, context);
    }
    let calls: Vec<Value> = generation.calls.iter().map(written_call).collect();
    let content = if generation.text.is_empty() { Value::Null } else { json!(generation.text) };
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null, "annotations": [] });
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    Answer::json(
        200,
        &json!({
            "id": id,
            "object": "chat.completion",
            "created": context.now.as_second(),
            "model": question.model,
            "choices": [{
                "index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(generation),
            }],
            "usage": usage(question, generation),
            "service_tier": "default",
            "system_fingerprint": null,
        }),
    )
}

fn written_call(call: &ToolCall) -> Value {
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": call.arguments.to_string() },
    })
}

fn finish_reason(generation: &Generation) -> &'static str {
    if generation.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn stream(question: &Question, generation: &Generation, id: &str, context: &Context) -> Answer {
    let mut events = EventStream::default();
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": context.now.as_second(),
            "model": question.model,
            "service_tier": "default",
            "system_fingerprint": null,
            "choices": choices,
        });
        if question.stream_usage {
            chunk["usage"] = usage;
        }
        chunk
    };
    let delta = |delta: Value, finish: Option<&str>| {
        let choice = json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]);
        chunk(choice, Value::Null)
    };
    events.data(&delta(json!({ "role": "assistant", "content": "", "refusal": null }), None));
    for piece in pieces(&generation.text) {
        events.data(&delta(json!({ "content": piece }), None));
    }
    for (index, call) in generation.calls.iter().enumerate() {
        let start = json!({
            "index": index, "id": call.id, "type": "function",
            "function": { "name": call.name, "arguments": "" },
        });
        events.data(&delta(json!({ "tool_calls": [start] }), None));
        for piece in pieces(&call.arguments.to_string()) {
            let part = json!({ "index": index, "function": { "arguments": piece } });
            events.data(&delta(json!({ "tool_calls": [part] }), None));
        }
    }
    events.data(&delta(json!({}), Some(finish_reason(generation))));
    if question.stream_usage {
        events.data(&chunk(json!([]), usage(question, generation)));
    }
    events.done();
    events.into_answer()
}

fn usage(question: &Question, generation: &Generation) -> Value {
    let (input, output) = (question.input_tokens(), generation.output_tokens());
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": 0, "audio_tokens": 0 },
        "completion_tokens_details": {
            "reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}
