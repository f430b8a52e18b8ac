//! The contenders, and the load that is put on them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use mock_services::ledger::{Event, Ledger, LedgerFile};
use mock_services::payment::Payment;
use mock_services::{Clock, MockServices, ServiceOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Barrier;

const BODY: &str = "amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001";

/// Something that takes charges.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    address: SocketAddr,
    key: String,
    file: Option<LedgerFile>,
    /// Kept so that it goes on running.
    _held: Held,
}

#[expect(dead_code, reason = "held for their drop alone")]
enum Held {
    Services(MockServices, Runtime),
    Runtime(Runtime),
    Wiremock(wiremock::MockServer, Runtime),
}

impl Contender {
    /// The contenders in the order of the table.
    pub(crate) fn all(folder: &Path, connections: usize) -> Vec<Contender> {
        let path = folder.join(format!("ledger-{connections}.jsonl"));
        let file = LedgerFile::create(&path).expect("a fresh folder");
        let recording = Ledger::in_file("bench", 1, Clock::default(), &file);
        let with = payment("payment, ledger on", recording, Some(file));
        let in_memory =
            payment("payment, ledger in memory alone", Ledger::new("bench", 1, Clock::default()), None);
        let without = payment("payment, ledger off", Ledger::off(), None);
        let answer = one_answer(&without);
        vec![with, in_memory, without, bare(answer.clone()), mocked(&answer)]
    }

    /// Finishes what is left to do when a turn has ended, so that none of it falls on the next contender.
    pub(crate) fn finish_turn(&self) {
        if let Some(file) = &self.file {
            file.flush().expect("a file that can be written");
        }
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

fn payment(name: &'static str, ledger: Ledger, file: Option<LedgerFile>) -> Contender {
    let runtime = runtime();
    let started =
        MockServices::builder().ledger(ledger).service(Payment::default(), ServiceOptions::default()).start();
    let services = runtime.block_on(started).expect("a port");
    let (address, key) =
        (services.address("payment", 1).expect("a port"), services.key("payment").expect("a key").to_owned());
    Contender { name, address, key, file, _held: Held::Services(services, runtime) }
}

/// The head and the body of one answer to a charge.
fn one_answer(contender: &Contender) -> (Vec<(String, String)>, Vec<u8>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let bytes = runtime.block_on(async {
        let mut line = TcpStream::connect(contender.address).await.expect("a connection");
        line.write_all(&request(&contender.key, "probe")).await.expect("a request");
        let mut buffer = Vec::new();
        read_answer(&mut line, &mut buffer).await.expect("an answer");
        buffer
    });
    let text = String::from_utf8(bytes).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let of_the_wire = ["date", "content-length", "connection"];
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers = headers.filter(|(name, _)| !of_the_wire.contains(&name.to_ascii_lowercase().as_str()));
    (headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(), body.as_bytes().to_vec())
}

/// hyper as it comes, reading the body and answering the same bytes every time.
fn bare((headers, body): (Vec<(String, String)>, Vec<u8>)) -> Contender {
    let runtime = runtime();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("an address");
    let body = Bytes::from(body);
    runtime.spawn(async move {
        while let Ok((line, _)) = listener.accept().await {
            let _ = line.set_nodelay(true);
            let (headers, body) = (headers.clone(), body.clone());
            let respond = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
                let mut response = hyper::Response::new(Full::new(body.clone()));
                for (name, value) in &headers {
                    let name = hyper::header::HeaderName::from_bytes(name.as_bytes()).expect("a name");
                    response.headers_mut().insert(name, value.parse().expect("a value"));
                }
                async move {
                    let _ = request.into_body().collect().await;
                    Ok::<_, Infallible>(response)
                }
            });
            tokio::spawn(async move {
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(line), respond).await
            });
        }
    });
    Contender {
        name: "bare hyper responder",
        address,
        key: "sk_test_x".to_owned(),
        file: None,
        _held: Held::Runtime(runtime),
    }
}

fn mocked((headers, body): &(Vec<(String, String)>, Vec<u8>)) -> Contender {
    use wiremock::matchers::{method, path};
    let runtime = runtime();
    let server = runtime.block_on(async {
        let mut answer = wiremock::ResponseTemplate::new(200).set_body_bytes(body.clone());
        for (name, value) in headers {
            answer = answer.insert_header(name.as_str(), value.as_str());
        }
        // Its own record of requests is switched off, as one would for load.
        let server = wiremock::MockServer::builder().disable_request_recording().start().await;
        wiremock::Mock::given(method("POST"))
            .and(path("/v1/charges"))
            .respond_with(answer)
            .mount(&server)
            .await;
        server
    });
    let address = *server.address();
    Contender {
        name: "wiremock",
        address,
        key: "sk_test_x".to_owned(),
        file: None,
        _held: Held::Wiremock(server, runtime),
    }
}

fn request(key: &str, idempotency_key: &str) -> Vec<u8> {
    format!(
        "POST /v1/charges HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nUser-Agent: bench/1\r\n\
         Idempotency-Key: {idempotency_key}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
    .into_bytes()
}

/// Reads one answer whole into the buffer.
async fn read_answer(line: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<()> {
    buffer.clear();
    loop {
        if line.read_buf(buffer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let Some(head) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let text = std::str::from_utf8(&buffer[..head]).unwrap_or_default();
        let length = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length: usize = length.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or_default();
        if buffer.len() >= head + 4 + length {
            return Ok(());
        }
    }
}

/// Requests a second over so many connections, each of which asks again as soon as it is answered, every time
/// with a new key.
pub(crate) fn load(contender: &Contender, connections: usize, time: Duration) -> f64 {
    static LOADS: AtomicU64 = AtomicU64::new(0);
    let load = LOADS.fetch_add(1, Ordering::Relaxed);
    // One thread, as with `wrk -t1`.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let stop = Arc::new(AtomicBool::new(false));
        let ready = Arc::new(Barrier::new(connections + 1));
        let mut tasks = Vec::new();
        for connection in 0..connections {
            let (stop, ready) = (Arc::clone(&stop), Arc::clone(&ready));
            let (address, key) = (contender.address, contender.key.clone());
            tasks.push(tokio::spawn(async move {
                let mut line = TcpStream::connect(address).await.expect("a connection");
                let _ = line.set_nodelay(true);
                let mut buffer = Vec::with_capacity(8192);
                let mut request = request(&key, &format!("{load:08x}-{connection:04x}-{:010}", 0));
                let digits =
                    request.windows(16).position(|window| window == b"Idempotency-Key:").expect("the key")
                        + 16
                        + 1
                        + 14;
                ready.wait().await;
                let mut count = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    request[digits..digits + 10].copy_from_slice(format!("{count:010}").as_bytes());
                    line.write_all(&request).await.expect("a request");
                    read_answer(&mut line, &mut buffer).await.expect("an answer");
                    count += 1;
                }
                count
            }));
        }
        ready.wait().await;
        let started = Instant::now();
        tokio::time::sleep(time).await;
        stop.store(true, Ordering::Relaxed);
        let mut count = 0;
        for task in tasks {
            count += task.await.expect("no panic");
        }
        count as f64 / started.elapsed().as_secs_f64()
    })
}

/// How many rounds, in each of which all callers charge with one key at the same time, leave exactly one
/// effect.
pub(crate) fn one_key(callers: u32, rounds: usize) -> usize {
    runtime().block_on(async {
        let builder =
            MockServices::builder().callers(callers).service(Payment::default(), ServiceOptions::default());
        let services = builder.start().await.expect("ports");
        let barrier = Arc::new(Barrier::new(callers as usize));
        let mut tasks = Vec::new();
        for caller in 1..=callers {
            let address = services.address("payment", caller).expect("a port");
            let (key, barrier) = (services.key("payment").expect("a key").to_owned(), Arc::clone(&barrier));
            tasks.push(tokio::spawn(async move {
                let mut line = TcpStream::connect(address).await.expect("a connection");
                let mut buffer = Vec::new();
                for round in 0..rounds {
                    barrier.wait().await;
                    line.write_all(&request(&key, &format!("round-{round}"))).await.expect("a request");
                    read_answer(&mut line, &mut buffer).await.expect("an answer");
                }
            }));
        }
        for task in tasks {
            task.await.expect("no panic");
        }
        let mut rounds_of_attempts = std::collections::HashMap::new();
        let mut effects = vec![0usize; rounds];
        for entry in services.ledger().entries() {
            match entry.event {
                Event::Received(received) => {
                    let round = received
                        .key
                        .as_ref()
                        .and_then(|key| key.strip_prefix("round-")?.parse::<usize>().ok());
                    rounds_of_attempts.insert(received.attempt, round.expect("a round"));
                }
                Event::Committed { attempt, .. } => effects[rounds_of_attempts[&attempt]] += 1,
                _ => {}
            }
        }
        effects.into_iter().filter(|count| *count == 1).count()
    })
}
