//! The memory and time that a ledger of a million entries takes: `cargo run --release --example ledger_memory
//! [ENTRIES]`.

#![expect(clippy::print_stdout, reason = "what is measured is printed")]

use std::time::Instant;

use mock_services::Clock;
use mock_services::fault::ReplyKind;
use mock_services::ledger::{CommitTiming, Event, Ledger, Received};
use mock_services::service::Fields;

/// The resident memory of this process, in kibibytes; 0 when the system does not report it.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Adds the three entries of one attempt, as a payment service writes them.
fn attempt(ledger: &Ledger, attempt: u64) {
    let order = format!("ord_{attempt}");
    let fields = Fields::new()
        .with("amount", 4999)
        .with("currency", "usd")
        .with("customer", "cus_42")
        .with("order", order.as_str());
    let id = format!("ch_3{attempt:023}");
    let key = format!("5f2b8c1e-0000-4000-a000-{attempt:012}");
    let client = Fields::new().with("user-agent", "Stripe/v1 PythonBindings/16.1.0");
    ledger.append(Event::Received(Box::new(Received {
        attempt,
        operation: "payment.charge".into(),
        method: "POST".into(),
        path: "/v1/charges".into(),
        fields: fields.clone(),
        key: Some(key.into()),
        replay: false,
        share: mock_services::service::TaskShare::Full,
        caller: 1,
        connection: attempt,
        repeats: None,
        declared_answer: None,
        client,
        message: None,
    })));
    let fields = fields.with("charge", id.as_str());
    ledger.append(Event::Committed {
        attempt,
        effect: "payment.charge".into(),
        id: id.into(),
        fields,
        timing: CommitTiming::Now,
    });
    ledger.append(Event::Replied {
        attempt,
        reply: ReplyKind::Ok,
        status: Some(200),
        bytes: 3120,
        whole: true,
        replay: false,
        retry_after: None,
        silence: None,
        message: None,
    });
}

fn main() {
    let wanted: u64 = std::env::args().nth(1).and_then(|number| number.parse().ok()).unwrap_or(1_000_000);
    let before = resident();
    let started = Instant::now();
    let ledger = Ledger::new("memory", 1, Clock::default());
    let mut number = 0;
    while ledger.len() < wanted {
        number += 1;
        attempt(&ledger, number);
    }
    let (entries, took) = (ledger.len(), started.elapsed());
    let each = took.as_nanos() / u128::from(entries);
    println!(
        "{entries} entries in {took:.1?} ({each} ns each), {} MiB",
        (resident().saturating_sub(before)) / 1024
    );
}
