//! What the engine and the wire share: an answer and how it is sent, whether the client is still connected,
//! and the moments at which a service can be paused.

mod client_gone;
mod gate;
mod last_byte;
mod moments;
mod pending_reply;

use std::time::Duration;

use crate::service::Answer;
pub(crate) use client_gone::ClientGone;
pub(crate) use gate::Gate;
pub(crate) use last_byte::LastByteHold;
pub(crate) use moments::Moments;
pub use moments::{Held, Listener, Moment, MomentKind};
pub(crate) use pending_reply::PendingReply;

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) caller: u32,
    pub(crate) connection: u64,
}

/// An answer and how it is sent.
#[derive(Debug)]
pub(crate) struct AnswerDelivery<'l> {
    pub(crate) answer: Answer,
    pub(crate) mode: DeliveryMode,
    /// The record of the reply; refusals have been recorded.
    pub(crate) pending: Option<PendingReply<'l>>,
}

impl AnswerDelivery<'_> {
    /// Nothing is sent: the caller left before its request was taken.
    pub(crate) fn abandoned() -> Self {
        AnswerDelivery { answer: Answer::empty(0), mode: DeliveryMode::Drop, pending: None }
    }

    /// Records that nothing is sent, because the caller has left.
    pub(crate) fn record_caller_left(self) {
        if let Some(pending) = &self.pending {
            pending.record_caller_left();
        }
    }
}

/// How the bytes of an answer are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryMode {
    /// As they are.
    Whole,
    /// As they are, after this time.
    Delay(Duration),
    /// The head as it is, the body after this time.
    DelayBody(Duration),
    /// Not at all: the connection is closed.
    Drop,
    /// Not at all: the connection is reset.
    Reset,
    /// Not at all: the connection stays open for this time; `None`: until the caller leaves.
    Hang(Option<Duration>),
    /// Up to the middle of the body, then the connection is closed.
    Truncate,
    /// The same with chunked encoding.
    TruncateChunked,
    /// Up to this byte of the body, then the connection is closed.
    Cut(usize),
    /// With the right status, and a body that no parser accepts.
    Garble,
    /// The body in small pieces over this time.
    Drip(Duration),
    /// As they are, with the body padded to this many bytes.
    Oversize(u64),
}
