//! The timeline as text: one line for each item, callers on the left and services on the right.

use std::fmt::Write as _;

use mock_services::ledger::Entry;

use super::{Item, Shape, Timeline};
use crate::text::TextStyle;
use crate::text::{columns, fit};

/// How the text is laid out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextView<'a> {
    /// The number of columns.
    pub(crate) width: usize,
    /// The indentation, in columns.
    pub(crate) indent: usize,
    /// Whether the number of each entry is shown.
    pub(crate) numbered: bool,
    /// The entries of findings, which are highlighted.
    pub(crate) highlighted: &'a [u64],
    /// The colors.
    pub(crate) style: TextStyle,
}

/// The timeline of a ledger as lines of text without colors. Times count from the first entry. Of a long ledger, requests,
/// commits and broken replies are shown, at most `limit` of them, and those that are highlighted.
pub(crate) fn plain_timeline(entries: &[Entry], highlighted: &[u64], limit: usize) -> String {
    let mut timeline = Timeline::new(entries).focused(highlighted, limit);
    let start = entries.first().map_or(0, |entry| entry.at);
    timeline.items.iter_mut().for_each(|item| item.at = item.at.saturating_sub(start));
    let style = TextStyle { color: false };
    render(&timeline, &TextView { width: 120, indent: 0, numbered: false, highlighted, style })
}

/// The timeline as lines of text.
pub(crate) fn render(timeline: &Timeline, view: &TextView<'_>) -> String {
    let widest = |lanes: &mut dyn Iterator<Item = usize>| lanes.max().unwrap_or(0);
    let wide = |lane: Option<usize>| {
        lane.and_then(|lane| timeline.lanes.get(lane)).map_or(0, |lane| columns(&lane.label()).min(16))
    };
    let callers = widest(&mut timeline.items.iter().map(|item| wide(item.caller)));
    let services = widest(&mut timeline.items.iter().map(|item| wide(item.service)));
    let mut out = String::new();
    let mut before = None;
    for item in &timeline.items {
        let gap = before.is_some_and(|before: u64| item.n > before + 1) && timeline.left_out > 0;
        if gap {
            let _ = writeln!(out, "{:indent$}  {}", "", view.style.faint("⋮"), indent = view.indent);
        }
        before = Some(item.n);
        push_line(&mut out, timeline, item, view, (callers, services));
    }
    if timeline.left_out > 0 {
        let note = format!("{} more entries are not shown", timeline.left_out);
        let _ = writeln!(out, "{:indent$}  {}", "", view.style.faint(&note), indent = view.indent);
    }
    out
}

fn push_line(
    out: &mut String,
    timeline: &Timeline,
    item: &Item,
    view: &TextView<'_>,
    (callers, services): (usize, usize),
) {
    let highlighted = view.highlighted.contains(&item.n);
    let mark = if highlighted { ">" } else { " " };
    let time = format!("{:>8.3}", item.at as f64 / 1_000_000.0);
    let (caller, service) = (name(timeline, item.caller, callers), name(timeline, item.service, services));
    let arrow = match item.shape {
        Shape::Request => "───►",
        Shape::Refused => "◄──►",
        Shape::Reply => "◄───",
        Shape::BrokenReply => "  ✗╌",
        Shape::BrokenRequest => "╌✗  ",
        Shape::Commit => "   ◆",
        Shape::Fault => "   !",
        Shape::Cut => "╳   ",
        Shape::Claim => "»   ",
        Shape::Start | Shape::End | Shape::Note => "·   ",
    };
    let number = if view.numbered { format!("{:>4} ", item.n) } else { String::new() };
    let head = format!("{mark} {number}{time}  {caller} {arrow} {service}  ");
    let room = view.width.saturating_sub(view.indent + columns(&head)).max(12);
    let blank = if item.detail.is_empty() { "" } else { "  " };
    let words = fit(&format!("{}{blank}{}", item.label, item.detail), room);
    let words = match item.shape {
        Shape::Commit if highlighted => view.style.strong(&words),
        Shape::BrokenReply | Shape::BrokenRequest | Shape::Cut | Shape::Fault => view.style.bad(&words),
        Shape::Start | Shape::End | Shape::Note => view.style.faint(&words),
        Shape::Commit | Shape::Request | Shape::Refused | Shape::Reply | Shape::Claim => words,
    };
    let _ = writeln!(out, "{:indent$}{head}{words}", "", indent = view.indent);
}

fn name(timeline: &Timeline, lane: Option<usize>, width: usize) -> String {
    let label = lane.and_then(|lane| timeline.lanes.get(lane)).map(super::Lane::label).unwrap_or_default();
    let label = fit(&label, width);
    let blanks = width.saturating_sub(columns(&label));
    format!("{label}{:blanks$}", "")
}
