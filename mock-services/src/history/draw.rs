//! A history as text: one lane for each caller, with the spans of its calls, and below what each of them saw.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{HistoryCall, HistoryModel};

/// The number of columns between two events.
const STEP: usize = 3;

/// A span of a lane.
struct Span {
    number: usize,
    start: usize,
    /// `None` for an open call.
    end: Option<usize>,
}

/// Draws the calls, numbered in the order in which they began.
pub(super) fn draw<M: HistoryModel>(model: &M, calls: &[HistoryCall<'_, M>]) -> String {
    let mut calls = calls.to_vec();
    calls.sort_by_key(|call| call.called);
    let columns = columns(&calls);
    let width = columns.values().max().map_or(0, |last| last + 2 * STEP);
    let mut lanes: BTreeMap<u32, Vec<Vec<Span>>> = BTreeMap::new();
    for (index, call) in calls.iter().enumerate() {
        let column = |position: u64, is_return: bool| columns[&(position, is_return, index)];
        let span = Span {
            number: index + 1,
            start: column(call.called, false),
            end: call.answer.map(|(returned, _)| column(returned, true)),
        };
        let of_caller = lanes.entry(call.caller).or_default();
        // A caller with several connections has several calls at once.
        let is_free = |lane: &&mut Vec<Span>| {
            lane.last().is_none_or(|last| last.end.is_some_and(|end| end < span.start))
        };
        match of_caller.iter_mut().find(is_free) {
            Some(lane) => lane.push(span),
            None => of_caller.push(vec![span]),
        }
    }
    let mut text = "no order of these calls gives these answers:\n\n".to_owned();
    let name_width = lanes.keys().map(|caller| name(*caller).len()).max().unwrap_or_default();
    for (caller, lane) in
        lanes.iter().flat_map(|(caller, of_caller)| of_caller.iter().map(move |lane| (caller, lane)))
    {
        let _ = writeln!(text, "  {:name_width$}  {}", name(*caller), drawn(lane, width));
    }
    text.push('\n');
    for (index, call) in calls.iter().enumerate() {
        let words = model.words(call.input, call.answer.map(|(_, seen)| seen));
        let _ = writeln!(text, "  {:>2}  {:name_width$}  {words}", index + 1, name(call.caller));
    }
    text
}

/// The column of each call and return.
fn columns<M: HistoryModel>(calls: &[HistoryCall<'_, M>]) -> BTreeMap<(u64, bool, usize), usize> {
    let mut events = BTreeMap::new();
    for (index, call) in calls.iter().enumerate() {
        events.insert((call.called, false, index), 0);
        events.extend(call.answer.map(|(returned, _)| ((returned, true, index), 0)));
    }
    for (place, column) in events.values_mut().enumerate() {
        *column = place * STEP;
    }
    events
}

fn name(caller: u32) -> String {
    if caller == 0 { "service".to_owned() } else { format!("caller {caller}") }
}

/// A lane: `├─1─┤` for a call that returned, `├─1╌╌` for an open one.
fn drawn(lane: &[Span], width: usize) -> String {
    let mut signs = vec![' '; width];
    for Span { number, start, end } in lane {
        let last = end.unwrap_or(width - 1);
        signs[*start..=last].fill(if end.is_some() { '─' } else { '╌' });
        signs[*start] = '├';
        if let Some(end) = end {
            signs[*end] = '┤';
        }
        for (place, digit) in number.to_string().chars().enumerate() {
            signs[start + 1 + place] = digit;
        }
    }
    signs.into_iter().collect::<String>().trim_end().to_owned()
}
