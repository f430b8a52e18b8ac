//! The moments of an attempt at which a listener can pause the service.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

/// A point in the processing of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MomentKind {
    /// It has been recorded, and nothing is committed yet.
    Received,
    /// What it changes has been committed, and nothing is sent yet.
    Committed,
    /// Only the answer is left to be sent.
    BeforeReply,
    /// All but the last byte of the reply has been sent. A reply of which no byte is sent (`drop`, `reset`,
    /// `hang`) does not have this moment.
    LastByte,
    /// The last byte of the reply has been sent too, or could not be: [`Moment::sent`] says which. Follows
    /// every `LastByte`.
    AfterReply,
}

/// An attempt that has reached a point.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moment {
    /// The point.
    pub kind: MomentKind,
    /// The full name of the operation.
    pub operation: String,
    /// The attempt's number in the ledger.
    pub attempt: u64,
    /// The caller.
    pub caller: u32,
    /// At [`MomentKind::AfterReply`]: whether the whole reply is in the caller's socket. Otherwise `false`.
    pub sent: bool,
}

/// A moment at which the service is paused. It continues when this is dropped.
#[derive(Debug)]
pub struct Held {
    /// The moment.
    pub moment: Moment,
    _release: oneshot::Sender<()>,
}

/// Receives the moments of one service.
pub type Listener = mpsc::UnboundedReceiver<Held>;

#[derive(Debug, Default)]
pub(crate) struct Moments {
    listeners: Mutex<Vec<(MomentKind, mpsc::UnboundedSender<Held>)>>,
    count: AtomicUsize,
}

impl Moments {
    pub(crate) fn listen(&self, kind: MomentKind) -> Listener {
        let (sender, listener) = mpsc::unbounded_channel();
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push((kind, sender));
        self.count.fetch_add(1, Ordering::SeqCst);
        listener
    }

    /// Whether a listener waits for moments of this kind.
    pub(crate) fn wanted(&self, kind: MomentKind) -> bool {
        if self.count.load(Ordering::SeqCst) == 0 {
            return false;
        }
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|(_, sender)| !sender.is_closed());
        self.count.store(listeners.len(), Ordering::SeqCst);
        listeners.iter().any(|(have, _)| *have == kind)
    }

    /// Notifies all listeners, and waits until each of them releases the service.
    pub(crate) async fn hold(&self, moment: &Moment) {
        let mut held = Vec::new();
        for (kind, sender) in self.listeners.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            if *kind == moment.kind {
                let (release, released) = oneshot::channel();
                // A listener that was dropped holds nothing.
                if sender.send(Held { moment: moment.clone(), _release: release }).is_ok() {
                    held.push(released);
                }
            }
        }
        for released in held {
            // The sender is dropped to release.
            let _ = released.await;
        }
    }
}
