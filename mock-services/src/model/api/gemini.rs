//! Google's Gemini API. Its JSON names can also be written with underscores, and a request names its model and what
//! it asks for in the path.

use serde_json::{Map, Value, json};

use super::json::{flag, items, text, texts};
use super::sse::EventStream;
use crate::model::conversation::{
    CallForm, Calling, Generation, ModelApi, OfferedTool, Question, StreamForm, ToolCall, ToolResult, Turn,
    pieces,
};
use crate::model::cut::ARRAY_SEPARATOR;
use crate::service::{Answer, Context, Request};

/// The model and the method that a path names: `models/gemini-2.5-flash:generateContent`.
pub(in crate::model) fn target(request: &Request) -> Option<(String, String)> {
    let segments = request.segments();
    let [.., kind, last] = segments.as_slice() else { return None };
    let (model, method) = last.split_once(':').filter(|_| kind == "models" || kind == "tunedModels")?;
    Some((model.to_owned(), method.to_owned()))
}

pub(super) fn read(request: &Request, body: &Value) -> Result<Question, String> {
    let (model, method) = target(request).unwrap_or_default();
    // A request that counts tokens can hold the request whose tokens it counts.
    let body = named(body, "generateContentRequest").unwrap_or(body);
    let form = match request.query_value("alt").as_deref() {
        Some("sse") => StreamForm::Events,
        _ => StreamForm::Array,
    };
    let stream = (method == "streamGenerateContent").then_some(form);
    let contents = named_items(body, "contents");
    if contents.is_empty() {
        return Err("* GenerateContentRequest.contents: contents is not specified".to_owned());
    }
    let mut turns = Vec::new();
    if let Some(instruction) = named(body, "systemInstruction") {
        turns.push(Turn::System(parts_text(instruction)));
    }
    let mut calls = CallIds::default();
    for content in contents {
        add_turns(content, &mut calls, &mut turns)?;
    }
    let empty = Value::Null;
    let config = named(body, "generationConfig").unwrap_or(&empty);
    let choice = named(body, "toolConfig").and_then(|config| named(config, "functionCallingConfig"));
    let allowed = texts(choice.and_then(|choice| named(choice, "allowedFunctionNames")));
    let mut tools: Vec<OfferedTool> = named_items(body, "tools")
        .iter()
        .flat_map(|tool| named_items(tool, "functionDeclarations"))
        .filter_map(offered)
        .collect();
    let calling = match (choice.and_then(|choice| text(choice, "mode")), allowed.as_slice()) {
        (Some("NONE"), _) => Calling::Forbidden,
        (Some("ANY"), [only]) => Calling::Named(only.clone()),
        (Some("ANY"), _) => Calling::Required,
        _ => Calling::Allowed,
    };
    if !allowed.is_empty() {
        tools.retain(|tool| allowed.contains(&tool.name));
    }
    let schema = ["responseJsonSchema", "responseSchema"].into_iter().find_map(|name| named(config, name));
    let is_json = named(config, "responseMimeType").and_then(Value::as_str) == Some("application/json");
    Ok(Question {
        api: ModelApi::Gemini,
        model,
        turns,
        tools,
        calling,
        schema: schema.map(plain_schema).or_else(|| is_json.then(|| json!({ "type": "object" }))),
        stop: texts(named(config, "stopSequences")),
        stream,
        stream_usage: true,
        previous: None,
        is_stored: false,
        reasons: named(config, "thinkingConfig")
            .is_some_and(|thinking| flag(thinking, "includeThoughts") || flag(thinking, "include_thoughts")),
        echoed: Map::new(),
        is_full: false,
    })
}

/// A field, also under its name with underscores.
fn named<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value.get(name).or_else(|| {
        let mut other = String::new();
        for character in name.chars() {
            if character.is_uppercase() {
                other.push('_');
            }
            other.extend(character.to_lowercase());
        }
        value.get(other)
    })
}

fn named_items<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    named(value, name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A function with a schema; the tools that run at Google have none and are left out.
fn offered(function: &Value) -> Option<OfferedTool> {
    let schema = named(function, "parametersJsonSchema").or_else(|| function.get("parameters"));
    Some(OfferedTool {
        name: text(function, "name")?.to_owned(),
        description: text(function, "description").unwrap_or_default().to_owned(),
        schema: schema.map(plain_schema).unwrap_or_default(),
        form: CallForm::Function,
    })
}

/// A schema with the types of JSON Schema: Google writes `STRING`.
fn plain_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let plain = fields.iter().map(|(name, value)| match (name.as_str(), value) {
                ("type", Value::String(kind)) => (name.clone(), json!(kind.to_lowercase())),
                _ => (name.clone(), plain_schema(value)),
            });
            Value::Object(plain.collect())
        }
        Value::Array(items) => items.iter().map(plain_schema).collect(),
        value => value.clone(),
    }
}

/// The ids of calls that wait for their results. A call need not have one: then its result has only its name.
#[derive(Default)]
struct CallIds {
    waiting: Vec<(String, String)>,
    made: usize,
}

impl CallIds {
    fn call(&mut self, call: &Value) -> Option<ToolCall> {
        self.made += 1;
        let id = text(call, "id").map_or_else(|| format!("gemini-{}", self.made), str::to_owned);
        let name = text(call, "name")?.to_owned();
        self.waiting.push((id.clone(), name.clone()));
        let arguments = call.get("args").cloned().unwrap_or_else(|| json!({}));
        Some(ToolCall { id, name, arguments, form: CallForm::Function })
    }

    fn result(&mut self, response: &Value) -> ToolResult {
        let (id, name) = (text(response, "id"), text(response, "name"));
        let waiting = &mut self.waiting;
        let by_id = waiting.iter().position(|(waiting, _)| Some(waiting.as_str()) == id);
        let at = by_id.or_else(|| waiting.iter().position(|(_, waiting)| Some(waiting.as_str()) == name));
        let call = at.map(|at| waiting.remove(at).0);
        ToolResult {
            call: call.unwrap_or_else(|| id.or(name).unwrap_or_default().to_owned()),
            text: result_text(response.get("response").unwrap_or(&Value::Null)),
            is_error: false,
        }
    }
}

/// The result of a function. An object is always around it: `{"output": …}` or `{"result": …}`.
fn result_text(response: &Value) -> String {
    let only =
        response.as_object().filter(|object| object.len() == 1).and_then(|object| object.iter().next());
    match only {
        Some((name, Value::String(inner))) if name == "output" || name == "result" => inner.clone(),
        Some((name, inner)) if name == "output" || name == "result" => inner.to_string(),
        _ => response.to_string(),
    }
}

fn parts_text(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let is_said = |part: &&Value| !flag(part, "thought");
    let texts = items(content, "parts").iter().filter(is_said).filter_map(|part| text(part, "text"));
    texts.collect::<Vec<_>>().join("\n")
}

fn add_turns(content: &Value, ids: &mut CallIds, turns: &mut Vec<Turn>) -> Result<(), String> {
    let parts = items(content, "parts");
    match text(content, "role") {
        Some("model") => {
            let calls = parts.iter().filter_map(|part| ids.call(named(part, "functionCall")?));
            let calls: Vec<ToolCall> = calls.collect();
            turns.push(Turn::Assistant(Generation { calls, ..Generation::text(parts_text(content)) }));
        }
        Some("user" | "function") | None => {
            let results: Vec<&Value> =
                parts.iter().filter_map(|part| named(part, "functionResponse")).collect();
            for response in &results {
                turns.push(Turn::ToolResult(ids.result(response)));
            }
            if results.len() < parts.len() || parts.is_empty() {
                turns.push(Turn::User(parts_text(content)));
            }
        }
        Some(_) => return Err("Please use a valid role: user, model.".to_owned()),
    }
    Ok(())
}

pub(super) fn answer(question: &Question, generation: &Generation, context: &Context) -> Answer {
    let mut calls: Vec<Value> = Vec::new();
    for (index, call) in generation.calls.iter().enumerate() {
        let mut part =
            json!({ "functionCall": { "id": call.id, "name": call.name, "args": call.arguments } });
        if index == 0 {
            part["thoughtSignature"] = json!(context.ids.alphanumeric("", 64));
        }
        calls.push(part);
    }
    let thought = question.reasons.then(|| json!({ "text": super::THOUGHT, "thought": true }));
    let whole = |parts: Vec<Value>, is_last: bool| {
        let mut candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": 0 });
        if is_last {
            candidate["finishReason"] = json!("STOP");
        }
        json!({
            "candidates": [candidate],
            "usageMetadata": usage(question, generation),
            "modelVersion": question.model,
            "responseId": context.ids.alphanumeric("", 24),
        })
    };
    let Some(form) = question.stream else {
        let said =
            (!generation.text.is_empty() || calls.is_empty()).then(|| json!({ "text": generation.text }));
        return Answer::json(200, &whole(thought.into_iter().chain(said).chain(calls).collect(), true));
    };
    let said = pieces(&generation.text).into_iter().map(|piece| json!({ "text": piece }));
    let mut chunks: Vec<Value> =
        thought.into_iter().chain(said).chain(calls).map(|part| whole(vec![part], false)).collect();
    chunks.push(whole(vec![json!({ "text": "" })], true));
    match form {
        StreamForm::Events => {
            let mut events = EventStream::default();
            chunks.iter().for_each(|chunk| events.data(chunk));
            events.into_answer()
        }
        StreamForm::Array => {
            let chunks: Vec<String> = chunks.iter().map(Value::to_string).collect();
            Answer::text(
                200,
                "application/json; charset=UTF-8",
                format!("[{}]", chunks.join(ARRAY_SEPARATOR)),
            )
        }
    }
}

fn usage(question: &Question, generation: &Generation) -> Value {
    let (input, output) = (question.input_tokens(), generation.output_tokens());
    json!({
        "promptTokenCount": input,
        "candidatesTokenCount": output,
        "totalTokenCount": input + output,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": input }],
    })
}

/// The answer to a request that counts the tokens of a conversation.
pub(in crate::model) fn token_count(question: &Question) -> Answer {
    let input = question.input_tokens();
    let details = json!([{ "modality": "TEXT", "tokenCount": input }]);
    Answer::json(200, &json!({ "totalTokens": input, "promptTokensDetails": details }))
}

/// A model in the list of models.
pub(in crate::model) fn model(name: &str) -> Value {
    json!({
        "name": format!("models/{name}"),
        "version": "001",
        "displayName": name,
        "description": "A model.",
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
        "temperature": 1,
        "topP": 0.95,
        "topK": 64,
    })
}

/// Google's word for a status.
pub(super) const fn status_word(status: u16) -> &'static str {
    match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    }
}
