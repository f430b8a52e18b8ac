//! The socket between two processes of a sealed start: lines both ways, and sockets.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::handover;

/// One end of the socket. Both sides take turns, so no line is read ahead of a socket.
#[derive(Debug)]
pub(super) struct Channel {
    lines: BufReader<UnixStream>,
    stream: UnixStream,
}

impl Channel {
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        Ok(Channel { lines: BufReader::new(stream.try_clone()?), stream })
    }

    /// The channel that is the standard input of this process.
    pub(super) fn from_stdin() -> io::Result<Self> {
        Channel::new(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
    }

    /// Another handle of the same end.
    pub(super) fn stream(&self) -> io::Result<UnixStream> {
        self.stream.try_clone()
    }

    /// Sends one line of JSON.
    pub(super) fn send(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.stream.write_all(&line)
    }

    /// Reads one line of JSON.
    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut line = String::new();
        if self.lines.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Tells the other side to go on.
    pub(super) fn go_on(&mut self) -> io::Result<()> {
        self.send(&())
    }

    /// Waits until the other side says so.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        self.receive()
    }

    /// Sends sockets, after the other side has said to go on.
    pub(super) fn send_sockets(&mut self, sockets: &[OwnedFd]) -> io::Result<()> {
        self.wait()?;
        handover::send(&self.stream, sockets)
    }

    /// Receives sockets.
    pub(super) fn receive_sockets(&mut self) -> io::Result<Vec<OwnedFd>> {
        self.go_on()?;
        handover::receive(&self.stream)
    }
}
