//! What hapax and a supervisor say to each other: one line of JSON each.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::subject::captured::Captured;
use crate::subject::{How, Signal};

/// The first line to a supervisor: what to start, and what it may use.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::subject) struct Order {
    /// The program and its arguments.
    pub(in crate::subject) program: Vec<String>,
    /// Where it runs.
    pub(in crate::subject) directory: Option<PathBuf>,
    /// Its whole environment.
    pub(in crate::subject) env: Vec<(String, String)>,
    /// Whether its standard input is an open pipe on which nothing comes, instead of one that is at its end.
    #[serde(default)]
    pub(in crate::subject) open_input: bool,
    /// Texts that a claim in its output has: when each output last had one is told at the end.
    #[serde(default)]
    pub(in crate::subject) claim_marks: Vec<String>,
    /// The signal that `cancel` sends.
    pub(in crate::subject) cancel: Signal,
    /// What it may use.
    pub(in crate::subject) limits: crate::subject::Limits,
}

/// Every further line to a supervisor: what is to be done to the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::subject) enum SupervisorOrder {
    /// SIGKILL to everything.
    Kill,
    /// SIGTERM, and SIGKILL after the grace.
    Stop,
    /// The signal that its settings name.
    Cancel,
    /// SIGSTOP.
    Freeze,
    /// SIGSTOP until the next blow, which is the first thing that it meets when it goes on.
    Hold,
    /// SIGCONT.
    Thaw,
    /// The same as `Stop`, and its end is that its time was up.
    TimeUp,
}

/// What a supervisor says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::subject) enum Answer {
    /// A blow has landed.
    Landed(SupervisorOrder),
    /// A blow did not land, and why.
    Missed(SupervisorOrder, String),
    /// Everything of this start is gone. It is the last line.
    Ended {
        /// How it ended.
        how: How,
        /// What it wrote.
        stdout: Captured,
        /// What it wrote to its standard error.
        stderr: Captured,
        /// How many processes it left behind that did not end by themselves.
        left: usize,
        /// The processor time of all of it, in milliseconds, where the system says.
        #[serde(default)]
        cpu: Option<u64>,
    },
}
