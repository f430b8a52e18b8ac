//! The search for an order: the algorithm of Wing and Gong with the memory of Lowe. It takes a call that no
//! other one must precede, asks the model, goes on with the calls that remain, and goes back where none of them fits.
//! A set of taken calls that was left in the same state before is not tried again.

use std::collections::HashSet;
use std::time::Instant;
use std::vec::IntoIter;

use super::{HistoryCall, HistoryModel};

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Explanation {
    /// The indexes of the calls in an order that explains all answers. Open calls that never took effect are not in
    /// it.
    Order(Vec<usize>),
    /// There is no such order.
    Impossible,
    /// It was not found in time.
    OutOfTime,
}

/// Where open calls are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenCalls {
    /// In the order in which all calls are given.
    InPlace,
    /// After the others, so that an order has only those that are needed.
    Last,
}

/// A place of the search: what remains to be tried in a state.
struct SearchLevel<State> {
    state: State,
    left: IntoIter<usize>,
    /// The call that the search has gone on with.
    taken: Option<usize>,
}

/// Looks for an order of the calls that explains all answers. The order in which they are given is tried first.
pub(super) fn explain<M: HistoryModel>(
    model: &M,
    calls: &[HistoryCall<'_, M>],
    open: OpenCalls,
    deadline: Instant,
) -> Explanation {
    let mut remaining = RemainingEvents::new(calls);
    let mut taken_bits = vec![0u64; calls.len().div_ceil(64)];
    let mut seen_before = HashSet::new();
    let mut unexplained = calls.iter().filter(|call| call.answer.is_some()).count();
    let mut levels =
        vec![SearchLevel { state: model.start(), left: remaining.candidates(calls, open), taken: None }];
    while unexplained > 0 {
        if Instant::now() >= deadline {
            return Explanation::OutOfTime;
        }
        let Some(level) = levels.last_mut() else { return Explanation::Impossible };
        if let Some(index) = level.taken.take() {
            remaining.put_back(index);
            taken_bits[index / 64] &= !(1 << (index % 64));
            unexplained += usize::from(calls[index].answer.is_some());
        }
        let Some(index) = level.left.next() else {
            levels.pop();
            continue;
        };
        let call = &calls[index];
        let Some(next) = model.step(&level.state, call.input, call.answer.map(|(_, seen)| seen)) else {
            continue;
        };
        taken_bits[index / 64] |= 1 << (index % 64);
        if !seen_before.insert((taken_bits.clone(), model.digest(&next))) {
            taken_bits[index / 64] &= !(1 << (index % 64));
            continue;
        }
        remaining.take(index);
        unexplained -= usize::from(call.answer.is_some());
        level.taken = Some(index);
        levels.push(SearchLevel { state: next, left: remaining.candidates(calls, open), taken: None });
    }
    Explanation::Order(levels.into_iter().filter_map(|level| level.taken).collect())
}

/// The calls and returns that were not taken, in order: a linked list, from which both events of a call are taken
/// and to which they are put back in the reverse order.
struct RemainingEvents {
    /// The index of the call at each event; `None` for a return, and for the end of the list.
    calls: Vec<Option<usize>>,
    next: Vec<usize>,
    previous: Vec<usize>,
    /// The events of each call: that of the call itself, and that of its return.
    of_call: Vec<(usize, Option<usize>)>,
}

impl RemainingEvents {
    fn new<M: HistoryModel>(calls: &[HistoryCall<'_, M>]) -> Self {
        // At one position, calls come before returns: neither call precedes the other.
        let mut events: Vec<(u64, bool, usize)> = Vec::with_capacity(2 * calls.len());
        for (index, call) in calls.iter().enumerate() {
            events.push((call.called, false, index));
            events.extend(call.answer.map(|(returned, _)| (returned.max(call.called), true, index)));
        }
        events.sort_unstable();
        let mut of_call = vec![(0, None); calls.len()];
        for (event, (_, is_return, index)) in events.iter().enumerate() {
            if *is_return {
                of_call[*index].1 = Some(event);
            } else {
                of_call[*index].0 = event;
            }
        }
        let end = events.len();
        let calls = events.iter().map(|(_, is_return, index)| (!is_return).then_some(*index));
        RemainingEvents {
            calls: calls.chain([None]).collect(),
            next: (0..=end).map(|event| if event == end { 0 } else { event + 1 }).collect(),
            previous: (0..=end).map(|event| if event == 0 { end } else { event - 1 }).collect(),
            of_call,
        }
    }

    /// The calls that no other one must precede: those before the first return.
    fn candidates<M: HistoryModel>(&self, calls: &[HistoryCall<'_, M>], open: OpenCalls) -> IntoIter<usize> {
        let mut found = Vec::new();
        let mut event = self.next[self.calls.len() - 1];
        while let Some(index) = self.calls[event] {
            found.push(index);
            event = self.next[event];
        }
        let is_last = |index: usize| open == OpenCalls::Last && calls[index].answer.is_none();
        found.sort_unstable_by_key(|index| (is_last(*index), *index));
        found.into_iter()
    }

    fn take(&mut self, index: usize) {
        let (call, returned) = self.of_call[index];
        for event in [Some(call), returned].into_iter().flatten() {
            let (previous, next) = (self.previous[event], self.next[event]);
            self.next[previous] = next;
            self.previous[next] = previous;
        }
    }

    fn put_back(&mut self, index: usize) {
        let (call, returned) = self.of_call[index];
        for event in [returned, Some(call)].into_iter().flatten() {
            let (previous, next) = (self.previous[event], self.next[event]);
            self.next[previous] = event;
            self.previous[next] = event;
        }
    }
}
