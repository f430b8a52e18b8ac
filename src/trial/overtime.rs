//! What is known of a start whose time was up: whether work was still under way when it was stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mock_services::OpenConnections;

/// So long must a start have been watched after its claim, for the claim to be its last word.
pub(crate) const QUIET: Duration = Duration::from_secs(1);

/// The time limit of a start, and how many requests it had under way when that was reached.
#[derive(Debug, Clone)]
pub(super) struct Overtime {
    pub(super) limit: Duration,
    requests: Arc<AtomicUsize>,
}

impl Overtime {
    pub(super) fn new(limit: Duration) -> Self {
        Overtime { limit, requests: Arc::default() }
    }

    /// The time is up, and the caller has these connections.
    pub(super) fn seen(&self, open: OpenConnections) {
        self.requests.store(open.sending + open.unanswered, Ordering::SeqCst);
    }

    /// How many requests were being sent or not answered then.
    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Whether a start whose time was up, and that made its claim so long after it began, was still at work:
    /// it had made none, or had just made it, or had requests under way.
    pub(super) fn is_under_way(&self, reported: Option<Duration>) -> bool {
        self.requests() > 0 || reported.is_none_or(|at| at + QUIET > self.limit)
    }
}
