//! Sends the bytes of an answer as its reply says. All replies send the same bytes, so that they reveal
//! nothing but the reply.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use super::close::{ConnectionEnd, WireStream, is_closed, left};
use crate::delivery::{Delivery, LastByteHold, PendingReply};
use crate::fault::{AnswerBytes, Step};

/// The maximum time for one write to a caller that does not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// An answer as bytes.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    /// Where the body begins.
    pub(super) body_at: usize,
    /// How much of it is sent when it is truncated.
    pub(super) cut: usize,
    /// The padding of an oversized answer.
    pub(super) filler: Filler,
}

/// The padding of an answer. Only one piece of it is in memory.
#[derive(Debug, Default)]
pub(super) struct Filler {
    /// The piece that is sent repeatedly.
    pub(super) piece: Vec<u8>,
    /// The total number of bytes.
    pub(super) total: u64,
    /// Whether it comes before the answer, and not after it.
    pub(super) first: bool,
}

/// Sends the answer as its reply says, step by step, and returns how the connection ends if it does. The
/// reply is recorded before its last byte is sent, and the connection is ended by its owner: everything the
/// caller does next comes after both in the ledger.
pub(super) async fn deliver<L: WireStream>(
    stream: &mut L,
    unread: &mut Vec<u8>,
    encoded: &Encoded,
    how: &Delivery,
    pending: Option<&PendingReply<'_>>,
) -> Option<ConnectionEnd> {
    let Encoded { bytes, body_at, cut, .. } = encoded;
    let steps = how.reply.behavior().steps(&AnswerBytes { bytes, body_at: *body_at, cut: *cut });
    let is_cut = matches!(steps.last(), Some(Step::Close | Step::Reset));
    let last_bytes = steps.iter().rposition(|step| matches!(step, Step::SendTo(_))).filter(|_| is_cut);
    // Once the last bytes are sent, the reply is recorded.
    let (mut sent, mut pending) = (0, pending);
    for (index, step) in steps.iter().enumerate() {
        match *step {
            Step::Wait(_) | Step::AwaitCaller => {
                let time = if let Step::Wait(time) = *step { Some(time) } else { how.longest_silence };
                if !wait(stream, unread, time).await {
                    pending.inspect(|pending| pending.record_caller_left(sent));
                    return Some(ConnectionEnd::Left);
                }
            }
            Step::SendTo(end) if last_bytes == Some(index) => {
                let left = write_last(stream, &bytes[sent..end], sent, false, pending.take()).await;
                if left.is_some() {
                    return left;
                }
            }
            Step::SendTo(end) => {
                let left = write(stream, &bytes[sent..end], &mut sent).await;
                if left.is_some() {
                    return record_unsent_rest(left, sent, pending);
                }
            }
            Step::Close => return record_unsent_rest(Some(ConnectionEnd::Cut), sent, pending),
            Step::Reset => return record_unsent_rest(Some(ConnectionEnd::Reset), sent, pending),
        }
    }
    write_rest(stream, encoded, sent, pending).await
}

/// Records a reply of which nothing more is sent.
fn record_unsent_rest(
    end: Option<ConnectionEnd>,
    bytes: usize,
    pending: Option<&PendingReply<'_>>,
) -> Option<ConnectionEnd> {
    if let Some(pending) = pending {
        pending.record_reply(bytes, false);
    }
    end
}

/// Records the reply, of which `before` bytes were sent, and writes the rest of it.
async fn write_last<L: WireStream>(
    stream: &mut L,
    bytes: &[u8],
    before: usize,
    whole: bool,
    pending: Option<&PendingReply<'_>>,
) -> Option<ConnectionEnd> {
    if let Some(pending) = pending
        && let Some(hold) = &pending.last_byte
        && let Some((last, first)) = bytes.split_last()
    {
        return write_paused(stream, (first, *last), before, whole, (pending, hold)).await;
    }
    if let Some(pending) = pending {
        pending.record_reply(before + bytes.len(), whole);
    }
    let mut count = 0;
    let end = write(stream, bytes, &mut count).await;
    if let Some(pending) = pending.filter(|_| count < bytes.len()) {
        pending.record_unsent(before + count);
    }
    end
}

/// The same with a pause before the last byte.
async fn write_paused<L: WireStream>(
    stream: &mut L,
    (first, last): (&[u8], u8),
    before: usize,
    whole: bool,
    (pending, hold): (&PendingReply<'_>, &LastByteHold<'_>),
) -> Option<ConnectionEnd> {
    let mut count = before;
    let end = write(stream, first, &mut count).await;
    if end.is_some() {
        return record_unsent_rest(end, count, Some(pending));
    }
    let paused = hold.before().await;
    if is_closed(stream.tcp()) {
        // The caller has left, so it never gets the whole reply.
        let end = record_unsent_rest(Some(ConnectionEnd::Left), count, Some(pending));
        hold.after(paused, false).await;
        return end;
    }
    pending.record_reply(before + first.len() + 1, whole);
    let end = write(stream, &[last], &mut count).await;
    let sent = end.is_none();
    if !sent {
        pending.record_unsent(count);
    }
    hold.after(paused, sent).await;
    end
}

/// Sends what is left of the answer, and its padding piece by piece. A caller that closes the connection
/// before the end got a part of it.
async fn write_rest<L: WireStream>(
    stream: &mut L,
    encoded: &Encoded,
    mut sent: usize,
    pending: Option<&PendingReply<'_>>,
) -> Option<ConnectionEnd> {
    let rest = &encoded.bytes[sent..];
    let Filler { piece, total, first } = &encoded.filler;
    if *total == 0 || piece.is_empty() {
        return write_last(stream, rest, sent, true, pending).await;
    }
    if !first && let Some(end) = write(stream, rest, &mut sent).await {
        return record_unsent_rest(Some(end), sent, pending);
    }
    let mut left = *total;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        left -= length as u64;
        if left == 0 && !first {
            return write_last(stream, &piece[..length], sent, true, pending).await;
        }
        if let Some(end) = write(stream, &piece[..length], &mut sent).await {
            return record_unsent_rest(Some(end), sent, pending);
        }
    }
    write_last(stream, rest, sent, true, pending).await
}

/// Waits for the time, if there is one, or until the caller leaves; `false` if it has left.
async fn wait<L: WireStream>(stream: &mut L, unread: &mut Vec<u8>, time: Option<Duration>) -> bool {
    let left = left(stream, unread);
    match time {
        Some(time) => tokio::time::timeout(time, left).await.is_err(),
        None => {
            left.await;
            false
        }
    }
}

/// Writes all bytes and counts those that were sent.
async fn write<L: WireStream>(stream: &mut L, bytes: &[u8], count: &mut usize) -> Option<ConnectionEnd> {
    let mut rest = bytes;
    while !rest.is_empty() {
        // Most answers are sent at once; only the others need a timeout.
        let at_once = poll_fn(|context| Poll::Ready(Pin::new(&mut *stream).poll_write(context, rest))).await;
        let written = match at_once {
            Poll::Ready(written) => Ok(written),
            Poll::Pending => tokio::time::timeout(WRITE_TIMEOUT, stream.write(rest)).await,
        };
        match written {
            Err(_) => return Some(ConnectionEnd::Silent),
            Ok(Ok(0) | Err(_)) => return Some(ConnectionEnd::Left),
            Ok(Ok(length)) => {
                *count += length;
                rest = &rest[length..];
            }
        }
    }
    match stream.flush().await {
        Ok(()) => None,
        Err(_) => Some(ConnectionEnd::Left),
    }
}
