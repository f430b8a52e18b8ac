//! Runs a real client against new services, once for each fault, and compares what the ledger and the client say
//! with its rows.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use mock_services::catalog;
use mock_services::deploy::Deploy;
use mock_services::email::Email;
use mock_services::fault::read_line;
use mock_services::ledger::{Entry, Event, Received};
use mock_services::payment::Payment;
use mock_services::records::Records;
use mock_services::web::Web;
use mock_services::{MockServices, ServiceOptions};
use serde::Deserialize;
use yaml_reader::Source;

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

/// A client and what it does: the columns are fault, attempts, effects, keys, what the client says, whether it
/// finds its id, and how many it sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredClient {
    pub(crate) client: Client,
    /// One row for each of the faults.
    pub(crate) rows: &'static str,
}

impl MeasuredClient {
    /// Runs the client once with each fault, and compares the rows.
    pub(crate) async fn assert_rows(self) {
        assert_eq!(self.client.rows().await, self.row_lines(), "{}", self.client.script);
    }

    /// The row for a lost reply, as numbers of attempts and effects, and the keys.
    pub(crate) fn after_a_lost_reply(self) -> (usize, usize, String) {
        let rows = self.row_lines();
        let row = rows.iter().find_map(|row| row.strip_prefix("drop ")).expect("a row for a lost reply");
        let number = |text: &str| text.trim().parse().expect("a number");
        (number(&row[1..10]), number(&row[10..18]), row[18..28].trim().to_owned())
    }

    fn row_lines(self) -> Vec<String> {
        self.rows.trim().lines().map(|line| line.trim().to_owned()).collect()
    }
}

impl Client {
    /// One row for each fault.
    async fn rows(self) -> Vec<String> {
        let runs = FAULTS.map(|(name, fault)| (name, tokio::spawn(self.run_with_fault(fault))));
        let mut rows = Vec::new();
        for (name, run) in runs {
            let Outcome { attempts, effects, keys, report } = run.await.expect("the run should not panic");
            let says = if report.write == "ok" {
                report.write
            } else {
                format!("error: {}", report.error.unwrap_or_default())
            };
            let finds = report.get.map_or("-", |found| if found { "yes" } else { "no" });
            let counts = [attempts, effects, report.read].map(|count| count.to_string());
            rows.push(row([name, &counts[0], &counts[1], keys, &says, finds, &counts[2]]));
        }
        rows
    }

    /// The attempts, effects and keys in a ledger.
    pub(crate) fn counts(self, entries: &[Entry]) -> (usize, usize, String) {
        let attempts: Vec<&Received> = entries.iter().filter_map(|entry| self.attempt(entry)).collect();
        (attempts.len(), self.effects(entries), keys(&attempts).to_owned())
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
            .find(|entry| matches!(&entry.event, Event::Refused(refused) if refused.status != 404));
        assert!(refusal.is_none(), "the service refused a request of {}: {refusal:?}", self.script);
        Outcome { attempts: attempts.len(), effects: self.effects(&entries), keys: keys(&attempts), report }
    }

    fn attempt(self, entry: &Entry) -> Option<&Received> {
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
        // A new customer and its card are steps beside a task that names no customer.
        let is_beside = |effect: &str| {
            catalog::describe_effect(effect).is_some_and(|described| !described.own.is_empty())
        };
        let effects: Vec<_> = effects.filter(|effect| !is_beside(effect)).collect();
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
pub(crate) struct ClientReport {
    /// `ok` or `error`: what the client got for its main write.
    pub(crate) write: String,
    /// The kind of the error, if there was one.
    error: Option<String>,
    /// Whether the client found its object by id, if it got an id.
    get: Option<bool>,
    /// How many such objects the client sees.
    pub(crate) read: usize,
}

fn row(cells: [&str; 7]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.into_iter().zip([6, 9, 8, 10, 32, 13, 4]) {
        write!(line, "{cell:width$}").expect("writing to a String cannot fail");
    }
    line.trim_end().to_owned()
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
        .service(Records::default(), options())
        .service(Web::default(), options());
    builder.start().await.expect("the services should start")
}
