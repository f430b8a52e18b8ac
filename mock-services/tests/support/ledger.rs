//! Questions to a ledger.

use mock_services::ledger::{Event, How, Ledger, Received};
use mock_services::service::Fields;

/// An effect that was committed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effect {
    pub(crate) attempt: u64,
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) fields: Fields,
    pub(crate) how: How,
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
        Event::Committed { attempt, effect, id, fields, how } => {
            let (name, id, fields) = (effect.into_owned(), id.into_owned(), fields.into_owned());
            Some(Effect { attempt, name, id, fields, how })
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

/// Waits until the ledger has an entry like this, and gives the first.
pub(crate) async fn until(ledger: &Ledger, like: impl Fn(&Event<'_>) -> bool) -> Event<'static> {
    let mut reader = ledger.reader();
    loop {
        if let Some(entry) = reader.grown().await.into_iter().find(|entry| like(&entry.event)) {
            return entry.event;
        }
    }
}
