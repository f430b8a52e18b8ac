//! Reads a ledger, and waits for entries.

use mock_services::MockServices;
use mock_services::ledger::{Entry, Event, Ledger, Received};

use super::services::TestServices;
use super::within_timeout;

/// Anything that has a ledger.
pub(crate) trait HasLedger {
    fn ledger_ref(&self) -> &Ledger;
}

impl HasLedger for Ledger {
    fn ledger_ref(&self) -> &Ledger {
        self
    }
}

impl HasLedger for MockServices {
    fn ledger_ref(&self) -> &Ledger {
        self.ledger()
    }
}

impl HasLedger for TestServices {
    fn ledger_ref(&self) -> &Ledger {
        self.ledger()
    }
}

/// A reply as the ledger records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replied {
    pub(crate) attempt: u64,
    pub(crate) reply: String,
    pub(crate) status: Option<u16>,
    pub(crate) bytes: u64,
    pub(crate) whole: bool,
}

/// All events so far.
pub(crate) fn events(of: &impl HasLedger) -> Vec<Event> {
    of.ledger_ref().entries().into_iter().map(|entry| entry.event).collect()
}

/// All attempts so far.
pub(crate) fn received(of: &impl HasLedger) -> Vec<Received> {
    let received = |event| if let Event::Received(received) = event { Some(*received) } else { None };
    events(of).into_iter().filter_map(received).collect()
}

/// The numbers of all attempts, in order of arrival.
pub(crate) fn attempts(of: &impl HasLedger) -> Vec<u64> {
    received(of).iter().map(|received| received.attempt).collect()
}

/// The attempts of all effects, in order of commit.
pub(crate) fn commits(of: &impl HasLedger) -> Vec<u64> {
    of.ledger_ref().all_effects().map(|effect| effect.attempt).collect()
}

/// The statuses of the refused requests.
pub(crate) fn refused(of: &impl HasLedger) -> Vec<u16> {
    let status = |event| if let Event::Refused(refused) = event { Some(refused.status) } else { None };
    events(of).into_iter().filter_map(status).collect()
}

/// The late commits that the service refused when they were due: attempt and status.
pub(crate) fn lapsed(of: &impl HasLedger) -> Vec<(u64, u16)> {
    let lapsed = |event| match event {
        Event::Lapsed { attempt, status } => Some((attempt, status)),
        _ => None,
    };
    events(of).into_iter().filter_map(lapsed).collect()
}

/// All replies so far.
pub(crate) fn replies(of: &impl HasLedger) -> Vec<Replied> {
    events(of).iter().filter_map(reply).collect()
}

/// Waits for an entry for which `pick` returns a value, and returns the value.
pub(crate) async fn wait_for_value<T>(of: &impl HasLedger, pick: impl Fn(&Event) -> Option<T>) -> T {
    let mut reader = of.ledger_ref().reader();
    let picked = async {
        loop {
            if let Some(picked) = reader.grown().await.iter().find_map(|entry| pick(&entry.event)) {
                return picked;
            }
        }
    };
    within_timeout(picked).await
}

/// Waits for a matching entry, and returns the first.
pub(crate) async fn wait_for(of: &impl HasLedger, like: impl Fn(&Event) -> bool) -> Event {
    wait_for_count(of, 1, like).await
}

/// Waits for this number of matching entries, and returns the last.
pub(crate) async fn wait_for_count(
    of: &impl HasLedger,
    count: usize,
    like: impl Fn(&Event) -> bool,
) -> Event {
    let mut reader = of.ledger_ref().reader();
    let mut have = 0;
    let last = async {
        loop {
            for entry in reader.grown().await {
                have += usize::from(like(&entry.event));
                if have == count {
                    return entry.event;
                }
            }
        }
    };
    within_timeout(last).await
}

/// Waits for the reply to an attempt.
pub(crate) async fn replied(of: &impl HasLedger, wanted: u64) -> Replied {
    wait_for_value(of, |event| reply(event).filter(|reply| reply.attempt == wanted)).await
}

fn reply(event: &Event) -> Option<Replied> {
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

/// Asserts that a ledger is consistent: numbered without gaps, times in order, at most one reply for each
/// attempt, and no entry for an attempt that was not received.
pub(crate) fn assert_consistent(ledger: &Ledger) {
    let entries = ledger.entries();
    assert_eq!(entries.len() as u64, ledger.len());
    let mut last = 0;
    let (mut received, mut answered) = (Vec::new(), Vec::new());
    for (index, Entry { n, at, event, .. }) in entries.iter().enumerate() {
        assert_eq!(*n, index as u64 + 1);
        assert!(*at >= last, "entry {n} is older than the previous one");
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
