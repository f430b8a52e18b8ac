//! What every reply has: the facts about its kind, and what one of its values does. Each reply is a module of
//! `replies/`, which has all of it; nothing here names one.

use std::time::Duration;

use yaml_reader::shape::Shape;
use yaml_reader::{Node, Reader, write_duration};

use super::replies::{Lag, Reply, ReplyKind, SilenceEnd, StatusReply};
use super::{Fault, FaultPart, Objection};
use crate::service::{CutPlace, Operation};

/// The longest time that a reply can take.
const LONGEST_TIME: Duration = Duration::from_secs(600);

/// What is known of a kind of reply.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReplyFacts {
    /// What its word by itself means.
    pub plain: PlainWord,
    /// Its value in YAML, if it can have one.
    pub value: Option<ReplyValue>,
    /// How much of the answer reaches a caller that reads all of it.
    pub content: ReplyContent,
    /// What the caller saw, in words; `None` if the status and whether the answer is complete say it.
    pub words: fn(SentReply) -> Option<ReplyWords>,
    /// A few words about it, for the page.
    pub title: &'static str,
    /// How it is written with a value, for the help.
    pub help: &'static [&'static str],
    /// Its rows in docs/faults.md: how it is written, and what is on the wire.
    pub docs: &'static [(&'static str, &'static str)],
    /// Each of its forms, for tests. Those that wait do so for a few milliseconds.
    pub samples: &'static [&'static str],
}

/// What the word of a reply means if it has no value.
#[derive(Debug)]
pub enum PlainWord {
    /// This reply.
    Means(fn() -> Reply),
    /// Nothing: it needs a value, as in this example.
    NeedsValue(&'static str),
}

/// The value of a reply in YAML.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReplyValue {
    pub(super) read: fn(&Reader, &Node) -> Option<Reply>,
    /// What it looks like.
    pub shape: Shape,
    /// Whether it is the whole map, and not the value of the key: `{status: 503, retry_after: 2}`.
    pub is_whole_map: bool,
}

/// How much of an answer reaches a caller that reads all of it, and whether it can use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyContent {
    /// No byte.
    Nothing,
    /// A part.
    Part,
    /// All of it.
    Complete,
    /// All of it, from an older state; only a read can be answered so.
    Outdated,
    /// All of it, about another object; only a read can be answered so.
    Mistaken,
    /// All of it, with a body that does not parse.
    Unparsable,
    /// All of it, which may be more than the caller accepts.
    TooLarge,
    /// All of it, and it is about the way to the service: it says nothing about the request.
    Elsewhere,
}

impl ReplyContent {
    /// Whether only a read can be answered so.
    #[must_use]
    pub const fn is_for_reads(self) -> bool {
        matches!(self, ReplyContent::Outdated | ReplyContent::Mistaken)
    }
}

/// What was sent of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentReply {
    /// The status, if one was sent.
    pub status: Option<u16>,
    /// Whether the whole answer was sent.
    pub whole: bool,
}

impl SentReply {
    /// The status as text, empty if none was sent.
    pub(super) fn status_text(self) -> String {
        self.status.map_or_else(String::new, |status| status.to_string())
    }
}

/// What a caller saw of a reply, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyWords {
    /// For a timeline: `no reply: the connection was closed`.
    pub timeline: String,
    /// As a clause of a finding: `the connection was dropped`.
    pub finding: String,
    /// What the service does, after its name: `closes the connection`.
    pub service: &'static str,
}

impl ReplyKind {
    /// Whether a client can parse the body of this reply, if all of it arrives.
    #[must_use]
    pub fn can_be_parsed(self) -> bool {
        self.facts().content != ReplyContent::Unparsable
    }

    /// Whether the caller can certainly use a reply of which this was sent.
    #[must_use]
    pub fn is_usable(self, sent: SentReply) -> bool {
        sent.whole
            && !matches!(
                self.facts().content,
                ReplyContent::Unparsable | ReplyContent::TooLarge | ReplyContent::Elsewhere
            )
    }
}

/// What one reply does. The defaults are those of the true answer.
pub(crate) trait ReplyBehavior {
    /// Its value in YAML; `None` if it is written as its word alone.
    fn value(&self) -> Option<Node> {
        None
    }

    /// Objects to values and operations that it cannot have.
    fn check(&self, _check: &mut ReplyCheck<'_>) {}

    /// How long it takes at most, if the fault says that.
    fn takes(&self) -> Option<Duration> {
        None
    }

    /// Who has ended the silence of the service if it was not the caller; `None` if the reply is not silent.
    fn silence(&self) -> Option<SilenceEnd> {
        None
    }

    /// The status that it has in place of the true one.
    fn status(&self) -> Option<&StatusReply> {
        None
    }

    /// How far behind the state is that it is decided on.
    fn lag(&self) -> Option<Lag> {
        None
    }

    /// The place at which the answer is cut, if the service has to find it.
    fn cut_place(&self) -> Option<CutPlace> {
        None
    }

    /// Whether it can be a reply with this body; otherwise the fault waits for another attempt.
    fn can_change(&self, _body: &[u8]) -> bool {
        true
    }

    /// Changes the body before it is encoded; over SMTP, the line without its end.
    fn change_body(&self, _body: &mut Vec<u8>) {}

    /// The size to which the body is padded.
    fn padded_to(&self) -> Option<u64> {
        None
    }

    /// Whether the body has chunked encoding, whatever the service uses.
    fn is_chunked(&self) -> bool {
        false
    }

    /// What is done before the rest of the answer is sent. A step that ends the connection is the last one.
    fn steps(&self, _answer: &AnswerBytes<'_>) -> Vec<Step> {
        Vec::new()
    }
}

/// An answer as the bytes that are sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerBytes<'a> {
    pub(crate) bytes: &'a [u8],
    /// Where the body begins.
    pub(crate) body_at: usize,
    /// Where it ends if it is truncated.
    pub(crate) cut: usize,
}

impl<'a> AnswerBytes<'a> {
    pub(super) fn body(&self) -> &'a [u8] {
        self.bytes.get(self.body_at..).unwrap_or_default()
    }
}

/// One step of sending an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing is sent for this time.
    Wait(Duration),
    /// Nothing is sent until the caller leaves, or for the longest time that the services allow.
    AwaitCaller,
    /// The bytes up to this place are sent.
    SendTo(usize),
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
}

/// A fault whose reply is checked.
pub(crate) struct ReplyCheck<'a> {
    pub(super) fault: &'a Fault,
    /// The operation of the fault, if there is one of that name.
    pub(super) operation: Option<&'a Operation>,
    /// All operations.
    pub(super) operations: &'a [Operation],
    pub(super) found: &'a mut Vec<Objection>,
}

impl ReplyCheck<'_> {
    pub(super) fn object(&mut self, message: impl Into<String>, help: impl Into<String>) {
        self.found.push(Objection { part: FaultPart::Reply, message: message.into(), help: help.into() });
    }

    /// Checks the reply of the fault.
    pub(super) fn run(mut self) {
        let reply = &self.fault.reply;
        if let Some(time) = reply.takes()
            && time > LONGEST_TIME
        {
            let (kind, time, most) = (reply.kind(), write_duration(time), write_duration(LONGEST_TIME));
            let help = "no caller waits so long; for a reply that never comes write `drop` or `hang`";
            self.object(format!("a {kind} of {time} is too long: at most {most}"), help);
        }
        reply.behavior().check(&mut self);
    }
}
