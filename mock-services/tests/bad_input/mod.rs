//! Bad input: it is refused correctly, memory is bounded, the service keeps running, and the ledger is
//! consistent.

mod garbage;
mod idle;
mod large;
mod processes;
mod slow;

use mock_services::MockServices;
use mock_services::ledger::Event;

use crate::kit::ledger::assert_consistent;
use crate::kit::{attempts, connect, events, put};

/// Asserts that the service still responds and that its ledger is consistent; returns the statuses of its
/// refusals.
async fn assert_alive(services: &MockServices) -> Vec<u16> {
    let before = attempts(services).len();
    let seen = connect(services, 1).await.exchange(&put(services, &format!("alive{before}"))).await;
    assert_eq!((seen.status, attempts(services).len()), (201, before + 1));
    assert_consistent(services.ledger());
    events(services).into_iter().filter_map(refused).collect()
}

fn refused(event: Event) -> Option<u16> {
    match event {
        Event::Refused(refused) => Some(refused.status),
        _ => None,
    }
}
