//! The client: keeps connections over loopback busy with keep-alive, from one thread.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

/// The requests of a benchmark.
#[derive(Clone, Debug)]
pub(crate) enum Workload {
    /// Create and confirm payment intents.
    Intents,
    /// Create charges.
    Charges,
    /// Read one payment intent repeatedly.
    Read {
        /// Its id.
        id: String,
    },
}

impl Workload {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Workload::Intents => "create and confirm a payment intent",
            Workload::Charges => "create a charge",
            Workload::Read { .. } => "read a payment intent",
        }
    }

    /// One request. Each write has its own idempotency key.
    pub(crate) fn request(&self, api_key: &str, idempotency_key: &str) -> Vec<u8> {
        let (target, body) = match self {
            Workload::Intents => (
                "POST /v1/payment_intents".to_owned(),
                "amount=4999&currency=usd&customer=cus_42&payment_method=pm_card_visa&confirm=true\
                 &metadata[order]=ord_1001",
            ),
            Workload::Charges => (
                "POST /v1/charges".to_owned(),
                "amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001",
            ),
            Workload::Read { id } => (format!("GET /v1/payment_intents/{id}"), ""),
        };
        let head = format!(
            "{target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api_key}\r\n\
             User-Agent: bench/1\r\n"
        );
        let rest = match body {
            "" => "\r\n".to_owned(),
            body => format!(
                "Idempotency-Key: {idempotency_key}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            ),
        };
        (head + &rest).into_bytes()
    }
}

/// One connection with its buffer.
pub(crate) struct ClientConnection {
    line: TcpStream,
    buffer: Vec<u8>,
}

impl ClientConnection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let line = TcpStream::connect(address).await.expect("a connection");
        line.set_nodelay(true).expect("a socket");
        ClientConnection { line, buffer: Vec::with_capacity(16 * 1024) }
    }

    /// Sends a request and reads the whole response.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> &[u8] {
        self.line.write_all(request).await.expect("a request");
        self.buffer.clear();
        loop {
            let count = self.line.read_buf(&mut self.buffer).await.expect("an answer");
            assert_ne!(count, 0, "the server closed the connection");
            if let Some(length) = response_length(&self.buffer) {
                return &self.buffer[..length];
            }
        }
    }
}

/// The length of the response, once it has arrived completely.
fn response_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&bytes[..head]).expect("text");
    let mut headers = text.lines().filter_map(|line| line.split_once(':'));
    let (_, length) = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    let length = head + 4 + length.trim().parse::<usize>().expect("a length");
    (bytes.len() >= length).then_some(length)
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// The response to one request.
pub(crate) fn one_response(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let answer =
        runtime().block_on(async { ClientConnection::open(address).await.exchange(request).await.to_vec() });
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    answer
}

/// The number of responses in this time over this many connections, each of which sends its next request as
/// soon as it has a response. `name` is part of the keys.
pub(crate) fn load(
    (address, api_key): (SocketAddr, &str),
    workload: &Workload,
    connections: usize,
    time: Duration,
    name: &str,
) -> u64 {
    runtime().block_on(async {
        let end = Instant::now() + time;
        let mut tasks = Vec::new();
        for connection in 0..connections {
            let (workload, api_key, name) = (workload.clone(), api_key.to_owned(), name.to_owned());
            tasks.push(tokio::spawn(async move {
                let mut line = ClientConnection::open(address).await;
                let mut count = 0u64;
                while Instant::now() < end {
                    let key = format!("{name}-{connection:04x}-{count:010}");
                    let answer = line.exchange(&workload.request(&api_key, &key)).await;
                    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(answer));
                    count += 1;
                }
                count
            }));
        }
        let mut count = 0;
        for task in tasks {
            count += task.await.expect("no panic");
        }
        count
    })
}
