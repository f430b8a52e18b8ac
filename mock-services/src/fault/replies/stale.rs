//! `stale`: the true answer to a read, from an older state.

use std::time::Duration;

use yaml_reader::shape::{MapShape, Shape, required};
use yaml_reader::{Node, NodeKind, Reader, listed, write_duration};

use super::Reply;
use crate::fault::reply::{PlainWord, ReplyBehavior, ReplyCheck, ReplyContent, ReplyFacts, ReplyValue};
use crate::fault::write::{map, number, text};
use crate::service::OperationKind;

/// How far a stale read lags behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lag {
    /// A change is seen once this many reads have missed it.
    Reads(u32),
    /// A change is seen once it is this old.
    Time(Duration),
}

pub(super) const FACTS: ReplyFacts = ReplyFacts {
    plain: PlainWord::NeedsValue("{stale: {reads: 1}} or {stale: 2s}"),
    value: Some(ReplyValue { read, shape: SHAPE, is_whole_map: false }),
    content: ReplyContent::Outdated,
    words: |_| None,
    title: "an old state",
    help: &["{stale: {reads: 1}}"],
    docs: &[(
        "{stale: {reads: 1}}",
        "reads only: a change becomes visible after this many reads have missed it; `{stale: 2s}`: after \
         this time. A deleted object is still shown until then",
    )],
    samples: &["{stale: {reads: 1}}", "{stale: 5ms}"],
};

static READS: MapShape<1> = MapShape::new([required("reads", Shape::POSITIVE)]);
const SHAPE: Shape = Shape::OneOf(&[Shape::DURATION, READS.shape()]);

fn read(reader: &Reader, node: &Node) -> Option<Reply> {
    let lag = match &node.kind {
        NodeKind::Map(_) => {
            let [reads] = reader.fields(node, "`stale`", &READS)?;
            Lag::Reads(reader.integer(reads?, 0..=u32::MAX)?)
        }
        NodeKind::Integer(number) => {
            let message = "`stale` needs to know what is counted: reads or seconds";
            let help = format!("write {{stale: {{reads: {number}}}}} or {{stale: {number}s}}");
            reader.report_with_help(node.span, message, help);
            return None;
        }
        _ => Lag::Time(reader.duration(node)?),
    };
    Some(Reply::Stale(lag))
}

impl ReplyBehavior for Lag {
    fn value(&self) -> Option<Node> {
        Some(match self {
            Lag::Reads(reads) => map([("reads", number(*reads))]),
            Lag::Time(time) => text(write_duration(*time)),
        })
    }

    fn check(&self, check: &mut ReplyCheck<'_>) {
        if let Some(operation) = check.operation.filter(|operation| operation.kind != OperationKind::Read) {
            let reads = check.operations.iter().filter(|other| other.kind == OperationKind::Read);
            let reads = listed(reads.map(|operation| operation.name.as_ref()));
            let name = &operation.name;
            check.object(
                format!(
                    "{name} is a write, and only a read can be `stale`: a write is always decided on the \
                     present state"
                ),
                format!("put the fault on a read: {reads}"),
            );
        }
        if *self == Lag::Reads(0) {
            let message = "a read that misses changes for 0 reads is not stale";
            check.object(message, "write 1 or more, or `reply: ok`");
        }
    }

    fn lag(&self) -> Option<Lag> {
        Some(*self)
    }
}

#[cfg(test)]
pub(super) fn strategy() -> proptest::strategy::BoxedStrategy<Reply> {
    use super::any_time;
    use proptest::prelude::*;
    prop_oneof![any_time().prop_map(Lag::Time), any::<u32>().prop_map(Lag::Reads)]
        .prop_map(Reply::Stale)
        .boxed()
}
