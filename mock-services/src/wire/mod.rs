//! Sockets: how requests come in and how answers go out, in whole, in part, late or not at all. Knows bytes
//! and connections, nothing of what a request means.

mod activity;
mod close;
mod deliver;
mod garble;
mod http;
mod limits;
mod listen;
mod open;
mod smtp;
mod tls;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::engine::Pause;
use crate::fault::{Framing, ReplyKind};
use crate::ledger::{AttemptId, Event, Ledger, SilenceEnd};
use crate::service::Answer;
pub use activity::OpenConnections;
pub use limits::Limits;
pub(crate) use listen::{Endpoint, Protocol, Wire};
pub use tls::certificate_authority;

/// An answer and how it is to be handed over.
#[derive(Debug)]
pub(crate) struct Delivery<'l> {
    pub(crate) answer: Answer,
    pub(crate) manner: DeliveryMode,
    /// Where the reply is written down; refusals have been.
    pub(crate) ticket: Option<PendingReply<'l>>,
}

impl Delivery<'_> {
    /// Nothing is to be sent: the caller has left before its request was taken.
    pub(crate) fn abandoned() -> Self {
        Delivery { answer: Answer::empty(0), manner: DeliveryMode::Drop, ticket: None }
    }

    /// Nothing is sent any more, because the caller has left.
    pub(crate) fn caller_left(self) {
        if let Some(ticket) = &self.ticket {
            ticket.caller_left();
        }
    }
}

/// How the bytes of an answer are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryMode {
    /// As they are.
    Whole,
    /// As they are, after this time.
    Delay(Duration),
    /// Not at all: the line is closed.
    Drop,
    /// Not at all: the line is reset.
    Reset,
    /// Not at all: the line stays open for this time, or until the caller leaves where there is none, and
    /// silent.
    Hang(Option<Duration>),
    /// Up to the middle of the body, then the line is closed.
    Truncate(Framing),
    /// With the right status, and otherwise so that no parser accepts them.
    Garble,
    /// The body in small pieces over this time.
    Drip(Duration),
    /// As they are, with the body filled up to so many bytes.
    Oversize(u64),
}

/// The duty to write one reply into the ledger. One that is given up, because the service is stopped, writes
/// that nothing was sent.
#[derive(Debug)]
pub(crate) struct PendingReply<'l> {
    ledger: &'l Ledger,
    attempt: AttemptId,
    reply: ReplyKind,
    status: u16,
    replay: bool,
    retry_after: Option<u64>,
    /// Whose doing it is when the service ends the silence of a `hang`; `None` for any other reply.
    silence: Option<SilenceEnd>,
    /// Where a listener wants to hear of the last byte.
    pause: Option<Pause<'l>>,
    is_done: AtomicBool,
}

impl Drop for PendingReply<'_> {
    fn drop(&mut self) {
        if !*self.is_done.get_mut() {
            self.record_reply(0, false);
        }
    }
}

impl<'l> PendingReply<'l> {
    pub(crate) fn new(
        ledger: &'l Ledger,
        attempt: AttemptId,
        reply: ReplyKind,
        answer: &Answer,
        replay: bool,
        pause: Option<Pause<'l>>,
    ) -> Self {
        let status = answer.status;
        let asks_to_wait = matches!(status, 429 | 503);
        let retry_after = asks_to_wait.then(|| answer.header("Retry-After")?.trim().parse().ok()).flatten();
        PendingReply {
            ledger,
            attempt,
            reply,
            status,
            replay,
            retry_after,
            silence: None,
            pause,
            is_done: AtomicBool::new(false),
        }
    }

    /// The same for a reply that never comes; `end` says whose doing it is when the service ends the silence.
    pub(crate) fn silent(self, end: SilenceEnd) -> Self {
        let mut ticket = self;
        ticket.silence = Some(end);
        ticket
    }

    /// Writes down that the caller left before anything was sent.
    pub(crate) fn caller_left(&self) {
        self.record(0, false, self.silence.map(|_| SilenceEnd::Caller));
    }

    /// Writes down what is about to be sent, in all.
    fn record_reply(&self, bytes: usize, whole: bool) {
        self.record(bytes, whole, self.silence);
    }

    fn record(&self, bytes: usize, whole: bool, silence: Option<SilenceEnd>) {
        self.is_done.store(true, Ordering::Relaxed);
        self.note(&Event::Replied {
            attempt: self.attempt.number,
            reply: self.reply,
            status: (bytes > 0).then_some(self.status),
            bytes: bytes as u64,
            whole,
            replay: self.replay,
            retry_after: self.retry_after.filter(|_| whole),
            silence,
        });
    }

    /// Writes down that the network took no more than this.
    fn record_unsent(&self, bytes: usize) {
        self.note(&Event::Unsent { attempt: self.attempt.number, bytes: bytes as u64 });
    }

    /// A ledger that was begun anew knows nothing of this attempt, and numbers others like it.
    fn note(&self, event: &Event<'_>) {
        self.ledger.append_about(self.attempt, event);
    }
}
