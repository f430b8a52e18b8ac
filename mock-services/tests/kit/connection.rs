//! A raw connection: every received byte, and how the connection ends.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::within_timeout;

/// A connection of a client.
pub(crate) struct RawConnection {
    pub(crate) stream: TcpStream,
    unread: Vec<u8>,
}

/// One response as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The length of head and body together.
    pub(crate) bytes: u64,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With a FIN.
    Fin,
    /// With a RST.
    Reset,
    /// It is still open: over SMTP, a reply does not end it.
    Open,
}

impl End {
    /// The end of a connection that failed with this error.
    pub(crate) fn of(error: &io::Error) -> Self {
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
        End::Reset
    }
}

impl RawConnection {
    pub(crate) async fn open(address: SocketAddr) -> RawConnection {
        RawConnection {
            stream: within_timeout(TcpStream::connect(address)).await.unwrap(),
            unread: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        within_timeout(self.stream.write_all(bytes)).await.unwrap();
    }

    /// Sends a request and reads the response.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> RawResponse {
        self.send(request).await;
        self.answer().await
    }

    /// Reads one response, head and body.
    pub(crate) async fn answer(&mut self) -> RawResponse {
        let mut seen = self.response_head().await;
        let length: usize = header(&seen.head, "content-length").map_or(0, |length| length.parse().unwrap());
        seen.body = self.read_exactly(length).await;
        seen.bytes += length as u64;
        seen
    }

    /// Reads one response without a body, whatever its head declares.
    pub(crate) async fn response_head(&mut self) -> RawResponse {
        let head = self.read_through(b"\r\n\r\n").await;
        let bytes = head.len() as u64;
        let head = String::from_utf8(head).unwrap();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        RawResponse {
            status: status.unwrap_or_else(|| panic!("no status: {head}")),
            head,
            body: Vec::new(),
            bytes,
        }
    }

    /// Reads up to and including the mark.
    pub(crate) async fn read_through(&mut self, mark: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.unread.windows(mark.len()).position(|window| window == mark) {
                let rest = self.unread.split_off(at + mark.len());
                return std::mem::replace(&mut self.unread, rest);
            }
            self.read_more().await;
        }
    }

    async fn read_exactly(&mut self, length: usize) -> Vec<u8> {
        while self.unread.len() < length {
            self.read_more().await;
        }
        let rest = self.unread.split_off(length);
        std::mem::replace(&mut self.unread, rest)
    }

    async fn read_more(&mut self) {
        let length = within_timeout(self.stream.read_buf(&mut self.unread)).await.unwrap();
        assert!(length > 0, "the connection ended after {:?}", String::from_utf8_lossy(&self.unread));
    }

    /// Returns the received bytes; waits when there are none. Empty at the end.
    pub(crate) async fn read_some(&mut self) -> Vec<u8> {
        if self.unread.is_empty() {
            self.unread.reserve(64 * 1024);
            within_timeout(self.stream.read_buf(&mut self.unread)).await.unwrap();
        }
        std::mem::take(&mut self.unread)
    }

    /// Reads until the connection ends.
    pub(crate) async fn read_to_end(&mut self) -> (Vec<u8>, End) {
        loop {
            match within_timeout(self.stream.read_buf(&mut self.unread)).await {
                Ok(0) => return (std::mem::take(&mut self.unread), End::Fin),
                Ok(_) => {}
                Err(error) => return (std::mem::take(&mut self.unread), End::of(&error)),
            }
        }
    }

    /// Whether nothing was received and the connection is open. It does not wait for later bytes: the caller
    /// knows from the ledger that everything was sent.
    pub(crate) async fn is_silent(&mut self) -> bool {
        let mut byte = [0];
        self.unread.is_empty()
            && tokio::time::timeout(Duration::from_millis(20), self.stream.peek(&mut byte)).await.is_err()
    }
}

/// The value of a header in a head.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.filter(|(have, _)| have.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
}
