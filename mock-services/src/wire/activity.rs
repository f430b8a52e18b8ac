//! What the connections of a port are doing, so that a trial knows what was cut off at its end.

use std::future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// The phases of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Requests are served.
    Open,
    /// The trial has ended: requests are recorded and refused.
    Late,
    /// The port is closed.
    Closed,
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionActivity {
    /// Nothing: no request has begun.
    Idle,
    /// A part of a request has come.
    Reading,
    /// A request has come, and its answer has not been sent completely.
    Answering,
}

/// Connections that were open at some moment, by what they were doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenConnections {
    /// No request was open.
    pub idle: usize,
    /// The caller had sent a part of a request.
    pub sending: usize,
    /// The caller had not got the whole answer to its request.
    pub unanswered: usize,
}

impl OpenConnections {
    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        OpenConnections {
            idle: self.idle + other.idle,
            sending: self.sending + other.sending,
            unanswered: self.unanswered + other.unanswered,
        }
    }
}

/// What the connections of one port are doing.
#[derive(Debug, Default)]
pub(super) struct PortActivity {
    reading: AtomicUsize,
    answering: AtomicUsize,
    /// What was cut off when the port went into its late phase.
    cut: Mutex<OpenConnections>,
}

impl PortActivity {
    fn of(&self, doing: ConnectionActivity) -> Option<&AtomicUsize> {
        match doing {
            ConnectionActivity::Idle => None,
            ConnectionActivity::Reading => Some(&self.reading),
            ConnectionActivity::Answering => Some(&self.answering),
        }
    }

    /// What `open` connections are doing now.
    pub(super) fn now(&self, open: usize) -> OpenConnections {
        let (sending, unanswered) =
            (self.reading.load(Ordering::SeqCst), self.answering.load(Ordering::SeqCst));
        OpenConnections { idle: open.saturating_sub(sending + unanswered), sending, unanswered }
    }

    /// What was cut off when the port went into its late phase.
    pub(super) fn cut(&self) -> OpenConnections {
        *self.cut.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection among those of its port.
#[derive(Debug)]
pub(super) struct TrackedConnection {
    phase: watch::Receiver<Phase>,
    activity: Arc<PortActivity>,
    doing: ConnectionActivity,
    /// Counts the connection as open until it is dropped.
    counted: Option<OpenCount>,
}

impl TrackedConnection {
    pub(super) fn new(
        phase: watch::Receiver<Phase>,
        activity: Arc<PortActivity>,
        count: watch::Sender<usize>,
    ) -> Self {
        count.send_modify(|open| *open += 1);
        TrackedConnection {
            phase,
            activity,
            doing: ConnectionActivity::Idle,
            counted: Some(OpenCount(count)),
        }
    }

    /// Sets what it is doing from now on.
    pub(super) fn set_activity(&mut self, doing: ConnectionActivity) {
        let before = std::mem::replace(&mut self.doing, doing);
        if before != doing {
            self.activity.of(doing).map(|count| count.fetch_add(1, Ordering::SeqCst));
            self.activity.of(before).map(|count| count.fetch_sub(1, Ordering::SeqCst));
        }
    }

    /// Completes when the port goes into its late phase.
    pub(super) fn is_late(&self) -> impl Future<Output = ()> + use<> {
        let mut phase = self.phase.clone();
        async move {
            if phase.wait_for(|phase| *phase == Phase::Late).await.is_err() {
                future::pending().await
            }
        }
    }

    /// Counts the connection as cut off instead of as open; returns what it was doing.
    pub(super) fn cut_off(&mut self) -> ConnectionActivity {
        let doing = self.doing;
        let mut cut = self.activity.cut.lock().unwrap_or_else(PoisonError::into_inner);
        match doing {
            ConnectionActivity::Idle => cut.idle += 1,
            ConnectionActivity::Reading => cut.sending += 1,
            ConnectionActivity::Answering => cut.unanswered += 1,
        }
        drop(cut);
        self.set_activity(ConnectionActivity::Idle);
        self.counted = None;
        doing
    }
}

impl Drop for TrackedConnection {
    fn drop(&mut self) {
        self.set_activity(ConnectionActivity::Idle);
    }
}

/// Counts a connection as open until it is dropped.
#[derive(Debug)]
struct OpenCount(watch::Sender<usize>);

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open = open.saturating_sub(1));
    }
}
