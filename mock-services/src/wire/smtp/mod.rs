//! The server side of SMTP. The session is a pure state machine: it reads bytes and returns steps. It has no
//! socket, no clock, no TLS and no faults. The connection performs the steps and passes their results to the
//! session.

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

/// What a session offers and requires.
#[derive(Debug, Clone)]
pub(crate) struct SmtpOptions {
    /// The name of the server in its greeting.
    pub(crate) hostname: String,
    /// The maximum size of a message, in bytes.
    pub(crate) size_limit: usize,
    /// Whether only authenticated clients can send mail.
    pub(crate) require_auth: bool,
    /// Whether the client may switch to TLS.
    pub(crate) starttls: bool,
}

/// What the connection of a session does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SmtpStep {
    /// Send these bytes.
    Send(Vec<u8>),
    /// A message is complete: send its answer, then call [`Session::message_answered`].
    Message {
        /// Its sender and recipients.
        envelope: Envelope,
        /// The message without stuffed dots.
        message: Vec<u8>,
    },
    /// Record that the client was refused before it could send a message; the reply is the next step.
    Refused {
        /// The command.
        verb: &'static str,
        /// The code.
        code: u16,
        /// The text of the refusal.
        text: &'static str,
    },
    /// Check the credentials, then call [`Session::authenticated`].
    Authenticate {
        /// The name.
        user: String,
        /// The password or API key.
        secret: String,
    },
    /// Do the TLS handshake, then call [`Session::tls_started`]. Plain text after the command is discarded.
    StartTls,
    /// Close the connection.
    Close,
}
