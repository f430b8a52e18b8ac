//! The timeline of a trial: lanes for callers, services, senders and a person, and the entries of the ledger on them, in order.
//! The terminal and the page show it.

mod build;
mod events;
mod text;

use std::collections::BTreeSet;

use serde::Serialize;

pub(crate) use text::{TextView, plain_timeline, render as render_text};

/// The timeline of a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Timeline {
    /// Callers by number, then services in the order in which they were used, then senders of events, then the person.
    pub(crate) lanes: Vec<Lane>,
    /// The entries, in the order of the ledger.
    pub(crate) items: Vec<Item>,
    /// The number of items that were left out.
    pub(crate) left_out: usize,
}

/// One lane.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// A running copy of the subject.
    Caller(u32),
    /// A service.
    Service(String),
    /// Who sends events to the subject.
    Sender(String),
    /// The person who is asked for approvals.
    Person,
}

impl Lane {
    /// Its label.
    pub(crate) fn label(&self) -> String {
        match self {
            Lane::Caller(number) => format!("caller {number}"),
            Lane::Service(name) | Lane::Sender(name) => name.clone(),
            Lane::Person => "person".to_owned(),
        }
    }
}

/// One entry of the ledger on the timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// The number of its entry.
    pub(crate) n: u64,
    /// Microseconds since the ledger was opened.
    pub(crate) at: u64,
    /// The attempt that it belongs to.
    pub(crate) attempt: Option<u64>,
    pub(crate) shape: Shape,
    /// The lane of the caller, if it has one.
    pub(crate) caller: Option<usize>,
    /// The lane of the service, the sender or the person, if it has one.
    pub(crate) service: Option<usize>,
    /// A short description.
    pub(crate) label: String,
    /// Fields and other details.
    pub(crate) detail: String,
}

/// How an item is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    /// The start of a caller's lane.
    Start,
    /// An arrow to a service.
    Request,
    /// An arrow to a service and back: a refused request.
    Refused,
    /// A mark beside a service's lane.
    Fault,
    /// A mark on a service's lane.
    Commit,
    /// An arrow to a caller.
    Reply,
    /// A broken arrow to a caller.
    BrokenReply,
    /// A broken arrow from a caller.
    BrokenRequest,
    /// A cut through a caller's lane.
    Cut,
    /// The end of a caller's lane.
    End,
    /// The claim of a caller.
    Claim,
    /// Anything else on a caller's lane.
    Note,
}

impl Timeline {
    /// Only requests, replies, commits, interrupts and claims, without details; at most `limit` items.
    pub(crate) fn short(&self, limit: usize) -> Timeline {
        let is_important = |item: &&Item| {
            !matches!(item.shape, Shape::Note | Shape::Start | Shape::End | Shape::Fault | Shape::Refused)
        };
        let without_detail = |item: &Item| Item { detail: String::new(), ..item.clone() };
        self.with(self.items.iter().filter(is_important).take(limit).map(without_detail).collect())
    }

    /// If there are more than `limit` items: the highlighted ones, those of their attempts and those of their
    /// callers; at most `limit` items.
    pub(crate) fn focused(&self, highlighted: &[u64], limit: usize) -> Timeline {
        if self.items.len() <= limit {
            return self.clone();
        }
        let highlighted: BTreeSet<u64> = highlighted.iter().copied().collect();
        let highlighted_items = || self.items.iter().filter(|item| highlighted.contains(&item.n));
        let attempts: BTreeSet<u64> = highlighted_items().filter_map(|item| item.attempt).collect();
        let callers: BTreeSet<usize> = highlighted_items().filter_map(|item| item.caller).collect();
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
        ranked.truncate(limit);
        let mut items: Vec<Item> = ranked.into_iter().map(|(_, item)| item.clone()).collect();
        items.sort_by_key(|item| item.n);
        self.with(items)
    }

    /// Only the highlighted items.
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
mod tests {
    use super::*;
    use crate::results::sample::{self, LedgerBuilder};
    use crate::text::TextStyle;
    use mock_services::fault::ReplyKind;

    fn text(timeline: &Timeline, highlighted: &[u64], width: usize) -> String {
        render_text(
            timeline,
            &TextView { width, indent: 2, numbered: false, highlighted, style: TextStyle { color: false } },
        )
    }

    #[test]
    fn a_timeline_shows_a_double_charge() {
        let (case, saved) = sample::double_charge("none");
        let highlighted = &case.trials[0].verdict.findings[0].entries;
        insta::assert_snapshot!(text(&Timeline::new(&saved.entries), highlighted, 100));
    }

    #[test]
    fn a_kill_and_a_restart_are_cuts() {
        let (case, saved) = sample::killed();
        let highlighted = &case.trials[0].verdict.findings[0].entries;
        insta::assert_snapshot!(text(&Timeline::new(&saved.entries), highlighted, 80));
    }

    #[test]
    fn of_a_long_timeline_what_proves_the_finding_is_kept() {
        let (case, saved) = sample::twelve_callers();
        let highlighted = &case.trials[0].verdict.findings[0].entries;
        let focused = Timeline::new(&saved.entries).focused(highlighted, 12);
        assert!(focused.items.len() <= 12);
        assert!(highlighted.iter().all(|n| focused.items.iter().any(|item| item.n == *n)));
        insta::assert_snapshot!(text(&focused, highlighted, 80));
    }

    #[test]
    fn a_short_timeline_has_no_details_and_says_how_much_it_left_out() {
        let (_, saved) = sample::twelve_callers();
        let whole = Timeline::new(&saved.entries);
        let short = whole.short(10);
        assert_eq!((short.items.len(), short.left_out), (10, whole.items.len() - 10));
        assert!(short.items.iter().all(|item| item.detail.is_empty()));
    }

    #[test]
    fn a_fault_with_a_status_shows_its_number() {
        let mut book = LedgerBuilder::new();
        let (attempt, _) = book.received(1, 1, "payment.charge", None, sample::charge("o"));
        book.status_fault(attempt, 503);
        book.replied(attempt, ReplyKind::Status, Some(503));
        let items = Timeline::new(&book.entries).items;
        let labels: Vec<&str> = items.iter().map(|item| item.label.as_str()).collect();
        assert_eq!(labels, ["payment.charge#1", "fault: commit now, reply 503", "answered 503"]);
    }

    #[test]
    fn an_unknown_attempt_is_accepted() {
        let mut book = LedgerBuilder::new();
        book.replied(99, ReplyKind::Ok, Some(200));
        book.committed(0, "email.send", "m1", sample::charge("o"));
        let timeline = Timeline::new(&book.entries);
        assert_eq!(timeline.lanes, [Lane::Service("email".to_owned())]);
        assert_eq!(timeline.items[0].caller, None);
    }

    #[test]
    fn hostile_text_is_escaped_in_every_line() {
        let (_, saved) = sample::hostile(sample::HOSTILE);
        let text = text(&Timeline::new(&saved.entries), &[], 80);
        assert!(!text.chars().any(|character| character.is_control() && character != '\n'), "{text:?}");
        assert!(!text.contains('\u{202e}'));
    }
}
