//! Streams of the model service that break, as the real clients of OpenAI and Anthropic see them.

use std::time::Duration;

use mock_services::catalog;
use mock_services::fault::{Commit, CutPlace, Delay, Drip, Fault, Reply, Truncation};
use mock_services::ledger::Event;
use mock_services::model::{Model, ModelOptions, ScriptedTurn};
use mock_services::{MockServices, ServiceOptions};
use serde_json::{Value, json};

use crate::kit::installed;
use crate::kit::needs::{Test, tests};

/// Chat completions, responses and messages.
const APIS: u32 = 3;
const TEXT: &str = "Charging the customer now.";
const ARGUMENTS: &str = r#"{"amount":4999,"order":"ord_1001"}"#;

/// What each client received. Every generation must be billed; `delivered` says whether all of them, or none,
/// must have been sent completely.
async fn received(arguments: &[&str], reply: Reply, delivered: bool) -> Vec<Value> {
    let call = ("charge_card".to_owned(), serde_json::from_str(ARGUMENTS).expect("JSON"));
    let script = vec![ScriptedTurn { say: TEXT.to_owned(), calls: vec![call] }];
    let model = Model::new(ModelOptions { script, ..ModelOptions::default() });
    let fault = Fault::on("model.generate").attempts(1..=APIS).commit(Commit::Now).reply(reply);
    let builder = MockServices::builder().service(model, ServiceOptions::default());
    let services = builder.faults(vec![fault]).start().await.expect("the service should start");
    let (url, key) = (services.url("model", 1).unwrap(), services.key("model").unwrap().to_owned());
    let variables = catalog::find("model").unwrap().client_variables(&url, &key).collect();
    let output = installed::output("tests/clients/python/model_stream.py", arguments, variables).await;
    let received: Vec<Value> =
        serde_json::from_str(output.lines().last().unwrap_or_default()).expect("a line of JSON");
    services.caller_left(1).await;
    let entries = services.ledger().entries();
    let count = |is: fn(&Event) -> bool| entries.iter().filter(|entry| is(&entry.event)).count();
    let billed = count(|event| matches!(event, Event::Committed { .. }));
    let whole = count(|event| matches!(event, Event::Replied { whole: true, .. }));
    let unsent = count(|event| matches!(event, Event::Unsent { .. }));
    services.stop().await;
    let all = APIS as usize;
    assert_eq!((received.len(), billed), (all, all), "{received:?}");
    assert_eq!(whole - unsent, if delivered { all } else { 0 }, "{received:?}");
    received
}

fn cut(place: CutPlace) -> Reply {
    Reply::Truncate(Truncation::At(place))
}

async fn a_stream_is_cut_inside_a_word_for_every_client() {
    for seen in received(&[], cut(CutPlace::Word), false).await {
        assert_eq!((&seen["text"], &seen["arguments"]), (&json!("Chargi"), &json!("")), "{seen}");
        assert_ne!(seen["error"], Value::Null, "{seen}");
    }
}

async fn a_stream_is_cut_inside_the_arguments_for_every_client() {
    for seen in received(&[], cut(CutPlace::Arguments), false).await {
        let arguments = seen["arguments"].as_str().unwrap_or_default();
        assert!(!arguments.is_empty() && arguments.len() < ARGUMENTS.len(), "{seen}");
        assert!(ARGUMENTS.starts_with(arguments) && seen["text"] == TEXT, "{seen}");
        assert_ne!(seen["error"], Value::Null, "{seen}");
    }
}

async fn a_stream_without_its_end_marker_has_everything_else() {
    for seen in received(&[], cut(CutPlace::EndMarker), false).await {
        assert_eq!((&seen["text"], &seen["arguments"]), (&json!(TEXT), &json!(ARGUMENTS)), "{seen}");
        assert_ne!(seen["error"], Value::Null, "{seen}");
    }
}

async fn a_slow_first_token_changes_nothing_but_the_time() {
    for seen in received(&[], Delay::Body(Duration::from_millis(200)).into(), true).await {
        assert_eq!(seen, json!({ "text": TEXT, "arguments": ARGUMENTS, "error": null }));
    }
}

async fn a_stream_that_the_caller_aborts_is_billed_and_not_delivered() {
    for seen in received(&["abort"], Drip(Duration::from_secs(2)).into(), false).await {
        assert_eq!(seen["error"], Value::Null, "{seen}");
        assert!(seen["text"] != TEXT && seen["arguments"] == "", "{seen}");
    }
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_stream_is_cut_inside_a_word_for_every_client,
        a_stream_is_cut_inside_the_arguments_for_every_client,
        a_stream_without_its_end_marker_has_everything_else,
        a_slow_first_token_changes_nothing_but_the_time,
        a_stream_that_the_caller_aborts_is_billed_and_not_delivered,
    ]
}
