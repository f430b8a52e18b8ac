//! How much time and memory a caller may use.

use std::time::Duration;

/// Bounds on what a connection may take. What exceeds them is refused, and the connection closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest head of a request, or line of a dialogue.
    pub head: usize,
    /// The longest body or message.
    pub body: usize,
    /// How long a head may take from its first byte to its last.
    pub head_time: Duration,
    /// How long a body may take.
    pub body_time: Duration,
    /// How long a connection may say nothing, and a line or a message of a dialogue may take.
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
