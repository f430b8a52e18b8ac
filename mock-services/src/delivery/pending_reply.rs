//! The record of a reply in the ledger, which is written before the last byte of the reply leaves.

use std::sync::atomic::{AtomicBool, Ordering};

use super::moments::LastByteHold;
use crate::fault::{Reply, ReplyKind};
use crate::ledger::{AttemptId, Event, Ledger, SilenceEnd};
use crate::service::Answer;

/// A reply that is not in the ledger yet. When it is dropped before it was recorded, because the service is
/// stopped, it records that nothing was sent.
#[derive(Debug)]
pub(crate) struct PendingReply<'l> {
    ledger: &'l Ledger,
    attempt: AttemptId,
    reply: ReplyKind,
    status: u16,
    replay: bool,
    retry_after: Option<u64>,
    /// Who ended the silence if it was not the caller; `None` for a reply that is not silent.
    silence: Option<SilenceEnd>,
    /// The answer as text, where the ledger keeps it.
    message: Option<String>,
    /// Set where a listener waits for the last byte.
    pub(crate) last_byte: Option<LastByteHold<'l>>,
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
        reply: &Reply,
        answer: &Answer,
        replay: bool,
        last_byte: Option<LastByteHold<'l>>,
    ) -> Self {
        let status = answer.status;
        let asks_to_wait = matches!(status, 429 | 503 | 529);
        let retry_after = asks_to_wait.then(|| answer.header("Retry-After")?.trim().parse().ok()).flatten();
        PendingReply {
            ledger,
            attempt,
            reply: reply.kind(),
            status,
            replay,
            retry_after,
            silence: reply.behavior().silence(),
            message: None,
            last_byte,
            is_done: AtomicBool::new(false),
        }
    }

    /// The same with the answer as text.
    pub(crate) fn with_message(self, message: Option<String>) -> Self {
        let mut pending = self;
        pending.message = message;
        pending
    }

    /// Records that the caller left when this many bytes had been sent.
    pub(crate) fn record_caller_left(&self, bytes: usize) {
        self.record(bytes, false, self.silence.map(|_| SilenceEnd::Caller));
    }

    /// Records how many bytes are sent in all, and whether that is the whole answer.
    pub(crate) fn record_reply(&self, bytes: usize, whole: bool) {
        self.record(bytes, whole, self.silence);
    }

    fn record(&self, bytes: usize, whole: bool, silence: Option<SilenceEnd>) {
        self.is_done.store(true, Ordering::Relaxed);
        self.append(Event::Replied {
            attempt: self.attempt.number,
            reply: self.reply,
            status: (bytes > 0).then_some(self.status),
            bytes: bytes as u64,
            whole,
            replay: self.replay,
            retry_after: self.retry_after.filter(|_| whole),
            silence,
            message: self.message.clone(),
        });
    }

    /// Records that the network took no more bytes than this.
    pub(crate) fn record_unsent(&self, bytes: usize) {
        self.append(Event::Unsent { attempt: self.attempt.number, bytes: bytes as u64 });
    }

    /// A restarted ledger has nothing about this attempt, and gives its number to another one.
    fn append(&self, event: Event) {
        self.ledger.append_about(self.attempt, event);
    }
}
