//! A raw connection: what comes over it, byte for byte, and how it ends.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::must;

/// A connection of a caller.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    unread: Vec<u8>,
}

/// One answer as it came over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Of head and body together.
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
    /// How a connection ended that gave this error.
    pub(crate) fn of(error: &io::Error) -> Self {
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
        End::Reset
    }
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Connection {
        Connection { stream: must(TcpStream::connect(address)).await.unwrap(), unread: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        must(self.stream.write_all(bytes)).await.unwrap();
    }

    /// Sends a request and reads the answer to it.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Answer {
        self.send(request).await;
        self.answer().await
    }

    /// Reads one answer, head and body.
    pub(crate) async fn answer(&mut self) -> Answer {
        let mut seen = self.answer_to_head().await;
        let length: usize = header(&seen.head, "content-length").map_or(0, |length| length.parse().unwrap());
        seen.body = self.exactly(length).await;
        seen.bytes += length as u64;
        seen
    }

    /// Reads one answer that has no body, whatever its head declares.
    pub(crate) async fn answer_to_head(&mut self) -> Answer {
        let head = self.through(b"\r\n\r\n").await;
        let bytes = head.len() as u64;
        let head = String::from_utf8(head).unwrap();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Answer {
            status: status.unwrap_or_else(|| panic!("no status: {head}")),
            head,
            body: Vec::new(),
            bytes,
        }
    }

    /// Reads up to and with the mark.
    pub(crate) async fn through(&mut self, mark: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.unread.windows(mark.len()).position(|window| window == mark) {
                let rest = self.unread.split_off(at + mark.len());
                return std::mem::replace(&mut self.unread, rest);
            }
            self.more().await;
        }
    }

    async fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.unread.len() < length {
            self.more().await;
        }
        let rest = self.unread.split_off(length);
        std::mem::replace(&mut self.unread, rest)
    }

    async fn more(&mut self) {
        let length = must(self.stream.read_buf(&mut self.unread)).await.unwrap();
        assert!(length > 0, "the connection ended after {:?}", String::from_utf8_lossy(&self.unread));
    }

    /// Takes what has come; waits where nothing has. Empty at the end.
    pub(crate) async fn piece(&mut self) -> Vec<u8> {
        if self.unread.is_empty() {
            self.unread.reserve(64 * 1024);
            must(self.stream.read_buf(&mut self.unread)).await.unwrap();
        }
        std::mem::take(&mut self.unread)
    }

    /// Reads until the connection ends.
    pub(crate) async fn rest(&mut self) -> (Vec<u8>, End) {
        loop {
            match must(self.stream.read_buf(&mut self.unread)).await {
                Ok(0) => return (std::mem::take(&mut self.unread), End::Fin),
                Ok(_) => {}
                Err(error) => return (std::mem::take(&mut self.unread), End::of(&error)),
            }
        }
    }

    /// Whether nothing has come and the connection is open. A byte that comes later is not seen: the caller knows from
    /// the ledger that everything that could be sent was sent.
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
