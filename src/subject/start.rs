//! One start of one caller: what it is given, and what is heard of it at its end. Plain data.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::{CapturedOutput, ClaimOrigin, ClaimedOutcome};

/// One start of one caller.
#[derive(Debug, Clone)]
pub struct Start {
    /// The name of the trial that the subject is given: opaque.
    pub trial: String,
    /// The name of the caller that the subject is given: opaque, the same at all starts of the caller.
    pub name: String,
    /// The caller, from 1. The subject is never told.
    pub caller: u32,
    /// Which start of this caller it is, from 1. The subject is never told.
    pub start: u32,
    /// The task in words.
    pub task: String,
    /// The steps, as JSON.
    pub steps: String,
    /// Where the services are for this caller.
    pub services: Vec<ServiceAddress>,
    /// This caller's directory, kept across restarts and turns.
    pub state_dir: PathBuf,
    /// The directory of all callers of the trial.
    pub shared_dir: PathBuf,
    /// The file for its claim. It does not exist yet.
    pub result: PathBuf,
    /// Where the recorder that refuses is reached: `http://127.0.0.1:PORT`, one for each caller.
    pub proxy: String,
    /// What it may use.
    pub limits: Limits,
    /// Hides secrets in what it says.
    pub hide: super::Hide,
    /// What is done before an agent that has answered, and that hapax started, is stopped.
    pub before_stop: Option<BeforeStop>,
    /// What is done at its time limit, before it is stopped.
    pub before_time_up: Option<BeforeStop>,
}

/// Something that is done before an agent is stopped.
#[derive(Clone)]
pub struct BeforeStop(Arc<dyn Fn() + Send + Sync>);

impl BeforeStop {
    /// Does this.
    pub fn new(action: impl Fn() + Send + Sync + 'static) -> Self {
        BeforeStop(Arc::new(action))
    }

    /// Does it now.
    pub(super) fn call(&self) {
        (self.0)();
    }
}

impl fmt::Debug for BeforeStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BeforeStop")
    }
}

/// Where a caller reaches a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAddress {
    /// The service's name.
    pub name: String,
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    /// Where it takes messages by SMTP, if it does.
    pub smtp: Option<super::MailAddress>,
    /// The API key that it takes.
    pub key: String,
}

/// What a start may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How long it may take.
    pub time: Duration,
    /// How long it has between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// How many bytes of each of its outputs are kept.
    pub kept: usize,
    /// How many processes it may have at once.
    pub processes: usize,
    /// How large a file it may write, in bytes.
    pub file_size: u64,
    /// How many files it may have open until it asks for more, where that is not what hapax itself may.
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
    /// The result file, or else the last line of the output that is a claim.
    #[default]
    ResultOrLastLine,
    /// The result file alone.
    ResultFile,
    /// The last line of the output that is a claim.
    LastLine,
    /// The exit status: each status that is listed, with what it says.
    ExitStatus(Vec<(i32, ClaimedOutcome)>),
    /// Texts that occur in the output, each with what it says; the last to occur counts.
    Patterns(Vec<(String, ClaimedOutcome)>),
}

/// How a start ended, and what was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub how: How,
    /// What it said of its task.
    pub claim: ClaimHeard,
    /// What it wrote.
    pub output: CapturedOutput,
    /// How many processes it left behind that did not end by themselves.
    pub left: usize,
    /// The processor time of all of it, where that is known.
    pub cpu: Option<Duration>,
    /// How long after its start it made its claim, where hapax stopped it at its time limit and the claim was
    /// made before.
    pub reported: Option<Duration>,
}

/// How a start ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// By itself, with this status.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// Its time was up.
    TimeUp,
    /// It used more than it may, and was ended: what it was.
    OverLimit(String),
    /// An agent over HTTP answered, with this status.
    Answered(u16),
    /// An agent over HTTP took the task and closed the connection without an answer that can be read: why.
    NoAnswer(String),
    /// It could not be started, or not be reached: why, and what to do.
    Unstartable(String),
}

impl How {
    /// The word for it in hapax's own log.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            How::Exited(_) => "exited",
            How::Signalled(_) => "signalled",
            How::TimeUp => "time-up",
            How::OverLimit(_) => "over-limit",
            How::Answered(_) => "answered",
            How::NoAnswer(_) => "no-answer",
            How::Unstartable(_) => "unstartable",
        }
    }
}

/// What was heard of a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimHeard {
    /// What it said; `None` where it said nothing that can be read.
    pub said: Option<ClaimedOutcome>,
    /// Its own words, bounded.
    pub message: String,
    /// Where it was found.
    pub from: Option<ClaimOrigin>,
    /// What was wrong with it, where there was something that is no claim.
    pub problem: Option<String>,
}
