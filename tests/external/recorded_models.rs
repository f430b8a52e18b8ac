//! `hapax record` with a second hapax as the provider, and the replay of what it recorded.

use mock_services::catalog::{PlannedStep, PlannedTask};
use mock_services::model::{Model, ModelOptions};
use mock_services::service::Fields;
use mock_services::{MockServices, ServiceOptions};

use crate::kit::installed::installed;
use crate::kit::needs::{Test, tests};
use crate::kit::workspace::{Workspace, charge, verdict};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        a_recorded_conversation_is_replayed_with_the_ids_of_the_new_run,
        a_conversation_with_gemini_is_recorded_and_replayed,
    ]
}

/// Those that need namespaces, too.
pub(crate) fn sealed_tests() -> Vec<Test> {
    tests![a_sealed_agent_reaches_gemini_at_its_real_host]
}

/// The provider: a model that makes the charge.
async fn provider() -> MockServices {
    let fields = Fields::new().with("customer", "cus_42").with("amount", 4999).with("order", "ord_1001");
    let step =
        PlannedStep { operation: "payment.charge".to_owned(), fields, nouns: vec!["charge".to_owned()] };
    let tasks = vec![PlannedTask { steps: vec![step], ..PlannedTask::default() }];
    let model = Model::new(ModelOptions { tasks, ..ModelOptions::default() });
    MockServices::builder().service(model, ServiceOptions::default()).start().await.unwrap()
}

async fn a_conversation_with_gemini_is_recorded_and_replayed() {
    let workspace = Workspace::new();
    let provider = provider().await;
    let (url, key) = (provider.url("model", 1).unwrap(), provider.key("model").unwrap().to_owned());
    let [python, agent] = gemini_agent();
    let mut command = workspace.command(&["record", "--to", "cassette.jsonl", "--", &python, &agent]);
    command.env("GOOGLE_GEMINI_BASE_URL", &url).env("GEMINI_API_KEY", &key);
    let recorded = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&recorded.stderr).into_owned();
    assert!(said.contains("recorded 2 answers in cassette.jsonl"), "{said}");
    provider.stop().await;
    assert!(!workspace.read("cassette.jsonl").contains(&key));
    let services = "services:\n  payment: { idempotency: stripe }\n  model: { replay: cassette.jsonl }\n";
    workspace.write("replayed.yaml", &charge(services));
    workspace.call(&["run", "replayed.yaml", "-q", "--", &python, &agent]).expect(0);
    assert_eq!(verdict(&workspace.report(), "replayed")["result"], "pass");
}

async fn a_sealed_agent_reaches_gemini_at_its_real_host() {
    let workspace = Workspace::new();
    let [python, agent] = gemini_agent();
    workspace.write("plain.yaml", &charge("services:\n  payment: { idempotency: stripe }\n  model: {}\n"));
    workspace.call(&["run", "plain.yaml", "-q", "--sealed", "--", &python, &agent]).expect(0);
    let report = workspace.report();
    assert_eq!(verdict(&report, "plain")["costs"][0]["made"], 2, "{report:#}");
}

/// The command of an agent on Google's client.
fn gemini_agent() -> [String; 2] {
    let python = installed().join("python/bin/python").display().to_string();
    [python, format!("{}/tests/clients/python/gemini_agent.py", env!("CARGO_MANIFEST_DIR"))]
}

async fn a_recorded_conversation_is_replayed_with_the_ids_of_the_new_run() {
    let workspace = Workspace::new();
    let provider = provider().await;
    let (url, key) = (provider.url("model", 1).unwrap(), provider.key("model").unwrap().to_owned());
    let python = installed().join("python/bin/python");
    let python = python.to_str().unwrap();
    let agent = format!("{}/tests/clients/python/recorded_agent.py", env!("CARGO_MANIFEST_DIR"));
    let record = ["record", "--to", "cassette.jsonl", "--", python, &agent];
    let mut command = workspace.command(&record);
    command.env("OPENAI_BASE_URL", format!("{url}/v1")).env("OPENAI_API_KEY", &key);
    let recorded = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&recorded.stderr).into_owned();
    assert_eq!(recorded.status.code(), Some(0), "{said}");
    assert!(said.contains("recorded 2 answers in cassette.jsonl"), "{said}");
    provider.stop().await;
    let cassette = workspace.read("cassette.jsonl");
    assert_eq!(cassette.lines().count(), 2);
    assert!(!cassette.contains(&key) && cassette.contains("ch_3recorded0000001"), "{cassette}");

    // Nothing is lost: a second recording does not replace the first.
    let again = workspace.call(&record);
    assert!(again.stderr.contains("cassette.jsonl exists already"), "{}", again.stderr);
    again.expect(2);

    let services = "services:\n  payment: { idempotency: stripe }\n  model: { replay: cassette.jsonl }\n";
    workspace.write("replayed.yaml", &charge(services));
    // The ids of its tool results are others than the recorded ones.
    workspace.call(&["run", "replayed.yaml", "-q", "--", python, &agent]).expect(0);
    let report = workspace.report();
    assert_eq!(verdict(&report, "replayed")["result"], "pass", "{report:#}");

    // Another conversation is not in the cassette: the trial is void, and the nearest entry is shown.
    let other = ["run", "replayed.yaml", "-q", "--", python, &agent, "Charge customer cus_43."];
    workspace.call(&other).expect(3);
    let report = workspace.report();
    let why = verdict(&report, "replayed")["void_because"].to_string();
    assert!(why.contains("the nearest, line 1") && why.contains("cus_43"), "{why}");

    workspace.write("broken.jsonl", "nonsense\n");
    workspace.write("broken.yaml", &charge(&services.replace("cassette.jsonl", "broken.jsonl")));
    let broken = workspace.call(&["lint", "broken.yaml"]);
    assert!(broken.stderr.contains("the cassette cannot be read: line 1"), "{}", broken.stderr);
}
