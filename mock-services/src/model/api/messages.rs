//! Anthropic's messages.

use serde_json::{Map, Value, json};

use super::json::{content_text, flag, items, text, texts};
use super::sse::EventStream;
use crate::model::conversation::{
    CallForm, Calling, Generation, ModelApi, OfferedTool, Question, StreamForm, ToolCall, ToolResult, Turn,
    pieces,
};
use crate::service::{Answer, Context};

pub(super) fn read(body: &Value) -> Result<Question, String> {
    let model = text(body, "model").ok_or("model: Field required")?.to_owned();
    if body.get("max_tokens").and_then(Value::as_u64).is_none() {
        return Err("max_tokens: Field required".to_owned());
    }
    let messages = items(body, "messages");
    if messages.is_empty() {
        return Err("messages: at least one message is required".to_owned());
    }
    let mut turns = Vec::new();
    if body.get("system").is_some() {
        turns.push(Turn::System(content_text(body.get("system"))));
    }
    for message in messages {
        add_turns(message, &mut turns)?;
    }
    let choice = body.get("tool_choice");
    let thread = body.get("thread").filter(|thread| !thread.is_null());
    let previous = match thread.map(|thread| text(thread, "type")) {
        None | Some(Some("create")) => None,
        Some(Some("continue")) => {
            let id = thread.and_then(|thread| text(thread, "previous_message_id"));
            Some(id.ok_or("thread.previous_message_id: Field required")?.to_owned())
        }
        Some(_) => return Err("thread.type: Input should be 'create' or 'continue'".to_owned()),
    };
    Ok(Question {
        api: ModelApi::Messages,
        model,
        turns,
        tools: items(body, "tools").iter().filter_map(offered).collect(),
        calling: match choice.and_then(|choice| text(choice, "type")) {
            Some("none") => Calling::Forbidden,
            Some("any") => Calling::Required,
            Some("tool") => {
                let name = choice.and_then(|choice| text(choice, "name"));
                Calling::Named(name.ok_or("tool_choice.tool.name: Field required")?.to_owned())
            }
            _ => Calling::Allowed,
        },
        schema: body
            .get("output_config")
            .and_then(|config| config.get("format"))
            .or_else(|| body.get("output_format"))
            .and_then(|format| format.get("schema"))
            .cloned(),
        stop: texts(body.get("stop_sequences")),
        stream: flag(body, "stream").then_some(StreamForm::Events),
        stream_usage: true,
        previous,
        is_stored: thread.is_some(),
        reasons: body
            .get("thinking")
            .and_then(|thinking| text(thinking, "type"))
            .is_some_and(|kind| kind == "enabled" || kind == "adaptive"),
        echoed: Map::new(),
        is_full: false,
    })
}

/// A tool with a schema; the tools that run at Anthropic have none and are left out.
fn offered(tool: &Value) -> Option<OfferedTool> {
    Some(OfferedTool {
        name: text(tool, "name")?.to_owned(),
        description: text(tool, "description").unwrap_or_default().to_owned(),
        schema: tool.get("input_schema")?.clone(),
        form: CallForm::Function,
    })
}

fn add_turns(message: &Value, turns: &mut Vec<Turn>) -> Result<(), String> {
    let content = message.get("content");
    let blocks = items(message, "content");
    match text(message, "role") {
        Some("assistant") => {
            let calls = blocks.iter().filter(|block| text(block, "type") == Some("tool_use"));
            let calls = calls.filter_map(|block| {
                Some(ToolCall {
                    id: text(block, "id")?.to_owned(),
                    name: text(block, "name")?.to_owned(),
                    arguments: block.get("input").cloned().unwrap_or_default(),
                    form: CallForm::Function,
                })
            });
            let calls = calls.collect();
            turns.push(Turn::Assistant(Generation { calls, ..Generation::text(content_text(content)) }));
        }
        Some("user") => {
            let (results, other): (Vec<&Value>, Vec<&Value>) =
                blocks.iter().partition(|block| text(block, "type") == Some("tool_result"));
            for block in &results {
                turns.push(Turn::ToolResult(ToolResult {
                    call: text(block, "tool_use_id").unwrap_or_default().to_owned(),
                    text: content_text(block.get("content")),
                    is_error: flag(block, "is_error"),
                }));
            }
            if results.is_empty() || !other.is_empty() {
                turns.push(Turn::User(content_text(content)));
            }
        }
        Some("system") => turns.push(Turn::System(content_text(content))),
        Some(role) => return Err(format!("messages: role `{role}` is not one of `user`, `assistant`")),
        None => return Err("messages.role: Field required".to_owned()),
    }
    Ok(())
}

/// The id of an answer.
pub(super) fn message_id(context: &Context) -> String {
    context.ids.alphanumeric("msg_01", 22)
}

pub(super) fn answer(question: &Question, generation: &Generation, context: &Context) -> Answer {
    let mut content = Vec::new();
    if question.reasons {
        let signature = context.ids.alphanumeric("Eq", 120);
        content.push(json!({ "type": "thinking", "thinking": super::THOUGHT, "signature": signature }));
    }
    if !generation.text.is_empty() || generation.calls.is_empty() {
        content.push(json!({ "type": "text", "text": generation.text, "citations": null }));
    }
    for call in &generation.calls {
        content
            .push(json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments }));
    }
    let reason = match (&generation.stopped_before, generation.calls.is_empty()) {
        (Some(_), _) => "stop_sequence",
        (None, true) => "end_turn",
        (None, false) => "tool_use",
    };
    let whole = json!({
        "id": message_id(context),
        "type": "message",
        "role": "assistant",
        "model": question.model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": generation.stopped_before,
        "usage": usage(question, generation.output_tokens()),
    });
    if question.stream.is_some() { stream(question, generation, whole) } else { Answer::json(200, &whole) }
}

fn usage(question: &Question, output: u64) -> Value {
    json!({
        "input_tokens": question.input_tokens(),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output,
        "service_tier": "standard",
    })
}

fn stream(question: &Question, generation: &Generation, whole: Value) -> Answer {
    let mut begun = whole.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    begun["stop_sequence"] = Value::Null;
    begun["usage"] = usage(question, 1);
    let mut events = EventStream::default();
    events.event(&json!({ "type": "message_start", "message": begun }));
    events.event(&json!({ "type": "ping" }));
    for (index, block) in items(&whole, "content").iter().enumerate() {
        let mut started = block.clone();
        let kind = text(block, "type").unwrap_or_default();
        // The field that is streamed, with the name of its deltas and of their pieces.
        let (field, delta, piece_name) = match kind {
            "thinking" => ("thinking", "thinking_delta", "thinking"),
            "text" => ("text", "text_delta", "text"),
            _ => ("input", "input_json_delta", "partial_json"),
        };
        started[field] = if field == "input" { json!({}) } else { json!("") };
        let signature = block.get("signature").cloned();
        if signature.is_some() {
            started["signature"] = json!("");
        }
        events.event(&json!({ "type": "content_block_start", "index": index, "content_block": started }));
        let all = text(block, field).map_or_else(|| block[field].to_string(), str::to_owned);
        let add = |events: &mut EventStream, delta: Value| {
            events.event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        };
        for piece in pieces(&all) {
            add(&mut events, json!({ "type": delta, piece_name: piece }));
        }
        if let Some(signature) = signature {
            add(&mut events, json!({ "type": "signature_delta", "signature": signature }));
        }
        events.event(&json!({ "type": "content_block_stop", "index": index }));
    }
    events.event(&json!({
        "type": "message_delta",
        "delta": { "stop_reason": whole["stop_reason"], "stop_sequence": whole["stop_sequence"] },
        "usage": { "output_tokens": generation.output_tokens() },
    }));
    events.event(&json!({ "type": "message_stop" }));
    events.into_answer()
}
