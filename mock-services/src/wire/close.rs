//! The ways in which a service ends a connection, and how it notices that the caller has ended it.

use std::future;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::server::TlsStream;

use crate::delivery::ClientGone;
use crate::ledger::ClosedBy;

/// Input after the end is read and discarded, so that the caller can read what it was sent: until it pauses
/// for this time,
const DRAIN_PAUSE: Duration = Duration::from_secs(2);
/// or for at most this time.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);
/// The maximum input that is stored while a request is processed.
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
    /// The caller sent nothing for too long.
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
            // It fails only on a socket that is already gone. The RST is sent when the stream is dropped.
            ConnectionEnd::Reset => drop(stream.tcp().set_zero_linger()),
            ConnectionEnd::Left | ConnectionEnd::Silent => {}
        }
    }
}

/// Ends the connection with a FIN. What the caller still sends is read and discarded: a socket that is
/// closed with unread input sends a RST instead, and the caller could lose what was sent before.
async fn finish(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut discarded = vec![0; 16 * 1024];
    let drain = async {
        while let Ok(Ok(1..)) = tokio::time::timeout(DRAIN_PAUSE, stream.read(&mut discarded)).await {}
    };
    // Whether the caller closed or the time was over makes no difference.
    let _ = tokio::time::timeout(DRAIN_LIMIT, drain).await;
}

/// Whether the first byte of a caller has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstByte {
    /// It has come.
    Sent,
    /// The caller sends nothing for too long.
    TimedOut,
    /// The caller left, or the process runs out of file descriptors, so that connections without input are
    /// closed.
    Gone,
}

/// Waits for the first byte without consuming it.
pub(super) async fn sends_first_byte(
    stream: &TcpStream,
    shed: &mut watch::Receiver<u64>,
    deadline: Duration,
) -> FirstByte {
    let mut byte = [0];
    tokio::select! {
        // First, so that a connection with input is not closed. The socket is read, because it can seem
        // readable without data.
        biased;
        peeked = stream.peek(&mut byte) => if matches!(peeked, Ok(1)) { FirstByte::Sent } else { FirstByte::Gone },
        _ = shed.changed() => FirstByte::Gone,
        () = tokio::time::sleep(deadline) => FirstByte::TimedOut,
    }
}

/// Whether the caller has closed the connection by now. The operating system is asked, because the
/// runtime may not have noticed it yet.
#[cfg(unix)]
pub(super) fn is_closed(stream: &TcpStream) -> bool {
    use std::os::fd::AsFd;

    let Ok(copy) = stream.as_fd().try_clone_to_owned() else { return false };
    match std::net::TcpStream::from(copy).peek(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

/// Whether the caller has closed the connection by now. This platform cannot say; it is noticed when
/// something is sent.
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
    // The caller sends too much to store it; whether it leaves is noticed when something is sent.
    future::pending().await
}

/// Runs `doing` while the connection of the caller is watched; returns its result, and `false` if the caller
/// left meanwhile. A request is processed whether its caller waits for the answer or not.
pub(super) async fn run_while_watching<L: WireStream, T>(
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
