//! One start of one caller: what it gets, and how it ended. Plain data.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::{Answer, CapturedOutput, ClaimOrigin, ClaimedOutcome, Question};

/// One start of one caller.
#[derive(Debug, Clone)]
pub struct Start {
    /// The name of the trial that the subject gets: opaque.
    pub trial: String,
    /// The name of the caller that the subject gets: opaque, the same at all starts of the caller.
    pub name: String,
    /// The number of the caller, from 1. The subject does not get it.
    pub caller: u32,
    /// Which start of this caller it is, from 1. The subject does not get it.
    pub start: u32,
    /// Whether it continues the work of a start that was interrupted.
    pub resumes: bool,
    /// The text of the task.
    pub task: String,
    /// The steps, as JSON.
    pub steps: String,
    /// What a person answers to questions of an earlier start; `None` if it does not resume one.
    pub answers: Option<Vec<Answer>>,
    /// The event that it gets, if it is started for one.
    pub event: Option<super::ReceivedEvent>,
    /// What an agent over HTTP gets while it runs, instead of one task.
    pub deliveries: Option<super::DeliveryQueue>,
    /// The variables with the secrets of the senders.
    pub webhook_secrets: Vec<(String, String)>,
    /// The addresses of the services for this caller; none if it gets them only as MCP tools.
    pub services: Vec<ServiceAddress>,
    /// The URL of its MCP endpoint, which offers the services as tools.
    pub mcp: Option<String>,
    /// This caller's directory, kept across restarts and turns.
    pub state_dir: PathBuf,
    /// The directory of all callers of the trial.
    pub shared_dir: PathBuf,
    /// The folders for temporary files of its machine.
    pub machine: super::Machine,
    /// About the first process id that it has in a process namespace of its own.
    pub first_process: u32,
    /// The file for its claim. It does not exist yet.
    pub result: PathBuf,
    /// The address of the proxy recorder: `http://127.0.0.1:PORT`, one for each caller.
    pub proxy: String,
    /// Its limits.
    pub limits: Limits,
    /// The timeout of the clients of a control.
    pub client_timeout: Duration,
    /// Hides secrets in its output and its claim.
    pub hide: super::Hide,
    /// Called before an agent that hapax started and that has answered is stopped.
    pub before_stop: Option<BeforeStop>,
    /// The turns of its requests to allowed hosts, for which its time limit does not run.
    pub rate: Option<super::CallerRate>,
    /// Called at its time limit, before it is stopped.
    pub before_time_up: Option<BeforeStop>,
    /// The certificates that its clients must trust, if the proxy answers for the real hosts of services.
    pub intercepted: Option<super::Trust>,
    /// How it is sealed, if it is.
    pub sealed: Option<super::SealedStart>,
    /// Where its supervisor is named.
    pub supervisor: SupervisorId,
    /// What an agent over HTTP has accepted, at this start or an earlier one.
    pub accepted: AcceptedTask,
}

impl Start {
    /// Whether it gets no task and must find by itself what it has accepted before.
    pub(super) fn has_no_task(&self) -> bool {
        self.task.is_empty() && self.steps == "[]"
    }
}

/// The task that an agent over HTTP has accepted with 202, at any start of its caller.
#[derive(Debug, Clone, Default)]
pub struct AcceptedTask(Arc<Mutex<Option<AcceptedAt>>>);

/// How the end of an accepted task becomes known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AcceptedAt {
    /// By the status at this path.
    Status(String),
    /// Only by watching the agent.
    Watched,
}

impl AcceptedTask {
    pub(super) fn get(&self) -> Option<AcceptedAt> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, at: AcceptedAt) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }
}

impl Start {
    /// The file with its event.
    pub(super) fn event_file(&self) -> PathBuf {
        self.result.with_extension("event.json")
    }

    /// Its home directory, if it has one of its own.
    pub(super) fn home(&self) -> PathBuf {
        self.state_dir.join("home")
    }

    /// Its working directory, if it has a home directory of its own: nothing of a project is in it or above it.
    pub(super) fn work_dir(&self) -> PathBuf {
        self.state_dir.join("work")
    }
}

/// The process id of the supervisor of a caller's start, as long as it runs. A start that hapax only sends
/// its task to has none.
#[derive(Debug, Clone, Default)]
pub struct SupervisorId(Arc<AtomicU32>);

impl SupervisorId {
    /// The process id; `None` if nothing runs.
    pub(crate) fn get(&self) -> Option<u32> {
        Some(self.0.load(Ordering::SeqCst)).filter(|id| *id != 0)
    }

    pub(crate) fn set(&self, id: Option<u32>) {
        self.0.store(id.unwrap_or_default(), Ordering::SeqCst);
    }
}

/// A function that is called before an agent is stopped.
#[derive(Clone)]
pub struct BeforeStop(Arc<dyn Fn() + Send + Sync>);

impl BeforeStop {
    /// Calls this function.
    pub fn new(action: impl Fn() + Send + Sync + 'static) -> Self {
        BeforeStop(Arc::new(action))
    }

    /// Calls it now.
    pub(super) fn call(&self) {
        (self.0)();
    }
}

impl fmt::Debug for BeforeStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BeforeStop")
    }
}

/// The address of a service for a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAddress {
    /// The service's name.
    pub name: String,
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    /// Its address for SMTP, if it accepts messages by SMTP.
    pub smtp: Option<super::MailAddress>,
    /// The API key that it accepts.
    pub key: String,
}

/// The limits of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The time limit.
    pub time: Duration,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// How many bytes of each of its outputs are kept.
    pub kept: usize,
    /// The maximum number of processes at once.
    pub processes: usize,
    /// The maximum size of a file that it writes, in bytes.
    pub file_size: u64,
    /// The soft limit of open files, if it differs from that of hapax.
    #[serde(default)]
    pub files: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            time: Duration::from_secs(60),
            grace: Duration::from_secs(2),
            kept: 64 * 1024,
            processes: 256,
            file_size: 256 * 1024 * 1024,
            files: None,
        }
    }
}

/// Where a claim is taken from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub enum ClaimSource {
    /// The result file; without it, the last line of the output that is a claim.
    #[default]
    ResultOrLastLine,
    /// The same; a missing claim is only noted.
    Optional,
    /// The result file only.
    ResultFile,
    /// The last line of the output that is a claim.
    LastLine,
    /// The exit status: each listed status with its outcome.
    ExitStatus(Vec<(i32, ClaimedOutcome)>),
    /// Texts in the output, each with its outcome; the last that occurs counts.
    Patterns(Vec<(String, ClaimedOutcome)>),
    /// The result file or the last line; without both, what this service says for the subject.
    Service(String),
}

/// A start that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedStart {
    /// How it ended.
    pub reason: EndReason,
    /// Its claim.
    pub claim: ReceivedClaim,
    /// What it wrote.
    pub output: CapturedOutput,
    /// The number of processes that it left running.
    pub left_running: usize,
    /// The CPU time of all its processes, if it is known.
    pub cpu: Option<Duration>,
    /// How long after its start it made its claim, if it claimed before hapax stopped it at its time
    /// limit.
    pub claimed_after: Option<Duration>,
}

/// How a start ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// It exited with this status.
    Exited(i32),
    /// A signal ended it.
    Signaled(i32),
    /// It reached its time limit.
    TimeUp,
    /// It exceeded this other limit, and was killed.
    OverLimit(String),
    /// An agent over HTTP answered with this status.
    Answered(u16),
    /// An agent over HTTP accepted the task and gave no readable answer: why.
    NoAnswer(String),
    /// It could not be started or reached: why, and what to do.
    Unstartable(String),
}

impl EndReason {
    /// Its word in hapax's own log.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            EndReason::Exited(_) => "exited",
            EndReason::Signaled(_) => "signaled",
            EndReason::TimeUp => "time-up",
            EndReason::OverLimit(_) => "over-limit",
            EndReason::Answered(_) => "answered",
            EndReason::NoAnswer(_) => "no-answer",
            EndReason::Unstartable(_) => "unstartable",
        }
    }
}

/// The claim of a start, as far as it can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceivedClaim {
    /// What it claims; `None` if there is no readable claim.
    pub outcome: Option<ClaimedOutcome>,
    /// Its message, shortened.
    pub message: String,
    /// Where it was found.
    pub origin: Option<ClaimOrigin>,
    /// Why it cannot be read, if there was something.
    pub problem: Option<String>,
    /// What it waits for, if it claims that it waits.
    pub questions: Vec<Question>,
}
