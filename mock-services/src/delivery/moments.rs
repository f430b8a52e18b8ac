//! The moments of an attempt at which a listener can pause the service, and how it is paused.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Notify, mpsc, oneshot};

use crate::service::TaskShare;

/// A point in the processing of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MomentKind {
    /// It has arrived, and nothing of it is recorded or decided yet: a request that the service would accept, or a read
    /// that it would refuse. Only this request is held, and it has no effect if its client leaves meanwhile.
    Queued,
    /// It has arrived, the service would accept it, and nothing of it is recorded or decided yet. Only this
    /// request is held: the service processes others meanwhile, and decides on the state after them.
    Arrived,
    /// It has been recorded, and nothing is committed yet.
    Received,
    /// What it changes has been committed, and nothing is sent yet.
    Committed,
    /// What it changes has been committed, and only this reply is held: the service processes other requests
    /// meanwhile.
    Announced,
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
    /// The attempt's number in the ledger; 0 at [`MomentKind::Queued`] and [`MomentKind::Arrived`], where it has none
    /// yet.
    pub attempt: u64,
    /// The caller.
    pub caller: u32,
    /// At [`MomentKind::AfterReply`]: whether the whole reply is in the caller's socket. Otherwise `false`.
    pub sent: bool,
    /// At [`MomentKind::Queued`], [`MomentKind::Arrived`] and [`MomentKind::Received`]: how much of the task the attempt
    /// carries. Otherwise, and for a request that the service would refuse, all of it.
    pub share: TaskShare,
}

/// A moment at which the service is paused, or only the request that arrived. It continues when this is dropped.
#[derive(Debug)]
pub struct Held {
    /// The moment.
    pub moment: Moment,
    release: oneshot::Sender<oneshot::Sender<QueuedEnd>>,
}

/// The end of a request that was held at [`MomentKind::Queued`], after its release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueuedEnd {
    /// Its answer is decided: it was accepted or refused.
    Answered,
    /// It has no effect, because its client had left.
    GivenUp,
}

impl Held {
    /// Whether the request is given up, because its client has left.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.release.is_closed()
    }

    /// Releases a request that is held at [`MomentKind::Queued`]; the returned future is ready at its end. `None` if the
    /// service stopped before.
    pub fn release(self) -> impl Future<Output = Option<QueuedEnd>> + Send + use<> {
        let (end, ended) = oneshot::channel();
        let was_given_up = self.release.send(end).is_err();
        async move { if was_given_up { Some(QueuedEnd::GivenUp) } else { ended.await.ok() } }
    }
}

/// Those who wait for the end of a request that was held at [`MomentKind::Queued`].
#[derive(Debug, Default)]
pub(crate) struct QueuedFollowers(Vec<oneshot::Sender<QueuedEnd>>);

impl QueuedFollowers {
    pub(crate) fn notify(self, end: QueuedEnd) {
        for follower in self.0 {
            // One that does not wait any longer is not notified.
            let _ = follower.send(end);
        }
    }
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

    /// Notifies all listeners, and waits until each of them releases the service. Returns those that wait for the end of
    /// the request.
    pub(crate) async fn hold(&self, moment: &Moment) -> QueuedFollowers {
        let mut held = Vec::new();
        for (kind, sender) in self.listeners.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            if *kind == moment.kind {
                let (release, released) = oneshot::channel();
                // A listener that was dropped holds nothing.
                if sender.send(Held { moment: moment.clone(), release }).is_ok() {
                    held.push(released);
                }
            }
        }
        let mut followers = QueuedFollowers::default();
        for released in held {
            // The sender is used to release, or dropped by a listener that does not wait for the end.
            followers.0.extend(released.await);
        }
        followers
    }
}

/// Pauses a whole service: while it is closed, no other request takes another step.
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

/// Holds one reply before its last byte, and the service with it: a listener can stop the caller there, so
/// that the whole reply is in the caller's socket before the caller can act on it.
#[derive(Debug)]
pub(crate) struct LastByteHold<'e> {
    pub(crate) moments: &'e Moments,
    pub(crate) gate: &'e Gate,
    pub(crate) moment: Moment,
}

impl LastByteHold<'_> {
    /// All but the last byte has been sent. The service is paused until every listener releases it, and until
    /// the returned guard is passed to [`LastByteHold::after`].
    pub(crate) async fn before(&self) -> ClosedGate<'_> {
        let closed = self.gate.close_alone().await;
        self.moments.hold(&self.moment).await;
        closed
    }

    /// The last byte has been sent, or could not be. Waits until every listener releases it, then the service
    /// continues.
    pub(crate) async fn after(&self, closed: ClosedGate<'_>, sent: bool) {
        self.moments.hold(&Moment { kind: MomentKind::AfterReply, sent, ..self.moment.clone() }).await;
        drop(closed);
    }
}
