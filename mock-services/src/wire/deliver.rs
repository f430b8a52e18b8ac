//! Hands the bytes of an answer over in the manner that was decided. One set of bytes for all manners, so
//! that nothing but the manner itself can be told from them.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use super::close::{End, Line, is_closed, left};
use super::{DeliveryMode, PendingReply};
use crate::engine::Pause;

/// A body that drips comes in so many pieces.
const DROPS: u32 = 20;

/// A caller that does not read what it is sent is waited for this long.
const UNREAD_FOR: Duration = Duration::from_secs(60);

/// An answer as bytes.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    /// Where the body begins.
    pub(super) body_at: usize,
    /// How much of it is sent when it is truncated.
    pub(super) cut: usize,
    /// What fills it up where it is too large.
    pub(super) filler: Filler,
}

/// What fills an answer up. It is never all in memory.
#[derive(Debug, Default)]
pub(super) struct Filler {
    /// A piece of it, sent over and over.
    pub(super) piece: Vec<u8>,
    /// How many bytes there are in all.
    pub(super) total: u64,
    /// Whether it comes before the answer, and not behind it.
    pub(super) first: bool,
}

/// Sends the answer, or does not, and says how the connection ends where it does. The reply is written down
/// before its last byte leaves, and ending the connection is left to the one who holds it: whatever the
/// caller does next stands behind both in the ledger.
pub(super) async fn deliver<L: Line>(
    line: &mut L,
    unread: &mut Vec<u8>,
    encoded: &Encoded,
    manner: DeliveryMode,
    ticket: Option<&PendingReply<'_>>,
) -> Option<End> {
    let all = encoded.bytes.as_slice();
    match manner {
        DeliveryMode::Whole | DeliveryMode::Garble => write_last(line, all, 0, true, ticket).await,
        DeliveryMode::Delay(time) => match wait(line, unread, time).await {
            None => write_last(line, all, 0, true, ticket).await,
            left => noted(left, 0, ticket),
        },
        DeliveryMode::Drop => noted(Some(End::Cut), 0, ticket),
        DeliveryMode::Reset => noted(Some(End::Reset), 0, ticket),
        DeliveryMode::Hang(release) => hang(line, unread, release, ticket).await,
        DeliveryMode::Truncate(_) => ends(write_last(line, &all[..encoded.cut], 0, false, ticket).await),
        DeliveryMode::Oversize(_) => oversize(line, encoded, ticket).await,
        DeliveryMode::Drip(time) => drip(line, unread, encoded, time, ticket).await,
    }
}

/// Writes down a reply of which nothing more is sent.
fn noted(end: Option<End>, bytes: usize, ticket: Option<&PendingReply<'_>>) -> Option<End> {
    if let Some(ticket) = ticket {
        ticket.record_reply(bytes, false);
    }
    end
}

/// Sends nothing until the caller leaves or the time is over.
async fn hang<L: Line>(
    line: &mut L,
    unread: &mut Vec<u8>,
    release: Option<Duration>,
    ticket: Option<&PendingReply<'_>>,
) -> Option<End> {
    let end = match release {
        Some(release) => wait(line, unread, release).await,
        None => {
            left(line, unread).await;
            Some(End::Left)
        }
    };
    match (end, ticket) {
        (Some(end), Some(ticket)) => {
            ticket.caller_left();
            Some(end)
        }
        (end, ticket) => noted(ends(end), 0, ticket),
    }
}

/// Writes down the reply, `before` being the bytes that were sent of it, and writes the last of it.
async fn write_last<L: Line>(
    line: &mut L,
    bytes: &[u8],
    before: usize,
    whole: bool,
    ticket: Option<&PendingReply<'_>>,
) -> Option<End> {
    if let Some(ticket) = ticket
        && let Some(pause) = &ticket.pause
        && let Some((last, first)) = bytes.split_last()
    {
        return write_paused(line, (first, *last), before, whole, (ticket, pause)).await;
    }
    if let Some(ticket) = ticket {
        ticket.record_reply(before + bytes.len(), whole);
    }
    let mut count = 0;
    let end = write(line, bytes, &mut count).await;
    if let Some(ticket) = ticket.filter(|_| count < bytes.len()) {
        ticket.record_unsent(before + count);
    }
    end
}

/// The same with a pause before the last byte.
async fn write_paused<L: Line>(
    line: &mut L,
    (first, last): (&[u8], u8),
    before: usize,
    whole: bool,
    (ticket, pause): (&PendingReply<'_>, &Pause<'_>),
) -> Option<End> {
    let mut count = before;
    let end = write(line, first, &mut count).await;
    if end.is_some() {
        return noted(end, count, Some(ticket));
    }
    let standing = pause.before_last_byte().await;
    if is_closed(line.tcp()) {
        // Nobody would read the last byte, so the caller never has the whole reply.
        let end = noted(Some(End::Left), count, Some(ticket));
        pause.after(standing, false).await;
        return end;
    }
    ticket.record_reply(before + first.len() + 1, whole);
    let end = write(line, &[last], &mut count).await;
    let sent = end.is_none();
    if !sent {
        ticket.record_unsent(count);
    }
    pause.after(standing, sent).await;
    end
}

/// Where the caller has not left, the service cuts the connection.
fn ends(left: Option<End>) -> Option<End> {
    left.or(Some(End::Cut))
}

async fn drip<L: Line>(
    line: &mut L,
    unread: &mut Vec<u8>,
    encoded: &Encoded,
    time: Duration,
    ticket: Option<&PendingReply<'_>>,
) -> Option<End> {
    let (head, body) = encoded.bytes.split_at(encoded.body_at);
    if body.is_empty() {
        return write_last(line, head, 0, true, ticket).await;
    }
    let mut count = 0;
    let mut left = write(line, head, &mut count).await;
    let size = body.len().div_ceil(DROPS as usize).max(1);
    for (number, piece) in body.chunks(size).enumerate() {
        if left.is_none() {
            left = wait(line, unread, time / DROPS).await;
        }
        if left.is_some() {
            return noted(left, count, ticket);
        }
        if (number + 1) * size >= body.len() {
            return write_last(line, piece, count, true, ticket).await;
        }
        left = write(line, piece, &mut count).await;
    }
    left
}

/// Sends the answer and what fills it up, piece by piece. A caller that closes the connection before the end
/// has had a part of it.
async fn oversize<L: Line>(
    line: &mut L,
    encoded: &Encoded,
    ticket: Option<&PendingReply<'_>>,
) -> Option<End> {
    let Filler { piece, total, first } = &encoded.filler;
    if *total == 0 || piece.is_empty() {
        return write_last(line, &encoded.bytes, 0, true, ticket).await;
    }
    let mut count = 0;
    if !first && let Some(end) = write(line, &encoded.bytes, &mut count).await {
        return noted(Some(end), count, ticket);
    }
    let mut left = *total;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        left -= length as u64;
        if left == 0 && !first {
            return write_last(line, &piece[..length], count, true, ticket).await;
        }
        if let Some(end) = write(line, &piece[..length], &mut count).await {
            return noted(Some(end), count, ticket);
        }
    }
    write_last(line, &encoded.bytes, count, true, ticket).await
}

/// Waits for the time, unless the caller leaves before.
async fn wait<L: Line>(line: &mut L, unread: &mut Vec<u8>, time: Duration) -> Option<End> {
    match tokio::time::timeout(time, left(line, unread)).await {
        Ok(()) => Some(End::Left),
        Err(_) => None,
    }
}

/// Writes all, counting what the network took.
async fn write<L: Line>(line: &mut L, bytes: &[u8], count: &mut usize) -> Option<End> {
    let mut rest = bytes;
    while !rest.is_empty() {
        // Most answers are taken at once: only where one is not, the time is watched.
        let at_once = poll_fn(|context| Poll::Ready(Pin::new(&mut *line).poll_write(context, rest))).await;
        let written = match at_once {
            Poll::Ready(written) => Ok(written),
            Poll::Pending => tokio::time::timeout(UNREAD_FOR, line.write(rest)).await,
        };
        match written {
            Err(_) => return Some(End::Silent),
            Ok(Ok(0) | Err(_)) => return Some(End::Left),
            Ok(Ok(length)) => {
                *count += length;
                rest = &rest[length..];
            }
        }
    }
    match line.flush().await {
        Ok(()) => None,
        Err(_) => Some(End::Left),
    }
}
