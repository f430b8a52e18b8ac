//! Hands the bytes of an answer over in the manner that was decided. One set of bytes for all manners, so that nothing but the
//! manner itself can be told from them.

use std::time::Duration;

use tokio::io::AsyncWriteExt;

use super::Manner;
use super::close::{Line, left};

/// A body that drips comes in so many pieces.
const DROPS: u32 = 20;

/// An answer as bytes.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    /// Where the body begins.
    pub(super) body_at: usize,
    /// How much of it is sent when it is truncated.
    pub(super) cut: usize,
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) bytes: u64,
    pub(super) whole: bool,
    pub(super) then: Then,
}

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Open,
    /// The service ends it with a FIN.
    Finish,
    /// The service ends it with a RST.
    Reset,
    /// The caller has ended it.
    Left,
}

/// Sends the answer, or does not. Ending the connection is left to the one who holds it: the reply is written down before, so that no
/// caller can try again ahead of it.
pub(super) async fn deliver<L: Line>(line: &mut L, unread: &mut Vec<u8>, encoded: &Encoded, manner: Manner) -> Sent {
    let mut count = 0;
    let then = match manner {
        Manner::Whole | Manner::Garble => write(line, &encoded.bytes, &mut count).await,
        Manner::Delay(time) => match wait(line, unread, time).await {
            Then::Open => write(line, &encoded.bytes, &mut count).await,
            then => then,
        },
        Manner::Drop => Then::Finish,
        Manner::Reset => Then::Reset,
        Manner::Hang(release) => ends(wait(line, unread, release).await),
        Manner::Truncate(_) => ends(write(line, &encoded.bytes[..encoded.cut], &mut count).await),
        Manner::Drip(time) => drip(line, unread, encoded, time, &mut count).await,
    };
    Sent { bytes: count as u64, whole: count == encoded.bytes.len(), then }
}

/// Where the caller has not left, the service ends the connection.
fn ends(then: Then) -> Then {
    if then == Then::Open { Then::Finish } else { then }
}

async fn drip<L: Line>(line: &mut L, unread: &mut Vec<u8>, encoded: &Encoded, time: Duration, count: &mut usize) -> Then {
    let (head, body) = encoded.bytes.split_at(encoded.body_at);
    let mut then = write(line, head, count).await;
    let size = body.len().div_ceil(DROPS as usize).max(1);
    for piece in body.chunks(size) {
        if then == Then::Open {
            then = wait(line, unread, time / DROPS).await;
        }
        if then == Then::Open {
            then = write(line, piece, count).await;
        }
    }
    then
}

/// Waits for the time, unless the caller leaves before.
async fn wait<L: Line>(line: &mut L, unread: &mut Vec<u8>, time: Duration) -> Then {
    match tokio::time::timeout(time, left(line, unread)).await {
        Ok(()) => Then::Left,
        Err(_) => Then::Open,
    }
}

/// Writes all, counting what the network took.
async fn write<L: Line>(line: &mut L, bytes: &[u8], count: &mut usize) -> Then {
    let mut rest = bytes;
    while !rest.is_empty() {
        match line.write(rest).await {
            Ok(0) | Err(_) => return Then::Left,
            Ok(length) => {
                *count += length;
                rest = &rest[length..];
            }
        }
    }
    match line.flush().await {
        Ok(()) => Then::Open,
        Err(_) => Then::Left,
    }
}
