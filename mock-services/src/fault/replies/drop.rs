//! `drop`: the connection is closed, and no byte is sent.

use super::Reply;
use crate::fault::reply::{
    AnswerBytes, PlainWord, ReplyBehavior, ReplyContent, ReplyFacts, ReplyWords, Step,
};

/// The connection is closed, and no byte is sent.
pub(super) struct Drop;

pub(super) const FACTS: ReplyFacts = ReplyFacts {
    plain: PlainWord::Means(|| Reply::Drop),
    value: None,
    content: ReplyContent::Nothing,
    words: |_| {
        Some(ReplyWords {
            timeline: "no reply: the connection was closed".to_owned(),
            finding: "the connection was dropped".to_owned(),
            service: "closes the connection",
        })
    },
    title: "the connection is closed without a reply",
    help: &[],
    docs: &[("drop", "the connection is closed (FIN) before any byte is sent")],
    samples: &["drop"],
};

impl ReplyBehavior for Drop {
    fn steps(&self, _answer: &AnswerBytes<'_>) -> Vec<Step> {
        vec![Step::Close]
    }
}
