//! The real clients of OpenAI, Anthropic and Google, in Python and Node, against the model service: whole and
//! streamed answers, tool calls, structured output, lists of models and errors.

use mock_services::catalog::{self, PlannedStep, PlannedTask};
use mock_services::fault::{Commit, Fault, Reply};
use mock_services::ledger::Event;
use mock_services::model::{Character, Model, ModelOptions};
use mock_services::service::Fields;
use mock_services::{MockServices, ServiceOptions};
use serde_json::{Value, json};

use crate::kit::installed;
use crate::kit::needs::{Test, tests};

const MODELS: [&str; 2] = ["gpt-5.2", "claude-opus-4-6"];
const GEMINI: &str = "gemini-2.5-flash";

fn options() -> ModelOptions {
    let fields = Fields::new().with("customer", "cus_42").with("amount", 4999).with("order", "ord_1");
    let step =
        PlannedStep { operation: "payment.charge".to_owned(), fields, nouns: vec!["charge".to_owned()] };
    ModelOptions {
        tasks: vec![PlannedTask {
            text: "Charge cus_42 4999 for order ord_1.".to_owned(),
            steps: vec![step],
            ..PlannedTask::default()
        }],
        character: Character::Doubling,
        models: MODELS.into_iter().chain([GEMINI]).map(str::to_owned).collect(),
        ..ModelOptions::default()
    }
}

/// What a script receives from the model, and the conversations of the generations that were billed.
async fn report(script: &str, arguments: &[&str], faults: Vec<Fault>) -> (Value, Vec<String>) {
    let builder = MockServices::builder().service(Model::new(options()), ServiceOptions::default());
    let services = builder.faults(faults).start().await.expect("the service should start");
    let (url, key) = (services.url("model", 1).unwrap(), services.key("model").unwrap().to_owned());
    let description = catalog::find("model").unwrap();
    let variables = description.client_variables(&url, &key).collect();
    let output = installed::output(&format!("tests/clients/{script}"), arguments, variables).await;
    let events = services.ledger().entries().into_iter().map(|entry| entry.event);
    let conversation = |event: Event| match event {
        Event::Committed { fields, .. } => Some(fields.get("conversation")?.to_string()),
        _ => None,
    };
    let generations = events.filter_map(conversation).collect();
    services.stop().await;
    (serde_json::from_str(output.lines().last().unwrap_or_default()).expect("a line of JSON"), generations)
}

async fn check(script: &str) {
    let (report, generations) = report(script, &[], Vec::new()).await;
    let call = json!(["charge_card", { "customer": "cus_42", "amount": 4999, "order": "ord_1" }]);
    for (api, reasons) in [
        ("chat", ["tool_calls", "stop"]),
        ("responses", ["completed", "completed"]),
        ("messages", ["tool_use", "end_turn"]),
    ] {
        let expected = json!({
            "calls": [call, call], "reasons": reasons, "text": "Done: payment.charge.", "usage": true,
        });
        for how in ["whole", "streamed"] {
            assert_eq!(report[api][how], expected, "{script}: {api}, {how}");
        }
    }
    let value = json!({ "summary": "OK.", "done": true });
    assert_eq!(report["structured"], json!([value, value, value]), "{script}");
    assert_eq!(
        report["errors"],
        json!([
            ["NotFoundError", "model_not_found"],
            ["NotFoundError", "model_not_found"],
            ["NotFoundError", null],
            ["BadRequestError", null],
            ["BadRequestError", null],
            ["AuthenticationError", "invalid_api_key"],
        ]),
        "{script}"
    );
    let models = [MODELS[0], MODELS[1], GEMINI];
    assert_eq!(report["models"], json!([models, models]), "{script}");
    // Two for each API and way, and one for each structured output.
    assert_eq!(generations.len(), 15, "{script}");
}

/// A reply is lost after the generation: the client retries by itself, and the same request is billed twice.
async fn check_retry(script: &str) {
    for api in ["chat", "responses", "messages"] {
        let lost = Fault::on("model.generate").attempt(1).commit(Commit::Now).reply(Reply::Drop);
        let (text, generations) = report(script, &[api], vec![lost]).await;
        assert_eq!(text, "OK.", "{script}: {api}");
        let [first, second] = &generations[..] else { panic!("{script}: {api}: {generations:?}") };
        assert_eq!(first, second, "{script}: {api}");
    }
}

async fn a_lost_generation_is_repeated_and_billed_twice_by_each_client() {
    check_retry("python/model_client.py").await;
    check_retry("node/model_client.mjs").await;
}

/// The runner sends only what is new, as a message thread. When an answer in a thread is lost, it sends the
/// whole conversation again.
async fn the_tool_runner_of_anthropic_works_unchanged() {
    let script = "python/model_client.py";
    let call = json!(["charge_card", { "customer": "cus_42", "amount": 4999, "order": "ord_1" }]);
    let expected = json!({
        "calls": [call, call], "reasons": ["tool_use", "end_turn"], "text": "Done: payment.charge.", "usage": true,
    });
    let (told, generations) = report(script, &["tool_runner"], Vec::new()).await;
    assert_eq!(told, json!({ "whole": expected, "streamed": expected }));
    assert_eq!(generations.len(), 4, "{generations:?}");

    let lost = Fault::on("model.generate").attempt(2).commit(Commit::Now).reply(Reply::Drop);
    let (told, generations) = report(script, &["tool_runner"], vec![lost]).await;
    assert_eq!(told, json!({ "whole": expected, "streamed": expected }));
    assert_eq!(generations.len(), 5, "{generations:?}");
    assert_eq!(generations[1], generations[2], "the answer is paid for twice");
}

/// Google's client. `errors` are those for a model that does not exist and for a wrong key.
async fn check_gemini(script: &str, errors: Value, whole_generations: usize) {
    let (report, generations) = report(script, &[], Vec::new()).await;
    let call = json!(["charge_card", { "customer": "cus_42", "amount": 4999, "order": "ord_1" }]);
    let expected = json!({
        "calls": [call, call], "reasons": ["STOP", "STOP"], "text": "Done: payment.charge.", "usage": true,
    });
    for how in ["whole", "streamed"] {
        assert_eq!(report[how], expected, "{script}: {how}");
    }
    assert_eq!(report["forced"], json!([["charge_card", "charge_card"], []]), "{script}");
    assert_eq!(report["structured"], json!({ "summary": "OK.", "done": true }), "{script}");
    assert_eq!(report["thoughts"], json!([true, false]), "{script}");
    assert_eq!(report["errors"], errors, "{script}");
    let names = MODELS.into_iter().chain([GEMINI]).map(|name| format!("models/{name}"));
    assert_eq!(report["models"], json!(names.collect::<Vec<_>>()), "{script}");
    assert_eq!(report["model"], format!("models/{GEMINI}"), "{script}");
    assert_eq!(report["tokens"], 1, "{script}");
    assert_eq!(generations.len(), whole_generations, "{script}");
    if let Some(automatic) = report.get("automatic") {
        assert_eq!(*automatic, json!({ "calls": [call, call], "text": "Done: payment.charge." }), "{script}");
    }
}

async fn google_in_python_works_unchanged() {
    let errors = json!([["ClientError", 404, "NOT_FOUND"], ["ClientError", 400, "INVALID_ARGUMENT"]]);
    // Two for each way and for automatic calls, two that are forced, the structured output and the thoughts.
    check_gemini("python/gemini_client.py", errors, 10).await;
}

async fn google_in_node_works_unchanged() {
    check_gemini("node/gemini_client.mjs", json!([404, 400]), 8).await;
}

async fn openai_and_anthropic_in_python_work_unchanged() {
    check("python/model_client.py").await;
}

async fn openai_and_anthropic_in_node_work_unchanged() {
    check("node/model_client.mjs").await;
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        openai_and_anthropic_in_python_work_unchanged,
        openai_and_anthropic_in_node_work_unchanged,
        google_in_python_works_unchanged,
        google_in_node_works_unchanged,
        the_tool_runner_of_anthropic_works_unchanged,
        a_lost_generation_is_repeated_and_billed_twice_by_each_client,
    ]
}
