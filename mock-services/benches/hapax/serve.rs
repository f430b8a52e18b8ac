//! `hapax serve` against its peers.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::client::{Workload, load, one_response};
use crate::servers::Server;
use crate::{median, process};

const CONNECTIONS: usize = 8;

/// The servers that are compared, in the order of the table.
const SERVERS: [&str; 3] = ["hapax serve", "wiremock", "hyper"];
const HAPAX: usize = 0;
const WIREMOCK: usize = 1;
const HYPER: usize = 2;

/// The result of one turn of a server.
#[derive(Clone, Copy, Default)]
struct Turn {
    /// Requests a second.
    rate: f64,
    /// Processor time of the server for each request, in microseconds.
    processor: f64,
    /// Memory that each request left, in bytes.
    memory: f64,
}

/// Prints a table for each workload.
pub(crate) fn measure(hapax: &Path, quick: bool) {
    let (rounds, time) =
        if quick { (1, Duration::from_millis(100)) } else { (9, Duration::from_millis(1_000)) };
    let first = Server::hapax(hapax);
    let intent = one_response(first.address, &Workload::Intents.request(&first.key, "first"));
    let id = id(&intent);
    for workload in [Workload::Intents, Workload::Charges, Workload::Read { id }] {
        let answer = one_response(first.address, &workload.request(&first.key, workload.name()));
        let mut turns: Vec<[Turn; SERVERS.len()]> = Vec::new();
        for round in 0..rounds {
            let mut results = [Turn::default(); SERVERS.len()];
            for place in 0..SERVERS.len() {
                // Each round has another order, so that other load on the machine affects all alike.
                let number = (round + place) % SERVERS.len();
                results[number] = turn(number, hapax, &workload, &answer, time);
            }
            turns.push(results);
        }
        print(&workload, &turns, answer.len());
    }
}

/// Prints how fast payments are compared with another build of hapax, which takes turns with this one.
pub(crate) fn compare(hapax: &Path, before: &Path, quick: bool) {
    let (rounds, time) =
        if quick { (1, Duration::from_millis(100)) } else { (9, Duration::from_millis(1_000)) };
    println!("\n| request | requests a second | of the other build | processor time, of the other build |");
    println!("| --- | ---: | ---: | ---: |");
    for workload in [Workload::Intents, Workload::Charges] {
        let mut turns = Vec::new();
        for round in 0..rounds {
            let run = |binary: &Path| turn(HAPAX, binary, &workload, &[], time);
            // Each round has another order, so that other load on the machine affects both alike.
            turns.push(if round % 2 == 0 {
                (run(hapax), run(before))
            } else {
                let other = run(before);
                (run(hapax), other)
            });
        }
        let of = |value: fn(&(Turn, Turn)) -> f64| median(turns.iter().map(value).collect());
        println!(
            "| {} | {:.0} | {:.2} | {:.2} |",
            workload.name(),
            of(|(this, _)| this.rate),
            of(|(this, other)| this.rate / other.rate),
            of(|(this, other)| this.processor / other.processor),
        );
    }
}

/// The id of the object in a response.
pub(crate) fn id(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer);
    let after = text.split("\"id\": \"").nth(1).expect("an id");
    after.split('"').next().expect("an id").to_owned()
}

/// One turn of a server, which is started for it.
fn turn(number: usize, hapax: &Path, workload: &Workload, answer: &[u8], time: Duration) -> Turn {
    let server = match number {
        HAPAX => Server::hapax(hapax),
        number => Server::peer(SERVERS[number], answer),
    };
    let mut workload = workload.clone();
    if let (HAPAX, Workload::Read { id: of_another }) = (number, &mut workload) {
        let request = Workload::Intents.request(&server.key, "read");
        *of_another = id(&one_response(server.address, &request));
    }
    let at = (server.address, server.key.as_str());
    load(at, &workload, CONNECTIONS, time / 5, "warm");
    let (processor, memory) = (process::processor_time(server.pid()), process::memory(server.pid()));
    let started = Instant::now();
    let count = load(at, &workload, CONNECTIONS, time, "turn") as f64;
    let took = started.elapsed();
    let processor = process::processor_time(server.pid()).saturating_sub(processor);
    let memory = process::memory(server.pid()).saturating_sub(memory);
    Turn {
        rate: count / took.as_secs_f64(),
        processor: processor.as_secs_f64() * 1e6 / count,
        memory: memory as f64 / count,
    }
}

fn print(workload: &Workload, turns: &[[Turn; SERVERS.len()]], bytes: usize) {
    let of = |number: usize, value: fn(&Turn) -> f64| {
        median(turns.iter().map(|turn| value(&turn[number])).collect())
    };
    // Ratios are computed within one round; the median of the rounds counts.
    let ratio = |one: usize, other: usize, value: fn(&Turn) -> f64| {
        median(turns.iter().map(|turn| value(&turn[one]) / value(&turn[other])).collect())
    };
    println!("\n{} ({bytes} bytes each, {CONNECTIONS} connections)\n", workload.name());
    println!(
        "| server | requests a second | of wiremock | of bare hyper | processor time each | memory each |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for (number, name) in SERVERS.iter().enumerate() {
        println!(
            "| {name} | {:.0} | {:.2} | {:.2} | {:.1} µs | {:.0} bytes |",
            of(number, |turn| turn.rate),
            ratio(number, WIREMOCK, |turn| turn.rate),
            ratio(number, HYPER, |turn| turn.rate),
            of(number, |turn| turn.processor),
            of(number, |turn| turn.memory),
        );
    }
    println!(
        "\nProcessor time of hapax: {:.2} times that of wiremock.",
        ratio(HAPAX, WIREMOCK, |turn| turn.processor)
    );
}
