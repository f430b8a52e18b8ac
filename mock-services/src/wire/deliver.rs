//! Sends the bytes of an answer in the mode that was decided. All modes have the same bytes, so that they
//! reveal nothing but the mode.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use super::close::{ConnectionEnd, WireStream, is_closed, left};
use crate::delivery::{DeliveryMode, LastByteHold, PendingReply};

/// The number of pieces of a body that drips.
const DRIP_PIECES: u32 = 20;

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

/// Sends the answer, or does not, and returns how the connection ends where it does. The reply is recorded
/// before its last byte is sent, and the connection is ended by its owner: everything the caller does next
/// comes after both in the ledger.
pub(super) async fn deliver<L: WireStream>(
    stream: &mut L,
    unread: &mut Vec<u8>,
    encoded: &Encoded,
    mode: DeliveryMode,
    pending: Option<&PendingReply<'_>>,
) -> Option<ConnectionEnd> {
    let all = encoded.bytes.as_slice();
    match mode {
        DeliveryMode::Whole | DeliveryMode::Garble => write_last(stream, all, 0, true, pending).await,
        DeliveryMode::Delay(time) => match wait(stream, unread, time).await {
            None => write_last(stream, all, 0, true, pending).await,
            left => record_unsent_rest(left, 0, pending),
        },
        DeliveryMode::Drop => record_unsent_rest(Some(ConnectionEnd::Cut), 0, pending),
        DeliveryMode::Reset => record_unsent_rest(Some(ConnectionEnd::Reset), 0, pending),
        DeliveryMode::Hang(release) => hang(stream, unread, release, pending).await,
        DeliveryMode::DelayBody(time) => delay_body(stream, unread, encoded, time, pending).await,
        DeliveryMode::Truncate | DeliveryMode::TruncateChunked | DeliveryMode::Cut(_) => {
            ends(write_last(stream, &all[..encoded.cut], 0, false, pending).await)
        }
        DeliveryMode::Oversize(_) => oversize(stream, encoded, pending).await,
        DeliveryMode::Drip(time) => drip(stream, unread, encoded, time, pending).await,
    }
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

/// Sends nothing until the caller leaves or the time is over.
async fn hang<L: WireStream>(
    stream: &mut L,
    unread: &mut Vec<u8>,
    release: Option<Duration>,
    pending: Option<&PendingReply<'_>>,
) -> Option<ConnectionEnd> {
    let end = match release {
        Some(release) => wait(stream, unread, release).await,
        None => {
            left(stream, unread).await;
            Some(ConnectionEnd::Left)
        }
    };
    match (end, pending) {
        (Some(end), Some(pending)) => {
            pending.record_caller_left();
            Some(end)
        }
        (end, pending) => record_unsent_rest(ends(end), 0, pending),
    }
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

/// If the caller has not left, the service closes the connection without an orderly end.
fn ends(left: Option<ConnectionEnd>) -> Option<ConnectionEnd> {
    left.or(Some(ConnectionEnd::Cut))
}

async fn delay_body<L: WireStream>(
    stream: &mut L,
    unread: &mut Vec<u8>,
    encoded: &Encoded,
    time: Duration,
    pending: Option<&PendingReply<'_>>,
) -> Option<ConnectionEnd> {
    let (head, body) = encoded.bytes.split_at(encoded.body_at);
    if body.is_empty() {
        return write_last(stream, head, 0, true, pending).await;
    }
    let mut count = 0;
    let mut left = write(stream, head, &mut count).await;
    if left.is_none() {
        left = wait(stream, unread, time).await;
    }
    match left {
        None => write_last(stream, body, count, true, pending).await,
        left => record_unsent_rest(left, count, pending),
    }
}

async fn drip<L: WireStream>(
    stream: &mut L,
    unread: &mut Vec<u8>,
    encoded: &Encoded,
    time: Duration,
    pending: Option<&PendingReply<'_>>,
) -> Option<ConnectionEnd> {
    let (head, body) = encoded.bytes.split_at(encoded.body_at);
    if body.is_empty() {
        return write_last(stream, head, 0, true, pending).await;
    }
    let mut count = 0;
    let mut left = write(stream, head, &mut count).await;
    let size = body.len().div_ceil(DRIP_PIECES as usize).max(1);
    for (number, piece) in body.chunks(size).enumerate() {
        if left.is_none() {
            left = wait(stream, unread, time / DRIP_PIECES).await;
        }
        if left.is_some() {
            return record_unsent_rest(left, count, pending);
        }
        if (number + 1) * size >= body.len() {
            return write_last(stream, piece, count, true, pending).await;
        }
        left = write(stream, piece, &mut count).await;
    }
    left
}

/// Sends the answer and its padding piece by piece. A caller that closes the connection before the end got a
/// part of it.
async fn oversize<L: WireStream>(
    stream: &mut L,
    encoded: &Encoded,
    pending: Option<&PendingReply<'_>>,
) -> Option<ConnectionEnd> {
    let Filler { piece, total, first } = &encoded.filler;
    if *total == 0 || piece.is_empty() {
        return write_last(stream, &encoded.bytes, 0, true, pending).await;
    }
    let mut count = 0;
    if !first && let Some(end) = write(stream, &encoded.bytes, &mut count).await {
        return record_unsent_rest(Some(end), count, pending);
    }
    let mut left = *total;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        left -= length as u64;
        if left == 0 && !first {
            return write_last(stream, &piece[..length], count, true, pending).await;
        }
        if let Some(end) = write(stream, &piece[..length], &mut count).await {
            return record_unsent_rest(Some(end), count, pending);
        }
    }
    write_last(stream, &encoded.bytes, count, true, pending).await
}

/// Waits for the time, or until the caller leaves.
async fn wait<L: WireStream>(stream: &mut L, unread: &mut Vec<u8>, time: Duration) -> Option<ConnectionEnd> {
    match tokio::time::timeout(time, left(stream, unread)).await {
        Ok(()) => Some(ConnectionEnd::Left),
        Err(_) => None,
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
