//! `reset`: the connection is reset, and no byte is sent.

use super::Reply;
use crate::fault::reply::{
    AnswerBytes, PlainWord, ReplyBehavior, ReplyContent, ReplyFacts, ReplyWords, Step,
};

/// The connection is reset, and no byte is sent.
pub(super) struct Reset;

pub(super) const FACTS: ReplyFacts = ReplyFacts {
    plain: PlainWord::Means(|| Reply::Reset),
    value: None,
    content: ReplyContent::Nothing,
    words: |_| {
        Some(ReplyWords {
            timeline: "no reply: the connection was reset".to_owned(),
            finding: "the connection was reset".to_owned(),
            service: "resets the connection",
        })
    },
    title: "the connection is reset",
    help: &[],
    docs: &[("reset", "the connection is reset (RST) before any byte is sent")],
    samples: &["reset"],
};

impl ReplyBehavior for Reset {
    fn steps(&self, _answer: &AnswerBytes<'_>) -> Vec<Step> {
        vec![Step::Reset]
    }
}
