//! `oversize`: the true answer, its body padded to a size that clients and platforms may not accept.

use yaml_reader::shape::Shape;
use yaml_reader::{Node, Reader, read_size, write_size};

use super::Reply;
use crate::fault::reply::{
    PlainWord, ReplyBehavior, ReplyCheck, ReplyContent, ReplyFacts, ReplyValue, ReplyWords, SentReply,
};
use crate::fault::write::text;

/// The true answer, its body padded to this many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oversize(pub u64);

/// The sizes that an answer can be padded to.
const SMALLEST: u64 = 1_000;
const LARGEST: u64 = 256_000_000;

pub(super) const FACTS: ReplyFacts = ReplyFacts {
    plain: PlainWord::NeedsValue("{oversize: 6MB}"),
    value: Some(ReplyValue { read, shape: Shape::Pattern("^[0-9]+(B|KB|MB|KiB|MiB)$"), is_whole_map: false }),
    content: ReplyContent::TooLarge,
    words: |sent| Some(words(sent)),
    title: "a reply that is too large",
    help: &["{oversize: 6MB}"],
    docs: &[(
        "{oversize: 6MB}",
        "the real reply, its body padded with spaces to that size, 1KB to 256MB, sent as a stream (`KB`, \
         `MB`, `KiB` or `MiB`). A client that closes the connection before the end has received a part of \
         it. Whether a client that reads all of it accepts it shows only in its next requests, so both \
         `done` and `unknown` are true afterwards",
    )],
    samples: &["{oversize: 20KB}"],
};

fn words(sent: SentReply) -> ReplyWords {
    let until = if sent.whole { "" } else { ", until the caller closed the connection" };
    let finding = match sent {
        SentReply { status: Some(status), whole: true } => {
            format!("the reply was {status} with a body that is too large")
        }
        _ => "the reply was too large, and the caller closed the connection".to_owned(),
    };
    ReplyWords {
        timeline: format!("answered {}, too large{until}", sent.status_text()),
        finding,
        service: "sends a reply that is too large",
    }
}

fn read(reader: &Reader, node: &Node) -> Option<Reply> {
    let size = node.as_text().and_then(read_size);
    if size.is_none() {
        let help = "write it as a whole number with the unit KB, MB, KiB or MiB: {oversize: 6MB}";
        reader.report_with_help(node.span, format!("expected a size, found {}", node.describe()), help);
    }
    size.map(|size| Reply::Oversize(Oversize(size)))
}

impl ReplyBehavior for Oversize {
    fn value(&self) -> Option<Node> {
        Some(text(write_size(self.0)))
    }

    fn check(&self, check: &mut ReplyCheck<'_>) {
        if !(SMALLEST..=LARGEST).contains(&self.0) {
            let [size, least, most] = [self.0, SMALLEST, LARGEST].map(write_size);
            check.object(
                format!("a reply of {size} cannot be sent: it can have {least} to {most}"),
                "6MB is more than many clients and platforms take",
            );
        }
    }

    fn padded_to(&self) -> Option<u64> {
        Some(self.0)
    }
}

#[cfg(test)]
pub(super) fn strategy() -> proptest::strategy::BoxedStrategy<Reply> {
    use proptest::prelude::*;
    any::<u64>().prop_map(|size| Reply::Oversize(Oversize(size))).boxed()
}
