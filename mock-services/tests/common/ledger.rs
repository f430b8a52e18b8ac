//! Looking into a ledger, and waiting until it has what is looked for.

use mock_services::MockServices;
use mock_services::ledger::{Entry, Event, Ledger};

use super::must;

/// What a reply was, as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replied {
    pub(crate) attempt: u64,
    pub(crate) reply: String,
    pub(crate) status: Option<u16>,
    pub(crate) bytes: u64,
    pub(crate) whole: bool,
}

/// All that has happened so far.
pub(crate) fn events(services: &MockServices) -> Vec<Event<'static>> {
    services.ledger().entries().into_iter().map(|entry| entry.event).collect()
}

/// Waits until the ledger has an entry that `pick` wants, and gives what it makes of it.
pub(crate) async fn entry<T>(services: &MockServices, pick: impl Fn(&Event<'static>) -> Option<T>) -> T {
    let mut reader = services.ledger().reader();
    must(async {
        loop {
            let picked = reader.grown().await.iter().find_map(|entry| pick(&entry.event));
            if let Some(picked) = picked {
                return picked;
            }
        }
    })
    .await
}

/// Waits until so many entries are of the kind that `is` tells.
pub(crate) async fn until(services: &MockServices, count: usize, is: impl Fn(&Event<'static>) -> bool) {
    let mut reader = services.ledger().reader();
    let mut have = 0;
    must(async {
        while have < count {
            have += reader.grown().await.iter().filter(|entry| is(&entry.event)).count();
        }
    })
    .await;
}

/// Waits for the reply to an attempt.
pub(crate) async fn replied(services: &MockServices, wanted: u64) -> Replied {
    entry(services, |event| reply(event).filter(|reply| reply.attempt == wanted)).await
}

/// All replies so far.
pub(crate) fn replies(services: &MockServices) -> Vec<Replied> {
    events(services).iter().filter_map(reply).collect()
}

fn reply(event: &Event<'static>) -> Option<Replied> {
    match event {
        Event::Replied { attempt, reply, status, bytes, whole, .. } => Some(Replied {
            attempt: *attempt,
            reply: reply.to_string(),
            status: *status,
            bytes: *bytes,
            whole: *whole,
        }),
        _ => None,
    }
}

/// The numbers of all attempts, in the order in which they came.
pub(crate) fn attempts(services: &MockServices) -> Vec<u64> {
    let received = |event| if let Event::Received(received) = event { Some(received.attempt) } else { None };
    events(services).into_iter().filter_map(received).collect()
}

/// The attempts behind all effects, in the order in which they were committed.
pub(crate) fn commits(services: &MockServices) -> Vec<u64> {
    let committed = |event| if let Event::Committed { attempt, .. } = event { Some(attempt) } else { None };
    events(services).into_iter().filter_map(committed).collect()
}

/// Asserts that a ledger hangs together: numbered without gaps, time never goes back, one reply at most for
/// each attempt, and nothing belongs to an attempt that never came.
pub(crate) fn assert_whole(ledger: &Ledger) {
    let entries = ledger.entries();
    assert_eq!(entries.len() as u64, ledger.len());
    let mut last = 0;
    let (mut received, mut answered) = (Vec::new(), Vec::new());
    for (index, Entry { n, at, event, .. }) in entries.iter().enumerate() {
        assert_eq!(*n, index as u64 + 1);
        assert!(*at >= last, "entry {n} is older than the one before");
        last = *at;
        match event {
            Event::Received(attempt) => received.push(attempt.attempt),
            Event::Replied { attempt, .. } => {
                assert!(received.contains(attempt) && !answered.contains(attempt), "entry {n}: {event:?}");
                answered.push(*attempt);
            }
            Event::Fault { attempt, .. } | Event::Committed { attempt, .. } => {
                assert!(received.contains(attempt), "{event:?}")
            }
            _ => {}
        }
    }
    received.sort_unstable();
    assert_eq!(received, (1..=received.len() as u64).collect::<Vec<_>>());
}
