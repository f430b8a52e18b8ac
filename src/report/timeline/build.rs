//! From the entries of a ledger to the drawing: which lanes there are, and on which of them each entry
//! stands.

use std::collections::{BTreeMap, BTreeSet};

use mock_services::ledger::{Entry, Event};

use super::events::describe;
use super::{Item, Lane, Timeline};

/// Who made an attempt, and at which service.
type Attempts<'a> = BTreeMap<u64, (u32, &'a str)>;

impl Timeline {
    /// The drawing of a ledger. Connections that end and the bookends of the ledger are left out.
    pub(crate) fn of(entries: &[Entry]) -> Timeline {
        let attempts = attempts(entries);
        let lanes = lanes(entries, &attempts);
        let place = |lane: &Lane| lanes.iter().position(|have| have == lane);
        let items = entries.iter().filter_map(|entry| {
            let drawn = describe(&entry.event)?;
            let (caller, service) = whose(&entry.event, &attempts);
            Some(Item {
                n: entry.n,
                at: entry.at,
                attempt: attempt_of(&entry.event),
                shape: drawn.shape,
                caller: caller.and_then(|caller| place(&Lane::Caller(caller))),
                service: service.and_then(|service| place(&Lane::Service(service.to_owned()))),
                label: drawn.label,
                detail: drawn.detail,
            })
        });
        let items = items.collect();
        Timeline { items, lanes, left_out: 0 }
    }

    /// The drawing of the first entries of a ledger, at most so many of them.
    pub(crate) fn beginning(entries: &[Entry], most: usize) -> Timeline {
        let drawn = &entries[..entries.len().min(most)];
        Timeline { left_out: entries.len() - drawn.len(), ..Timeline::of(drawn) }
    }
}

fn service_of(operation: &str) -> &str {
    operation.split_once('.').map_or(operation, |(service, _)| service)
}

fn attempts(entries: &[Entry]) -> Attempts<'_> {
    let received = entries.iter().filter_map(|entry| match &entry.event {
        Event::Received(received) => {
            Some((received.attempt, (received.caller, service_of(&received.operation))))
        }
        _ => None,
    });
    received.collect()
}

fn lanes(entries: &[Entry], attempts: &Attempts<'_>) -> Vec<Lane> {
    let mut callers = BTreeSet::new();
    let mut services: Vec<&str> = Vec::new();
    for entry in entries {
        let (caller, service) = whose(&entry.event, attempts);
        callers.extend(caller);
        if let Some(service) = service.filter(|service| !services.contains(service)) {
            services.push(service);
        }
    }
    let services = services.into_iter().map(|service| Lane::Service(service.to_owned()));
    callers.into_iter().map(Lane::Caller).chain(services).collect()
}

fn attempt_of(event: &Event<'_>) -> Option<u64> {
    match event {
        Event::Received(received) => Some(received.attempt),
        Event::Fault { attempt, .. }
        | Event::Committed { attempt, .. }
        | Event::Lapsed { attempt, .. }
        | Event::Unsent { attempt, .. }
        | Event::Replied { attempt, .. } => Some(*attempt).filter(|attempt| *attempt > 0),
        _ => None,
    }
}

/// The caller and the service that an entry concerns.
fn whose<'a>(event: &'a Event<'static>, attempts: &Attempts<'a>) -> (Option<u32>, Option<&'a str>) {
    let of = |attempt: &u64| attempts.get(attempt).copied().unzip();
    match event {
        Event::Received(received) => (Some(received.caller), Some(service_of(&received.operation))),
        Event::Refused { caller, service, .. } => (Some(*caller), Some(service)),
        Event::Replied { attempt, .. } | Event::Unsent { attempt, .. } => of(attempt),
        Event::Fault { attempt, .. } | Event::Lapsed { attempt, .. } => (None, of(attempt).1),
        Event::Committed { effect, .. } | Event::Withheld { effect, .. } => (None, Some(service_of(effect))),
        Event::Barrier { caller, .. } => (Some(*caller), None),
        Event::Noted { caller, .. } => (*caller, None),
        Event::Opened { .. } | Event::Closed { .. } | Event::End { .. } => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn callers_stand_left_by_number_and_services_right() {
        let (_, saved) = sample::twelve_callers();
        let timeline = Timeline::of(&saved.entries);
        assert_eq!(timeline.lanes.len(), 13);
        assert_eq!(timeline.lanes[11], Lane::Caller(12));
        assert_eq!(timeline.lanes[12], Lane::Service("payment".to_owned()));
    }

    #[test]
    fn the_beginning_says_how_many_entries_it_left_out() {
        let (_, saved) = sample::twelve_callers();
        assert_eq!(Timeline::beginning(&saved.entries, 10).left_out, saved.entries.len() - 10);
        assert_eq!(Timeline::beginning(&saved.entries, usize::MAX), Timeline::of(&saved.entries));
    }

    #[test]
    fn a_reply_goes_to_the_caller_of_the_attempt() {
        let (_, saved) = sample::twelve_callers();
        let timeline = Timeline::of(&saved.entries);
        for pair in
            timeline.items.iter().filter(|item| item.attempt == Some(5)).collect::<Vec<_>>().windows(2)
        {
            assert_eq!(pair[0].caller, pair[1].caller);
            assert_eq!(pair[0].caller, Some(4));
        }
    }
}
