//! `hang`: no byte until the caller leaves or a time is over; then the connection is closed.

use std::time::Duration;

use yaml_reader::shape::{MapShape, Shape, required};
use yaml_reader::{Node, NodeKind, Reader, write_duration};

use super::Reply;
use crate::fault::reply::{
    AnswerBytes, PlainWord, ReplyBehavior, ReplyContent, ReplyFacts, ReplyValue, ReplyWords, Step,
};
use crate::fault::write::{map, text};
use crate::word_enum;

/// No byte until the caller leaves or the time is over; then the connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hang {
    /// How long the connection stays open; `None`: until the caller leaves.
    pub release: Option<Duration>,
}

word_enum! {
    /// Who ended the silence of a `hang`.
    pub enum SilenceEnd {
        /// The caller closed the connection: its timeout was reached, or it ended.
        Caller => "caller",
        /// The service closed the connection after the time that the fault gives (`release`), and the caller
        /// was still waiting.
        Released => "released",
        /// The service stopped waiting: the silence was to last until the caller's timeout, but the trial's
        /// limit was reached first.
        Limit => "limit",
    }
}

/// How long the connection stays open if the fault does not say it.
const DEFAULT_RELEASE: Duration = Duration::from_secs(3);
/// The value that keeps the connection open until the client closes it.
const UNTIL_TIMEOUT: &str = "until-timeout";

impl Reply {
    /// No byte for three seconds, then the connection is closed.
    #[must_use]
    pub const fn hang() -> Self {
        Reply::hang_for(DEFAULT_RELEASE)
    }

    /// No byte for this time, then the connection is closed.
    #[must_use]
    pub const fn hang_for(time: Duration) -> Self {
        Reply::Hang(Hang { release: Some(time) })
    }

    /// No byte until the caller closes the connection.
    #[must_use]
    pub const fn hang_until_timeout() -> Self {
        Reply::Hang(Hang { release: None })
    }
}

pub(super) const FACTS: ReplyFacts = ReplyFacts {
    plain: PlainWord::Means(Reply::hang),
    value: Some(ReplyValue { read, shape: SHAPE, is_whole_map: false }),
    content: ReplyContent::Nothing,
    words: |_| {
        Some(ReplyWords {
            timeline: "no reply: the connection stayed silent".to_owned(),
            finding: "no reply came".to_owned(),
            service: "does not reply",
        })
    },
    title: "no reply until the timeout of the client",
    help: &["{hang: until-timeout}"],
    docs: &[
        (
            "hang",
            "no reply: the connection stays open until the caller closes it, or until hapax closes it after \
             3 s (`{hang: {release: 10s}}`)",
        ),
        (
            "{hang: until-timeout}",
            "the same, until the timeout of the client closes the connection. If that does not happen in \
             time, the trial is void",
        ),
    ],
    samples: &["{hang: {release: 5ms}}", "{hang: until-timeout}"],
};

static RELEASE: MapShape<1> = MapShape::new([required("release", Shape::DURATION)]);
const SHAPE: Shape = Shape::OneOf(&[Shape::Words(|| vec![UNTIL_TIMEOUT]), RELEASE.shape()]);

fn read(reader: &Reader, node: &Node) -> Option<Reply> {
    if node.as_text() == Some(UNTIL_TIMEOUT) {
        return Some(Reply::hang_until_timeout());
    }
    if !matches!(node.kind, NodeKind::Map(_)) {
        let message = format!("expected {{release: …}} or `{UNTIL_TIMEOUT}`, found {}", node.describe());
        let help = "write {hang: {release: 5s}} to close the connection after that time, or {hang: \
                    until-timeout} to wait until the client's own timeout closes it";
        reader.report_with_help(node.span, message, help);
        return None;
    }
    let [release] = reader.fields(node, "`hang`", &RELEASE)?;
    reader.duration(release?).map(Reply::hang_for)
}

impl ReplyBehavior for Hang {
    fn value(&self) -> Option<Node> {
        Some(match self.release {
            None => text(UNTIL_TIMEOUT),
            Some(release) => map([("release", text(write_duration(release)))]),
        })
    }

    fn takes(&self) -> Option<Duration> {
        self.release
    }

    fn silence(&self) -> Option<SilenceEnd> {
        Some(if self.release.is_some() { SilenceEnd::Released } else { SilenceEnd::Limit })
    }

    fn steps(&self, _answer: &AnswerBytes<'_>) -> Vec<Step> {
        vec![self.release.map_or(Step::AwaitCaller, Step::Wait), Step::Close]
    }
}

#[cfg(test)]
pub(super) fn strategy() -> proptest::strategy::BoxedStrategy<Reply> {
    use super::any_time;
    use proptest::prelude::*;
    proptest::option::of(any_time()).prop_map(|release| Reply::Hang(Hang { release })).boxed()
}
