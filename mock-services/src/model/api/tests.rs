use super::*;
use crate::model::conversation::{CallForm, Calling, ToolCall, Turn};
use crate::service::Ids;

fn context() -> Context {
    Context { now: jiff::Timestamp::UNIX_EPOCH, ids: Ids::new(1, "model", 1, 1, 0) }
}

fn read_body(api: ModelApi, body: &Value) -> Result<Question, Answer> {
    read(api, &Request::new("POST", "/").body(body.to_string()))
}

fn parameters() -> Value {
    json!({ "type": "object", "properties": { "amount": { "type": "integer" } }, "required": ["amount"] })
}

/// The same conversation in each API.
fn requests(stream: bool) -> [(ModelApi, Value); 3] {
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
    ]
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
    let [_, (api, body), _] = requests(true);
    let question = read_body(api, &body).unwrap();
    let whole = answer(&Question { stream: false, ..question.clone() }, &generation(), &context());
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
    let [.., (api, body)] = requests(true);
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
