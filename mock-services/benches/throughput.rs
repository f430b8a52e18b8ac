//! How fast a charge is taken, measured in one run over real sockets with keep-alive: with the ledger, with
//! one in memory alone, without any, against a bare hyper responder that answers the same bytes, and against
//! the `wiremock` crate. Prints a table of ratios; `cargo bench -- --quick` takes a tenth of the time.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark prints, and stops where it cannot go on"
)]

mod support;

use std::time::Duration;

use support::{Contender, load, one_key};

const CONNECTIONS: [usize; 2] = [8, 256];
const CALLERS: u32 = 16;

/// The contenders' places.
const WITH_LEDGER: usize = 0;
const IN_MEMORY: usize = 1;
const WITHOUT_LEDGER: usize = 2;
const BARE: usize = 3;
const WIREMOCK: usize = 4;
const CONTENDERS: usize = 5;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick" || argument == "--test");
    let (rounds, slice, key_rounds) =
        if quick { (5, Duration::from_millis(100), 1_000) } else { (61, Duration::from_millis(120), 10_000) };
    let folder = tempfile::tempdir().unwrap();
    for connections in CONNECTIONS {
        let mut contenders = Contender::all(folder.path(), connections);
        // For a profiler: one contender alone, by its number.
        if let Some(only) = std::env::var("BENCH_ONLY").ok().and_then(|only| only.parse::<usize>().ok()) {
            let before = processor_time();
            let contender = contenders.swap_remove(only);
            let rate = load(&contender, connections, slice * rounds);
            let processor = processor_time().saturating_sub(before).as_micros() as f64
                / (rate * (slice * rounds).as_secs_f64());
            println!(
                "{connections} connections: {rate:.0} requests a second, {processor:.1} us of processor time each"
            );
            // Taking down what was built up is no part of the measure.
            std::mem::forget((contender, contenders));
            continue;
        }
        // The contenders take turns, each time in another order, so that whatever else the machine does falls
        // on all of them alike.
        let mut turns: Vec<[f64; CONTENDERS]> = Vec::new();
        for round in 0..rounds {
            let mut rates = [0.0; CONTENDERS];
            for turn in 0..rates.len() {
                let number = (round as usize + turn) % rates.len();
                rates[number] = load(&contenders[number], connections, slice);
                contenders[number].finish_turn();
            }
            turns.push(rates);
        }
        // What two contenders did in the same second is compared; of these ratios the median counts.
        let ratio =
            |one: usize, other: usize| median(turns.iter().map(|rates| rates[one] / rates[other]).collect());
        println!("\n{connections} connections\n");
        println!("| contender | requests a second | of the bare responder |\n| --- | ---: | ---: |");
        for (number, contender) in contenders.iter().enumerate() {
            let rate = median(turns.iter().map(|rates| rates[number]).collect());
            println!("| {} | {rate:.0} | {:.0} % |", contender.name, 100.0 * ratio(number, BARE));
        }
        println!(
            "\nThe ledger costs {:.1} %, of which {:.1} % without its file. Ahead of wiremock by a factor of {:.2}.",
            100.0 * (1.0 - ratio(WITH_LEDGER, WITHOUT_LEDGER)),
            100.0 * (1.0 - ratio(IN_MEMORY, WITHOUT_LEDGER)),
            ratio(WITH_LEDGER, WIREMOCK)
        );
    }
    if std::env::var_os("BENCH_ONLY").is_some() {
        return;
    }
    let effects = one_key(CALLERS, key_rounds);
    println!(
        "\nOne key from {CALLERS} callers at a barrier, {key_rounds} rounds: {effects} rounds had exactly one effect."
    );
    assert_eq!(effects, key_rounds, "a key was not honoured");
}

/// What this process has used of all processors.
fn processor_time() -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks =
        |place: usize| fields.get(place).and_then(|field| field.parse::<u32>().ok()).unwrap_or_default();
    TICK * (ticks(11) + ticks(12))
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
