//! The server's side of an SMTP conversation. The session is a pure machine: bytes go in, steps come out; it
//! knows no socket, no clock, no TLS and no fault. The connection holds it, carries the steps out and tells
//! it how they went.

mod auth;
mod command;
mod connection;
mod data;
mod handshake;
mod late;
mod reply;
mod session;
#[cfg(test)]
mod tests;

use crate::service::Envelope;

pub(super) use connection::{Security, serve};
pub(super) use late::{serve as serve_late, serve_secured as serve_late_secured};
use reply::encode;
use session::Session;

/// What a session offers and demands.
#[derive(Debug, Clone)]
pub(crate) struct SmtpOptions {
    /// The name by which the server introduces itself.
    pub(crate) hostname: String,
    /// How large a message may be, in bytes.
    pub(crate) size_limit: usize,
    /// Whether mail is taken from authenticated clients alone.
    pub(crate) require_auth: bool,
    /// Whether the client may switch to TLS.
    pub(crate) starttls: bool,
}

/// What the holder of a session has to do next, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Send these bytes.
    Say(Vec<u8>),
    /// A message has come in whole: send its answer, then call [`Session::message_answered`].
    Message {
        /// Who it is from and for.
        envelope: Envelope,
        /// The message as it was before dots were stuffed.
        message: Vec<u8>,
    },
    /// Record that the client was refused before it could send a message; what it is told
    /// follows.
    Refused {
        /// The command.
        verb: &'static str,
        /// The code.
        code: u16,
        /// What the client is told.
        text: &'static str,
    },
    /// Say whether this is a valid user with [`Session::authenticated`].
    Authenticate {
        /// The name.
        user: String,
        /// The password or API key.
        secret: String,
    },
    /// Shake hands, then call [`Session::tls_started`]. What the client sent in the clear after its command
    /// is gone.
    StartTls,
    /// Close the connection.
    Close,
}
