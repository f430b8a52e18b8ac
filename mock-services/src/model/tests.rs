use serde_json::{Value, json};

use super::*;
use crate::description::{PlannedStep, PlannedTask};
use crate::service::{Fields, Ids};

fn context(request: u64) -> Context {
    Context { now: jiff::Timestamp::UNIX_EPOCH, ids: Ids::new(7, "model", 1, request, 0) }
}

fn model(options: ModelOptions) -> Model {
    let fields = Fields::new().with("customer", "cus_42").with("amount", 4999);
    let step = PlannedStep { operation: "payment.charge".to_owned(), fields, nouns: Vec::new() };
    let tasks = vec![PlannedTask { text: "Charge cus_42.".to_owned(), steps: vec![step] }];
    Model::new(ModelOptions { tasks, ..options })
}

/// The answer to a request; its effects are committed.
fn send(
    model: &Model,
    state: &mut State,
    number: u64,
    path: &str,
    body: &Value,
) -> (Answer, Vec<EffectFacts>) {
    let request = Request::new("POST", path).body(body.to_string());
    let context = context(number);
    let recognized = match model.recognize(&request, &context) {
        Ok(recognized) => recognized,
        Err(answer) => return (answer, Vec::new()),
    };
    match model.decide(state, &recognized.call, &context) {
        Decision::Refuse(refusal) => (refusal.answer, Vec::new()),
        Decision::Accept(accepted) => {
            accepted.effects.iter().for_each(|effect| model.apply(state, effect));
            let facts = accepted.effects.iter().filter_map(|effect| model.describe(effect)).collect();
            (accepted.answer, facts)
        }
    }
}

fn json_of(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

fn tools() -> Value {
    let properties = json!({ "customer": {}, "amount": { "type": "integer" } });
    let parameters =
        json!({ "type": "object", "properties": properties, "required": ["customer", "amount"] });
    json!([{ "type": "function", "name": "charge_card", "parameters": parameters }])
}

#[test]
fn a_generation_is_an_effect_that_says_which_tool_was_chosen_and_why() {
    let (model, mut state) = (model(ModelOptions::default()), State::default());
    let body = json!({ "model": "gpt-5.2", "input": "Charge cus_42.", "tools": tools() });
    let (answer, first) = send(&model, &mut state, 1, "/v1/responses", &body);
    assert_eq!(json_of(&answer)["output"][0]["name"], json!("charge_card"));
    let field = |facts: &[EffectFacts], name: &str| facts[0].fields.get(name).unwrap().to_string();
    assert_eq!(first[0].effect, "model.generate");
    assert_eq!(
        field(&first, "tools"),
        "payment.charge: charge_card (its name has the verb of the operation)"
    );
    assert_eq!(field(&first, "calls"), "charge_card{\"amount\":4999,\"customer\":\"cus_42\"}");
    // The same request again is the same conversation, billed a second time.
    let (_, second) = send(&model, &mut state, 2, "/v1/responses", &body);
    assert_eq!(field(&first, "conversation"), field(&second, "conversation"));
    assert_eq!((field(&first, "generation"), field(&second, "generation")), ("1".to_owned(), "2".to_owned()));
}

#[test]
fn the_same_seed_gives_the_same_answer() {
    let body = json!({ "model": "gpt-5.2", "input": "Charge cus_42.", "tools": tools() });
    let answer = || send(&model(ModelOptions::default()), &mut State::default(), 1, "/v1/responses", &body).0;
    assert_eq!(answer(), answer());
}

#[test]
fn a_request_can_continue_an_earlier_response() {
    let (model, mut state) = (model(ModelOptions::default()), State::default());
    let body = json!({ "model": "gpt-5.2", "input": "Charge cus_42.", "tools": tools() });
    let first = json_of(&send(&model, &mut state, 1, "/v1/responses", &body).0);
    let id = &first["output"][0]["call_id"];
    let result = json!([{ "type": "function_call_output", "call_id": id, "output": "paid" }]);
    let next = |id: &Value| {
        let tools = tools();
        json!({ "model": "gpt-5.2", "input": result, "tools": tools, "previous_response_id": id })
    };
    let (answer, facts) = send(&model, &mut state, 2, "/v1/responses", &next(&first["id"]));
    assert_eq!(json_of(&answer)["output"][0]["content"][0]["text"], json!("Done: payment.charge."));
    assert_eq!(facts[0].fields.get("claim").unwrap().to_string(), "done");
    let (refused, _) = send(&model, &mut state, 3, "/v1/responses", &next(&json!("resp_other")));
    assert_eq!(
        (refused.status, &json_of(&refused)["error"]["code"]),
        (400, &json!("previous_response_not_found"))
    );
}

#[test]
fn a_call_without_a_result_and_a_result_without_a_call_are_refused() {
    let model = model(ModelOptions::default());
    let call = json!({ "type": "function_call", "call_id": "c1", "name": "charge_card", "arguments": "{}" });
    let result = json!({ "type": "function_call_output", "call_id": "c1", "output": "x" });
    for (item, message) in [(call, "No tool output found"), (result, "No tool call found")] {
        let body = json!({ "model": "gpt-5.2", "input": [item], "tools": tools() });
        let (refused, _) = send(&model, &mut State::default(), 1, "/v1/responses", &body);
        assert_eq!(refused.status, 400);
        assert!(json_of(&refused)["error"]["message"].as_str().unwrap().starts_with(message));
    }
}

#[test]
fn an_unknown_model_is_refused_in_the_form_of_each_vendor() {
    let listed = model(ModelOptions { models: vec!["gpt-5.2".to_owned()], ..ModelOptions::default() });
    let chat = json!({ "model": "gpt-9", "messages": [{ "role": "user", "content": "x" }] });
    let (refused, _) = send(&listed, &mut State::default(), 1, "/v1/chat/completions", &chat);
    assert_eq!((refused.status, &json_of(&refused)["error"]["code"]), (404, &json!("model_not_found")));
    assert_eq!(refused.undecided_because(), None);
    let messages =
        json!({ "model": "gpt-5", "max_tokens": 9, "messages": [{ "role": "user", "content": "x" }] });
    let (refused, _) =
        send(&model(ModelOptions::default()), &mut State::default(), 1, "/v1/messages", &messages);
    assert_eq!((refused.status, &json_of(&refused)["error"]["type"]), (404, &json!("not_found_error")));
    // Without a list, the mock does not know whether the model exists.
    assert!(refused.undecided_because().unwrap().contains("models: [gpt-5]"));
}

#[test]
fn a_step_without_a_tool_is_undecided_and_has_no_effect() {
    let body = json!({ "model": "gpt-5.2", "input": "x", "tools": [{ "type": "function", "name": "ping" }] });
    let (refused, facts) =
        send(&model(ModelOptions::default()), &mut State::default(), 1, "/v1/responses", &body);
    assert!(refused.status == 400 && facts.is_empty());
    let why = refused.undecided_because().unwrap();
    assert!(
        why.contains("The request offers: ping()") && why.contains("tools: {payment.charge: NAME}"),
        "{why}"
    );
}

#[test]
fn what_the_real_apis_have_and_the_mock_does_not_is_marked() {
    let model = model(ModelOptions::default());
    for (path, is_real) in [("/v1/embeddings", true), ("/v1/messages/batches", true), ("/v1/charges", false)]
    {
        let (refused, _) = send(&model, &mut State::default(), 1, path, &json!({}));
        let status = if is_real { 501 } else { 404 };
        assert_eq!((refused.status, refused.missing_feature().is_some()), (status, is_real), "{path}");
        let request = Request::new("POST", path);
        assert_eq!(model.no_endpoint(&request, &context(1)).is_some(), !is_real, "{path}");
    }
}

#[test]
fn models_and_tokens_can_be_read_and_telemetry_is_accepted() {
    let model = model(ModelOptions::default());
    let read = |request: &Request| {
        let recognized = model.recognize(request, &context(1)).unwrap();
        let Decision::Accept(accepted) = model.decide(&State::default(), &recognized.call, &context(1))
        else {
            panic!()
        };
        assert!(accepted.effects.is_empty());
        (model.operations()[recognized.operation].name.clone(), accepted.answer)
    };
    let (name, list) = read(&Request::new("GET", "/v1/models"));
    assert_eq!((&*name, &json_of(&list)["object"]), ("model.read", &json!("list")));
    let one = read(&Request::new("GET", "/v1/models/gpt-5.2")).1;
    assert_eq!(json_of(&one)["id"], json!("gpt-5.2"));
    let body = json!({ "model": "claude-opus-4-6", "messages": [{ "role": "user", "content": "four" }] });
    let counted = read(&Request::new("POST", "/v1/messages/count_tokens").body(body.to_string())).1;
    assert_eq!(json_of(&counted), json!({ "input_tokens": 1 }));
    let (name, answer) = read(&Request::new("POST", "/v1/traces/ingest").body("{}"));
    assert_eq!((&*name, answer.status), ("model.telemetry", 204));
}
