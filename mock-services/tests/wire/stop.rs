//! Stopping: ports and tasks are free at once, whatever hangs. And many services side by side.

use std::time::Duration;

use mock_services::ledger::{ClosedBy, Event};
use mock_services::records::Records;
use mock_services::{MockServices, MomentKind, ServiceOptions};
use tokio::runtime::Handle;

use crate::kit::ledger::assert_whole;
use crate::kit::{
    Connection, connected, faults, get, must, put, records, started, wait_for_count, wait_for_value,
};

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

#[tokio::test]
async fn stopping_frees_the_port_and_the_tasks_at_once_whatever_hangs() {
    let services = started(records(&["records.put#1..3 commit=now reply={hang: {release: 10m}}"])).await;
    let address = services.address("records", 1).unwrap();
    let mut hanging = Vec::new();
    for number in 0..3 {
        let mut line = connected(&services, 1).await;
        line.send(&put(&services, &format!("k{number}"))).await;
        hanging.push(line);
    }
    wait_for_count(&services, 3, |event| matches!(event, Event::Committed { .. })).await;
    // One more that a listener holds, one that has sent half a head, and one that has said nothing.
    let mut listener = services.listen("records", MomentKind::Received).unwrap();
    let mut held = connected(&services, 1).await;
    held.send(&put(&services, "held")).await;
    let moment = must(listener.recv()).await.unwrap();
    let mut half = connected(&services, 1).await;
    half.send(b"GET /rec").await;
    let silent = connected(&services, 1).await;
    assert!(tasks() > 0);
    services.stop().await;
    assert_eq!(tasks(), 0, "no task is left");
    drop(std::net::TcpListener::bind(address).unwrap());
    let again = MockServices::builder().service(
        Records::default(),
        ServiceOptions { port: Some(address.port()), ..ServiceOptions::default() },
    );
    let again = started(again).await;
    assert_eq!(connected(&again, 1).await.ask(&put(&again, "a")).await.status, 201);
    for mut line in hanging.into_iter().chain([held, half, silent]) {
        assert_eq!(line.rest().await.0, b"", "the old lines have ended, and nothing was sent on them");
    }
    drop(moment);
}

#[tokio::test]
async fn services_that_are_dropped_stop_too() {
    let services =
        started(records(&["records.put#1 commit={later: 10m} reply={hang: {release: 10m}}"])).await;
    let address = services.address("records", 1).unwrap();
    let mut line = connected(&services, 1).await;
    line.send(&put(&services, "a")).await;
    wait_for_count(&services, 1, |event| matches!(event, Event::Fault { .. })).await;
    drop(services);
    assert_eq!(line.rest().await.0, b"");
    must(async {
        while tasks() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(std::net::TcpListener::bind(address).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_services_work_side_by_side() {
    let mut all = Vec::new();
    for seed in 0..200 {
        all.push(started(records(&[]).seed(seed)).await);
    }
    let mut lines = Vec::new();
    for services in &all {
        lines.push(connected(services, 1).await);
    }
    for (services, line) in all.iter().zip(&mut lines) {
        line.send(&put(services, "a")).await;
    }
    for (services, line) in all.iter().zip(&mut lines) {
        assert_eq!(line.answer().await.status, 201);
        assert_eq!(line.ask(&get(services, "a")).await.status, 200);
        assert_eq!(line.ask(&get(services, "b")).await.status, 404, "each has a state of its own");
    }
    let addresses: Vec<_> = all.iter().map(|services| services.address("records", 1).unwrap()).collect();
    for services in all {
        services.stop().await;
    }
    for address in addresses {
        drop(std::net::TcpListener::bind(address).unwrap());
    }
}

#[tokio::test]
async fn hundreds_may_connect_before_the_first_is_accepted() {
    let services = started(records(&[])).await;
    let address = services.address("records", 1).unwrap();
    // These connect without giving the service, which runs on this very thread, a chance to accept. One for
    // which there is no room would wait in vain.
    let connect = |_| std::net::TcpStream::connect_timeout(&address, Duration::from_secs(60)).unwrap();
    let waiting: Vec<_> = (0..300).map(connect).collect();
    assert_eq!(connected(&services, 1).await.ask(&put(&services, "a")).await.status, 201);
    drop(waiting);
}

#[tokio::test]
async fn a_port_that_is_taken_is_told() {
    let services = started(records(&[])).await;
    let port = services.address("records", 1).map(|address| address.port());
    let second = MockServices::builder()
        .faults(faults(&[]))
        .service(Records::default(), ServiceOptions { port, ..ServiceOptions::default() });
    let error = second.start().await.err().unwrap().to_string();
    assert!(error.starts_with("cannot open a port for the service records: "), "{error}");
    assert_eq!(
        Connection::open(services.address("records", 1).unwrap())
            .await
            .ask(&put(&services, "a"))
            .await
            .status,
        201
    );
}

#[tokio::test]
async fn a_reply_that_is_given_after_a_reset_is_not_in_the_new_ledger() {
    for reply in ["{hang: {release: 10m}}", "{delay: 10m}"] {
        let services = started(records(&[&format!("records.put#1 commit=now reply={reply}")])).await;
        let mut line = connected(&services, 1).await;
        line.send(&put(&services, "a")).await;
        wait_for_value(&services, |event| matches!(event, Event::Committed { .. }).then_some(())).await;
        services.reset("again").await;
        drop(line);
        wait_for_value(&services, |event| matches!(event, Event::Closed { .. }).then_some(())).await;
        assert_eq!(services.ledger().len(), 2, "opened and closed: {:?}", services.ledger().entries());
        assert_eq!(connected(&services, 1).await.ask(&get(&services, "a")).await.status, 404);
        services.close_ports().await;
        assert_whole(services.ledger());
    }
}

#[tokio::test]
async fn an_attempt_that_is_cut_off_by_the_stop_has_its_reply_in_the_ledger() {
    let services = started(records(&["records.put#1 commit=now reply={hang: {release: 10m}}"])).await;
    let ledger = services.ledger().clone();
    let mut line = connected(&services, 1).await;
    line.send(&put(&services, "a")).await;
    wait_for_value(&services, |event| matches!(event, Event::Committed { .. }).then_some(())).await;
    services.stop().await;
    let replied =
        |event: &Event<'_>| matches!(event, Event::Replied { attempt: 1, bytes: 0, whole: false, .. });
    let closed = |event: &Event<'_>| matches!(event, Event::Closed { by: ClosedBy::Service, .. });
    let entries = ledger.entries();
    let last = &entries[entries.len() - 2..];
    assert!(replied(&last[0].event) && closed(&last[1].event), "{last:?}");
}
