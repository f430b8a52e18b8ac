//! A trial as a drawing: lanes for callers and services, and what happened on and between them, in order.
//! Shared by the text and the page; it knows nothing of either.

mod build;
mod events;
mod text;

use std::collections::BTreeSet;

use serde::Serialize;

pub(crate) use text::{TextView, render as render_text};

/// A trial as a drawing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Timeline {
    /// Callers by number, then services in the order in which they were used.
    pub(crate) lanes: Vec<Lane>,
    /// What happened, in the order of the ledger.
    pub(crate) items: Vec<Item>,
    /// How many items were left out.
    pub(crate) left_out: usize,
}

/// One lane.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// A running copy of the subject.
    Caller(u32),
    /// A service.
    Service(String),
}

impl Lane {
    /// Its label.
    pub(crate) fn label(&self) -> String {
        match self {
            Lane::Caller(number) => format!("caller {number}"),
            Lane::Service(name) => name.clone(),
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// The number of its entry.
    pub(crate) n: u64,
    /// Microseconds since the ledger was opened.
    pub(crate) at: u64,
    /// The attempt that it belongs to.
    pub(crate) attempt: Option<u64>,
    pub(crate) shape: Shape,
    /// The lane of the caller, where one is concerned.
    pub(crate) caller: Option<usize>,
    /// The lane of the service, where one is concerned.
    pub(crate) service: Option<usize>,
    /// What happened, in a few words.
    pub(crate) label: String,
    /// With what.
    pub(crate) detail: String,
}

/// How an item is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    /// A caller's lane begins.
    Start,
    /// An arrow to a service.
    Request,
    /// An arrow to a service that is sent back: no attempt.
    Refused,
    /// A mark beside a service's lane.
    Fault,
    /// A mark on a service's lane.
    Commit,
    /// An arrow to a caller.
    Reply,
    /// A broken arrow to a caller.
    BrokenReply,
    /// A cut through a caller's lane.
    Cut,
    /// A caller's lane ends.
    End,
    /// What a caller said.
    Claim,
    /// Anything else on a caller's lane.
    Note,
}

impl Timeline {
    /// The same with no more than the calls, commits, cuts and claims, and no details; at most `most` items.
    pub(crate) fn short(&self, most: usize) -> Timeline {
        let telling = |item: &&Item| {
            !matches!(item.shape, Shape::Note | Shape::Start | Shape::End | Shape::Fault | Shape::Refused)
        };
        let bare = |item: &Item| Item { detail: String::new(), ..item.clone() };
        self.with(self.items.iter().filter(telling).take(most).map(bare).collect())
    }

    /// Where there are more than `most` items: those that `highlighted` names, their attempts and what became
    /// of their callers; no more than `most` of them.
    pub(crate) fn focused(&self, highlighted: &[u64], most: usize) -> Timeline {
        if self.items.len() <= most {
            return self.clone();
        }
        let highlighted: BTreeSet<u64> = highlighted.iter().copied().collect();
        let proving = || self.items.iter().filter(|item| highlighted.contains(&item.n));
        let attempts: BTreeSet<u64> = proving().filter_map(|item| item.attempt).collect();
        let callers: BTreeSet<usize> = proving().filter_map(|item| item.caller).collect();
        let rank = |item: &Item| match item.shape {
            _ if highlighted.contains(&item.n) => Some(0),
            _ if item.attempt.is_some_and(|attempt| attempts.contains(&attempt)) => Some(1),
            Shape::Cut | Shape::Commit => Some(2),
            Shape::Start | Shape::Claim if item.caller.is_some_and(|caller| callers.contains(&caller)) => {
                Some(3)
            }
            Shape::Request | Shape::BrokenReply if highlighted.is_empty() => Some(4),
            _ => None,
        };
        let mut ranked: Vec<(u8, &Item)> =
            self.items.iter().filter_map(|item| Some((rank(item)?, item))).collect();
        ranked.sort_by_key(|(rank, item)| (*rank, item.n));
        ranked.truncate(most);
        let mut items: Vec<Item> = ranked.into_iter().map(|(_, item)| item.clone()).collect();
        items.sort_by_key(|item| item.n);
        self.with(items)
    }

    /// Only the items that `highlighted` names.
    pub(crate) fn only(&self, highlighted: &[u64]) -> Timeline {
        self.with(self.items.iter().filter(|item| highlighted.contains(&item.n)).cloned().collect())
    }

    /// The same, without the note about items that were left out.
    pub(crate) fn without_gaps(self) -> Timeline {
        Timeline { left_out: 0, ..self }
    }

    fn with(&self, items: Vec<Item>) -> Timeline {
        Timeline {
            lanes: self.lanes.clone(),
            left_out: self.left_out + self.items.len() - items.len(),
            items,
        }
    }
}

#[cfg(test)]
mod tests;
