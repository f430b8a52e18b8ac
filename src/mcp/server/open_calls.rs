//! Which calls are open: from the request of the client until the whole reply is in its socket.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::{io, mem};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// The open calls of an endpoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenCalls(Arc<watch::Sender<CallCounts>>);

#[derive(Debug, Default)]
struct CallCounts {
    open: usize,
    /// Whether the client got the whole reply to the call that was closed last.
    last_replied: bool,
}

impl OpenCalls {
    /// Whether a call is open.
    pub(crate) fn any(&self) -> bool {
        self.0.borrow().open > 0
    }

    /// Waits until no call is open. Returns whether the client got the whole reply to the last one.
    pub(crate) async fn replied(&self) -> bool {
        let mut counts = self.0.subscribe();
        // It cannot fail: the sender exists as long as `self`.
        counts.wait_for(|counts| counts.open == 0).await.is_ok_and(|counts| counts.last_replied)
    }

    pub(super) fn begin(&self) -> OpenCall {
        self.0.send_modify(|counts| counts.open += 1);
        OpenCall { calls: self.clone(), is_replied: false }
    }
}

/// One open call, until it is dropped.
#[derive(Debug)]
pub(super) struct OpenCall {
    calls: OpenCalls,
    is_replied: bool,
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.calls.0.send_modify(|counts| {
            counts.open -= 1;
            counts.last_replied = self.is_replied;
        });
    }
}

/// The open call of a connection: a connection has one at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct CallOfConnection(Arc<Mutex<CallState>>);

#[derive(Debug, Default)]
struct CallState {
    call: Option<OpenCall>,
    /// Whether the whole reply is given to the connection.
    is_ready: bool,
}

impl CallOfConnection {
    pub(super) fn open(&self, call: OpenCall) {
        self.change(|state| *state = CallState { call: Some(call), is_ready: false });
    }

    /// The whole reply is given to the connection. The call is closed when it is in the client's socket.
    pub(super) fn reply_ready(&self) {
        self.change(|state| state.is_ready = true);
    }

    /// The bytes that were given to the connection are in the client's socket.
    pub(super) fn sent(&self) {
        let closed = self.change(|state| if state.is_ready { mem::take(state).call } else { None });
        if let Some(mut call) = closed {
            call.is_replied = true;
        }
    }

    /// The connection has ended.
    pub(super) fn ended(&self) {
        drop(self.change(mem::take));
    }

    fn change<T>(&self, change: impl FnOnce(&mut CallState) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A connection that notices when a reply is in the client's socket.
#[derive(Debug)]
pub(super) struct WatchedStream {
    pub(super) stream: TcpStream,
    pub(super) call: CallOfConnection,
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when everything was written.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.call.sent();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
