//! Whether the client has closed its connection: set by the connection, awaited while its request is held.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct ClientGone {
    left: AtomicBool,
    changed: Notify,
    /// Whether a connection is watched, and answers when it is asked whether its client is still there.
    watched: AtomicBool,
    asked: Notify,
    answered: Notify,
}

impl ClientGone {
    /// For a connection that is watched.
    pub(crate) fn watched() -> Self {
        ClientGone { watched: AtomicBool::new(true), ..ClientGone::default() }
    }

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

    /// Whether the client has left by now. The connection checks its socket: that the client has closed it
    /// may not have been noticed yet.
    pub(crate) async fn has_happened(&self) -> bool {
        if self.watched.load(Ordering::SeqCst) && !self.left.load(Ordering::SeqCst) {
            self.asked.notify_one();
            tokio::select! {
                () = self.answered.notified() => {}
                () = self.happened() => {}
            }
        }
        self.left.load(Ordering::SeqCst)
    }

    /// Waits until the engine asks whether the client is still there.
    pub(crate) async fn asked(&self) {
        self.asked.notified().await;
    }

    /// Answers that the client is still there.
    pub(crate) fn still_there(&self) {
        self.answered.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_connection_is_asked_and_its_answer_is_used() {
        let gone = ClientGone::watched();
        let answering = async {
            gone.asked().await;
            gone.still_there();
            gone.asked().await;
            gone.set();
        };
        let asking =
            async { (gone.has_happened().await, gone.has_happened().await, gone.has_happened().await) };
        assert_eq!(tokio::join!(asking, answering).0, (false, true, true));
    }
}
