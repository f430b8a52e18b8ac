//! Bad input: a correct refusal, bounded memory, the service alive, the ledger whole.

mod crowd;
mod garbage;
mod large;
mod processes;
mod slow;

use mock_services::MockServices;
use mock_services::ledger::Event;

use crate::kit::ledger::assert_whole;
use crate::kit::{attempts, connected, events, put};

/// Asserts that the service still answers and that its ledger is whole; gives the statuses of what it
/// refused.
async fn alive(services: &MockServices) -> Vec<u16> {
    let before = attempts(services).len();
    let seen = connected(services, 1).await.ask(&put(services, &format!("alive{before}"))).await;
    assert_eq!((seen.status, attempts(services).len()), (201, before + 1));
    assert_whole(services.ledger());
    events(services).into_iter().filter_map(refused).collect()
}

fn refused(event: Event<'static>) -> Option<u16> {
    match event {
        Event::Refused { status, .. } => Some(status),
        _ => None,
    }
}
