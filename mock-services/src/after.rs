//! When a deferred change happens: late commits, deliveries, the end of a key's lifetime.

use std::time::Duration;

use serde::Serialize;

/// When a deferred change happens; at the latest when the service settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum After {
    /// After this many more requests to the service. These requests do not see the change, the next one does.
    Requests(u32),
    /// After this time.
    Time(Duration),
    /// Only when the service settles.
    Settled,
}
