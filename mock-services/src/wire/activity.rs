//! What the connections of a port are doing, so that it is known what was cut off when a trial ended.

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
pub(super) enum Doing {
    /// Nothing: the caller may send a request or not.
    Idle,
    /// A request has come in part.
    Reading,
    /// A request has come, and its answer has not been sent in whole.
    Answering,
}

/// Connections that were open at some moment, by what they were doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenConnections {
    /// Nothing was asked or everything was answered.
    pub idle: usize,
    /// The caller had sent a part of a request.
    pub sending: usize,
    /// The caller had not got the whole answer to its request.
    pub unanswered: usize,
}

impl OpenConnections {
    /// Both together.
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
pub(super) struct Activity {
    reading: AtomicUsize,
    answering: AtomicUsize,
    /// What was cut off when the port went into its late phase.
    cut: Mutex<OpenConnections>,
}

impl Activity {
    fn of(&self, doing: Doing) -> Option<&AtomicUsize> {
        match doing {
            Doing::Idle => None,
            Doing::Reading => Some(&self.reading),
            Doing::Answering => Some(&self.answering),
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
pub(super) struct Attached {
    phase: watch::Receiver<Phase>,
    activity: Arc<Activity>,
    doing: Doing,
    /// It counts as open as long as it has this.
    counted: Option<Counted>,
}

impl Attached {
    pub(super) fn new(
        phase: watch::Receiver<Phase>,
        activity: Arc<Activity>,
        count: watch::Sender<usize>,
    ) -> Self {
        count.send_modify(|open| *open += 1);
        Attached { phase, activity, doing: Doing::Idle, counted: Some(Counted(count)) }
    }

    /// Says what it is doing from now on.
    pub(super) fn does(&mut self, doing: Doing) {
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

    /// Counts as cut off from now on, and as open no more; says what it was doing.
    pub(super) fn cut_off(&mut self) -> Doing {
        let doing = self.doing;
        let mut cut = self.activity.cut.lock().unwrap_or_else(PoisonError::into_inner);
        match doing {
            Doing::Idle => cut.idle += 1,
            Doing::Reading => cut.sending += 1,
            Doing::Answering => cut.unanswered += 1,
        }
        drop(cut);
        self.does(Doing::Idle);
        self.counted = None;
        doing
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.does(Doing::Idle);
    }
}

/// Counts a connection as open until it is dropped.
#[derive(Debug)]
struct Counted(watch::Sender<usize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open = open.saturating_sub(1));
    }
}
