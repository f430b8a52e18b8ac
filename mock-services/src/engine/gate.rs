//! The gate that makes a whole service stand still: while somebody holds it closed, no other request takes
//! another step.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Gate {
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

    /// Closes the gate as soon as nobody else holds it; it is opened when what is given back is dropped.
    pub(super) async fn close_alone(&self) -> Closed<'_> {
        loop {
            self.passed().await;
            if self.closed.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return Closed(self);
            }
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

/// A gate that somebody holds.
#[derive(Debug)]
pub(crate) struct Closed<'g>(&'g Gate);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}
