use super::*;
use crate::model::conversation::{CallForm, Calling, StreamForm, ToolCall, Turn};
use crate::service::Ids;

fn context() -> Context {
    Context { now: jiff::Timestamp::UNIX_EPOCH, ids: Ids::new(1, "model", 1, 1, 0) }
}

fn read_body(api: ModelApi, body: &Value) -> Result<Question, Answer> {
    read(api, &Request::new("POST", "/").body(body.to_string()))
}

fn read_gemini(method: &str, body: &Value) -> Result<Question, Answer> {
    let path = format!("/v1beta/models/gemini-2.5-flash:{method}");
    read(ModelApi::Gemini, &Request::new("POST", &path).body(body.to_string()))
}

fn parameters() -> Value {
    json!({ "type": "object", "properties": { "amount": { "type": "integer" } }, "required": ["amount"] })
}

/// The same conversation in each API.
fn requests(stream: bool) -> [(ModelApi, Value); 4] {
    let function = json!({ "name": "charge", "description": "Charges.", "parameters": parameters() });
    let mut flat = function.clone();
    flat["type"] = json!("function");
    [
        (
            ModelApi::Chat,
            json!({
                "model": "gpt-5.2", "stream": stream, "stream_options": { "include_usage": true },
                "messages": [
                    { "role": "system", "content": "Be brief." },
                    { "role": "user", "content": [{ "type": "text", "text": "Charge." }] },
                    { "role": "assistant", "content": null, "tool_calls": [{
                        "id": "c1", "type": "function",
                        "function": { "name": "charge", "arguments": "{\"amount\":1}" },
                    }] },
                    { "role": "tool", "tool_call_id": "c1", "content": "paid" },
                ],
                "tools": [{ "type": "function", "function": function }],
            }),
        ),
        (
            ModelApi::Responses,
            json!({
                "model": "gpt-5.2", "stream": stream, "instructions": "Be brief.",
                "input": [
                    { "role": "user", "content": [{ "type": "input_text", "text": "Charge." }] },
                    { "type": "reasoning", "summary": [] },
                    {
                        "type": "function_call", "call_id": "c1", "name": "charge",
                        "arguments": "{\"amount\":1}",
                    },
                    { "type": "function_call_output", "call_id": "c1", "output": "paid" },
                ],
                "tools": [flat, { "type": "web_search" }],
            }),
        ),
        (
            ModelApi::Messages,
            json!({
                "model": "claude-opus-4-6", "max_tokens": 100, "stream": stream, "system": "Be brief.",
                "messages": [
                    { "role": "user", "content": "Charge." },
                    { "role": "assistant", "content": [
                        { "type": "tool_use", "id": "c1", "name": "charge", "input": { "amount": 1 } },
                    ] },
                    { "role": "user", "content": [{
                        "type": "tool_result", "tool_use_id": "c1",
                        "content": [{ "type": "text", "text": "paid" }],
                    }] },
                ],
                "tools": [{ "name": "charge", "description": "Charges.", "input_schema": parameters() }],
            }),
        ),
        (ModelApi::Gemini, gemini_request()),
    ]
}

fn gemini_request() -> Value {
    let properties = json!({ "amount": { "type": "INTEGER" } });
    let parameters = json!({ "type": "OBJECT", "properties": properties, "required": ["amount"] });
    let function = json!({ "name": "charge", "description": "Charges.", "parameters": parameters });
    json!({
        "systemInstruction": { "parts": [{ "text": "Be brief." }] },
        "contents": [
            { "role": "user", "parts": [{ "text": "Charge." }] },
            { "role": "model", "parts": [
                { "text": "Thinking.", "thought": true },
                { "functionCall": { "id": "c1", "name": "charge", "args": { "amount": 1 } }, "thoughtSignature": "x" },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "id": "c1", "name": "charge", "response": { "output": "paid" } } },
            ] },
        ],
        "tools": [{ "functionDeclarations": [function] }, { "googleSearch": {} }],
    })
}

fn generation() -> Generation {
    let call = |id: &str, amount: u64| ToolCall {
        id: id.to_owned(),
        name: "charge".to_owned(),
        arguments: json!({ "amount": amount, "note": "ä long note for the order" }),
        form: CallForm::Function,
    };
    Generation {
        text: "Two charges, as you asked.".to_owned(),
        calls: vec![call("c2", 2), call("c3", 3)],
        ..Generation::default()
    }
}

#[test]
fn each_api_is_read_into_the_same_conversation() {
    for (api, body) in requests(false) {
        let question = read_body(api, &body).unwrap();
        let turns: Vec<String> = question
            .turns
            .iter()
            .map(|turn| match turn {
                Turn::System(text) => format!("system {text}"),
                Turn::User(text) => format!("user {text}"),
                Turn::Assistant(generation) => {
                    let call = &generation.calls[0];
                    format!("call {} {}{}", call.id, call.name, call.arguments)
                }
                Turn::ToolResult(result) => format!("result {} {}", result.call, result.text),
            })
            .collect();
        let expected = ["system Be brief.", "user Charge.", "call c1 charge{\"amount\":1}", "result c1 paid"];
        assert_eq!(turns, expected, "{api:?}");
        let [tool] = &question.tools[..] else { panic!("{api:?}: {:?}", question.tools) };
        assert_eq!((tool.name.as_str(), tool.description.as_str()), ("charge", "Charges."));
        assert_eq!(tool.schema, parameters(), "{api:?}");
        assert!(question.calling == Calling::Allowed && question.unpaired_call().is_none());
    }
}

#[test]
fn a_whole_answer_has_the_text_the_calls_and_the_usage() {
    for (api, body) in requests(false) {
        let question = read_body(api, &body).unwrap();
        let answer = answer(&question, &generation(), &context());
        assert_eq!(answer.header("Content-Type"), Some("application/json"));
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let (text, names, end, tokens) = match api {
            ModelApi::Chat => (
                &body["choices"][0]["message"]["content"],
                body["choices"][0]["message"]["tool_calls"].as_array().unwrap().clone(),
                (&body["choices"][0]["finish_reason"], "tool_calls"),
                &body["usage"]["completion_tokens"],
            ),
            ModelApi::Responses => (
                &body["output"][0]["content"][0]["text"],
                body["output"].as_array().unwrap()[1..].to_vec(),
                (&body["status"], "completed"),
                &body["usage"]["output_tokens"],
            ),
            ModelApi::Messages => (
                &body["content"][0]["text"],
                body["content"].as_array().unwrap()[1..].to_vec(),
                (&body["stop_reason"], "tool_use"),
                &body["usage"]["output_tokens"],
            ),
            ModelApi::Gemini => (
                &body["candidates"][0]["content"]["parts"][0]["text"],
                body["candidates"][0]["content"]["parts"].as_array().unwrap()[1..].to_vec(),
                (&body["candidates"][0]["finishReason"], "STOP"),
                &body["usageMetadata"]["candidatesTokenCount"],
            ),
        };
        assert_eq!((text, end.0), (&json!(generation().text), &json!(end.1)), "{api:?}");
        assert_eq!(names.len(), 2, "{api:?}");
        assert_eq!(tokens, &json!(generation().output_tokens()));
    }
}

/// The data of the events of a stream, except the end marker.
fn events(answer: &Answer) -> Vec<Value> {
    let text = String::from_utf8(answer.body.clone()).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// The pieces at these pointers, joined.
fn joined(events: &[Value], is: impl Fn(&Value) -> bool, pointer: &str) -> String {
    let pieces = events.iter().filter(|event| is(event)).filter_map(|event| event.pointer(pointer)?.as_str());
    pieces.collect()
}

#[test]
fn a_stream_of_chat_completions_has_the_same_in_pieces() {
    let [(api, body), ..] = requests(true);
    let answer = answer(&read_body(api, &body).unwrap(), &generation(), &context());
    assert!(answer.header("Content-Type").unwrap().starts_with("text/event-stream"));
    assert!(answer.body.ends_with(b"data: [DONE]\n\n"));
    let events = events(&answer);
    assert_eq!(events[0]["choices"][0]["delta"]["role"], json!("assistant"));
    assert_eq!(joined(&events, |_| true, "/choices/0/delta/content"), generation().text);
    for (index, call) in generation().calls.iter().enumerate() {
        let is = |event: &Value| event.pointer("/choices/0/delta/tool_calls/0/index") == Some(&json!(index));
        assert!(events.iter().filter(|event| is(event)).count() > 3, "the arguments are in pieces");
        let arguments = joined(&events, is, "/choices/0/delta/tool_calls/0/function/arguments");
        assert_eq!(arguments, call.arguments.to_string());
        assert_eq!(joined(&events, is, "/choices/0/delta/tool_calls/0/id"), call.id);
    }
    let [.., end, usage] = &events[..] else { panic!() };
    assert_eq!(end["choices"][0]["finish_reason"], json!("tool_calls"));
    assert!(usage["usage"]["total_tokens"].as_u64() > Some(0) && usage["choices"] == json!([]));
}

#[test]
fn a_stream_of_responses_is_numbered_and_ends_with_the_whole_response() {
    let [_, (api, body), ..] = requests(true);
    let question = read_body(api, &body).unwrap();
    let whole = answer(&Question { stream: None, ..question.clone() }, &generation(), &context());
    let events = events(&answer(&question, &generation(), &context()));
    let numbers: Vec<u64> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let last = events.last().unwrap();
    assert_eq!(last["type"], json!("response.completed"));
    assert_eq!(last["response"], serde_json::from_slice::<Value>(&whole.body).unwrap());
    let of = |kind: &'static str| move |event: &Value| event["type"] == json!(kind);
    assert_eq!(joined(&events, of("response.output_text.delta"), "/delta"), generation().text);
    let second = |event: &Value| {
        of("response.function_call_arguments.delta")(event) && event["output_index"] == json!(2)
    };
    assert_eq!(joined(&events, second, "/delta"), generation().calls[1].arguments.to_string());
    assert_eq!(events.iter().filter(|event| of("response.output_item.done")(event)).count(), 3);
}

#[test]
fn a_stream_of_messages_has_a_block_for_the_text_and_each_call() {
    let [.., (api, body), _] = requests(true);
    let events = events(&answer(&read_body(api, &body).unwrap(), &generation(), &context()));
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("message_start", "message_stop"));
    for kind in ["content_block_start", "content_block_stop"] {
        assert_eq!(kinds.iter().filter(|have| **have == kind).count(), 3, "{kind}");
    }
    assert_eq!(joined(&events, |_| true, "/delta/text"), generation().text);
    let second = |event: &Value| event["index"] == json!(2);
    assert_eq!(joined(&events, second, "/delta/partial_json"), generation().calls[1].arguments.to_string());
    let end = events.iter().find(|event| event["type"] == json!("message_delta")).unwrap();
    assert_eq!(end["delta"]["stop_reason"], json!("tool_use"));
    assert_eq!(end["usage"]["output_tokens"], json!(generation().output_tokens()));
}

#[test]
fn a_stream_of_gemini_is_events_or_one_array() {
    let body = gemini_request();
    let array = answer(&read_gemini("streamGenerateContent", &body).unwrap(), &generation(), &context());
    assert!(array.header("Content-Type").unwrap().starts_with("application/json"));
    let array: Vec<Value> = serde_json::from_slice(&array.body).unwrap();
    let sse = read_gemini("streamGenerateContent?alt=sse", &body).unwrap();
    let events = events(&answer(&sse, &generation(), &context()));
    assert_eq!(events, array);
    let said = |event: &Value| event.pointer("/candidates/0/content/parts/0/text").is_some();
    assert_eq!(joined(&events, said, "/candidates/0/content/parts/0/text"), generation().text);
    let calls = events.iter().filter_map(|event| event.pointer("/candidates/0/content/parts/0/functionCall"));
    let arguments: Vec<&Value> = calls.map(|call| &call["args"]).collect();
    assert_eq!(arguments, generation().calls.iter().map(|call| &call.arguments).collect::<Vec<_>>());
    let ends = events.iter().filter(|event| event["candidates"][0]["finishReason"] == json!("STOP"));
    assert_eq!(ends.count(), 1);
}

#[test]
fn gemini_takes_names_with_underscores_calls_without_ids_and_every_mode() {
    let call = |name: &str| json!({ "function_call": { "name": name, "args": {} } });
    let result = |name: &str| json!({ "function_response": { "name": name, "response": { "error": "no" } } });
    let body = json!({
        "system_instruction": "Be brief.",
        "contents": [
            { "parts": [{ "text": "Go." }] },
            { "role": "model", "parts": [call("a"), call("b"), call("a")] },
            { "role": "function", "parts": [result("a"), result("b"), result("a")] },
        ],
        "tools": [{ "function_declarations": [{ "name": "a" }, { "name": "b", "parametersJsonSchema": parameters() }] }],
        "generation_config": { "stop_sequences": ["END"], "response_mime_type": "application/json" },
    });
    let question = read_gemini("generateContent", &body).unwrap();
    assert_eq!(question.unpaired_call(), None);
    assert_eq!(question.calls().count(), 3);
    assert_eq!(question.result_of("gemini-3").unwrap().text, "{\"error\":\"no\"}");
    assert_eq!(question.tools[1].schema, parameters());
    assert_eq!((question.stop, question.schema), (vec!["END".to_owned()], Some(json!({ "type": "object" }))));
    let called = |config: Value| {
        let mut body = gemini_request();
        body["toolConfig"] = json!({ "functionCallingConfig": config });
        read_gemini("generateContent", &body).unwrap()
    };
    assert_eq!(called(json!({ "mode": "NONE" })).calling, Calling::Forbidden);
    assert_eq!(called(json!({ "mode": "ANY" })).calling, Calling::Required);
    let only = called(json!({ "mode": "ANY", "allowedFunctionNames": ["charge"] }));
    assert_eq!(only.calling, Calling::Named("charge".to_owned()));
    assert!(called(json!({ "mode": "AUTO", "allowedFunctionNames": ["other"] })).tools.is_empty());
    let mut unpaired = gemini_request();
    unpaired["contents"].as_array_mut().unwrap().pop();
    let complaint = read_gemini("generateContent", &unpaired).unwrap().unpaired_call().unwrap();
    assert!(complaint.contains("number of function response parts"), "{complaint}");
    assert_eq!(read_gemini("generateContent", &json!({ "contents": [] })).unwrap_err().status, 400);
}

#[test]
fn what_the_model_thinks_is_shown_where_the_request_asks_for_it() {
    let [_, (_, mut responses), (_, mut messages), (_, mut gemini)] = requests(false);
    responses["reasoning"] = json!({ "effort": "medium", "summary": "auto" });
    messages["thinking"] = json!({ "type": "enabled", "budget_tokens": 1024 });
    gemini["generationConfig"] = json!({ "thinkingConfig": { "includeThoughts": true } });
    for stream in [None, Some(StreamForm::Events)] {
        let told = |question: Question| {
            let answer = answer(&Question { stream, ..question }, &generation(), &context());
            String::from_utf8(answer.written().body).unwrap()
        };
        let text = told(read_body(ModelApi::Responses, &responses).unwrap());
        assert!(text.contains("\"type\":\"reasoning\"") && text.contains("summary_text"), "{text}");
        let text = told(read_body(ModelApi::Messages, &messages).unwrap());
        assert!(text.contains("\"type\":\"thinking\"") && text.contains("signature"), "{text}");
        assert_eq!(text.contains("thinking_delta") && text.contains("signature_delta"), stream.is_some());
        let text = told(read_gemini("generateContent", &gemini).unwrap());
        assert!(text.contains("\"thought\":true"), "{text}");
    }
    // What is sent back is no part of the conversation.
    let thinking = json!({ "type": "thinking", "thinking": "I do it.", "signature": "x" });
    messages["messages"][1]["content"].as_array_mut().unwrap().insert(0, thinking);
    let question = read_body(ModelApi::Messages, &messages).unwrap();
    assert!(matches!(&question.turns[2], Turn::Assistant(generation) if generation.text.is_empty()));
}

#[test]
fn each_api_has_its_own_errors() {
    let body = |api, status, code| -> Value {
        serde_json::from_slice(&error(api, status, "Why.", code).body).unwrap()
    };
    assert_eq!(
        body(ModelApi::Chat, 404, Some("model_not_found")),
        json!({ "error": {
            "message": "Why.", "type": "invalid_request_error", "param": null, "code": "model_not_found",
        } })
    );
    assert_eq!(
        body(ModelApi::Messages, 529, None),
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Why." } })
    );
    assert_eq!(
        body(ModelApi::Gemini, 429, None),
        json!({ "error": { "code": 429, "message": "Why.", "status": "RESOURCE_EXHAUSTED" } })
    );
    assert_eq!(body(ModelApi::Responses, 503, None)["error"]["type"], json!("server_error"));
}

#[test]
fn an_invalid_request_is_refused_with_400() {
    for (api, body) in [
        (ModelApi::Chat, json!({ "messages": [] })),
        (ModelApi::Chat, json!({ "model": "gpt-5.2" })),
        (ModelApi::Chat, json!({ "model": "gpt-5.2", "messages": [{ "role": "friend" }] })),
        (ModelApi::Chat, json!({ "model": "gpt-5.2", "messages": [{}] })),
        (ModelApi::Chat, json!([])),
        (ModelApi::Responses, json!({ "model": "gpt-5.2" })),
        (ModelApi::Responses, json!({ "input": "x" })),
        (
            ModelApi::Messages,
            json!({ "model": "claude-x", "messages": [{ "role": "user", "content": "x" }] }),
        ),
        (ModelApi::Messages, json!({ "model": "claude-x", "max_tokens": 1, "messages": [] })),
        (ModelApi::Messages, json!({ "max_tokens": 1 })),
    ] {
        assert_eq!(read_body(api, &body).unwrap_err().status, 400, "{api:?} {body}");
    }
    let broken = read(ModelApi::Messages, &Request::new("POST", "/").body("{"));
    assert_eq!(broken.unwrap_err().status, 400);
    let old = json!({ "model": "gpt-4o", "messages": [{ "role": "user", "content": "x" }], "functions": [] });
    assert!(read_body(ModelApi::Chat, &old).unwrap_err().missing_feature().is_some());
}

#[test]
fn a_request_can_force_a_tool_and_a_format() {
    let schema = json!({ "type": "object" });
    let user = json!([{ "role": "user", "content": "x" }]);
    let chat = |choice: Value| {
        let format = json!({ "type": "json_schema", "json_schema": { "name": "a", "schema": schema } });
        json!({ "model": "m", "messages": user, "tool_choice": choice, "response_format": format })
    };
    let responses = |choice: Value| {
        let format = json!({ "format": { "type": "json_schema", "name": "a", "schema": schema } });
        json!({ "model": "m", "input": "x", "tool_choice": choice, "text": format })
    };
    let messages = |choice: Value| {
        let format = json!({ "format": { "type": "json_schema", "schema": schema } });
        json!({
            "model": "m", "max_tokens": 1, "messages": user, "tool_choice": choice, "output_config": format,
        })
    };
    let named = Calling::Named("pay".to_owned());
    for (api, body, calling) in [
        (ModelApi::Chat, chat(json!("none")), Calling::Forbidden),
        (ModelApi::Chat, chat(json!("required")), Calling::Required),
        (ModelApi::Chat, chat(json!({ "type": "function", "function": { "name": "pay" } })), named.clone()),
        (ModelApi::Responses, responses(json!("auto")), Calling::Allowed),
        (ModelApi::Responses, responses(json!({ "type": "function", "name": "pay" })), named.clone()),
        (ModelApi::Messages, messages(json!({ "type": "none" })), Calling::Forbidden),
        (ModelApi::Messages, messages(json!({ "type": "any" })), Calling::Required),
        (ModelApi::Messages, messages(json!({ "type": "tool", "name": "pay" })), named),
    ] {
        let question = read_body(api, &body).unwrap();
        assert_eq!((question.calling, question.schema.as_ref()), (calling, Some(&schema)), "{body}");
    }
}
