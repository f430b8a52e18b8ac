//! One call of a command-line tool under a supervisor: no process of it outlives the call, and its time,
//! output and processes are limited. It has no terminal and no input.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::environment::tool_environment;
use super::running::{InterruptRequest, InterruptResult};
use super::supervised::{FollowHooks, Supervised, SupervisorReport};
use super::supervisor::{ProgramInput, StartOrder, SupervisorOrder};
use super::{EndReason, Limits, Settings};

use crate::process_env;

/// A call of a tool.
#[derive(Debug, Clone)]
pub struct CommandCall {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// Its working directory, home directory and directory for temporary files.
    pub directory: PathBuf,
    /// The variables that it gets from the environment of hapax, besides the usual ones.
    pub pass: Vec<String>,
    /// Its limits.
    pub limits: Limits,
    /// When it is killed with SIGKILL, counted from its start; `None` not to kill it.
    pub kill_after: Option<Duration>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEnd {
    /// How.
    pub reason: EndReason,
    /// Its output, shortened.
    pub stdout: String,
    /// Its error output, shortened.
    pub stderr: String,
    /// Whether it was killed as planned, before it ended by itself.
    pub killed: bool,
    /// How long it took.
    pub took: Duration,
}

impl CommandCall {
    /// Makes the call, and waits until everything has ended.
    pub async fn run(&self) -> CommandEnd {
        let settings = Settings::default();
        let order = StartOrder {
            program: self.program.clone(),
            directory: Some(self.directory.clone()),
            env: tool_environment(&self.directory, &self.pass, &process_env::all()),
            input: ProgramInput::Empty,
            claim_marks: Vec::new(),
            seal: None,
            cancel: settings.cancel,
            limits: self.limits,
        };
        let began = Instant::now();
        let supervised = match Supervised::begin(&order, &settings) {
            Ok(supervised) => supervised,
            Err(why) => return CommandEnd::unstartable(why),
        };
        let (orders, mut requests) = mpsc::unbounded_channel();
        let (result, answer) = oneshot::channel();
        let killer = async {
            match self.kill_after {
                Some(delay) => {
                    tokio::time::sleep(delay).await;
                    let _ = orders.send(InterruptRequest { order: SupervisorOrder::Kill, result });
                    matches!(answer.await, Ok(InterruptResult::Applied))
                }
                None => std::future::pending().await,
            }
        };
        let follow = supervised.follow(self.limits, &self.directory, FollowHooks::default(), &mut requests);
        tokio::pin!(follow);
        let mut killed = false;
        let SupervisorReport { reason, stdout, stderr, .. } = tokio::select! {
            report = &mut follow => report,
            was_killed = killer => {
                killed = was_killed;
                follow.await
            }
        };
        // The supervisor may report the end of a killed call before it confirms the order.
        killed |= self.kill_after.is_some() && reason == EndReason::Signaled(KILL);
        CommandEnd { reason, stdout: stdout.text(), stderr: stderr.text(), killed, took: began.elapsed() }
    }
}

/// The number of SIGKILL.
const KILL: i32 = 9;

impl CommandEnd {
    fn unstartable(why: String) -> Self {
        CommandEnd {
            reason: EndReason::Unstartable(why),
            stdout: String::new(),
            stderr: String::new(),
            killed: false,
            took: Duration::ZERO,
        }
    }
}
