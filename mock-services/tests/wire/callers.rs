//! Several callers over one state: ports, keys, the start barrier, and many at once over real sockets.

use std::sync::Arc;

use mock_services::idempotency::{Idempotency, Profile};
use mock_services::ledger::{BarrierEvent, Event};
use mock_services::records::Records;
use mock_services::{BarrierOptions, MockServices, ServiceOptions};
use tokio::sync::Barrier;

use crate::kit::connection::header;
use crate::kit::{
    End, RawConnection, RawResponse, attempts, commits, connect, events, faults, get, increment, put,
    records, start, wait_for_count, wait_for_value, within_timeout,
};

/// Opens one connection per caller; all send their request at the same moment. Returns what each received.
async fn all_at_once(services: &MockServices, callers: u32, request: &[u8]) -> Vec<Option<RawResponse>> {
    let barrier = Arc::new(Barrier::new(callers as usize));
    let tasks: Vec<_> = (1..=callers)
        .map(|caller| {
            let (barrier, request) = (Arc::clone(&barrier), request.to_vec());
            let address = services.address("records", caller).unwrap();
            tokio::spawn(async move {
                let mut connection = RawConnection::open(address).await;
                barrier.wait().await;
                connection.send(&request).await;
                let mut first = [0];
                let came = within_timeout(connection.stream.peek(&mut first)).await.unwrap();
                if came == 0 { None } else { Some(connection.answer().await) }
            })
        })
        .collect();
    let mut seen = Vec::new();
    for task in tasks {
        seen.push(within_timeout(task).await.unwrap());
    }
    seen
}

#[tokio::test]
async fn each_caller_has_its_own_port_and_all_share_one_state() {
    let services = start(records(&[]).callers(3)).await;
    let ports: Vec<_> = (1..=3).map(|caller| services.address("records", caller).unwrap().port()).collect();
    assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2]);
    assert!(services.address("records", 4).is_none());
    assert_eq!(connect(&services, 2).await.exchange(&put(&services, "a")).await.status, 201);
    assert_eq!(connect(&services, 3).await.exchange(&get(&services, "a")).await.status, 200);
    let callers = events(&services).into_iter().filter_map(|event| match event {
        Event::Received(received) => Some(received.caller),
        _ => None,
    });
    assert_eq!(callers.collect::<Vec<_>>(), [2, 3]);
}

#[tokio::test]
async fn a_request_without_the_api_key_is_not_an_attempt() {
    let services = start(records(&["records.put#1 commit=now reply=drop"])).await;
    let right = String::from_utf8(put(&services, "a")).unwrap();
    let key = services.key("records").unwrap();
    let mut connection = connect(&services, 1).await;
    let wrong = [
        right.replace(key, "rk_wrong"),
        right.replace(key, ""),
        right.replace("Authorization: Bearer", "X-Other:"),
        right.replace("Authorization: Bearer", "Authorization: Digest"),
        right.replace(key, &key[..key.len() - 1]),
    ];
    for request in &wrong {
        let seen = connection.exchange(request.as_bytes()).await;
        let body = String::from_utf8(seen.body).unwrap();
        assert_eq!(
            (seen.status, header(&seen.head, "content-type")),
            (401, Some("application/problem+json")),
            "{request}"
        );
        assert!(body.contains("The API key is missing or unknown."), "{body}");
    }
    assert!(attempts(&services).is_empty() && services.fired()[0].seen == 0);
    let refused = events(&services)
        .iter()
        .filter(|event| matches!(event, Event::Refused(refused) if refused.status == 401))
        .count();
    assert_eq!(refused, wrong.len());
    connection.send(right.as_bytes()).await;
    assert_eq!(
        connection.read_to_end().await,
        (Vec::new(), End::Fin),
        "the fault fires on the first accepted request"
    );
    assert_eq!(services.fired()[0].attempts, [1]);
}

#[tokio::test]
async fn services_that_accept_any_key_still_require_one() {
    let services = start(records(&[]).any_key()).await;
    let right = String::from_utf8(put(&services, "a")).unwrap();
    let mut connection = connect(&services, 1).await;
    assert_eq!(
        connection
            .exchange(right.replace(services.key("records").unwrap(), "anything").as_bytes())
            .await
            .status,
        201
    );
    assert_eq!(
        connection.exchange(right.replace("Authorization: Bearer", "X-Other:").as_bytes()).await.status,
        401
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_64_callers_at_once_only_the_first_is_faulted() {
    let services = start(records(&["records.increment#1 commit=now reply=drop"]).callers(64)).await;
    let seen = all_at_once(&services, 64, &increment(&services, "c", &[])).await;
    assert_eq!(seen.iter().filter(|seen| seen.is_none()).count(), 1);
    assert!(seen.iter().flatten().all(|seen| seen.status == 200));
    let struck = services.fired().remove(0);
    assert_eq!((struck.seen, struck.attempts), (64, vec![1]));
    assert_eq!(commits(&services).len(), 64);
    let mut values: Vec<_> =
        seen.into_iter().flatten().map(|seen| String::from_utf8(seen.body).unwrap()).collect();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), 63, "all responses differ");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_from_16_callers_at_once_is_one_effect() {
    let options =
        ServiceOptions { idempotency: Some(Idempotency::new(Profile::Stripe)), ..ServiceOptions::default() };
    let services = start(MockServices::builder().callers(16).service(Records::default(), options)).await;
    let seen = all_at_once(&services, 16, &increment(&services, "c", &["Idempotency-Key: once"])).await;
    assert!(
        seen.iter()
            .flatten()
            .all(|seen| seen.status == 200 && seen.body == b"{\"counter\":\"c\",\"value\":1}")
    );
    let replays = seen
        .iter()
        .flatten()
        .filter(|seen| header(&seen.head, "idempotent-replayed") == Some("true"))
        .count();
    assert_eq!((seen.iter().flatten().count(), replays), (16, 15));
    assert_eq!((commits(&services), attempts(&services).len()), (vec![1], 16));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_callers_wait_at_the_barrier_until_the_last_arrives() {
    let services = start(records(&[]).callers(16).start_barrier(BarrierOptions::default())).await;
    let seen = all_at_once(&services, 16, &increment(&services, "c", &[])).await;
    assert!(seen.iter().flatten().all(|seen| seen.status == 200) && seen.iter().flatten().count() == 16);
    let events = events(&services);
    let last_held = events
        .iter()
        .rposition(|event| matches!(event, Event::Barrier { event: BarrierEvent::Held, .. }))
        .unwrap();
    let first_in = events
        .iter()
        .position(|event| matches!(event, Event::Barrier { event: BarrierEvent::Admitted, .. }))
        .unwrap();
    let first_received = events.iter().position(|event| matches!(event, Event::Received(_))).unwrap();
    assert!(last_held < first_in && first_in < first_received);
    for what in [BarrierEvent::Held, BarrierEvent::Admitted] {
        let mut callers: Vec<u32> = events.iter().filter_map(|event| barrier_event(event, what)).collect();
        callers.sort_unstable();
        assert_eq!(callers, (1..=16).collect::<Vec<_>>(), "{what:?}");
    }
}

fn barrier_event(event: &Event, wanted: BarrierEvent) -> Option<u32> {
    match event {
        Event::Barrier { caller, event } if *event == wanted => Some(*caller),
        _ => None,
    }
}

#[tokio::test]
async fn a_caller_that_leaves_the_barrier_makes_no_attempt_and_is_not_waited_for() {
    let services = start(
        records(&["records.increment#1 commit=now reply=drop"])
            .callers(3)
            .start_barrier(BarrierOptions::default()),
    )
    .await;
    let (mut one, mut two) = (connect(&services, 1).await, connect(&services, 2).await);
    one.send(&increment(&services, "c", &[])).await;
    two.send(&increment(&services, "c", &[])).await;
    wait_for_count(&services, 2, |event| barrier_event(event, BarrierEvent::Held).is_some()).await;
    drop(one);
    assert_eq!(wait_for_value(&services, |event| barrier_event(event, BarrierEvent::GaveUp)).await, 1);
    assert!(attempts(&services).is_empty() && services.fired()[0].seen == 0);
    services.caller_ended(1);
    services.caller_ended(3);
    assert_eq!(two.read_to_end().await, (Vec::new(), End::Fin));
    assert_eq!((attempts(&services), services.fired().remove(0).attempts), (vec![1], vec![1]));
    assert_eq!(wait_for_value(&services, |event| barrier_event(event, BarrierEvent::Absent)).await, 3);
}

/// Everything runs in one thread, so that the barrier opens before the service can notice that the client
/// closed its connection.
#[tokio::test]
async fn a_client_that_closes_just_before_the_barrier_opens_has_no_effect() {
    for _ in 0..20 {
        let services = start(records(&[]).callers(2).start_barrier(BarrierOptions::default())).await;
        let mut one = connect(&services, 1).await;
        one.send(&increment(&services, "c", &[])).await;
        wait_for_count(&services, 1, |event| barrier_event(event, BarrierEvent::Held).is_some()).await;
        drop(one.stream.into_std().unwrap());
        services.caller_ended(2);
        assert_eq!(wait_for_value(&services, |event| barrier_event(event, BarrierEvent::GaveUp)).await, 1);
        assert!(attempts(&services).is_empty() && commits(&services).is_empty());
    }
}

#[tokio::test]
async fn a_fault_for_a_caller_fires_only_for_that_caller() {
    let services = start(records(&[]).callers(2)).await;
    services.arm(faults(&["records.put#1 caller=2 commit=never reply=drop"])).unwrap();
    assert_eq!(connect(&services, 1).await.exchange(&put(&services, "a")).await.status, 201);
    let mut two = connect(&services, 2).await;
    two.send(&put(&services, "b")).await;
    assert_eq!(two.read_to_end().await, (Vec::new(), End::Fin));
    assert_eq!(commits(&services), [1]);
}
