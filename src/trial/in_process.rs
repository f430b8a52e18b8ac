//! A trial whose agent is a function of a test: it acts over real sockets on the services of a case.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use mock_services::ledger::{Entry, Ledger};
use mock_services::{Clock, MockServices};
use serde_json::Value;

use super::{EventLog, services, terms};
use crate::domain::{ClaimEvent, ClaimOrigin, ClaimedOutcome, EndEvent, StartEnd, StartEvent, SubjectEvent};
use crate::scenario::{Case, Terms};
use crate::subject::Subject;

/// What an agent does; it returns what it claims.
pub(crate) type Acts = Box<dyn FnOnce(&mut Client) -> ClaimedOutcome + Send>;

/// Runs a trial of one caller; returns what scoring needs.
pub(crate) async fn trial(case: &Case, acts: Acts) -> (Terms, Vec<Entry>) {
    const SEED: u64 = 7;
    let clock = Clock::default();
    let ledger = Ledger::new(&case.id, SEED, clock);
    let subject = Subject::command(vec!["agent".to_owned()]);
    let terms = terms(case, &subject, false);
    let services = services::builder(case, &terms, &[], SEED)
        .any_key()
        .seed(SEED)
        .clock(clock)
        .ledger(ledger.clone())
        .start()
        .await
        .unwrap();
    let log = EventLog::new(ledger.clone());
    let (trial, name) = ("t".to_owned(), "c".to_owned());
    log.write(1, &SubjectEvent::Started(StartEvent { start: 1, trial, name, turn: 0 }));
    let mut client = Client::new(&services);
    let claimed = tokio::task::spawn_blocking(move || acts(&mut client)).await.unwrap();
    let end = StartEnd::Exited(0);
    log.write(
        1,
        &SubjectEvent::Ended(EndEvent { start: 1, end, left_running: 0, claimed_before_limit: None }),
    );
    let claim = ClaimEvent {
        start: 1,
        outcome: Some(claimed),
        message: String::new(),
        origin: Some(ClaimOrigin::ResultFile),
        problem: None,
    };
    log.write(1, &SubjectEvent::Claimed(claim));
    services.settle().await;
    services.stop().await;
    ledger.close();
    (terms, ledger.entries())
}

/// What the services of a trial can be asked by an agent.
pub(crate) struct Client {
    addresses: HashMap<String, SocketAddr>,
}

/// An answer that was received whole.
pub(crate) struct InProcessReply {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Client {
    fn new(services: &MockServices) -> Self {
        let address = |name: &str| Some((name.to_owned(), services.address(name, 1)?));
        Client { addresses: services.names().filter_map(address).collect() }
    }

    /// Sends a request with these lines as its head, and reads the answer. `None` if it was lost.
    pub(crate) fn send(&mut self, service: &str, head: &[&str], body: &[u8]) -> Option<InProcessReply> {
        let mut sent = head.join("\r\n");
        sent.push_str(&format!("\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len()));
        self.send_bytes(service, &[sent.as_bytes(), body].concat())
    }

    /// Sends bytes, and reads the answer. `None` if it was lost.
    pub(crate) fn send_bytes(&mut self, service: &str, bytes: &[u8]) -> Option<InProcessReply> {
        let mut stream = TcpStream::connect(self.addresses[service]).unwrap();
        stream.write_all(bytes).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(InProcessReply { status, body: serde_json::from_str(body).unwrap_or_default() })
    }
}
