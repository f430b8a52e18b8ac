use serde_json::Map;

use super::*;
use crate::model::conversation::{CallForm, OfferedTool, ToolResult};
use crate::model::options::ScriptedTurn;
use crate::service::Ids;

fn context() -> Context {
    Context { now: jiff::Timestamp::UNIX_EPOCH, ids: Ids::new(1, "model", 1, 1, 0) }
}

fn tool(name: &str, properties: Value) -> OfferedTool {
    let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    OfferedTool { name: name.to_owned(), description: String::new(), schema, form: CallForm::Function }
}

fn charge_tool() -> OfferedTool {
    let schema = json!({ "type": "object", "properties": { "customer": {}, "amount": { "type": "integer" },
        "idempotency_key": {}, "reason": {} }, "required": ["customer", "amount"] });
    OfferedTool { schema, ..tool("charge_card", json!({})) }
}

/// A conversation that begins, with a tool to charge and one to list charges.
fn question() -> Question {
    Question {
        api: ModelApi::Chat,
        model: "gpt-5.2".to_owned(),
        turns: vec![Turn::User("Charge cus_42.".to_owned())],
        tools: vec![charge_tool(), tool("list_charges", json!({ "customer": {} }))],
        calling: Calling::Allowed,
        schema: None,
        stop: Vec::new(),
        stream: None,
        stream_usage: false,
        previous: None,
        is_stored: false,
        reasons: false,
        echoed: Map::new(),
        is_full: false,
    }
}

fn charge() -> PlannedStep {
    let fields = Fields::new().with("customer", "cus_42").with("amount", 4999);
    PlannedStep { operation: "payment.charge".to_owned(), fields, nouns: vec!["charge".to_owned()] }
}

fn options(character: Character) -> ModelOptions {
    let tasks = vec![PlannedTask {
        text: "Charge cus_42.".to_owned(),
        steps: vec![charge()],
        ..PlannedTask::default()
    }];
    ModelOptions { tasks, character, ..ModelOptions::default() }
}

/// Adds what the model generates, with this result for each of its calls, and returns it.
fn play(question: &mut Question, options: &ModelOptions, result: &str) -> Generation {
    let mut generation = next_turn(options, question, 0, &context()).unwrap().generation;
    for call in &mut generation.calls {
        call.id = format!("{}-{}", call.id, question.turns.len());
    }
    question.turns.push(Turn::Assistant(generation.clone()));
    for call in &generation.calls {
        let result = ToolResult { call: call.id.clone(), text: result.to_owned(), is_error: false };
        question.turns.push(Turn::ToolResult(result));
    }
    generation
}

fn names(generation: &Generation) -> Vec<&str> {
    generation.calls.iter().map(|call| call.name.as_str()).collect()
}

const ERROR: &str = "Error: connection reset";

#[test]
fn a_silent_model_ends_with_an_empty_answer_until_it_is_asked_again() {
    let (mut question, options) = (question(), options(Character::Silent));
    assert_eq!(names(&play(&mut question, &options, ERROR)), ["charge_card"]);
    assert_eq!(names(&play(&mut question, &options, "ok")), ["charge_card"], "after an error it is eager");
    let end = next_turn(&options, &question, 0, &context()).unwrap();
    assert_eq!((end.generation, end.claim), (Generation::default(), None));
    let again = next_turn(&options, &question, 1, &context()).unwrap();
    assert_eq!((again.generation.text.as_str(), again.claim), ("Done: payment.charge.", Some("done")));
    // An answer that must be a call is never empty.
    question.calling = Calling::Required;
    question.tools.push(tool("final_result", json!({ "text": { "type": "string" } })));
    let called = next_turn(&options, &question, 0, &context()).unwrap();
    assert_eq!(names(&called.generation), ["final_result"]);
}

#[test]
fn a_fanning_model_makes_the_calls_of_all_steps_in_one_turn_and_repeats_those_that_failed() {
    let (mut question, mut options) = (question(), options(Character::Fanning));
    let other = Fields::new().with("customer", "cus_43").with("amount", 2500);
    options.tasks[0].steps.push(PlannedStep { fields: other, ..charge() });
    let both = next_turn(&options, &question, 0, &context()).unwrap().generation;
    assert_eq!(names(&both), ["charge_card", "charge_card"]);
    assert_ne!(both.calls[0].id, both.calls[1].id);
    question.turns.push(Turn::Assistant(both.clone()));
    for (call, text) in both.calls.iter().zip(["ok", ERROR]) {
        let result = ToolResult { call: call.id.clone(), text: text.to_owned(), is_error: false };
        question.turns.push(Turn::ToolResult(result));
    }
    let again = play(&mut question, &options, "ok");
    assert_eq!((names(&again), &again.calls[0].arguments), (vec!["charge_card"], &both.calls[1].arguments));
    assert_eq!(next_turn(&options, &question, 0, &context()).unwrap().claim, Some("done"));
}

#[test]
fn a_step_is_called_once_when_it_succeeds_and_the_claim_says_done() {
    let others = [Character::Doubling, Character::Silent];
    for character in Character::ALL.into_iter().filter(|character| !others.contains(character)) {
        let (mut question, options) = (question(), options(character));
        let first = play(&mut question, &options, "{\"id\": \"ch_1\"}");
        assert_eq!(names(&first), ["charge_card"], "{character}");
        let arguments = &first.calls[0].arguments;
        assert_eq!((&arguments["customer"], &arguments["amount"]), (&json!("cus_42"), &json!(4999)));
        let next = next_turn(&options, &question, 0, &context()).unwrap();
        assert_eq!((next.claim, next.generation.calls.len()), (Some("done"), 0), "{character}");
        assert_eq!(next.generation.text, "Done: payment.charge.");
        let choice = &next.choices[0];
        assert_eq!(
            (choice.0.as_str(), choice.1.as_str(), choice.2.as_str()),
            ("payment.charge", "charge_card", "its name has the verb of the operation")
        );
    }
}

#[test]
fn an_eager_model_makes_the_same_call_again_and_stops_after_some_attempts() {
    let (mut question, options) = (question(), options(Character::Eager));
    let calls: Vec<Generation> = (0..4).map(|_| play(&mut question, &options, ERROR)).collect();
    assert!(calls.iter().all(|call| call.calls[0].arguments == calls[0].calls[0].arguments));
    let last = next_turn(&options, &question, 0, &context()).unwrap();
    assert_eq!((last.claim, last.generation.calls.len()), (Some("unknown"), 0));
}

#[test]
fn a_rewording_model_calls_again_with_other_words_and_a_new_key() {
    let (mut question, options) = (question(), options(Character::Rewording));
    let first = play(&mut question, &options, ERROR).calls.remove(0).arguments;
    let second = play(&mut question, &options, ERROR).calls.remove(0).arguments;
    assert_ne!(first["idempotency_key"], second["idempotency_key"]);
    assert_ne!(first["reason"], second["reason"]);
    assert_eq!(first["amount"], second["amount"]);
}

#[test]
fn a_forgetful_model_does_again_what_a_summary_reports_as_done() {
    let mut question = question();
    question.turns.insert(0, Turn::System("Summary: the charge of 4999 for cus_42 is done.".to_owned()));
    let again = next_turn(&options(Character::Forgetful), &question, 0, &context()).unwrap();
    assert_eq!(names(&again.generation), ["charge_card"]);
    let knows = next_turn(&options(Character::Eager), &question, 0, &context()).unwrap();
    assert_eq!((knows.claim, knows.generation.calls.len()), (Some("done"), 0));
}

#[test]
fn a_doubling_model_makes_two_equal_calls_in_one_turn() {
    let (mut question, options) = (question(), options(Character::Doubling));
    let both = play(&mut question, &options, "{\"id\": \"ch_1\"}").calls;
    assert_eq!(both.len(), 2);
    assert_eq!(both[0].arguments, both[1].arguments);
    assert_ne!(both[0].id, both[1].id);
    assert_eq!(next_turn(&options, &question, 0, &context()).unwrap().claim, Some("done"));
}

#[test]
fn a_verifying_model_reads_before_it_repeats_a_call() {
    let options = options(Character::Verifying);
    let mut absent = question();
    assert_eq!(names(&play(&mut absent, &options, ERROR)), ["charge_card"]);
    assert_eq!(names(&play(&mut absent, &options, "[]")), ["list_charges"]);
    assert_eq!(names(&play(&mut absent, &options, "{\"id\": \"ch_1\"}")), ["charge_card"]);
    let mut there = question();
    play(&mut there, &options, ERROR);
    play(&mut there, &options, "[{\"customer\": \"cus_42\", \"amount\": 4999}]");
    assert_eq!(next_turn(&options, &there, 0, &context()).unwrap().claim, Some("done"));
}

#[test]
fn a_careful_model_repeats_its_key_and_reads_where_a_tool_takes_none() {
    let (mut keyed, options) = (question(), options(Character::Careful));
    let first = play(&mut keyed, &options, ERROR).calls.remove(0).arguments;
    assert_eq!(play(&mut keyed, &options, ERROR).calls.remove(0).arguments, first);
    assert!(first["idempotency_key"].is_string());
    let mut plain = question();
    plain.tools[0] = tool("charge_card", json!({ "customer": {}, "amount": {} }));
    play(&mut plain, &options, ERROR);
    assert_eq!(names(&play(&mut plain, &options, ERROR)), ["list_charges"]);
}

#[test]
fn an_overclaiming_model_claims_done_after_an_error_and_one_that_gives_up_does_not_know() {
    let doubt = "payment.charge: I do not know whether it was done.";
    for (character, claim, text) in [
        (Character::Overclaiming, Some("done"), "Done: payment.charge."),
        (Character::GivingUp, Some("unknown"), doubt),
    ] {
        let (mut question, options) = (question(), options(character));
        play(&mut question, &options, ERROR);
        let last = next_turn(&options, &question, 0, &context()).unwrap();
        assert_eq!((last.claim, last.generation.calls.len()), (claim, 0), "{character}");
        assert_eq!(last.generation.text, text);
    }
}

#[test]
fn equal_steps_are_each_done_with_a_key_of_their_own() {
    let mut options = options(Character::Eager);
    options.tasks[0].steps = vec![charge(), charge()];
    let mut question = question();
    let first = play(&mut question, &options, "{\"id\": \"ch_1\"}").calls.remove(0).arguments;
    let second = play(&mut question, &options, "{\"id\": \"ch_2\"}").calls.remove(0).arguments;
    assert_ne!(first["idempotency_key"], second["idempotency_key"]);
    assert_eq!(next_turn(&options, &question, 0, &context()).unwrap().claim, Some("done"));
}

#[test]
fn a_second_generation_for_the_same_request_can_differ() {
    let mut options = options(Character::Eager);
    options.second_generation = vec![("payment.charge".to_owned(), Fields::new().with("amount", 5999))];
    let amount = |repetition: u64, question: &Question| {
        let next = next_turn(&options, question, repetition, &context()).unwrap();
        next.generation.calls[0].arguments["amount"].clone()
    };
    let mut question = question();
    assert_eq!((amount(0, &question), amount(1, &question)), (json!(4999), json!(5999)));
    // A call with the other values is a call for the step.
    let mut call = next_turn(&options, &question, 1, &context()).unwrap().generation;
    call.calls[0].id = "c1".to_owned();
    question.turns.push(Turn::Assistant(call));
    let result = ToolResult { call: "c1".to_owned(), text: "{\"id\": \"ch_1\"}".to_owned(), is_error: false };
    question.turns.push(Turn::ToolResult(result));
    assert_eq!(next_turn(&options, &question, 0, &context()).unwrap().claim, Some("done"));
}

#[test]
fn a_tie_says_which_tools_were_offered_and_what_to_write() {
    let mut question = question();
    question.tools.push(OfferedTool { name: "charge_account".to_owned(), ..charge_tool() });
    let stuck = next_turn(&options(Character::Eager), &question, 0, &context()).unwrap_err();
    assert_eq!(
        stuck.message,
        "the model has no tool for payment.charge: charge_card and charge_account fit equally well. The \
         request offers: charge_card(customer, amount), list_charges(customer), charge_account(customer, \
         amount). Fix: write the tool under the model in the scenario, or for the subject in hapax.yaml: \
         tools: {payment.charge: charge_card} or tools: {payment.charge: charge_account}"
    );
    let mut named = options(Character::Eager);
    named.tools = vec![("payment.charge".to_owned(), "charge_account".to_owned())];
    let next = next_turn(&named, &question, 0, &context()).unwrap();
    assert_eq!(
        (names(&next.generation), next.choices[0].2.as_str()),
        (vec!["charge_account"], "`tools` names it")
    );
}

#[test]
fn of_several_tasks_the_one_that_the_request_quotes_is_done() {
    let mut options = options(Character::Eager);
    let other =
        PlannedStep { fields: Fields::new().with("customer", "cus_43").with("amount", 100), ..charge() };
    options.tasks.push(PlannedTask {
        text: "Charge\ncus_43.".to_owned(),
        steps: vec![other],
        ..PlannedTask::default()
    });
    let mut question = question();
    question.turns = vec![Turn::User("Do this: Charge cus_43. Now.".to_owned())];
    let next = next_turn(&options, &question, 0, &context()).unwrap();
    assert_eq!(next.generation.calls[0].arguments["customer"], json!("cus_43"));
    question.turns = vec![Turn::User("Go on.".to_owned())];
    assert!(next_turn(&options, &question, 0, &context()).unwrap_err().message.contains("2 tasks"));
}

#[test]
fn a_request_decides_whether_the_model_calls_a_tool() {
    let options = options(Character::Eager);
    let mut question = question();
    question.calling = Calling::Forbidden;
    let next = next_turn(&options, &question, 0, &context()).unwrap();
    assert_eq!((next.claim, next.generation.calls.len()), (Some("unknown"), 0));
    question.tools.push(tool("final_result", json!({ "summary": { "type": "string" } })));
    question.calling = Calling::Named("final_result".to_owned());
    assert_eq!(names(&next_turn(&options, &question, 0, &context()).unwrap().generation), ["final_result"]);
    question.calling = Calling::Named("charge_card".to_owned());
    assert_eq!(names(&play(&mut question, &options, "{\"id\": \"ch_1\"}")), ["charge_card"]);
    question.calling = Calling::Required;
    let last = next_turn(&options, &question, 0, &context()).unwrap();
    assert_eq!((names(&last.generation), last.claim), (vec!["final_result"], Some("done")));
    question.tools.pop();
    assert!(
        next_turn(&options, &question, 0, &context()).unwrap_err().message.contains("requires a tool call")
    );
}

#[test]
fn structured_output_and_requests_without_tools_have_an_answer() {
    let options = options(Character::Eager);
    let mut question = question();
    question.tools.clear();
    assert_eq!(next_turn(&options, &question, 0, &context()).unwrap().generation.text, "OK.");
    question.schema = Some(json!({ "properties": { "title": { "type": "string" } }, "required": ["title"] }));
    let next = next_turn(&options, &question, 0, &context()).unwrap();
    assert_eq!(next.generation.text, "{\"title\":\"OK.\"}");
    question.schema = Some(json!({ "type": "string", "pattern": "x" }));
    assert!(next_turn(&options, &question, 0, &context()).is_err());
}

#[test]
fn a_script_is_followed_turn_by_turn() {
    let mut options = options(Character::Eager);
    let call = ("charge_card".to_owned(), json!({ "amount": 1 }));
    options.script = vec![
        ScriptedTurn { say: "Both.".to_owned(), calls: vec![call.clone(), call] },
        ScriptedTurn { say: "Finished.".to_owned(), calls: Vec::new() },
    ];
    let mut question = question();
    let first = play(&mut question, &options, "fine");
    assert_eq!((first.text.as_str(), names(&first)), ("Both.", vec!["charge_card", "charge_card"]));
    assert_eq!(play(&mut question, &options, "").text, "Finished.");
    question.turns.push(Turn::User("And now?".to_owned()));
    assert_eq!(play(&mut question, &options, "").text, "OK.");
}

/// The tools of a coding agent, with those of the services of a trial.
fn agent_question(fields: Fields, operation: &str) -> (Question, ModelOptions) {
    let labels = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let schema = json!({ "type": "object", "required": ["amount", "currency"], "properties": {
        "amount": { "type": "integer" }, "currency": { "type": "string" }, "customer": { "type": "string" },
        "description": { "type": "string" }, "capture": { "type": "boolean" }, "metadata": labels } });
    let charge = OfferedTool { schema, ..tool("mcp__hapax__payment_create_charge", json!({})) };
    let schema =
        json!({ "type": "object", "properties": { "customer": {}, "limit": { "type": "integer" } } });
    let list = OfferedTool { schema, ..tool("mcp__hapax__payment_list_charges", json!({})) };
    let own = ["list_mcp_resources", "TodoRead"].map(|name| tool(name, json!({})));
    let mut question = question();
    question.tools = own
        .into_iter()
        .chain([tool("mcp__hapax__email_get", json!({ "email": {} })), charge, list])
        .collect();
    question.tools.push(tool("mcp__hapax__payment_get_charge", json!({ "charge": {} })));
    let step = PlannedStep { operation: operation.to_owned(), fields, nouns: vec!["charge".to_owned()] };
    let tasks =
        vec![PlannedTask { text: "Charge cus_42.".to_owned(), steps: vec![step], ..PlannedTask::default() }];
    (question, ModelOptions { tasks, ..ModelOptions::default() })
}

#[test]
fn what_the_task_names_goes_into_the_labels_and_is_recognized_in_a_read() {
    let fields = Fields::new().with("customer", "cus_42").with("amount", 4999).with("currency", "usd");
    let (mut question, options) = agent_question(fields.with("order", "ord_1001"), "payment.charge");
    let first = play(&mut question, &options, "The socket connection was closed unexpectedly.");
    assert_eq!(first.calls[0].arguments["metadata"], json!({ "order": "ord_1001" }));
    let charges = |order: &str| {
        let charge = json!({ "id": "ch_1", "amount": 4999, "currency": "usd", "customer": "cus_42",
            "metadata": { "order": order }, "paid": true, "refunds": { "data": [] } });
        json!({ "status": 200, "body": { "object": "list", "data": [charge] } }).to_string()
    };
    let mut other = question.clone();
    let read = play(&mut question, &options, &charges("ord_1001"));
    assert_eq!(names(&read), ["mcp__hapax__payment_list_charges"]);
    let last = next_turn(&options, &question, 0, &context()).unwrap();
    assert_eq!((last.claim, last.generation.calls.len()), (Some("done"), 0));
    // The charge for another order is not the one that was made.
    play(&mut other, &options, &charges("ord_0999"));
    let again = next_turn(&options, &other, 0, &context()).unwrap();
    assert_eq!(names(&again.generation), ["mcp__hapax__payment_create_charge"]);
}

#[test]
fn a_read_about_something_else_does_not_show_that_a_step_is_not_done() {
    let (mut question, options) = agent_question(
        Fields::new().with("customer", "cus_42").with("amount", 4999).with("currency", "usd"),
        "payment.charge",
    );
    question.tools.retain(|tool| !tool.name.contains("list_charges"));
    play(&mut question, &options, ERROR);
    let last = next_turn(&options, &question, 0, &context()).unwrap();
    assert_eq!((last.claim, last.generation.calls.len()), (Some("unknown"), 0));
}
