//! Whether what many callers saw can be explained: a thousand calls of 64 callers over sockets, then the search.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mock_services::records::Records;
use mock_services::{HistoryConclusion, MockServices, ServiceOptions};

const CALLERS: u32 = 64;
const CALLS: u64 = 1_000;
/// The bound of the search.
const BOUND: Duration = Duration::from_secs(1);

/// Prints how long the search takes where it can be split by object, and where one call lists all objects. Stops the
/// benchmark where it takes too long or a history is not explained.
pub(crate) fn measure() {
    println!("\n{CALLS} calls of {CALLERS} callers: the time to find an order that explains what they saw");
    for (objects, lists, name) in [
        (8, false, "8 records and 8 counters"),
        (1, false, "1 record and 1 counter"),
        (8, true, "8 and 8, and a list"),
    ] {
        let time = explain(objects, lists);
        println!("  {name:24}  {:>7.1} ms", time.as_secs_f64() * 1_000.0);
        assert!(time < BOUND, "the bound is {BOUND:?}");
    }
}

fn explain(objects: u64, lists: bool) -> Duration {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let builder = MockServices::builder().callers(CALLERS).record_histories();
    let builder = builder.service(Records::default(), ServiceOptions::default());
    let services = runtime.block_on(builder.start()).expect("the services start");
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for caller in 1..=CALLERS {
            let url = services.url("records", caller).expect("a port");
            let key = services.key("records").expect("a key");
            let next = &next;
            scope.spawn(move || {
                let agent = ureq::agent();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= CALLS {
                        return;
                    }
                    call(&agent, (&url, key), number, number / 4 % objects);
                }
            });
        }
    });
    if lists {
        let agent = ureq::agent();
        let url = services.url("records", 1).expect("a port");
        get(&agent, (&url, services.key("records").expect("a key")), "/records");
    }
    let began = Instant::now();
    let reports = runtime.block_on(services.check_histories(Duration::from_secs(60)));
    let time = began.elapsed();
    let report = reports.first().expect("a history");
    assert_eq!(report.callers, CALLERS as usize, "every caller made a call");
    assert_eq!(report.conclusion, HistoryConclusion::Explained);
    time
}

/// One of four calls about an object.
fn call(agent: &ureq::Agent, service: (&str, &str), number: u64, object: u64) {
    let (url, key) = service;
    let authorization = format!("Bearer {key}");
    match number % 4 {
        0 => {
            let request =
                agent.put(format!("{url}/records/r{object}")).header("Authorization", authorization);
            let request = request.header("Content-Type", "application/json");
            request.send(format!(r#"{{"value":{number}}}"#)).expect("it is written");
        }
        1 => {
            let url = format!("{url}/counters/c{object}/increment");
            let request = agent.post(url).header("Authorization", authorization);
            request.header("Content-Type", "application/json").send(r#"{"by":1}"#).expect("it is counted");
        }
        2 => get(agent, service, &format!("/records/r{object}")),
        _ => get(agent, service, &format!("/counters/c{object}")),
    }
}

fn get(agent: &ureq::Agent, (url, key): (&str, &str), path: &str) {
    // A record that is not written yet is not found.
    let _ = agent.get(format!("{url}{path}")).header("Authorization", format!("Bearer {key}")).call();
}
