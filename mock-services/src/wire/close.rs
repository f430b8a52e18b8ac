//! The ways in which a service ends a connection, and how it notices that the caller has ended it.

use std::future;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::server::TlsStream;

use crate::delivery::ClientGone;
use crate::ledger::ClosedBy;

/// A caller that goes on sending after the end is listened to, so that it can read what it was sent: until it
/// pauses for so long,
const DRAIN_PAUSE: Duration = Duration::from_secs(2);
/// or until this is over.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);
/// So much that comes before its turn is kept for later.
const LARGEST_UNREAD: usize = 256 * 1024;

/// A connection over which bytes go both ways.
pub(super) trait WireStream: AsyncRead + AsyncWrite + Unpin + Send {
    /// The TCP connection underneath.
    fn tcp(&mut self) -> &mut TcpStream;
}

impl WireStream for TcpStream {
    fn tcp(&mut self) -> &mut TcpStream {
        self
    }
}

impl WireStream for TlsStream<TcpStream> {
    fn tcp(&mut self) -> &mut TcpStream {
        self.get_mut().0
    }
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// The caller has left.
    Left,
    /// The service closes it.
    Finish,
    /// The service closes it in the middle of something: over TLS, too, nothing says that this is the end.
    Cut,
    /// The service resets it.
    Reset,
    /// The caller took too long, and got an answer that says so.
    TimedOut,
    /// The caller said nothing for too long.
    Silent,
}

impl ConnectionEnd {
    /// Who ends it.
    pub(super) fn by(self) -> ClosedBy {
        match self {
            ConnectionEnd::Left => ClosedBy::Caller,
            ConnectionEnd::Finish | ConnectionEnd::Cut | ConnectionEnd::Reset => ClosedBy::Service,
            ConnectionEnd::TimedOut | ConnectionEnd::Silent => ClosedBy::Timeout,
        }
    }

    /// Ends the connection. It has been recorded before, so that everything the caller does next comes after
    /// it.
    pub(super) async fn carry_out<L: WireStream>(self, stream: &mut L) {
        match self {
            ConnectionEnd::Finish | ConnectionEnd::TimedOut => finish(stream).await,
            ConnectionEnd::Cut => finish(stream.tcp()).await,
            // It fails only on a socket that is already gone. The RST is sent when the line is dropped.
            ConnectionEnd::Reset => drop(stream.tcp().set_zero_linger()),
            ConnectionEnd::Left | ConnectionEnd::Silent => {}
        }
    }
}

/// Ends the connection with a FIN. What the caller still sends is read and thrown away: a socket that is
/// closed with unread input would send a RST instead, and could take back what was sent before.
async fn finish(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut bin = vec![0; 16 * 1024];
    let drain =
        async { while let Ok(Ok(1..)) = tokio::time::timeout(DRAIN_PAUSE, stream.read(&mut bin)).await {} };
    // Whether the caller closed or the time was over makes no difference.
    let _ = tokio::time::timeout(DRAIN_LIMIT, drain).await;
}

/// Waits for the first byte, and does not take it. `false` where none comes: the caller leaves, says nothing
/// for too long, or files run short, in which case those who have said nothing make room.
pub(super) async fn speaks(stream: &TcpStream, shed: &mut watch::Receiver<u64>, deadline: Duration) -> bool {
    let mut byte = [0];
    tokio::select! {
        // First, so that no one is sent away who has spoken. That the socket seems readable is not enough: it
        // can seem so without data.
        biased;
        peeked = stream.peek(&mut byte) => matches!(peeked, Ok(1)),
        _ = shed.changed() => false,
        () = tokio::time::sleep(deadline) => false,
    }
}

/// Whether the caller has closed the connection by now. The system is asked, not the runtime, which may not
/// have heard of it yet.
#[cfg(unix)]
pub(super) fn is_closed(stream: &TcpStream) -> bool {
    use std::os::fd::AsFd;

    let Ok(copy) = stream.as_fd().try_clone_to_owned() else { return false };
    match std::net::TcpStream::from(copy).peek(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

/// Whether the caller has closed the connection by now, which cannot be asked here; it shows when something
/// is sent.
#[cfg(not(unix))]
pub(super) fn is_closed(_line: &TcpStream) -> bool {
    false
}

/// Waits until the caller leaves; what it sends meanwhile is kept in `unread`.
pub(super) async fn left<L: WireStream>(stream: &mut L, unread: &mut Vec<u8>) {
    while unread.len() < LARGEST_UNREAD {
        unread.reserve(1024);
        match stream.read_buf(unread).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
    // It talks too much to be listened to; whether it leaves is seen when something is sent.
    future::pending().await
}

/// Does something for a caller, while its connection is watched; with the result, `false` where the caller
/// left meanwhile. What a caller has asked for is done whether it waits for the answer or not.
pub(super) async fn attend<L: WireStream, T>(
    stream: &mut L,
    unread: &mut Vec<u8>,
    gone: &ClientGone,
    doing: impl Future<Output = T>,
) -> (T, bool) {
    tokio::pin!(doing);
    loop {
        tokio::select! {
            biased;
            done = &mut doing => return (done, true),
            () = left(stream, unread) => {
                gone.set();
                return (doing.await, false);
            }
            () = gone.asked() => {
                if is_closed(stream.tcp()) {
                    gone.set();
                    return (doing.await, false);
                }
                gone.still_there();
            }
        }
    }
}
