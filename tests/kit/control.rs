//! Runs a control as a process against services of the test, and reads from the ledger what it did; or over
//! cases, and returns the report.

use std::path::PathBuf;

use hapax::results::Report;
use hapax::run::{ConcurrencyLimiter, Plan, RunFolder, RunOptions, run};
use hapax::scenario::Case;
use hapax::subject::Subject;
use mock_services::custom::{Custom, TICKETS};
use mock_services::deploy::{Deploy, DeployOptions};
use mock_services::email::{Email, EmailOptions};
use mock_services::fault::{Fault, read_line};
use mock_services::idempotency::{Idempotency, Profile};
use mock_services::ledger::{BarrierEvent, Event};
use mock_services::payment::{Payment, PaymentOptions};
use mock_services::records::{Records, RecordsOptions};
use mock_services::service::Operation;
use mock_services::{BarrierOptions, Builder, MockServices, ServiceOptions};
use serde_json::Value;
use yaml_reader::Source;

use super::workspace::HAPAX;

/// The report of a control over cases, with one trial of each.
pub(crate) async fn run_over(cases: Vec<Case>, control: &str) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let mut subject = Subject::control(control);
    subject.settings.hapax = Some(HAPAX.into());
    let options = RunOptions { trials: 1, seed: 1, ..RunOptions::default() };
    let plan = Plan::new(cases, &subject, &options).unwrap();
    let out = RunFolder::at(&folder.path().join("out")).unwrap();
    let limiter = ConcurrencyLimiter::new(None);
    run(plan, subject, options, &out, &limiter, std::future::pending(), &mut |_| {}).await.unwrap()
}

/// How the services of a trial are set up.
#[derive(Default)]
pub(crate) struct ServiceSetup {
    pub(crate) keys: Option<Idempotency>,
    pub(crate) callers: u32,
    pub(crate) barrier: Option<BarrierOptions>,
    pub(crate) payment: PaymentOptions,
    pub(crate) email: EmailOptions,
    pub(crate) deploy: DeployOptions,
    pub(crate) records: RecordsOptions,
}

/// Running services, and the folders of a subject.
pub(crate) struct Trial {
    pub(crate) services: MockServices,
    folder: tempfile::TempDir,
}

/// What a control did and claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ControlResult {
    pub(crate) effects: usize,
    pub(crate) claim: String,
}

pub(crate) fn result(effects: usize, claim: &str) -> ControlResult {
    ControlResult { effects, claim: claim.to_owned() }
}

impl ServiceSetup {
    pub(crate) fn keys(profile: Profile) -> Self {
        ServiceSetup { keys: Some(Idempotency::new(profile)), ..ServiceSetup::default() }
    }

    pub(crate) async fn start(self, faults: &[&str]) -> Trial {
        let options = || ServiceOptions { idempotency: self.keys.clone(), ..ServiceOptions::default() };
        let tickets = Custom::from_source(&Source::new("tickets.yaml", TICKETS))
            .unwrap_or_else(|problems| panic!("{problems}"));
        let builder = self.barrier.into_iter().fold(MockServices::builder(), Builder::start_barrier);
        let builder = builder
            .callers(self.callers)
            .service(Payment::new(self.payment), options())
            .service(Email::new(self.email), options())
            .service(Deploy::new(self.deploy), options())
            .service(Records::new(self.records), options())
            .service(tickets, options());
        let faults = faults.iter().map(|line| fault(line, builder.operations())).collect();
        Trial::new(builder.faults(faults)).await
    }
}

fn fault(line: &str, operations: &[Operation]) -> Fault {
    read_line(&Source::new("fault", line), operations, None).unwrap_or_else(|problems| panic!("{problems}"))
}

impl Trial {
    async fn new(builder: Builder) -> Self {
        Trial { services: builder.start().await.unwrap(), folder: tempfile::tempdir().unwrap() }
    }

    /// Services that decline the card of a customer.
    pub(crate) async fn declining(customer: &str) -> Self {
        let payment =
            PaymentOptions { declining_customers: vec![customer.to_owned()], ..PaymentOptions::default() };
        ServiceSetup { payment, ..ServiceSetup::default() }.start(&[]).await
    }

    /// A control as a process that has not been started.
    pub(crate) fn command(
        &self,
        control: &str,
        caller: u32,
        start: u32,
        steps: &str,
    ) -> tokio::process::Command {
        let path = |name: String| {
            let path = self.folder.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            path
        };
        let mut command = tokio::process::Command::new(HAPAX);
        command.args(["control", control]).env_clear().kill_on_drop(true);
        // A control that used the proxy would reach nothing.
        command.env("HTTP_PROXY", "http://127.0.0.1:1").env("http_proxy", "http://127.0.0.1:1");
        command.env("HAPAX_TASK", "a task").env("HAPAX_STEPS", steps);
        command.env("HAPAX_CALLER", format!("caller{caller}"));
        let state = path(format!("state-{caller}"));
        if start > 1 {
            // What the earlier starts have left: a control counts its own starts.
            std::fs::write(state.join("starts"), (start - 1).to_string()).unwrap();
        }
        command.env("HAPAX_STATE_DIR", state).env("HAPAX_SHARED_DIR", path("shared".to_owned()));
        command.env("HAPAX_RESULT", self.result(caller, start));
        for name in self.services.names() {
            let stem = format!("HAPAX_{}", name.to_uppercase());
            command.env(format!("{stem}_URL"), self.services.url(name, caller).unwrap());
            command.env(format!("{stem}_KEY"), self.services.key(name).unwrap());
        }
        command.env(
            "HAPAX_SMTP_URL",
            format!("smtp://{}", self.services.smtp_address("email", caller).unwrap()),
        );
        command
    }

    fn result(&self, caller: u32, start: u32) -> PathBuf {
        self.folder.path().join(format!("claim-{caller}-{start}.json"))
    }

    /// Runs a control to its end and returns the word of its claim.
    pub(crate) async fn run(&self, control: &str, caller: u32, start: u32, steps: &str) -> String {
        let output = self.command(control, caller, start, steps).output().await.unwrap();
        assert!(output.status.success(), "{control}: {}", String::from_utf8_lossy(&output.stderr));
        self.services.caller_ended(caller);
        self.claim(caller, start)
    }

    /// The word of a claim.
    pub(crate) fn claim(&self, caller: u32, start: u32) -> String {
        let text = std::fs::read_to_string(self.result(caller, start)).unwrap();
        let claim: Value = serde_json::from_str(&text).unwrap();
        assert!(claim["message"].is_string(), "{text}");
        claim["outcome"].as_str().unwrap().to_owned()
    }

    /// Runs a control once and returns its result, with commits that were outstanding.
    pub(crate) async fn outcome(&self, control: &str, steps: &str) -> ControlResult {
        let claim = self.run(control, 1, 1, steps).await;
        self.services.settle().await;
        ControlResult { effects: self.effects(""), claim }
    }

    /// The number of effects of that name, or of all effects if it is empty.
    pub(crate) fn effects(&self, name: &str) -> usize {
        let counts =
            |event: &Event| matches!(event, Event::Committed { effect, .. } if effect.starts_with(name));
        self.services.ledger().entries().iter().filter(|entry| counts(&entry.event)).count()
    }

    /// The number under a key of the record store.
    pub(crate) async fn record(&self, key: &str) -> i64 {
        self.services.settle().await;
        let puts = |event: &Event| match event {
            Event::Committed { effect, id, fields, .. } if effect == "records.put" && id == key => {
                fields.get("value").cloned()
            }
            _ => None,
        };
        let last = self.services.ledger().entries().iter().rev().find_map(|entry| puts(&entry.event));
        last.and_then(|value| value.to_string().parse().ok()).unwrap_or_default()
    }

    /// The number of attempts of an operation.
    pub(crate) fn attempts(&self, operation: &str) -> usize {
        let counts =
            |event: &Event| matches!(event, Event::Received(received) if received.operation == operation);
        self.services.ledger().entries().iter().filter(|entry| counts(&entry.event)).count()
    }

    /// The number of refused requests.
    pub(crate) fn refused(&self) -> usize {
        self.services
            .ledger()
            .entries()
            .iter()
            .filter(|entry| matches!(entry.event, Event::Refused(_)))
            .count()
    }

    /// Whether a caller wrote after the start barrier had opened without it.
    pub(crate) fn has_late_caller(&self) -> bool {
        let is_late = |event: &Event| matches!(event, Event::Barrier { event: BarrierEvent::Late, .. });
        self.services.ledger().entries().iter().any(|entry| is_late(&entry.event))
    }

    /// Whether every fault has fired; a test proves nothing otherwise.
    pub(crate) fn all_fired(&self) -> bool {
        self.services.fired().iter().all(|fired| !fired.attempts.is_empty())
    }
}
