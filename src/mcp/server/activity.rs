//! Counts the open connections and the running calls of an endpoint.

use std::sync::Arc;

use tokio::sync::watch;

/// The number of open connections and running calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Activity(Arc<watch::Sender<usize>>);

/// One open connection or running call, until it is dropped.
#[derive(Debug)]
pub(super) struct ActivityGuard(Activity);

impl Activity {
    /// Counts one more.
    pub(super) fn begin(&self) -> ActivityGuard {
        self.0.send_modify(|count| *count += 1);
        ActivityGuard(self.clone())
    }

    /// Waits until there are none.
    pub(super) async fn ended(&self) {
        // It cannot fail: the sender exists as long as `self`.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}
