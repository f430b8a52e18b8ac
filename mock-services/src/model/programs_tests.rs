//! The requests in `programs` have the form of those of Codex 0.169, Claude Code 2.1, Qwen Code 0.15, opencode 1.18 and
//! mini-swe-agent 2.4, with fewer tools and shorter texts.

use serde_json::{Value, json};

use super::*;
use crate::description::{ParameterType, PlannedRequest, ToolDescription};
use crate::model::api;
use crate::model::conversation::{CallForm, ModelApi, ToolResult};
use crate::service::{Ids, Request};

fn asked(api: ModelApi, body: &Value) -> Question {
    let path = match api {
        ModelApi::Chat => "/v1/chat/completions",
        ModelApi::Responses => "/v1/responses",
        ModelApi::Messages => "/v1/messages",
        ModelApi::Gemini => "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    };
    api::read(api, &Request::new("POST", path).body(body.to_string())).unwrap()
}

macro_rules! program {
    ($name:literal) => {
        serde_json::from_str::<Value>(include_str!(concat!("programs/", $name, ".json"))).unwrap()
    };
}

fn options(character: Character) -> ModelOptions {
    let fields = Fields::new().with("customer", "cus_42").with("amount", 4999).with("currency", "usd");
    let nouns = vec!["charge".to_owned(), "charges".to_owned()];
    let step = PlannedStep {
        operation: "payment.charge".to_owned(),
        fields: fields.with("order", "ord_1001"),
        nouns,
    };
    let text = "Charge customer cus_42 $49.99 for order ord_1001.".to_owned();
    ModelOptions {
        tasks: vec![PlannedTask { text, steps: vec![step], ..PlannedTask::default() }],
        character,
        ..ModelOptions::default()
    }
}

fn context() -> Context {
    Context { now: jiff::Timestamp::UNIX_EPOCH, ids: Ids::new(1, "model", 1, 1, 0) }
}

fn next(options: &ModelOptions, question: &Question) -> NextTurn {
    next_turn(options, question, 0, &context()).unwrap()
}

/// Adds an answer with the result of its only call.
fn go_on(question: &mut Question, next: &NextTurn, result: &str) {
    let mut answer = next.generation.clone();
    answer.calls[0].id = format!("call-{}", question.turns.len());
    let result = ToolResult { call: answer.calls[0].id.clone(), text: result.to_owned(), is_error: false };
    question.turns.extend([Turn::Assistant(answer), Turn::ToolResult(result)]);
}

#[test]
fn a_tool_in_a_namespace_is_called_with_its_namespace() {
    let body = program!("codex-first");
    let options = options(Character::Careful);
    let mut question = asked(ModelApi::Responses, &body);
    let first = next(&options, &question);
    let answer = api::answer(&question, &first.generation, &context()).written();
    let answer = String::from_utf8(answer.body).unwrap();
    assert!(
        answer.contains("\"namespace\":\"mcp__hapax\"")
            && answer.contains("\"name\":\"payment_create_charge\"")
    );
    assert_eq!(first.generation.calls[0].arguments["metadata"], json!({ "order": "ord_1001" }));
    let mut naming = options.clone();
    naming.tools = vec![("payment.charge".to_owned(), "mcp__hapax__payment_create_charge".to_owned())];
    assert_eq!(next(&naming, &question).generation, first.generation);

    // The history has the call with its namespace, and the output as a list.
    let mut body = body;
    let items = body["input"].as_array_mut().unwrap();
    items.push(json!({ "type": "reasoning", "summary": [], "encrypted_content": "x" }));
    items.push(json!({
        "type": "function_call", "call_id": "c1", "namespace": "mcp__hapax", "name": "payment_create_charge",
        "arguments": first.generation.calls[0].arguments.to_string(),
    }));
    let error = "tool call error: tool call failed for `hapax/payment_create_charge`";
    items.push(json!({ "type": "function_call_output", "call_id": "c1", "output": [
        { "type": "input_text", "text": "Wall time: 5.0070 seconds\nOutput:" }, { "type": "input_text", "text": error },
    ] }));
    question = asked(ModelApi::Responses, &body);
    assert_eq!(next(&options, &question).generation.calls[0].name, "payment_list_charges");
}

#[test]
fn tools_that_a_search_of_the_responses_api_found_are_called() {
    let mut body = program!("codex-first");
    let namespace = body["tools"].as_array_mut().unwrap().pop().unwrap();
    let parameters = json!({ "type": "object", "properties": { "query": { "type": "string" },
        "limit": { "type": "number" } }, "required": ["query"] });
    body["tools"].as_array_mut().unwrap().push(json!({
        "type": "tool_search", "execution": "client", "description": "Searches tools.", "parameters": parameters,
    }));
    let options = options(Character::Careful);
    let question = asked(ModelApi::Responses, &body);
    let first = next(&options, &question);
    let answer = api::answer(&question, &first.generation, &context()).written();
    let answer = String::from_utf8(answer.body).unwrap();
    assert!(
        answer.contains("\"type\":\"tool_search_call\"") && answer.contains("\"query\":\"payment charge\"")
    );
    let items = body["input"].as_array_mut().unwrap();
    let call = &first.generation.calls[0];
    items.push(json!({
        "type": "tool_search_call", "call_id": call.id, "execution": "client", "arguments": call.arguments,
    }));
    items.push(json!({
        "type": "tool_search_output", "call_id": call.id, "status": "completed", "execution": "client",
        "tools": [namespace],
    }));
    let second = next(&options, &asked(ModelApi::Responses, &body)).generation;
    assert_eq!(second.calls[0].name, "payment_create_charge");
    assert_eq!(second.calls[0].form, CallForm::Namespaced("mcp__hapax".to_owned()));
}

#[test]
fn tools_behind_a_search_are_searched_by_their_names_and_then_by_words() {
    let mut body = program!("claude-first");
    let options = options(Character::Careful);
    let mut question = asked(ModelApi::Messages, &body);
    let first = next(&options, &question);
    assert_eq!(first.generation.calls[0].name, "ToolSearch");
    let names = "select:mcp__hapax__payment_create_charge,mcp__hapax__payment_list_charges";
    assert_eq!(first.generation.calls[0].arguments, json!({ "query": names, "max_results": 20 }));
    go_on(&mut question, &first, "No matching deferred tools found");
    let second = next(&options, &question);
    assert_eq!(second.generation.calls[0].arguments["query"], json!("payment charge"));
    go_on(&mut question, &second, "No matching deferred tools found");
    let third = next(&options, &question);
    assert_eq!(third.generation.calls[0].arguments["query"], json!("charge"));

    // What was found is in the next request.
    let found = json!({ "name": "mcp__hapax__payment_create_charge", "defer_loading": true, "input_schema": {
        "type": "object", "properties": { "amount": { "type": "integer" }, "currency": {}, "customer": {},
        "metadata": { "type": "object" } }, "required": ["amount", "currency"] } });
    body["tools"].as_array_mut().unwrap().push(found);
    let search =
        json!({ "type": "tool_use", "id": "toolu_1", "name": "ToolSearch", "input": { "query": names } });
    let reference = json!([{ "type": "tool_reference", "tool_name": "mcp__hapax__payment_create_charge" }]);
    let result = json!({ "type": "tool_result", "tool_use_id": "toolu_1", "content": reference });
    body["messages"].as_array_mut().unwrap().extend([
        json!({ "role": "assistant", "content": [search] }),
        json!({ "role": "user", "content": [result] }),
    ]);
    let mut question = asked(ModelApi::Messages, &body);
    let charge = next(&options, &question);
    assert_eq!(charge.generation.calls[0].name, "mcp__hapax__payment_create_charge");
    // A check needs a tool that reads, which is behind the search, too.
    go_on(&mut question, &charge, "MCP error -32000: Connection closed");
    let read = next(&options, &question);
    assert_eq!(read.generation.calls[0].name, "ToolSearch");
    go_on(&mut question, &read, "No matching deferred tools found");
    assert_eq!(next(&options, &question).claim, Some("unknown"));
}

#[test]
fn a_sub_agent_with_the_task_in_its_history_gets_a_text() {
    let question = asked(ModelApi::Chat, &program!("qwen-memory"));
    for character in Character::ALL {
        let answer = next(&options(character), &question);
        assert_eq!(
            (answer.generation.text.as_str(), answer.generation.calls.len()),
            ("OK.", 0),
            "{character}"
        );
        assert_eq!(answer.claim, None);
    }
}

#[test]
fn after_its_tools_are_gone_the_model_says_what_it_knows() {
    let body = program!("opencode-gone");
    for (character, claim) in [
        (Character::Careful, "unknown"),
        (Character::Eager, "unknown"),
        (Character::GivingUp, "unknown"),
        (Character::Overclaiming, "done"),
    ] {
        let answer = next(&options(character), &asked(ModelApi::Chat, &body));
        assert_eq!((answer.claim, answer.generation.calls.len()), (Some(claim), 0), "{character}");
    }
    let mut made = body.clone();
    made["messages"][3]["content"] = json!("{\"status\":200,\"body\":{\"id\":\"ch_1\"}}");
    assert_eq!(next(&options(Character::Careful), &asked(ModelApi::Chat, &made)).claim, Some("done"));
    // Without a call, a request without the tool is void.
    let mut first = body;
    first["messages"].as_array_mut().unwrap().truncate(2);
    let stuck = next_turn(&options(Character::Careful), &asked(ModelApi::Chat, &first), 0, &context());
    assert!(stuck.unwrap_err().message.contains("no tool for payment.charge"));
}

#[test]
fn a_plan_is_written_before_the_tools_of_a_later_turn() {
    let mut body = program!("codex-first");
    let namespace = body["tools"].as_array_mut().unwrap().pop().unwrap();
    let options = options(Character::Careful);
    let mut question = asked(ModelApi::Responses, &body);
    let first = next(&options, &question);
    assert_eq!(first.generation.calls[0].name, "update_plan");
    go_on(&mut question, &first, "Plan updated");
    question.tools.extend(
        asked(
            ModelApi::Responses,
            &json!({
                "model": "gpt-5", "input": "x", "tools": [namespace]
            }),
        )
        .tools,
    );
    assert_eq!(next(&options, &question).generation.calls[0].name, "payment_create_charge");
}

#[test]
fn a_summary_says_how_far_the_task_is_and_is_read_in_the_next_conversation() {
    let compaction = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM \
                      that will resume the task.";
    let after = |character: Character, result: &str| {
        let options = options(character);
        let mut question = asked(ModelApi::Responses, &program!("codex-first"));
        let first = next(&options, &question);
        go_on(&mut question, &first, result);
        let task = question.turns[3].clone();
        question.turns.push(Turn::User(compaction.to_owned()));
        let summary = next(&options, &question);
        assert_eq!((summary.claim, summary.generation.calls.len()), (None, 0));
        let handed =
            format!("Another language model started to solve this problem.\n{}", summary.generation.text);
        question.turns = vec![task, Turn::User(handed)];
        (next(&options, &question), options, question)
    };
    let done = "{\"status\":200,\"body\":{\"id\":\"ch_1\"}}";
    assert_eq!(after(Character::Careful, done).0.claim, Some("done"));
    assert_eq!(after(Character::Forgetful, done).0.generation.calls[0].name, "payment_create_charge");
    let failed = "tool call error: Transport send error";
    assert_eq!(after(Character::Eager, failed).0.generation.calls[0].name, "payment_create_charge");
    assert_eq!(after(Character::GivingUp, failed).0.claim, Some("unknown"));
    let (read, options, mut question) = after(Character::Careful, failed);
    assert_eq!(read.generation.calls[0].name, "payment_list_charges");
    go_on(&mut question, &read, "{\"status\":200,\"body\":{\"data\":[]}}");
    assert_eq!(next(&options, &question).generation.calls[0].name, "payment_create_charge");
}

/// The task for a program that has only a shell.
fn shell_options(character: Character) -> ModelOptions {
    let charge =
        ToolDescription::new("payment_create_charge", "payment.charge", "POST", "/v1/charges", "Charges.")
            .form()
            .keyed()
            .required("amount", ParameterType::Integer, "The amount.")
            .required("currency", ParameterType::Text, "The currency.")
            .optional("customer", ParameterType::Text, "The customer.")
            .optional("metadata", ParameterType::Labels, "Labels.");
    let list = ToolDescription::new("payment_list_charges", "payment.list", "GET", "/v1/charges", "Lists.")
        .query("customer", ParameterType::Text, "The customer.");
    let mut options = options(character);
    for tool in [charge, list] {
        let request = PlannedRequest { service: "payment".to_owned(), tool, takes_key: false };
        options.tasks[0].requests.push(request);
    }
    options
}

fn command(next: &NextTurn) -> &str {
    next.generation.calls[0].arguments["command"].as_str().unwrap()
}

#[test]
fn a_program_with_only_a_shell_gets_a_line_for_each_step() {
    let options = shell_options(Character::Careful);
    let mut question = asked(ModelApi::Chat, &program!("mini-first"));
    let first = next(&options, &question);
    assert_eq!((first.generation.calls[0].name.as_str(), first.is_shell), ("bash", true));
    let line = command(&first);
    assert!(line.starts_with("curl -sS -X POST \"${HAPAX_PAYMENT_URL:?is not set}\"'/v1/charges'"), "{line}");
    assert!(line.contains("metadata%5Border%5D=ord_1001"), "{line}");
    assert!(first.choices[0].2.contains("the shell sends the request of payment_create_charge with curl"));
    let mut unset = question.clone();
    let lost =
        "<returncode>52</returncode>\n<output>\ncurl: (52) Empty reply from server\nHTTP 000\n</output>";
    go_on(&mut question, &first, lost);
    let read = next(&options, &question);
    assert!(command(&read).starts_with("curl -sS -X GET"), "{}", command(&read));
    let charge = json!({ "id": "ch_1", "customer": "cus_42", "amount": 4999, "currency": "usd",
        "metadata": { "order": "ord_1001" } });
    let listed = json!({ "object": "list", "data": [charge] });
    go_on(
        &mut question,
        &read,
        &format!("<returncode>0</returncode>\n<output>\n{listed}\nHTTP 200\n</output>"),
    );
    let last = next(&options, &question);
    assert_eq!((last.claim, command(&last)), (Some("done"), "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"));
    // A summary knows the lines.
    question.tools.clear();
    question.turns.push(Turn::User("Summarize the conversation.".to_owned()));
    assert!(next(&options, &question).generation.text.contains("order ord_1001): done."));

    go_on(&mut unset, &first, "<returncode>127</returncode>\nbash: line 1: HAPAX_PAYMENT_URL: is not set");
    let stuck = next_turn(&options, &unset, 0, &context()).unwrap_err();
    assert!(stuck.message.contains("do not have the variable HAPAX_PAYMENT_URL"), "{}", stuck.message);
}

#[test]
fn a_summary_of_a_transcript_knows_its_calls() {
    let options = shell_options(Character::Careful);
    let mut question = asked(ModelApi::Chat, &program!("mini-first"));
    question.tools.clear();
    let charge = r#"{"customer":"cus_42","amount":4999,"currency":"usd","metadata":{"order":"ord_1001"}}"#;
    let said = |result: &str| {
        let transcript = format!(
            "Here is the conversation to summarize:\n[User]: \"Charge.\"\n\n[Assistant tool call]: \
             hapax_payment_create_charge({charge})\n[Tool result]: {result}\n\n[Assistant]: Next."
        );
        let mut question = question.clone();
        question.turns.push(Turn::User(transcript));
        next(&options, &question).generation.text
    };
    let made = said(r#"{"id":"ch_1","amount":4999}"#);
    assert!(made.contains("order ord_1001): done."), "{made}");
    let lost = said("MCP error: the connection was closed");
    assert!(lost.contains("tried 1 times, result not known"), "{lost}");
}

#[test]
fn a_shell_is_not_used_where_a_tool_fits() {
    let question = asked(ModelApi::Responses, &program!("codex-first"));
    let first = next(&shell_options(Character::Careful), &question);
    assert_eq!((first.generation.calls[0].name.as_str(), first.is_shell), ("payment_create_charge", false));
}
