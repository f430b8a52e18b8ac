//! Runs a real client against new services, once for each fault, and makes a table of what the ledger and the
//! client say.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mock_services::deploy::Deploy;
use mock_services::email::Email;
use mock_services::fault::read_line;
use mock_services::ledger::{Entry, Event, Received};
use mock_services::payment::Payment;
use mock_services::records::Records;
use mock_services::yaml::Source;
use mock_services::{MockServices, ServiceOptions};
use serde::Deserialize;

use super::program::last_line;

/// The faults on the first attempt of the client's main write.
const FAULTS: [(&str, &str); 5] = [
    ("none", ""),
    ("drop", "commit=now reply=drop"),
    ("503", "commit=now reply={status: 503}"),
    ("429", "commit=now reply={status: 429, retry_after: 1}"),
    ("lie", "commit=never reply=ok"),
];

/// A client, and which operation its main write is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    /// The script, from `tests/clients`.
    pub(crate) script: &'static str,
    /// The arguments of the script.
    pub(crate) arguments: &'static [&'static str],
    /// The full name of the operation.
    pub(crate) operation: &'static str,
}

impl Client {
    /// The table, one row for each fault.
    pub(crate) async fn table(self) -> String {
        let runs = FAULTS.map(|(name, fault)| (name, tokio::spawn(self.run_with_fault(fault))));
        let mut table = row(["fault", "attempts", "effects", "keys", "client says", "finds its id", "sees"]);
        for (name, run) in runs {
            let Outcome { attempts, effects, keys, report } = run.await.expect("the run should not panic");
            let says = if report.write == "ok" {
                report.write
            } else {
                format!("error: {}", report.error.unwrap_or_default())
            };
            let finds = report.get.map_or("-", |found| if found { "yes" } else { "no" });
            let counts = [attempts, effects, report.read].map(|count| count.to_string());
            table += &row([name, &counts[0], &counts[1], keys, &says, finds, &counts[2]]);
        }
        table
    }

    /// Runs the client with a fault on its first attempt.
    async fn run_with_fault(self, fault: &'static str) -> Outcome {
        let services = start_services().await;
        if !fault.is_empty() {
            let line = Source::new("fault", format!("{}#1 {fault}", self.operation));
            let fault = read_line(&line, &services.operations(), Some(1)).expect("the fault should be read");
            services.arm(vec![fault]).expect("the fault should make sense");
        }
        let report = self.run(&services).await;
        services.settle().await;
        let entries = services.ledger().entries();
        services.stop().await;

        let attempts: Vec<&Received> = entries.iter().filter_map(|entry| self.attempt(entry)).collect();
        let faulted = entries.iter().filter_map(|entry| match entry.event {
            Event::Fault { attempt, .. } => Some(attempt),
            _ => None,
        });
        let due: Vec<u64> =
            attempts.iter().filter(|_| !fault.is_empty()).take(1).map(|first| first.attempt).collect();
        assert_eq!(faulted.collect::<Vec<_>>(), due, "the fault should fire on the first attempt only");
        let refusal = entries
            .iter()
            .find(|entry| matches!(entry.event, Event::Refused { status, .. } if status != 404));
        assert!(refusal.is_none(), "the service refused a request of {}: {refusal:?}", self.script);
        Outcome { attempts: attempts.len(), effects: self.effects(&entries), keys: keys(&attempts), report }
    }

    fn attempt(self, entry: &Entry) -> Option<&Received<'static>> {
        match &entry.event {
            Event::Received(received) if received.operation == self.operation => Some(received),
            _ => None,
        }
    }

    fn effects(self, entries: &[Entry]) -> usize {
        let effects = entries.iter().filter_map(|entry| match &entry.event {
            Event::Committed { effect, .. } => Some(effect),
            _ => None,
        });
        let effects: Vec<_> = effects.collect();
        assert!(
            effects.iter().all(|effect| **effect == self.operation),
            "something else was committed: {effects:?}"
        );
        effects.len()
    }

    async fn run(self, services: &MockServices) -> ClientReport {
        let last = last_line(self.script, self.arguments, services).await;
        serde_json::from_str(&last)
            .unwrap_or_else(|error| panic!("{} printed {last:?}: {error}", self.script))
    }
}

/// One run, by the ledger and by the client.
struct Outcome {
    attempts: usize,
    effects: usize,
    keys: &'static str,
    report: ClientReport,
}

/// The line that a client's script prints.
#[derive(Debug, Deserialize)]
struct ClientReport {
    /// `ok` or `error`: what the client got for its main write.
    write: String,
    /// The kind of the error, if there was one.
    error: Option<String>,
    /// Whether the client found its object by id, if it got an id.
    get: Option<bool>,
    /// How many such objects the client sees.
    read: usize,
}

fn row(cells: [&str; 7]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.into_iter().zip([6, 9, 8, 10, 32, 13, 4]) {
        write!(line, "{cell:width$}").expect("writing to a String cannot fail");
    }
    line.trim_end().to_owned() + "\n"
}

/// Which idempotency keys the attempts carried.
fn keys(attempts: &[&Received]) -> &'static str {
    let keys: Vec<_> = attempts.iter().filter_map(|attempt| attempt.key.as_deref()).collect();
    let different = keys.iter().collect::<BTreeSet<_>>().len();
    match (keys.len(), different) {
        (0, _) => "none",
        (carried, _) if carried < attempts.len() => "on some",
        (1, _) => "one",
        (_, 1) => "the same",
        _ => "different",
    }
}

async fn start_services() -> MockServices {
    let options = ServiceOptions::default;
    let builder = MockServices::builder()
        .service(Payment::default(), options())
        .service(Email::default(), options())
        .service(Deploy::default(), options())
        .service(Records::default(), options());
    builder.start().await.expect("the services should start")
}
