//! The gate that pauses a whole service: while it is closed, no other request takes another step.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed: AtomicUsize,
    opened: Notify,
}

impl Gate {
    pub(crate) fn close(&self) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn open(&self) {
        if self.closed.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.opened.notify_waiters();
        }
    }

    /// Closes the gate as soon as it is open; it is opened again when the returned guard is dropped.
    pub(crate) async fn close_alone(&self) -> ClosedGate<'_> {
        loop {
            self.passed().await;
            if self.closed.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return ClosedGate(self);
            }
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst) > 0
    }

    /// Waits until the gate is open.
    pub(crate) async fn passed(&self) {
        while self.is_closed() {
            let opened = self.opened.notified();
            tokio::pin!(opened);
            // Registered before the second check, so that an opening in between is not missed.
            opened.as_mut().enable();
            if self.is_closed() {
                opened.await;
            }
        }
    }
}

/// Keeps a gate closed until it is dropped.
#[derive(Debug)]
pub(crate) struct ClosedGate<'g>(&'g Gate);

impl Drop for ClosedGate<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}
