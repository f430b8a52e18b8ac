//! Questions to a ledger.

use std::time::Duration;

use mock_services::ledger::{CommitTiming, Event, Ledger, Received};
use mock_services::service::Fields;

/// An effect that was committed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effect {
    pub(crate) attempt: u64,
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) fields: Fields,
    pub(crate) timing: CommitTiming,
}

impl Effect {
    pub(crate) fn field(&self, name: &str) -> String {
        self.fields.get(name).map(ToString::to_string).unwrap_or_default()
    }
}

pub(crate) fn events(ledger: &Ledger) -> Vec<Event<'static>> {
    ledger.entries().into_iter().map(|entry| entry.event).collect()
}

pub(crate) fn effects(ledger: &Ledger) -> Vec<Effect> {
    let of = |event| match event {
        Event::Committed { attempt, effect, id, fields, timing } => {
            let (name, id, fields) = (effect.into_owned(), id.into_owned(), fields.into_owned());
            Some(Effect { attempt, name, id, fields, timing })
        }
        _ => None,
    };
    events(ledger).into_iter().filter_map(of).collect()
}

pub(crate) fn received(ledger: &Ledger) -> Vec<Received<'static>> {
    let of = |event| match event {
        Event::Received(received) => Some(received),
        _ => None,
    };
    events(ledger).into_iter().filter_map(of).collect()
}

/// The statuses of the requests that were refused.
pub(crate) fn refused(ledger: &Ledger) -> Vec<u16> {
    let of = |event| match event {
        Event::Refused { status, .. } => Some(status),
        _ => None,
    };
    events(ledger).into_iter().filter_map(of).collect()
}

/// The attempts of late commits that came to nothing.
pub(crate) fn lapsed(ledger: &Ledger) -> Vec<(u64, u16)> {
    let of = |event| match event {
        Event::Lapsed { attempt, status } => Some((attempt, status)),
        _ => None,
    };
    events(ledger).into_iter().filter_map(of).collect()
}

/// Longer than anything takes; only a proof that fails waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until the ledger has an entry like this, and gives the first.
pub(crate) async fn until(ledger: &Ledger, like: impl Fn(&Event<'_>) -> bool) -> Event<'static> {
    until_so_many(ledger, 1, like).await
}

/// Waits until the ledger has so many entries like this, and gives the last.
pub(crate) async fn until_so_many(
    ledger: &Ledger,
    count: usize,
    like: impl Fn(&Event<'_>) -> bool,
) -> Event<'static> {
    let mut reader = ledger.reader();
    let mut have = 0;
    let come = async {
        loop {
            for entry in reader.grown().await {
                have += usize::from(like(&entry.event));
                if have == count {
                    return entry.event;
                }
            }
        }
    };
    match tokio::time::timeout(PATIENCE, come).await {
        Ok(event) => event,
        Err(_) => panic!("it never came: {:#?}", events(ledger)),
    }
}
