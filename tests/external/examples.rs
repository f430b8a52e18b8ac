//! The agents of `examples/`, run as hapax runs a subject: what they did by the ledger, and what they claim.

use std::path::Path;

use mock_services::email::Email;
use mock_services::fault::{Fault, read_line};
use mock_services::ledger::Event;
use mock_services::payment::Payment;
use mock_services::{MockServices, ServiceOptions};
use serde::Deserialize;
use yaml_reader::Source;

use crate::kit::installed;
use crate::kit::needs::{Test, tests};

const CARELESS: [&str; 4] =
    ["python/careless.py", "typescript/careless.ts", "shell/careless.sh", "stripe/careless.py"];
const CAREFUL: [&str; 4] =
    ["python/careful.py", "typescript/careful.ts", "shell/careful.sh", "stripe/careful.py"];

/// A charge and the email about it.
const STEPS: &str = r#"[
    {"do": "payment.charge",
     "with": {"customer": "cus_42", "amount": 4999, "currency": "usd", "order": "ord_1001"}},
    {"do": "email.send",
     "with": {"to": "ann@example.com", "subject": "Your receipt", "text": "Thank you.", "order": "ord_1001"}}
]"#;

/// What an agent did: the number of charges and emails, and its claim.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    charges: usize,
    mails: usize,
    claim: String,
}

fn outcome(charges: usize, mails: usize, claim: &str) -> Outcome {
    Outcome { charges, mails, claim: claim.to_owned() }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    outcome: String,
    message: String,
}

/// The services and the directories of one agent.
struct Trial {
    services: MockServices,
    place: tempfile::TempDir,
}

impl Trial {
    /// Starts the services with faults, each in one line.
    async fn new(faults: &[&str]) -> Self {
        let builder = MockServices::builder()
            .service(Payment::default(), ServiceOptions::default())
            .service(Email::default(), ServiceOptions::default());
        let services = builder.start().await.expect("the services should start");
        let read = |line: &&str| -> Fault {
            let source = Source::new("fault", (*line).to_owned());
            read_line(&source, &services.operations(), Some(1)).expect("the fault should be read")
        };
        services.arm(faults.iter().map(read).collect()).expect("the faults should make sense");
        let place = tempfile::tempdir().expect("there should be a directory");
        std::fs::create_dir(place.path().join("shared")).expect("the directory should be made");
        Trial { services, place }
    }

    /// Runs an agent on these steps, with this state directory, and returns its claim.
    async fn run(&self, agent: &str, steps: &str, state: &str) -> Claim {
        let state = self.place.path().join(state);
        std::fs::create_dir_all(&state).expect("the directory should be made");
        let result = self.place.path().join("result.json");
        let text = |path: &Path| path.to_str().expect("the path should be text").to_owned();
        // No process listens at this port: requests that do not go directly to the services fail.
        let proxy = "http://127.0.0.1:9";
        let set = [
            ("HAPAX_TASK", "Charge the customer and send the receipt.".to_owned()),
            ("HAPAX_STEPS", steps.to_owned()),
            ("HAPAX_STATE_DIR", text(&state)),
            ("HAPAX_SHARED_DIR", text(&self.place.path().join("shared"))),
            ("HAPAX_RESULT", text(&result)),
            ("HAPAX_TRIAL", "5d1c0f0e6a1b2c3d".to_owned()),
            ("HAPAX_CALLER", "0a1b2c3d4e5f6071".to_owned()),
            ("HTTP_PROXY", proxy.to_owned()),
            ("http_proxy", proxy.to_owned()),
            ("NO_PROXY", "127.0.0.1".to_owned()),
            ("no_proxy", "127.0.0.1".to_owned()),
        ];
        let mut variables = installed::addresses(&self.services);
        variables.extend(set.map(|(name, value)| (name.to_owned(), value)));
        installed::output(&format!("examples/{agent}"), &[], variables).await;

        let claim =
            std::fs::read_to_string(&result).unwrap_or_else(|error| panic!("{agent} left no claim: {error}"));
        std::fs::remove_file(&result).expect("the claim should be removed");
        let claim: Claim =
            serde_json::from_str(&claim).unwrap_or_else(|error| panic!("{agent} printed {claim:?}: {error}"));
        assert!(!claim.message.is_empty(), "{agent} should say what happened");
        claim
    }

    /// Stops the services, and returns what was done, with this claim.
    async fn outcome(self, claim: Claim) -> Outcome {
        self.services.settle().await;
        for fired in self.services.fired() {
            assert!(!fired.attempts.is_empty(), "the fault {:?} should have fired", fired.fault);
        }
        let mut control_outcome = outcome(0, 0, &claim.outcome);
        for entry in self.services.ledger().entries() {
            match entry.event {
                Event::Committed { effect, .. } if effect == "payment.charge" => control_outcome.charges += 1,
                Event::Committed { effect, .. } if effect == "email.send" => control_outcome.mails += 1,
                Event::Committed { effect, .. } => panic!("nobody asked for {effect}"),
                Event::Refused(refused) => {
                    panic!("the service refused {} with {}", refused.path, refused.status)
                }
                _ => {}
            }
        }
        self.services.stop().await;
        control_outcome
    }
}

/// Runs each agent once, at the same time, each with its own services and these faults.
async fn each(
    agents: [&'static str; 4],
    steps: &'static str,
    faults: &'static [&'static str],
) -> Vec<(&'static str, Outcome)> {
    let runs = agents.map(|agent| {
        tokio::spawn(async move {
            let trial = Trial::new(faults).await;
            let claim = trial.run(agent, steps, "state").await;
            (agent, trial.outcome(claim).await)
        })
    });
    let mut control_outcome = Vec::new();
    for run in runs {
        control_outcome.push(run.await.expect("the run should not panic"));
    }
    control_outcome
}

/// The same for all of them.
fn all(agents: [&'static str; 4], charges: usize, mails: usize, claim: &str) -> Vec<(&'static str, Outcome)> {
    agents.map(|agent| (agent, outcome(charges, mails, claim))).into()
}

const LOST_REPLIES: &[&str] =
    &["payment.charge#1 commit=now reply=drop", "email.send#1 commit=now reply=drop"];
const LOST_REQUESTS: &[&str] =
    &["payment.charge#1 commit=never reply=drop", "email.send#1 commit=never reply=drop"];

async fn without_faults_every_agent_does_everything_once() {
    assert_eq!(each(CARELESS, STEPS, &[]).await, all(CARELESS, 1, 1, "done"));
    assert_eq!(each(CAREFUL, STEPS, &[]).await, all(CAREFUL, 1, 1, "done"));
}

async fn a_careless_agent_whose_replies_are_lost_does_everything_twice() {
    assert_eq!(each(CARELESS, STEPS, LOST_REPLIES).await, all(CARELESS, 2, 2, "done"));
}

async fn a_careful_agent_whose_replies_are_lost_does_everything_once() {
    assert_eq!(each(CAREFUL, STEPS, LOST_REPLIES).await, all(CAREFUL, 1, 1, "done"));
}

async fn with_lost_requests_every_agent_does_everything_once() {
    assert_eq!(each(CARELESS, STEPS, LOST_REQUESTS).await, all(CARELESS, 1, 1, "done"));
    assert_eq!(each(CAREFUL, STEPS, LOST_REQUESTS).await, all(CAREFUL, 1, 1, "done"));
}

async fn careless_agents_believe_a_false_success_and_careful_ones_retry() {
    let lies = &["payment.charge#1 commit=never reply=ok", "email.send#1 commit=never reply=ok"];
    assert_eq!(each(CARELESS, STEPS, lies).await, all(CARELESS, 0, 0, "done"));
    assert_eq!(each(CAREFUL, STEPS, lies).await, all(CAREFUL, 1, 1, "done"));
}

async fn a_careful_agent_that_cannot_find_out_claims_unknown_and_repeats_nothing() {
    let blind =
        &["payment.charge#1 commit=now reply={status: 503}", "payment.list#every reply={status: 503}"];
    assert_eq!(each(CAREFUL, STEPS, blind).await, all(CAREFUL, 1, 0, "unknown"));
}

async fn a_careless_agent_takes_an_error_as_proof_that_nothing_happened() {
    let error = &["payment.charge#1 commit=now reply={status: 503}"];
    assert_eq!(each(CARELESS, STEPS, error).await, all(CARELESS, 2, 1, "done"));
}

async fn in_an_outage_careless_agents_claim_done_and_careful_ones_not_done() {
    let outage = &["payment.charge#every commit=never reply={status: 503}"];
    assert_eq!(each(CARELESS, STEPS, outage).await, all(CARELESS, 0, 1, "done"));
    assert_eq!(each(CAREFUL, STEPS, outage).await, all(CAREFUL, 0, 0, "not-done"));
}

async fn a_failure_that_the_service_stores_under_the_key_needs_a_new_key() {
    let kept = &["payment.charge#1 commit=never reply={status: 500, kept: true}"];
    assert_eq!(each(CAREFUL, STEPS, kept).await, all(CAREFUL, 1, 1, "done"));
}

async fn a_careful_agent_repeats_nothing_when_it_is_started_again_here_or_elsewhere() {
    let runs = CAREFUL.map(|agent| {
        tokio::spawn(async move {
            let trial = Trial::new(&[]).await;
            trial.run(agent, STEPS, "state").await;
            trial.run(agent, STEPS, "state").await;
            let claim = trial.run(agent, STEPS, "another").await;
            assert_eq!(trial.outcome(claim).await, outcome(1, 1, "done"), "{agent}");
        })
    });
    for run in runs {
        run.await.expect("the run should not panic");
    }
}

async fn two_equal_orders_are_both_charged() {
    let steps = r#"[
        {"do": "payment.charge",
     "with": {"customer": "cus_42", "amount": 4999, "currency": "usd", "order": "ord_1"}},
        {"do": "payment.charge",
     "with": {"customer": "cus_42", "amount": 4999, "currency": "usd", "order": "ord_2"}},
        {"do": "email.send",
     "with": {"to": ["ann@example.com"], "subject": "Your receipt", "order": "ord_1"}},
        {"do": "email.send",
     "with": {"to": ["ann@example.com"], "subject": "Your receipt", "order": "ord_2"}}
    ]"#;
    assert_eq!(each(CAREFUL, steps, LOST_REPLIES).await, all(CAREFUL, 2, 2, "done"));
}

async fn an_agent_that_does_not_know_an_operation_claims_not_done() {
    let steps = r#"[{"do": "payment.refund", "with": {"order": "ord_1001"}}]"#;
    assert_eq!(each(CARELESS, steps, &[]).await, all(CARELESS, 0, 0, "not-done"));
    assert_eq!(each(CAREFUL, steps, &[]).await, all(CAREFUL, 0, 0, "not-done"));
}

async fn the_example_with_real_clients_names_the_versions_that_are_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("the file should be there");
    let (example, tested) =
        (read("examples/stripe/requirements.txt"), read("tests/clients/python/requirements.txt"));
    assert!(!example.is_empty());
    for line in example.lines() {
        assert!(
            tested.lines().any(|pinned| pinned == line),
            "{line} is not what tests/clients/python/requirements.txt pins"
        );
    }
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    tests![
        without_faults_every_agent_does_everything_once,
        a_careless_agent_whose_replies_are_lost_does_everything_twice,
        a_careful_agent_whose_replies_are_lost_does_everything_once,
        with_lost_requests_every_agent_does_everything_once,
        careless_agents_believe_a_false_success_and_careful_ones_retry,
        a_careful_agent_that_cannot_find_out_claims_unknown_and_repeats_nothing,
        a_careless_agent_takes_an_error_as_proof_that_nothing_happened,
        in_an_outage_careless_agents_claim_done_and_careful_ones_not_done,
        a_failure_that_the_service_stores_under_the_key_needs_a_new_key,
        a_careful_agent_repeats_nothing_when_it_is_started_again_here_or_elsewhere,
        two_equal_orders_are_both_charged,
        an_agent_that_does_not_know_an_operation_claims_not_done,
        the_example_with_real_clients_names_the_versions_that_are_tested,
    ]
}
