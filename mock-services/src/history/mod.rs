//! Whether what several callers saw can be explained: whether there is one order of their calls that a model without
//! concurrency answers in the same way, and in which no call comes before one that had returned when it began.
//! That is linearizability. Pure: it knows no service, no fault and no ledger.

mod draw;
mod search;
mod shrink;
mod split;
#[cfg(test)]
mod tests;

use std::hash::Hash;
use std::time::Instant;

use search::{Explanation, OpenCalls, explain};

/// A sequential model of what is called.
pub(crate) trait HistoryModel {
    /// A call.
    type Input;
    /// What its caller saw.
    type Seen;
    /// What the model remembers.
    type State: Clone;
    /// The same for equal states, and different for different ones.
    type Digest: Eq + Hash;

    /// The state before the first call.
    fn start(&self) -> Self::State;

    /// The state after the call; `None` if the model would have answered differently, or if it cannot be called now.
    /// Without `seen`, any answer is right.
    fn step(
        &self,
        state: &Self::State,
        input: &Self::Input,
        seen: Option<&Self::Seen>,
    ) -> Option<Self::State>;

    /// The digest of a state.
    fn digest(&self, state: &Self::State) -> Self::Digest;

    /// What a call reads or changes.
    fn touched(&self, input: &Self::Input) -> Touched;

    /// Whether a call can change the state. One that cannot, and that nobody saw the answer of, says nothing.
    fn can_change(&self, input: &Self::Input) -> bool;

    /// The call and its answer, for a drawing.
    fn words(&self, input: &Self::Input, seen: Option<&Self::Seen>) -> String;
}

/// What a call reads or changes. Calls that touch different objects do not affect each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Touched {
    /// Perhaps all objects.
    Everything,
    /// Only these.
    Objects(Vec<String>),
}

/// A call in a history. Positions have no unit: a call comes before another if it returned at a lower position than
/// the other was called at.
pub(crate) struct HistoryCall<'h, M: HistoryModel> {
    /// Who called; 0 for a change that nobody called for.
    pub(crate) caller: u32,
    /// The position of the call.
    pub(crate) called: u64,
    /// The call.
    pub(crate) input: &'h M::Input,
    /// The position of the return, and what was seen. `None` for an open call: it takes effect at any time after it
    /// was called, or never.
    pub(crate) answer: Option<(u64, &'h M::Seen)>,
}

impl<M: HistoryModel> Clone for HistoryCall<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: HistoryModel> Copy for HistoryCall<'_, M> {}

/// Whether a history can be explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryConclusion {
    /// It can.
    Explained,
    /// It cannot. The drawing shows the smallest part of it that cannot be explained.
    Unexplained {
        /// The calls as lanes of text, one for each caller, and what each of them saw.
        drawing: String,
    },
    /// It is not known.
    Unknown {
        /// Why, as a clause.
        why: String,
    },
}

/// Checks a history, each group of objects that no call connects by itself. It is fast if the calls are given in the order
/// in which they took effect.
pub(crate) fn check<M: HistoryModel>(
    model: &M,
    calls: &[HistoryCall<'_, M>],
    deadline: Instant,
) -> HistoryConclusion {
    let mut conclusion = HistoryConclusion::Explained;
    for part in split::split(model, &meaningful(model, calls.iter().copied())) {
        match explain(model, &part, OpenCalls::InPlace, deadline) {
            Explanation::Order(_) => {}
            Explanation::OutOfTime => {
                conclusion =
                    HistoryConclusion::Unknown { why: "the time for the search was over".to_owned() };
            }
            Explanation::Impossible => {
                let smallest = shrink::smallest(model, part, deadline);
                return HistoryConclusion::Unexplained { drawing: draw::draw(model, &smallest) };
            }
        }
    }
    conclusion
}

/// The calls without those that say nothing.
fn meaningful<'h, M: HistoryModel>(
    model: &M,
    calls: impl Iterator<Item = HistoryCall<'h, M>>,
) -> Vec<HistoryCall<'h, M>> {
    calls.filter(|call| call.answer.is_some() || model.can_change(call.input)).collect()
}
