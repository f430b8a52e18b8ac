use std::net::SocketAddr;
use std::time::Duration;

use mock_services::ledger::Ledger;
use mock_services::records::{Records, RecordsOptions};
use mock_services::{Clock, ServiceOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;

/// A record store with two callers that have no processes, so that none of them is ever seen to sleep.
struct TwoCallers {
    services: Arc<MockServices>,
    ledger: Ledger,
    interleaver: Interleaver,
}

impl TwoCallers {
    async fn in_order(order: &[u32]) -> Self {
        Self::held_for(Duration::from_secs(100_000), order).await
    }

    /// The same, where nobody is held for longer than this.
    async fn held_for(longest: Duration, order: &[u32]) -> Self {
        let ledger = Ledger::new("t", 1, Clock::default());
        let records = Records::new(RecordsOptions::default());
        let builder = MockServices::builder().callers(2).ledger(ledger.clone());
        let services = builder.service(records, ServiceOptions::default()).start().await.unwrap();
        let (services, log) = (Arc::new(services), EventLog::new(ledger.clone()));
        let supervisors = [SupervisorId::default(), SupervisorId::default()];
        let interleaver = Interleaver::watch(order, &services, &supervisors, longest, &log);
        TwoCallers { services, ledger, interleaver }
    }

    fn address(&self, caller: u32) -> SocketAddr {
        self.services.address("records", caller).unwrap()
    }

    /// Sends a request for the record `a`, and does not wait for the answer.
    async fn send(&self, caller: u32, method: &str, header: &str) -> TcpStream {
        let key = self.services.key("records").unwrap();
        let body = if method == "PUT" { r#"{"value":1}"# } else { "" };
        let head = format!(
            "{method} /records/a HTTP/1.1\r\nHost: records\r\nAuthorization: Bearer {key}\r\n{header}\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(self.address(caller)).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    /// Sends a request for the record `a`; returns the status of the answer.
    async fn call(&self, caller: u32, method: &str, header: &str) -> u16 {
        status(self.send(caller, method, header).await).await
    }

    /// Who was let in, and what was missed, when all callers have ended.
    async fn finished(self) -> (Vec<u32>, Vec<OrderMiss>) {
        self.interleaver.finish().await;
        let (mut let_in, mut missed) = (Vec::new(), Vec::new());
        for entry in self.ledger.entries() {
            let mock_services::ledger::Event::Noted { caller, .. } = &entry.event else { continue };
            match SubjectEvent::from_event(&entry.event).unwrap() {
                Some(SubjectEvent::LetIn { .. }) => let_in.extend(*caller),
                Some(SubjectEvent::OrderMissed(miss)) => missed.push(miss),
                _ => {}
            }
        }
        (let_in, missed)
    }
}

async fn status(mut stream: TcpStream) -> u16 {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

const CREATE: &str = "If-None-Match: *\r\n";

#[tokio::test]
async fn a_request_that_is_refused_when_it_is_let_in_is_answered_like_any_other() {
    let callers = TwoCallers::in_order(&[1, 2, 1, 2]).await;
    let acts = |caller: u32| {
        let callers = &callers;
        async move {
            let created = callers.call(caller, "PUT", CREATE).await;
            let read = callers.call(caller, "GET", "").await;
            callers.interleaver.ended(caller);
            (created, read)
        }
    };
    assert_eq!(tokio::join!(acts(1), acts(2)), ((201, 200), (412, 200)));
    assert_eq!(callers.finished().await, (vec![1, 2, 1, 2], Vec::new()));
}

#[tokio::test]
async fn an_order_that_is_not_used_up_is_missed() {
    for (order, missed) in [
        (&[1, 2, 1, 2][..], vec![OrderMiss::RequestsMissing { made: 2, planned: 4 }]),
        (&[1, 2], Vec::new()),
        (&[1], Vec::new()),
        (&[], Vec::new()),
    ] {
        let callers = TwoCallers::in_order(order).await;
        let acts = |caller: u32| {
            let callers = &callers;
            async move {
                callers.call(caller, "GET", "").await;
                callers.interleaver.ended(caller);
            }
        };
        tokio::join!(acts(1), acts(2));
        assert_eq!(callers.finished().await, (vec![1, 2], missed), "{order:?}");
    }
}

#[tokio::test]
async fn a_caller_reads_what_another_one_creates_although_it_asked_first() {
    let callers = TwoCallers::in_order(&[1, 2]).await;
    let read = callers.send(2, "GET", "").await;
    assert_eq!(callers.call(1, "PUT", "").await, 201);
    callers.interleaver.ended(1);
    assert_eq!(status(read).await, 200);
    callers.interleaver.ended(2);
    assert_eq!(callers.finished().await, (vec![1, 2], Vec::new()));
}

#[tokio::test]
async fn a_caller_that_sends_one_request_after_the_other_does_not_hold_up_another_one_for_ever() {
    let callers = TwoCallers::held_for(Duration::from_millis(100), &[]).await;
    let other = callers.send(2, "GET", "").await;
    let mut other = std::pin::pin!(status(other));
    loop {
        tokio::select! {
            biased;
            seen = &mut other => break assert_eq!(seen, 404),
            seen = callers.call(1, "GET", "") => assert_eq!(seen, 404),
        }
    }
    let (let_in, missed) = callers.finished().await;
    assert!(let_in.contains(&2), "{let_in:?}");
    assert!(
        matches!(
            missed[..],
            [OrderMiss::HeldForOthers { caller: 2, .. } | OrderMiss::HeldForAbsent { .. }, ..]
        ),
        "{missed:?}"
    );
}

#[tokio::test]
async fn a_client_that_leaves_while_its_request_is_held_is_recorded_and_its_request_has_no_effect() {
    let callers = TwoCallers::in_order(&[2, 1]).await;
    let mut listener = callers.services.listen("records", MomentKind::Queued).unwrap();
    let left = callers.send(2, "PUT", "").await;
    let held = listener.recv().await.unwrap();
    drop(listener);
    drop(left);
    while !held.is_abandoned() {
        tokio::task::yield_now().await;
    }
    callers.interleaver.ended(2);
    assert_eq!(callers.call(1, "GET", "").await, 404);
    let (let_in, missed) = callers.finished().await;
    assert_eq!((let_in, missed.first()), (vec![1], Some(&OrderMiss::GaveUp { caller: 2 })));
}

#[test]
fn a_thread_that_runs_is_not_asleep() {
    let status = |state: &str| {
        format!("Name:\tx\nState:\t{state}\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t2\n")
    };
    assert_eq!(switches_if_asleep(&status("S (sleeping)")), Some(9));
    assert_eq!(switches_if_asleep(&status("T (stopped)")), Some(9), "one that is frozen sends no request");
    assert_eq!(switches_if_asleep(&status("R (running)")), None);
    assert_eq!(switches_if_asleep(&status("D (disk sleep)")), None);
    assert_eq!(switches_if_asleep("State:\tS"), None);
}
