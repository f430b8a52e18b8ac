//! `ok`: the true answer.

use super::Reply;
use crate::fault::reply::{PlainWord, ReplyBehavior, ReplyContent, ReplyFacts};

/// The true answer.
pub(super) struct Ok;

#[expect(clippy::derivable_impls, reason = "the list of replies has no place for the attribute of a variant")]
impl Default for Reply {
    fn default() -> Self {
        Reply::Ok
    }
}

pub(super) const FACTS: ReplyFacts = ReplyFacts {
    plain: PlainWord::Means(|| Reply::Ok),
    value: None,
    content: ReplyContent::Complete,
    words: |_| None,
    title: "a complete reply that says success",
    help: &[],
    docs: &[("ok", "the real reply")],
    samples: &["ok"],
};

impl ReplyBehavior for Ok {}
