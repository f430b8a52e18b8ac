//! `drip`: the true answer, its body spread over a time.

use std::time::Duration;

use yaml_reader::shape::Shape;
use yaml_reader::{Node, Reader, write_duration};

use super::Reply;
use crate::fault::reply::{
    AnswerBytes, PlainWord, ReplyBehavior, ReplyContent, ReplyFacts, ReplyValue, Step,
};
use crate::fault::write::text;

/// The true answer, its body spread over this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drip(pub Duration);

/// The time if the fault does not say it.
const DEFAULT_TIME: Duration = Duration::from_secs(1);
/// The number of pieces of a body.
const PIECES: u32 = 20;

pub(super) const FACTS: ReplyFacts = ReplyFacts {
    plain: PlainWord::Means(|| Reply::Drip(Drip(DEFAULT_TIME))),
    value: Some(ReplyValue { read, shape: Shape::DURATION, is_whole_map: false }),
    content: ReplyContent::Complete,
    words: |_| None,
    title: "the reply comes byte by byte",
    help: &[],
    docs: &[("drip", "the real reply, its body spread over 1 s (`{drip: 3s}`)")],
    samples: &["{drip: 5ms}"],
};

fn read(reader: &Reader, node: &Node) -> Option<Reply> {
    reader.duration(node).map(|time| Reply::Drip(Drip(time)))
}

impl ReplyBehavior for Drip {
    fn value(&self) -> Option<Node> {
        Some(text(write_duration(self.0)))
    }

    fn takes(&self) -> Option<Duration> {
        Some(self.0)
    }

    /// The head at once, and a pause before each piece of the body; the last one is the rest.
    fn steps(&self, answer: &AnswerBytes<'_>) -> Vec<Step> {
        let body = answer.body().len();
        let ends = (answer.body_at..answer.bytes.len()).step_by(body.div_ceil(PIECES as usize).max(1));
        ends.flat_map(|end| [Step::SendTo(end), Step::Wait(self.0 / PIECES)]).collect()
    }
}

#[cfg(test)]
pub(super) fn strategy() -> proptest::strategy::BoxedStrategy<Reply> {
    use super::any_time;
    use proptest::prelude::*;
    any_time().prop_map(|time| Reply::Drip(Drip(time))).boxed()
}
