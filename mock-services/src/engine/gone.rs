//! Whether the caller has left: set by the connection, awaited by whatever holds its request.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Gone {
    left: AtomicBool,
    changed: Notify,
}

impl Gone {
    pub(crate) fn set(&self) {
        self.left.store(true, Ordering::SeqCst);
        self.changed.notify_waiters();
    }

    pub(crate) async fn happened(&self) {
        let changed = self.changed.notified();
        tokio::pin!(changed);
        changed.as_mut().enable();
        if !self.left.load(Ordering::SeqCst) {
            changed.await;
        }
    }
}
