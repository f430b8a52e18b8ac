//! The parts that run in processes of their own: a record store, and a crowd that says nothing.

use std::net::{SocketAddr, TcpStream};

use mock_services::ledger::{Event, Ledger, LedgerFile, read_ledgers};
use mock_services::{Clock, MockServices};

use crate::kit::ledger::assert_whole;
use crate::kit::process::{ChildProcess, say, told_to_end};
use crate::kit::{Connection, attempts, events, records, started};

/// A record store in a process of its own.
pub(crate) struct Store {
    pub(crate) part: ChildProcess,
    pub(crate) address: SocketAddr,
    key: String,
}

impl Store {
    pub(crate) async fn start(limit: &str) -> Store {
        let mut part = ChildProcess::start("bad_input::processes::a_store", limit, &[]);
        let words = part.next_words().await;
        Store { part, address: words[0].parse().unwrap(), key: words[1].clone() }
    }

    pub(crate) fn put(&self, key: &str, headers: &str, body: &str) -> Vec<u8> {
        let head = format!(
            "PUT /records/{key} HTTP/1.1\r\nHost: records\r\nAuthorization: Bearer {}\r\n{headers}",
            self.key
        );
        format!("{head}\r\n{body}").into_bytes()
    }

    /// Whether a request over a new connection is answered as it should be.
    pub(crate) async fn answers(&self, key: &str) {
        let request = self.put(key, "Content-Length: 11\r\n", "{\"value\":1}");
        assert_eq!(Connection::open(self.address).await.ask(&request).await.status, 201);
    }

    /// Lets it end; gives how many attempts and how many refusals its ledger has. The ledger has been found
    /// whole.
    pub(crate) async fn ends(self) -> (usize, usize) {
        let words = self.part.finish().await;
        (words[0].parse().unwrap(), words[1].parse().unwrap())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a part that other tests start"]
async fn a_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.jsonl");
    let file = LedgerFile::create(&path).unwrap();
    let ledger = Ledger::in_file("trial", 1, Clock::default(), &file);
    let services = started(records(&[]).ledger(ledger.clone())).await;
    say(&format!("{} {}", services.address("records", 1).unwrap(), services.key("records").unwrap()));
    told_to_end().await;
    let (attempts, refused) = (attempts(&services).len(), refusals(&services));
    services.stop().await;
    assert_whole(&ledger);
    ledger.close();
    file.flush().unwrap();
    let saved = read_ledgers(std::io::BufReader::new(std::fs::File::open(&path).unwrap())).unwrap();
    assert_eq!(saved["trial"].torn, None);
    assert_eq!(saved["trial"].entries, ledger.entries());
    say(&format!("{attempts} {refused}"));
}

fn refusals(services: &MockServices) -> usize {
    events(services).iter().filter(|event| matches!(event, Event::Refused { .. })).count()
}

/// Connections that say nothing, from a process of their own.
pub(crate) async fn crowd(address: SocketAddr, count: usize) -> (ChildProcess, usize) {
    let variables = [("CROWD_TO", address.to_string()), ("CROWD_OF", count.to_string())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut part = ChildProcess::start("bad_input::processes::a_crowd", AS_MANY_FILES_AS_MAY_BE, &variables);
    let opened = part.next_words().await[0].parse().unwrap();
    (part, opened)
}

/// Lifts the limit on open files as far as ten thousand connections need it, or as far as it goes.
pub(crate) const AS_MANY_FILES_AS_MAY_BE: &str =
    "ulimit -Sn 10500 2>/dev/null || ulimit -Sn \"$(ulimit -Hn)\"";

#[tokio::test]
#[ignore = "a part that other tests start"]
async fn a_crowd() {
    let to: SocketAddr = std::env::var("CROWD_TO").unwrap().parse().unwrap();
    let count = std::env::var("CROWD_OF").unwrap().parse().unwrap();
    // It ends where the files do.
    let lines: Vec<TcpStream> = (0..count).map_while(|_| TcpStream::connect(to).ok()).collect();
    say(&lines.len().to_string());
    told_to_end().await;
    say("gone");
}
