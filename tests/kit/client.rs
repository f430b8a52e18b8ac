//! Runs a real client against services of its own, once for each fault, and draws up what the ledger and the
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

/// What meets the first attempt of the client's main write.
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
    /// What the script is given.
    pub(crate) arguments: &'static [&'static str],
    /// The full name of the operation.
    pub(crate) operation: &'static str,
}

impl Client {
    /// The table of what happened, one row for each fault.
    pub(crate) async fn table(self) -> String {
        let runs = FAULTS.map(|(name, fault)| (name, tokio::spawn(self.meets(fault))));
        let mut table = row(["fault", "attempts", "effects", "keys", "client says", "finds its id", "sees"]);
        for (name, run) in runs {
            let Outcome { attempts, effects, keys, message } = run.await.expect("the run should not panic");
            let says = if message.write == "ok" {
                message.write
            } else {
                format!("error: {}", message.error.unwrap_or_default())
            };
            let finds = message.get.map_or("-", |found| if found { "yes" } else { "no" });
            let counts = [attempts, effects, message.read].map(|count| count.to_string());
            table += &row([name, &counts[0], &counts[1], keys, &says, finds, &counts[2]]);
        }
        table
    }

    /// Runs the client while the fault waits for its first attempt.
    async fn meets(self, fault: &'static str) -> Outcome {
        let services = started().await;
        if !fault.is_empty() {
            let line = Source::new("fault", format!("{}#1 {fault}", self.operation));
            let fault = read_line(&line, &services.operations(), Some(1)).expect("the fault should be read");
            services.arm(vec![fault]).expect("the fault should make sense");
        }
        let message = self.run(&services).await;
        services.settle().await;
        let entries = services.ledger().entries();
        services.stop().await;

        let attempts: Vec<&Received> = entries.iter().filter_map(|entry| self.attempt(entry)).collect();
        let struck = entries.iter().filter_map(|entry| match entry.event {
            Event::Fault { attempt, .. } => Some(attempt),
            _ => None,
        });
        let due: Vec<u64> =
            attempts.iter().filter(|_| !fault.is_empty()).take(1).map(|first| first.attempt).collect();
        assert_eq!(
            struck.collect::<Vec<_>>(),
            due,
            "the fault should strike the first attempt and nothing else"
        );
        let refusal = entries
            .iter()
            .find(|entry| matches!(entry.event, Event::Refused { status, .. } if status != 404));
        assert!(refusal.is_none(), "{} sent what the service refuses: {refusal:?}", self.script);
        Outcome { attempts: attempts.len(), effects: self.effects(&entries), keys: keys(&attempts), message }
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

    async fn run(self, services: &MockServices) -> Told {
        let last = last_line(self.script, self.arguments, services).await;
        serde_json::from_str(&last).unwrap_or_else(|error| panic!("{} said {last:?}: {error}", self.script))
    }
}

/// What one run came to, by the ledger and by the client.
struct Outcome {
    attempts: usize,
    effects: usize,
    keys: &'static str,
    message: Told,
}

/// The line that a client's script prints.
#[derive(Debug, Deserialize)]
struct Told {
    /// What its main write came to, as far as it knows.
    write: String,
    /// The kind of the error, where it was one.
    error: Option<String>,
    /// Whether it found what it made under the id that it was given, where it was given one.
    get: Option<bool>,
    /// How many of it the client sees.
    read: usize,
}

fn row(cells: [&str; 7]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.into_iter().zip([6, 9, 8, 10, 32, 13, 4]) {
        write!(line, "{cell:width$}").expect("a text takes any text");
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

async fn started() -> MockServices {
    let options = ServiceOptions::default;
    let builder = MockServices::builder()
        .service(Payment::default(), options())
        .service(Email::default(), options())
        .service(Deploy::default(), options())
        .service(Records::default(), options());
    builder.start().await.expect("the services should start")
}
