//! The time limit of a start, and whether it had requests in flight when hapax stopped it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mock_services::OpenConnections;

use crate::domain::ClaimedBeforeLimit;

/// The time limit of a start, and how many requests it had in flight when that was reached.
#[derive(Debug, Clone)]
pub(super) struct TimeLimit {
    limit: Duration,
    requests: Arc<AtomicUsize>,
}

impl TimeLimit {
    pub(super) fn new(limit: Duration) -> Self {
        TimeLimit { limit, requests: Arc::default() }
    }

    /// The limit is reached, and the caller has these connections.
    pub(super) fn limit_reached(&self, open: OpenConnections) {
        self.requests.store(open.sending + open.unanswered, Ordering::SeqCst);
    }

    /// The times of a start that made its claim this long after its start.
    pub(super) fn claimed(&self, claimed_after: Duration) -> ClaimedBeforeLimit {
        let requests_in_flight = self.requests.load(Ordering::SeqCst) as u64;
        ClaimedBeforeLimit { claimed_after, stopped_after: self.limit, requests_in_flight }
    }

    /// Whether a start was still at work when it was stopped: it had made no claim, or had just made it, or
    /// had requests in flight.
    pub(super) fn was_at_work(&self, claimed_after: Option<Duration>) -> bool {
        claimed_after.is_none_or(|claimed_after| !self.claimed(claimed_after).is_final())
    }
}
