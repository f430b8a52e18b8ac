//! `delay`: the true answer, late; all of it, or only its body.

use std::time::Duration;

use yaml_reader::shape::{MapShape, Shape, required};
use yaml_reader::{Node, NodeKind, Reader, write_duration};

use super::Reply;
use crate::fault::reply::{
    AnswerBytes, PlainWord, ReplyBehavior, ReplyContent, ReplyFacts, ReplyValue, Step,
};
use crate::fault::write::{map, text};

/// The true answer, late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// All of it, after this time.
    Answer(Duration),
    /// The status and the headers at once, and the body after this time.
    Body(Duration),
}

/// The value of `after` in a delay of the body.
const HEADERS: &str = "headers";

pub(super) const FACTS: ReplyFacts = ReplyFacts {
    plain: PlainWord::NeedsValue("{delay: 800ms}"),
    value: Some(ReplyValue { read, shape: SHAPE, is_whole_map: false }),
    content: ReplyContent::Complete,
    words: |_| None,
    title: "the reply comes late",
    help: &["{delay: 800ms}"],
    docs: &[(
        "{delay: 800ms}",
        "the real reply, delayed; `{delay: {time: 2s, after: headers}}` sends the status and the headers at \
         once and delays the body",
    )],
    samples: &["{delay: 5ms}", "{delay: {time: 5ms, after: headers}}"],
};

static BODY: MapShape<2> =
    MapShape::new([required("time", Shape::DURATION), required("after", Shape::Words(|| vec![HEADERS]))]);
const SHAPE: Shape = Shape::OneOf(&[Shape::DURATION, BODY.shape()]);

fn read(reader: &Reader, node: &Node) -> Option<Reply> {
    if !matches!(node.kind, NodeKind::Map(_)) {
        return Some(Delay::Answer(reader.duration(node)?).into());
    }
    let [time, after] = reader.fields(node, "`delay`", &BODY)?;
    reader.one_of(after?, &[(HEADERS, ())])?;
    Some(Delay::Body(reader.duration(time?)?).into())
}

impl ReplyBehavior for Delay {
    fn value(&self) -> Option<Node> {
        Some(match self {
            Delay::Answer(time) => text(write_duration(*time)),
            Delay::Body(time) => map([("time", text(write_duration(*time))), ("after", text(HEADERS))]),
        })
    }

    fn takes(&self) -> Option<Duration> {
        let (Delay::Answer(time) | Delay::Body(time)) = self;
        Some(*time)
    }

    fn steps(&self, answer: &AnswerBytes<'_>) -> Vec<Step> {
        match self {
            Delay::Answer(time) => vec![Step::Wait(*time)],
            Delay::Body(_) if answer.body().is_empty() => Vec::new(),
            Delay::Body(time) => vec![Step::SendTo(answer.body_at), Step::Wait(*time)],
        }
    }
}

#[cfg(test)]
pub(super) fn strategy() -> proptest::strategy::BoxedStrategy<Reply> {
    use super::any_time;
    use proptest::prelude::*;
    prop_oneof![any_time().prop_map(Delay::Answer), any_time().prop_map(Delay::Body)]
        .prop_map(Reply::Delay)
        .boxed()
}
