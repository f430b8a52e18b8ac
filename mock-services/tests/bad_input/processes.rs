//! The parts that run in their own processes: a record store, and idle connections.

use std::net::{SocketAddr, TcpStream};

use mock_services::ledger::{Event, Ledger, LedgerFile, read_ledgers};
use mock_services::{Clock, MockServices};

use crate::kit::ledger::assert_consistent;
use crate::kit::process::{ChildProcess, send_line, wait_for_end};
use crate::kit::{RawConnection, attempts, events, records, start};

/// A record store in its own process.
pub(crate) struct Store {
    pub(crate) part: ChildProcess,
    pub(crate) address: SocketAddr,
    key: String,
}

impl Store {
    pub(crate) async fn start(limit: &str) -> Store {
        let mut part = ChildProcess::start("bad_input::processes::run_record_store", limit, &[]);
        let words = part.next_line().await;
        Store { part, address: words[0].parse().unwrap(), key: words[1].clone() }
    }

    pub(crate) fn put(&self, key: &str, headers: &str, body: &str) -> Vec<u8> {
        let head = format!(
            "PUT /records/{key} HTTP/1.1\r\nHost: records\r\nAuthorization: Bearer {}\r\n{headers}",
            self.key
        );
        format!("{head}\r\n{body}").into_bytes()
    }

    /// Asserts that a request over a new connection gets the correct response.
    pub(crate) async fn assert_answers(&self, key: &str) {
        let request = self.put(key, "Content-Length: 11\r\n", "{\"value\":1}");
        assert_eq!(RawConnection::open(self.address).await.exchange(&request).await.status, 201);
    }

    /// Stops it; returns the number of attempts and refusals in its ledger, which it has checked.
    pub(crate) async fn finish(self) -> (usize, usize) {
        let words = self.part.finish().await;
        (words[0].parse().unwrap(), words[1].parse().unwrap())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a part that other tests start"]
async fn run_record_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.jsonl");
    let file = LedgerFile::create(&path).unwrap();
    let ledger = Ledger::in_file("trial", 1, Clock::default(), &file);
    let services = start(records(&[]).ledger(ledger.clone())).await;
    send_line(&format!("{} {}", services.address("records", 1).unwrap(), services.key("records").unwrap()));
    wait_for_end().await;
    let (attempts, refused) = (attempts(&services).len(), refusals(&services));
    services.stop().await;
    assert_consistent(&ledger);
    ledger.close();
    file.flush().unwrap();
    let saved = read_ledgers(std::io::BufReader::new(std::fs::File::open(&path).unwrap())).unwrap();
    assert_eq!(saved["trial"].torn, None);
    assert_eq!(saved["trial"].entries, ledger.entries());
    send_line(&format!("{attempts} {refused}"));
}

fn refusals(services: &MockServices) -> usize {
    events(services).iter().filter(|event| matches!(event, Event::Refused(_))).count()
}

/// Idle connections from their own process.
pub(crate) async fn idle_connections(address: SocketAddr, count: usize) -> (ChildProcess, usize) {
    let variables = [("IDLE_ADDRESS", address.to_string()), ("IDLE_COUNT", count.to_string())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut part =
        ChildProcess::start("bad_input::processes::hold_idle_connections", RAISE_FILE_LIMIT, &variables);
    let opened = part.next_line().await[0].parse().unwrap();
    (part, opened)
}

/// Raises the limit on open files as far as ten thousand connections need, or as far as possible.
pub(crate) const RAISE_FILE_LIMIT: &str = "ulimit -Sn 10500 2>/dev/null || ulimit -Sn \"$(ulimit -Hn)\"";

#[tokio::test]
#[ignore = "a part that other tests start"]
async fn hold_idle_connections() {
    let to: SocketAddr = std::env::var("IDLE_ADDRESS").unwrap().parse().unwrap();
    let count = std::env::var("IDLE_COUNT").unwrap().parse().unwrap();
    // Stops when there are no more file descriptors.
    let connections: Vec<TcpStream> = (0..count).map_while(|_| TcpStream::connect(to).ok()).collect();
    send_line(&connections.len().to_string());
    wait_for_end().await;
    send_line("done");
}
