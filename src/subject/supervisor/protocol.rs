//! The messages between hapax and a supervisor: one line of JSON each.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;

use serde::{Deserialize, Serialize};

use crate::subject::captured::Captured;
use crate::subject::sealed::SealOrder;
use crate::subject::{EndReason, Signal};

/// The first line to a supervisor: what to start, and its limits.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::subject) struct StartOrder {
    /// The program and its arguments.
    pub(in crate::subject) program: Vec<String>,
    /// Its working directory.
    pub(in crate::subject) directory: Option<PathBuf>,
    /// Its whole environment.
    pub(in crate::subject) env: Vec<(String, String)>,
    /// Its standard input.
    #[serde(default)]
    pub(in crate::subject) input: ProgramInput,
    /// Texts that identify a claim in its output; the last message has the time when each output last had
    /// one.
    #[serde(default)]
    pub(in crate::subject) claim_marks: Vec<String>,
    /// How it is sealed, if it is.
    #[serde(default)]
    pub(in crate::subject) seal: Option<SealOrder>,
    /// The signal that `cancel` sends.
    pub(in crate::subject) cancel: Signal,
    /// Its limits.
    pub(in crate::subject) limits: crate::subject::Limits,
}

/// The standard input of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::subject) enum ProgramInput {
    /// It is empty.
    #[default]
    Empty,
    /// An open pipe without input.
    Open,
    /// The content of a file.
    File(PathBuf),
}

impl ProgramInput {
    /// It, for a program that is started.
    pub(in crate::subject) fn stdio(&self) -> Result<Stdio, String> {
        Ok(match self {
            ProgramInput::Empty => Stdio::null(),
            ProgramInput::Open => Stdio::piped(),
            ProgramInput::File(path) => {
                let file = File::open(path);
                file.map_err(|error| format!("cannot read the task in {}: {error}", path.display()))?.into()
            }
        })
    }
}

/// Every further line to a supervisor: what to do with the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::subject) enum SupervisorOrder {
    /// SIGKILL to everything.
    Kill,
    /// SIGTERM, and SIGKILL after the grace.
    Stop,
    /// The same for the processes of a server that has done its task. What it leaves behind gets no signal before it is
    /// counted.
    Finish,
    /// The signal that its settings name.
    Cancel,
    /// SIGSTOP.
    Freeze,
    /// SIGSTOP until the next order, whose signal is the first that it receives when it continues.
    Hold,
    /// SIGCONT.
    Thaw,
    /// Like `Stop`, because of its time limit.
    TimeUp,
}

/// A message of a supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::subject) enum SupervisorMessage {
    /// An order has taken effect.
    Applied(SupervisorOrder),
    /// An order did not take effect, and why.
    Missed(SupervisorOrder, String),
    /// All processes of this start have ended, or could not be killed. It is the last line.
    Ended {
        /// How it ended.
        reason: EndReason,
        /// What it wrote.
        stdout: Captured,
        /// What it wrote to its standard error.
        stderr: Captured,
        /// The number of processes that it left running.
        left_running: usize,
        /// Whether none of its processes is left; otherwise some could not be killed.
        are_all_dead: bool,
        /// The CPU time of all its processes, in milliseconds, if it is known.
        #[serde(default)]
        cpu: Option<u64>,
    },
}
