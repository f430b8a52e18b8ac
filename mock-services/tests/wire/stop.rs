//! Stopping: ports and tasks are freed at once, even with hanging requests. And many services in parallel.

use std::time::Duration;

use mock_services::ledger::{ClosedBy, Event};
use mock_services::records::Records;
use mock_services::{MockServices, MomentKind, ServiceOptions};
use tokio::runtime::Handle;

use crate::kit::ledger::assert_consistent;
use crate::kit::{
    RawConnection, connect, faults, get, put, records, start, wait_for_count, wait_for_value, within_timeout,
};

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

#[tokio::test]
async fn stopping_frees_the_port_and_the_tasks_even_with_hanging_requests() {
    let services = start(records(&["records.put#1..3 commit=now reply={hang: {release: 10m}}"])).await;
    let address = services.address("records", 1).unwrap();
    let mut hanging = Vec::new();
    for number in 0..3 {
        let mut connection = connect(&services, 1).await;
        connection.send(&put(&services, &format!("k{number}"))).await;
        hanging.push(connection);
    }
    wait_for_count(&services, 3, |event| matches!(event, Event::Committed { .. })).await;
    // One more that a listener holds, one that has sent half a head, and one that has sent nothing.
    let mut listener = services.listen("records", MomentKind::Received).unwrap();
    let mut held = connect(&services, 1).await;
    held.send(&put(&services, "held")).await;
    let moment = within_timeout(listener.recv()).await.unwrap();
    let mut half = connect(&services, 1).await;
    half.send(b"GET /rec").await;
    let silent = connect(&services, 1).await;
    assert!(tasks() > 0);
    services.stop().await;
    assert_eq!(tasks(), 0, "no task is left");
    drop(std::net::TcpListener::bind(address).unwrap());
    let again = MockServices::builder().service(
        Records::default(),
        ServiceOptions { port: Some(address.port()), ..ServiceOptions::default() },
    );
    let again = start(again).await;
    assert_eq!(connect(&again, 1).await.exchange(&put(&again, "a")).await.status, 201);
    for mut connection in hanging.into_iter().chain([held, half, silent]) {
        assert_eq!(
            connection.read_to_end().await.0,
            b"",
            "the old connections have ended, and nothing was sent on them"
        );
    }
    drop(moment);
}

#[tokio::test]
async fn dropped_services_stop() {
    let services = start(records(&["records.put#1 commit={later: 10m} reply={hang: {release: 10m}}"])).await;
    let address = services.address("records", 1).unwrap();
    let mut connection = connect(&services, 1).await;
    connection.send(&put(&services, "a")).await;
    wait_for_count(&services, 1, |event| matches!(event, Event::Fault { .. })).await;
    drop(services);
    assert_eq!(connection.read_to_end().await.0, b"");
    within_timeout(async {
        while tasks() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(std::net::TcpListener::bind(address).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_services_run_in_parallel() {
    let mut all = Vec::new();
    for seed in 0..200 {
        all.push(start(records(&[]).seed(seed)).await);
    }
    let mut lines = Vec::new();
    for services in &all {
        lines.push(connect(services, 1).await);
    }
    for (services, connection) in all.iter().zip(&mut lines) {
        connection.send(&put(services, "a")).await;
    }
    for (services, connection) in all.iter().zip(&mut lines) {
        assert_eq!(connection.answer().await.status, 201);
        assert_eq!(connection.exchange(&get(services, "a")).await.status, 200);
        assert_eq!(connection.exchange(&get(services, "b")).await.status, 404, "each has its own state");
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
async fn hundreds_can_connect_before_the_first_is_accepted() {
    let services = start(records(&[])).await;
    let address = services.address("records", 1).unwrap();
    // These connect without giving the service, which runs on this thread, a chance to accept. A connection
    // beyond the backlog would wait in vain.
    let open = |_| std::net::TcpStream::connect_timeout(&address, Duration::from_secs(60)).unwrap();
    let waiting: Vec<_> = (0..300).map(open).collect();
    assert_eq!(connect(&services, 1).await.exchange(&put(&services, "a")).await.status, 201);
    drop(waiting);
}

#[tokio::test]
async fn a_port_in_use_is_reported() {
    let services = start(records(&[])).await;
    let port = services.address("records", 1).map(|address| address.port());
    let second = MockServices::builder()
        .faults(faults(&[]))
        .service(Records::default(), ServiceOptions { port, ..ServiceOptions::default() });
    let error = second.start().await.err().unwrap().to_string();
    let expected = format!("cannot open port {} for the service records: ", port.unwrap());
    assert!(error.starts_with(&expected), "{error}");
    assert_eq!(
        RawConnection::open(services.address("records", 1).unwrap())
            .await
            .exchange(&put(&services, "a"))
            .await
            .status,
        201
    );
}

#[tokio::test]
async fn a_reply_after_a_reset_is_not_in_the_new_ledger() {
    for reply in ["{hang: {release: 10m}}", "{delay: 10m}"] {
        let services = start(records(&[&format!("records.put#1 commit=now reply={reply}")])).await;
        let mut connection = connect(&services, 1).await;
        connection.send(&put(&services, "a")).await;
        wait_for_value(&services, |event| matches!(event, Event::Committed { .. }).then_some(())).await;
        services.reset("again").await;
        drop(connection);
        wait_for_value(&services, |event| matches!(event, Event::Closed { .. }).then_some(())).await;
        assert_eq!(services.ledger().len(), 2, "opened and closed: {:?}", services.ledger().entries());
        assert_eq!(connect(&services, 1).await.exchange(&get(&services, "a")).await.status, 404);
        services.close_ports().await;
        assert_consistent(services.ledger());
    }
}

#[tokio::test]
async fn an_attempt_interrupted_by_the_stop_has_its_reply_in_the_ledger() {
    let services = start(records(&["records.put#1 commit=now reply={hang: {release: 10m}}"])).await;
    let ledger = services.ledger().clone();
    let mut connection = connect(&services, 1).await;
    connection.send(&put(&services, "a")).await;
    wait_for_value(&services, |event| matches!(event, Event::Committed { .. }).then_some(())).await;
    services.stop().await;
    let replied = |event: &Event| matches!(event, Event::Replied { attempt: 1, bytes: 0, whole: false, .. });
    let closed = |event: &Event| matches!(event, Event::Closed { by: ClosedBy::Service, .. });
    let entries = ledger.entries();
    let last = &entries[entries.len() - 2..];
    assert!(replied(&last[0].event) && closed(&last[1].event), "{last:?}");
}
