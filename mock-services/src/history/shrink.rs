//! The smallest part of a history that cannot be explained. What is left out can only make a history easier to
//! explain: the end of it, and what a caller saw. A call whose answer is left out is still open.

use std::collections::BTreeSet;
use std::time::Instant;

use super::search::{Explanation, OpenCalls, explain};
use super::{HistoryCall, HistoryModel, meaningful};

/// The calls whose answers contradict each other, each of them needed for that, and the open calls that explain the
/// rest of them if one answer is left out. When the time is over, it is what was found until then.
pub(super) fn smallest<'h, M: HistoryModel>(
    model: &M,
    calls: Vec<HistoryCall<'h, M>>,
    deadline: Instant,
) -> Vec<HistoryCall<'h, M>> {
    let is_impossible = |calls: &[HistoryCall<'h, M>]| {
        explain(model, calls, OpenCalls::InPlace, deadline) == Explanation::Impossible
    };
    let is_over = || Instant::now() >= deadline;
    if is_over() {
        return calls;
    }
    let mut calls = shortest_beginning(model, calls, is_impossible);
    let mut size = calls.len().div_ceil(2);
    loop {
        let mut start = 0;
        while start < calls.len() {
            if is_over() {
                return calls;
            }
            let end = calls.len().min(start + size);
            let without = open_at(model, &calls, start..end);
            if calls[start..end].iter().any(|call| call.answer.is_some()) && is_impossible(&without) {
                calls = without;
            } else {
                start = end;
            }
        }
        if size <= 1 {
            return with_helpful_open(model, &calls, deadline);
        }
        size = size.div_ceil(2);
    }
}

/// The history up to the first return after which it cannot be explained. Every beginning of one that can be explained
/// can be explained.
fn shortest_beginning<'h, M: HistoryModel>(
    model: &M,
    calls: Vec<HistoryCall<'h, M>>,
    is_impossible: impl Fn(&[HistoryCall<'h, M>]) -> bool,
) -> Vec<HistoryCall<'h, M>> {
    let beginning = |end: u64| {
        let begun = calls.iter().filter(|call| call.called <= end);
        let cut = begun.map(|call| HistoryCall { answer: call.answer.filter(|(at, _)| *at <= end), ..*call });
        meaningful(model, cut)
    };
    let returns: BTreeSet<u64> = calls.iter().filter_map(|call| Some(call.answer?.0)).collect();
    let returns: Vec<u64> = returns.into_iter().collect();
    let first = returns.partition_point(|end| !is_impossible(&beginning(*end)));
    // The search may be out of time before it finds one.
    returns.get(first).map_or_else(|| calls.clone(), |end| beginning(*end))
}

/// The calls, with what was seen in this range left out.
fn open_at<'h, M: HistoryModel>(
    model: &M,
    calls: &[HistoryCall<'h, M>],
    range: std::ops::Range<usize>,
) -> Vec<HistoryCall<'h, M>> {
    let cut = calls.iter().enumerate().map(|(index, call)| HistoryCall {
        answer: call.answer.filter(|_| !range.contains(&index)),
        ..*call
    });
    meaningful(model, cut)
}

/// The answered calls, and those open calls that an explanation uses after one of the answers was left out. The
/// others do not help, with or without that answer.
fn with_helpful_open<'h, M: HistoryModel>(
    model: &M,
    calls: &[HistoryCall<'h, M>],
    deadline: Instant,
) -> Vec<HistoryCall<'h, M>> {
    let mut used: BTreeSet<usize> = (0..calls.len()).filter(|index| calls[*index].answer.is_some()).collect();
    for index in used.clone() {
        if Instant::now() >= deadline {
            return calls.to_vec();
        }
        let mut without = calls.to_vec();
        without[index].answer = None;
        if let Explanation::Order(order) = explain(model, &without, OpenCalls::Last, deadline) {
            used.extend(order);
        }
    }
    used.into_iter().map(|index| calls[index]).collect()
}
