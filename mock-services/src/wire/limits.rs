//! The time and memory that a connection may use.

use std::time::Duration;

/// Limits of one connection. A request that exceeds them is refused, and the connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of the head of a request, in bytes.
    pub head: usize,
    /// The maximum size of a body or a message, in bytes.
    pub body: usize,
    /// The maximum time of a head, from its first byte to its last.
    pub head_time: Duration,
    /// The maximum time of a body.
    pub body_time: Duration,
    /// The maximum time without input, and of an SMTP command or message.
    pub idle_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            head: 64 * 1024,
            body: 16 * 1024 * 1024,
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(300),
        }
    }
}
