//! The prompts in `prompts` are requests of smolagents 1.26.0, langchain-classic 1.0.8 and crewai 1.15.30: the first of
//! a run, one after a call that succeeded, and one after a call that failed.

use serde_json::json;

use super::*;
use crate::description::{PlannedStep, PlannedTask};
use crate::model::api;
use crate::model::conversation::{CallForm, ModelApi, ToolCall, ToolResult};
use crate::model::next_turn::{NextTurn, next_turn};
use crate::model::options::{Character, ModelOptions};
use crate::service::{Context, Fields, Ids, Request};

fn asked(body: &str) -> Question {
    let request = Request::new("POST", "/v1/chat/completions").body(body.to_owned());
    api::read(ModelApi::Chat, &request).unwrap()
}

macro_rules! prompt {
    ($name:literal) => {
        asked(include_str!(concat!("prompts/", $name, ".json")))
    };
}

fn plain(system: &str, user: &str) -> Question {
    let messages = json!([{ "role": "system", "content": system }, { "role": "user", "content": user }]);
    asked(&json!({ "model": "gpt-4o", "messages": messages }).to_string())
}

fn options(character: Character) -> ModelOptions {
    let charge = Fields::new().with("customer", "cus_42").with("amount", 4999);
    let charge = charge.with("currency", "usd").with("order", "ord_1001");
    let step = |operation: &str, noun: &str, fields| PlannedStep {
        operation: operation.to_owned(),
        fields,
        nouns: vec![noun.to_owned()],
    };
    let tasks = vec![
        PlannedTask {
            text: "Charge customer cus_42 $49.99 for order ord_1001.".to_owned(),
            steps: vec![step("payment.charge", "charge", charge)],
            ..PlannedTask::default()
        },
        PlannedTask {
            text: "Refund charge ch_1.".to_owned(),
            steps: vec![step("payment.refund", "refund", Fields::new().with("charge", "ch_1"))],
            ..PlannedTask::default()
        },
    ];
    ModelOptions { tasks, character, ..ModelOptions::default() }
}

/// What the model generates, and the text of its answer.
fn answer(question: &Question, character: Character) -> (NextTurn, String) {
    let understood = understand(question).unwrap();
    let context = Context { now: jiff::Timestamp::UNIX_EPOCH, ids: Ids::new(1, "model", 1, 1, 0) };
    let mut next = next_turn(&options(character), &understood.question, 0, &context).unwrap();
    next.generation = understood.expressible(next.generation);
    let written = understood.written(&next.generation).stopped(&question.stop);
    (next, written.text)
}

fn text(question: &Question) -> String {
    answer(question, Character::Careful).1
}

#[test]
fn the_first_answer_calls_the_tool_in_the_protocol_of_the_prompt() {
    assert_eq!(
        text(&prompt!("crewai-first")),
        "Thought: I call charge_customer.\nAction: charge_customer\nAction Input: \
         {\"amount\":4999,\"currency\":\"usd\",\"customer\":\"cus_42\",\"order\":\"ord_1001\"}"
    );
    assert_eq!(
        text(&prompt!("langchain-react-first")),
        "Thought: I call refund_charge.\nAction: refund_charge\nAction Input: ch_1"
    );
    assert_eq!(
        text(&prompt!("langchain-structured-first")),
        "Thought: I call charge_customer.\nAction:\n```\n{\n  \"action\": \"charge_customer\",\n  \"action_input\": {\n    \
         \"amount\": 4999,\n    \"currency\": \"usd\",\n    \"customer\": \"cus_42\",\n    \"order\": \"ord_1001\"\n  \
         }\n}\n```"
    );
    assert_eq!(
        text(&prompt!("langchain-json-first")),
        "```json\n{\n  \"action\": \"refund_charge\",\n  \"action_input\": \"ch_1\"\n}\n```"
    );
    // The request stops the answer before `</code>`.
    assert_eq!(
        text(&prompt!("smolagents-code-first")),
        "Thought: I call charge_customer.\n<code>\nprint(charge_customer(amount=4999, currency=\"usd\", \
         customer=\"cus_42\", order=\"ord_1001\"))\n"
    );
}

#[test]
fn what_a_result_in_a_text_shows_as_done_is_not_asked_for_again() {
    for (question, end) in [
        (prompt!("crewai-made"), "Thought: I now know the final answer\nFinal Answer: Done: payment.charge."),
        (
            prompt!("langchain-react-made"),
            "Thought: I now know the final answer\nFinal Answer: Done: payment.refund.",
        ),
        (
            prompt!("langchain-structured-made"),
            "Thought: I now know the final answer.\nAction:\n```\n{\n  \"action\": \"Final Answer\",\n  \"action_input\": \
             \"Done: payment.charge.\"\n}\n```",
        ),
        (
            prompt!("langchain-json-made"),
            "```json\n{\n  \"action\": \"Final Answer\",\n  \"action_input\": \"Done: payment.refund.\"\n}\n```",
        ),
        (
            prompt!("smolagents-code-made"),
            "Thought: I now know the final answer.\n<code>\nfinal_answer(\"Done: payment.charge.\")\n",
        ),
        (
            prompt!("smolagents-code-planned"),
            "Thought: I now know the final answer.\n<code>\nfinal_answer(\"Done: payment.charge.\")\n",
        ),
        (
            prompt!("smolagents-code-field-made"),
            "{\"code\":\"final_answer(\\\"Done: payment.charge.\\\")\",\"thought\":\"I now know the final answer.\"}",
        ),
    ] {
        for character in Character::ALL {
            let (next, text) = answer(&question, character);
            let expected = if character == Character::Silent { (None, "") } else { (Some("done"), end) };
            assert_eq!((next.claim, text.as_str()), expected, "{character}");
        }
    }
}

#[test]
fn a_request_with_tools_can_have_its_history_as_text() {
    for character in Character::ALL {
        let (next, _) = answer(&prompt!("smolagents-tools-made"), character);
        let calls: Vec<&str> = next.generation.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!((next.claim, calls), (Some("done"), vec!["final_answer"]), "{character}");
    }
}

#[test]
fn after_a_failed_call_the_character_decides() {
    let failed =
        [prompt!("crewai-failed"), prompt!("smolagents-code-failed"), prompt!("smolagents-tools-failed")];
    for (at, question) in failed.iter().enumerate() {
        for (character, call) in [
            (Character::Careful, Some("list_charges")),
            (Character::Verifying, Some("list_charges")),
            (Character::Eager, Some("charge_customer")),
        ] {
            let (next, _) = answer(question, character);
            let made = next.generation.calls.first().map(|call| call.name.as_str());
            assert_eq!(made, call, "{at} {character}");
        }
        let (next, _) = answer(question, Character::GivingUp);
        assert_eq!(next.claim, Some("unknown"), "{at}");
    }
}

#[test]
fn a_plan_is_any_text() {
    for question in [prompt!("smolagents-code-plan"), prompt!("smolagents-code-plan-again")] {
        assert_eq!(text(&question), "OK.");
    }
}

#[test]
fn tools_are_read_in_each_form() {
    for prompt in [
        "Tool Name: charge\nTool Arguments: {'customer': {'description': None, 'type': 'str'}, 'note': {'type': 'str', \
         'default': ''}}\nTool Description: x",
        "> Tool Name: charge\nTool Description: x\nTool Args: {\"type\": \"object\", \"properties\": {\"customer\": \
         {\"type\": \"string\"}, \"note\": {\"type\": \"string\"}}, \"required\": [\"customer\"]}",
        "def charge(customer: str, note: str = 'a, b') -> dict:\n    \"\"\"Charges.\"\"\"",
        "charge(customer: str, note: Optional[str]) -> str - Charges.",
        "charge: charge(customer: str, note: str = '') -> str - Charges.",
        "charge: Charges, args: {'customer': {'type': 'string'}, 'note': {'type': 'string', 'default': None}}",
        "- charge: Charges.\n    Takes inputs: {'customer': {'type': 'string'}, 'note': {'type': 'string', 'nullable': \
         True}}\n    Returns an output of type: string",
        "<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"charge\", \"parameters\": {\"type\": \"object\", \
         \"properties\": {\"customer\": {\"type\": \"string\"}, \"note\": {\"type\": \"string\"}}, \"required\": \
         [\"customer\"]}}}\n</tools>",
    ] {
        let tools = prompt_tools::described(prompt);
        assert_eq!(tools.len(), 1, "{prompt}");
        let properties = json!({ "customer": { "type": "string" }, "note": { "type": "string" } });
        assert_eq!(
            (tools[0].name.as_str(), &tools[0].schema["properties"], &tools[0].schema["required"]),
            ("charge", &properties, &json!(["customer"])),
            "{prompt}"
        );
    }
}

#[test]
fn tagged_calls_have_a_result_each() {
    let system = "You are provided with function signatures within <tools></tools>:\n<tools>\n[{\"name\": \
                  \"charge_customer\", \"parameters\": {\"type\": \"object\", \"properties\": {\"customer\": {\"type\": \
                  \"string\"}}}}]\n</tools>\nFor each call return a JSON object with name and arguments within \
                  <tool_call></tool_call>: {\"name\": \"function\", \"arguments\": {}}";
    let task = "Charge customer cus_42 $49.99 for order ord_1001.";
    let first = plain(system, task);
    let call =
        "<tool_call>\n{\"arguments\":{\"customer\":\"cus_42\"},\"name\":\"charge_customer\"}\n</tool_call>";
    assert_eq!(text(&first), call);
    assert_eq!(answer(&first, Character::Doubling).1, format!("{call}\n{call}"));
    let after = |result: &str| {
        let said = Turn::Assistant(Generation::text(call));
        let result = Turn::User(format!("<tool_response>\n{result}\n</tool_response>"));
        let turns = [first.turns.clone(), vec![said, result]].concat();
        Question { turns, ..first.clone() }
    };
    let made = after("{\"name\": \"charge_customer\", \"content\": {\"id\": \"ch_1\"}}");
    assert_eq!(text(&made), "Done: payment.charge.");
    let failed = after("{\"name\": \"charge_customer\", \"content\": {\"error\": \"reset\"}}");
    assert_eq!(answer(&failed, Character::Eager).1, call);
}

#[test]
fn a_protocol_that_the_model_does_not_speak_is_named() {
    let unknown = plain(
        "You have access to the following tools: CHARGE, REFUND. Answer with !CHARGE <customer>.",
        "Charge customer cus_42.",
    );
    assert!(understand(&unknown).unwrap_err().message.contains("a protocol that the model does not speak"));
    let undescribed = plain(
        "You have access to the following tools: pay.\nAction: the tool\nAction Input: its input",
        "Charge customer cus_42.",
    );
    assert!(understand(&undescribed).unwrap_err().message.contains("describes no tool in a form"));
    let mut dropped = prompt!("crewai-first");
    dropped.turns.push(Turn::Assistant(Generation::default()));
    dropped.turns.push(Turn::User("Observation: {\"id\": \"ch_1\"}".to_owned()));
    assert!(understand(&dropped).unwrap_err().message.contains("does not show the call"));
}

#[test]
fn a_plain_question_is_answered_as_one() {
    for (system, user) in [
        ("You write titles.", "Write a title for: Charge customer cus_42."),
        ("You are a helpful assistant.", "Charge customer cus_42 $49.99 for order ord_1001."),
        ("You review code.", "def charge(customer: str) -> str:\n    return customer"),
        ("You have access to the following tools: charge.", "Summarize the conversation."),
    ] {
        assert_eq!(text(&plain(system, user)), "OK.", "{user}");
    }
}

#[test]
fn a_request_without_tools_after_calls_of_the_api_wants_a_text() {
    let system = "You have access to the following tools: charge.";
    let mut question = plain(system, "Charge customer cus_42 $49.99 for order ord_1001.");
    assert!(understand(&question).is_err());
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "charge".to_owned(),
        arguments: json!({}),
        form: CallForm::Function,
    };
    question.turns.push(Turn::Assistant(Generation { calls: vec![call], ..Generation::default() }));
    let result = ToolResult { call: "c1".to_owned(), text: "{\"id\": 1}".to_owned(), is_error: false };
    question.turns.push(Turn::ToolResult(result));
    assert_eq!(text(&question), "OK.");
}

#[test]
fn the_calls_of_one_answer_are_one_turn() {
    let mut question = prompt!("smolagents-code-first");
    let (next, said) = answer(&question, Character::Doubling);
    assert_eq!(next.generation.calls.len(), 2, "{said}");
    question.turns.push(Turn::Assistant(Generation::text(format!("{said}</code>"))));
    question
        .turns
        .push(Turn::User("Observation:\nExecution logs:\n{'id': 'ch_1'}\n{'id': 'ch_2'}".to_owned()));
    let turns = understand(&question).unwrap().question.turns;
    let calls: Vec<usize> = turns
        .iter()
        .filter_map(|turn| match turn {
            Turn::Assistant(generation) => Some(generation.calls.len()),
            Turn::System(_) | Turn::User(_) | Turn::ToolResult(_) => None,
        })
        .collect();
    assert_eq!(calls, [2]);
}

#[test]
fn an_answer_ends_before_a_text_of_stop() {
    let messages = json!([{ "role": "user", "content": "Hello." }]);
    let body =
        json!({ "model": "claude-x", "max_tokens": 9, "messages": messages, "stop_sequences": ["b", "c"] });
    for stream in [false, true] {
        let mut body = body.clone();
        body["stream"] = json!(stream);
        let request = Request::new("POST", "/v1/messages").body(body.to_string());
        let question = api::read(ModelApi::Messages, &request).unwrap();
        let written = Generation::text("a c b").stopped(&question.stop);
        assert_eq!(written.text, "a ");
        let context = Context { now: jiff::Timestamp::UNIX_EPOCH, ids: Ids::new(1, "model", 1, 1, 0) };
        let answer = String::from_utf8(api::answer(&question, &written, &context).written().body).unwrap();
        assert!(answer.contains("\"stop_reason\":\"stop_sequence\",\"stop_sequence\":\"c\""), "{answer}");
    }
    assert_eq!(asked(&json!({ "model": "m", "messages": messages, "stop": "x" }).to_string()).stop, ["x"]);
}
