//! The gate that makes a whole service stand still: while somebody holds it closed, no other request takes another step.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(super) struct Gate {
    closed: AtomicUsize,
    opened: Notify,
}

impl Gate {
    pub(super) fn close(&self) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn open(&self) {
        if self.closed.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.opened.notify_waiters();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst) > 0
    }

    /// Waits until nobody holds the gate.
    pub(super) async fn passed(&self) {
        while self.is_closed() {
            let opened = self.opened.notified();
            tokio::pin!(opened);
            // Registered before the second look, so that an opening in between is not missed.
            opened.as_mut().enable();
            if self.is_closed() {
                opened.await;
            }
        }
    }
}
