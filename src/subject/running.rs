//! A running start: it can be interrupted, and its end can be awaited. The task that started it carries out
//! the interrupts.

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::supervisor::{ALREADY_ENDED, SupervisorOrder};
use super::{EndReason, EndedStart, ReceivedClaim, Start};
use crate::domain::CapturedOutput;

/// A running start. Dropping it kills all its processes.
#[derive(Debug)]
pub struct Running {
    handle: Handle,
    task: JoinHandle<EndedStart>,
    caller_and_start: (u32, u32),
}

/// The result of an interrupt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InterruptResult {
    /// It took effect.
    Applied,
    /// It did not: why.
    Missed(String),
}

/// Interrupts a start. Interrupts have no effect after it has ended.
#[derive(Debug, Clone)]
pub struct Handle(mpsc::UnboundedSender<InterruptRequest>);

/// An interrupt, and the channel for its result.
#[derive(Debug)]
pub(super) struct InterruptRequest {
    pub(super) order: SupervisorOrder,
    pub(super) result: oneshot::Sender<InterruptResult>,
}

impl Running {
    /// Runs the task that carries out interrupts until everything has ended.
    pub(super) fn new<W, F>(start: &Start, work: W) -> Self
    where
        W: FnOnce(mpsc::UnboundedReceiver<InterruptRequest>) -> F,
        F: Future<Output = EndedStart> + Send + 'static,
    {
        let (orders, requests) = mpsc::unbounded_channel();
        Running {
            handle: Handle(orders),
            task: tokio::spawn(work(requests)),
            caller_and_start: (start.caller, start.start),
        }
    }

    /// A start that failed, and why.
    pub(super) fn unstartable(start: &Start, why: String) -> Self {
        let ended = EndedStart::unstartable(start.caller, start.start, why);
        Running::new(start, |_| async { ended })
    }

    /// The handle to interrupt it.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Waits until everything has ended, and returns how.
    pub async fn ended(mut self) -> EndedStart {
        match (&mut self.task).await {
            Ok(ended) => ended,
            Err(error) => EndedStart::unstartable(
                self.caller_and_start.0,
                self.caller_and_start.1,
                format!("the task that watches it failed: {error}"),
            ),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The task owns the input of the supervisor: when it is closed, the supervisor kills everything.
        self.task.abort();
    }
}

impl Handle {
    /// SIGKILL to everything; returns when all of it is dead.
    pub async fn kill(&self) -> InterruptResult {
        self.request(SupervisorOrder::Kill).await
    }

    /// SIGTERM, and SIGKILL after the grace time; returns when the signal was received.
    pub async fn stop(&self) -> InterruptResult {
        self.request(SupervisorOrder::Stop).await
    }

    /// Stops a server that has done its task, like [`Handle::stop`]; what it leaves behind is counted.
    pub(super) async fn finish(&self) -> InterruptResult {
        self.request(SupervisorOrder::Finish).await
    }

    /// Sends the cancel signal of its settings, SIGINT by default; returns when it was received.
    pub async fn cancel(&self) -> InterruptResult {
        self.request(SupervisorOrder::Cancel).await
    }

    /// SIGSTOP to everything; returns when all of it is stopped.
    pub async fn freeze(&self) -> InterruptResult {
        self.request(SupervisorOrder::Freeze).await
    }

    /// SIGSTOP to everything, so that the next signal is the first that it receives; returns when every
    /// thread is stopped.
    pub async fn hold(&self) -> InterruptResult {
        self.request(SupervisorOrder::Hold).await
    }

    /// SIGCONT to everything.
    pub async fn thaw(&self) -> InterruptResult {
        self.request(SupervisorOrder::Thaw).await
    }

    /// Stops it at its time limit, like [`Handle::stop`]; returns when all of it is dead.
    pub async fn end_time_up(&self) -> InterruptResult {
        self.request(SupervisorOrder::TimeUp).await
    }

    /// Passes an interrupt on to this start.
    pub(super) fn pass_on(&self, request: InterruptRequest) {
        // If it has ended, the request is dropped, and its channel closes.
        let _ = self.0.send(request);
    }

    async fn request(&self, order: SupervisorOrder) -> InterruptResult {
        let (result, received) = oneshot::channel();
        let missed = || InterruptResult::Missed(ALREADY_ENDED.to_owned());
        match self.0.send(InterruptRequest { order, result }) {
            // It is dropped when the start has ended.
            Ok(()) => received.await.unwrap_or_else(|_| missed()),
            Err(_) => missed(),
        }
    }
}

impl EndedStart {
    /// The end of a start that could not be started.
    pub(super) fn unstartable(caller: u32, start: u32, why: String) -> Self {
        let output = CapturedOutput { caller, start, ..CapturedOutput::default() };
        EndedStart {
            reason: EndReason::Unstartable(why),
            claim: ReceivedClaim::default(),
            output,
            left_running: 0,
            cpu: None,
            claimed_after: None,
        }
    }
}
