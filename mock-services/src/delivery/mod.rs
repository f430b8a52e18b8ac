//! What the engine and the wire share: an answer and how it is sent, whether the client is still connected,
//! and the moments at which a service can be paused.

mod client_gone;
mod moments;
mod pending_reply;

use std::time::Duration;

use crate::fault::Reply;
use crate::service::Answer;
pub(crate) use client_gone::ClientGone;
pub(crate) use moments::{Gate, LastByteHold, Moments, QueuedFollowers};
pub use moments::{Held, Listener, Moment, MomentKind, QueuedEnd};
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
    pub(crate) how: Delivery,
    /// The record of the reply; refusals have been recorded.
    pub(crate) pending: Option<PendingReply<'l>>,
}

impl AnswerDelivery<'_> {
    /// What is not sent, because the caller left before its request was taken.
    pub(crate) fn abandoned() -> Self {
        AnswerDelivery { answer: Answer::empty(0), how: Delivery::default(), pending: None }
    }

    /// Records that nothing is sent, because the caller has left.
    pub(crate) fn record_caller_left(self) {
        if let Some(pending) = &self.pending {
            pending.record_caller_left(0);
        }
    }
}

/// How the bytes of an answer are sent. The default is as they are.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    pub(crate) reply: Reply,
    /// The byte of the body at which a truncated answer ends; `None`: its middle.
    pub(crate) cut: Option<usize>,
    /// The longest silence before a caller that does not leave.
    pub(crate) longest_silence: Option<Duration>,
}
