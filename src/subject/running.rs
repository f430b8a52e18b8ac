//! A start that is under way: blows can be dealt to it, and its end be awaited. It knows nothing of
//! processes; whoever started it carries the blows out.

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::supervisor::{BY_ITSELF, SupervisorOrder};
use super::{ClaimHeard, Ended, How, Start};
use crate::domain::CapturedOutput;

/// A start that is under way. When it is dropped, everything of it is killed.
#[derive(Debug)]
pub struct Running {
    handle: Handle,
    task: JoinHandle<Ended>,
    whose: (u32, u32),
}

/// What became of a blow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// It took effect.
    Landed,
    /// It did not: why.
    Missed(String),
}

/// Deals blows to a start. Those that come when it has ended do nothing.
#[derive(Debug, Clone)]
pub struct Handle(mpsc::UnboundedSender<Ordered>);

/// A blow, and who waits for it to land.
#[derive(Debug)]
pub(super) struct Ordered {
    pub(super) blow: SupervisorOrder,
    pub(super) landed: oneshot::Sender<Landing>,
}

impl Running {
    /// Runs the work that carries out blows until everything is gone.
    pub(super) fn new<W, F>(start: &Start, work: W) -> Self
    where
        W: FnOnce(mpsc::UnboundedReceiver<Ordered>) -> F,
        F: Future<Output = Ended> + Send + 'static,
    {
        let (orders, ordered) = mpsc::unbounded_channel();
        Running {
            handle: Handle(orders),
            task: tokio::spawn(work(ordered)),
            whose: (start.caller, start.start),
        }
    }

    /// One that never began, and why.
    pub(super) fn unstartable(start: &Start, why: String) -> Self {
        let ended = Ended::unstartable(start.caller, start.start, why);
        Running::new(start, |_| async { ended })
    }

    /// What deals blows to it.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// How it ended, when everything of it is gone.
    pub async fn ended(mut self) -> Ended {
        match (&mut self.task).await {
            Ok(ended) => ended,
            Err(error) => Ended::unstartable(
                self.whose.0,
                self.whose.1,
                format!("it could not be followed to its end: {error}"),
            ),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The task holds the supervisor's input: when it is closed, the supervisor kills everything.
        self.task.abort();
    }
}

impl Handle {
    /// SIGKILL to everything; returns when all of it is dead.
    pub async fn kill(&self) -> Landing {
        self.deal(SupervisorOrder::Kill).await
    }

    /// SIGTERM, and SIGKILL after the grace; returns when the signal was taken.
    pub async fn stop(&self) -> Landing {
        self.deal(SupervisorOrder::Stop).await
    }

    /// Sends the signal that its settings name, SIGINT where they name none; returns when it was taken.
    pub async fn cancel(&self) -> Landing {
        self.deal(SupervisorOrder::Cancel).await
    }

    /// SIGSTOP to everything; returns when all of it stands still.
    pub async fn freeze(&self) -> Landing {
        self.deal(SupervisorOrder::Freeze).await
    }

    /// SIGSTOP to everything, so that the next blow is the first thing that it meets; returns when every
    /// thread stands still.
    pub async fn hold(&self) -> Landing {
        self.deal(SupervisorOrder::Hold).await
    }

    /// SIGCONT to everything.
    pub async fn thaw(&self) -> Landing {
        self.deal(SupervisorOrder::Thaw).await
    }

    /// Ends it because its time is up, as [`Handle::stop`] does; returns when all of it is dead.
    pub async fn end_time_up(&self) -> Landing {
        self.deal(SupervisorOrder::TimeUp).await
    }

    /// Passes a blow on that was dealt to something around this start.
    pub(super) fn pass_on(&self, ordered: Ordered) {
        // Where it has ended, the order is dropped, and whoever waits goes on.
        let _ = self.0.send(ordered);
    }

    async fn deal(&self, blow: SupervisorOrder) -> Landing {
        let (landed, landing) = oneshot::channel();
        let missed = || Landing::Missed(BY_ITSELF.to_owned());
        match self.0.send(Ordered { blow, landed }) {
            // It is dropped when the start has ended: there is nothing left to land on.
            Ok(()) => landing.await.unwrap_or_else(|_| missed()),
            Err(_) => missed(),
        }
    }
}

impl Ended {
    /// The end of a start that never was.
    pub(super) fn unstartable(caller: u32, start: u32, why: String) -> Self {
        let output = CapturedOutput { caller, start, ..CapturedOutput::default() };
        Ended {
            how: How::Unstartable(why),
            claim: ClaimHeard::default(),
            output,
            left: 0,
            cpu: None,
            reported: None,
        }
    }
}
