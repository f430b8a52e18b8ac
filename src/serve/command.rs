//! A command that runs beside the services, such as the tests of an agent.

use std::future::Future;
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use super::{ADMIN_VARIABLES, ServeError, Serving, StopSignal};
use crate::subject::{adopt_orphans, left_running};

/// The time in which the processes that a command has left can end.
const GRACE: Duration = Duration::from_secs(1);
/// The time between two looks at them.
const INTERVAL: Duration = Duration::from_millis(20);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedCommand {
    /// Its exit status, as a shell gives it.
    pub status: u8,
    /// The number of processes that it started and that still run.
    pub left_running: usize,
}

impl Serving {
    /// Runs a command with the variables of the services, and waits a moment for the processes that it leaves.
    /// A signal that stops hapax is passed on to the command.
    ///
    /// # Errors
    /// When the command cannot be started.
    pub async fn run_command(
        &self,
        words: &[String],
        stopped: impl Future<Output = StopSignal>,
    ) -> Result<EndedCommand, ServeError> {
        let failed = |error| ServeError::Command { command: words.join(" "), error };
        let (program, arguments) =
            words.split_first().ok_or_else(|| failed(std::io::Error::other("the command is empty")))?;
        adopt_orphans();
        let mut command = Command::new(program);
        if !self.gives_admin {
            // hapax may have inherited them.
            ADMIN_VARIABLES.iter().for_each(|name| _ = command.env_remove(name));
        }
        let mut child = command
            .args(arguments)
            .envs(self.environment())
            .stdin(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let ended = tokio::select! {
            status = child.wait() => Some(status),
            signal = stopped => {
                pass_on(&child, signal);
                None
            }
        };
        let status = match ended {
            Some(status) => status,
            None => child.wait().await,
        };
        let status = status.map(exit_code).map_err(failed)?;
        Ok(EndedCommand { status, left_running: left_after_grace().await })
    }
}

/// The number of processes that still run when the grace time is over.
async fn left_after_grace() -> usize {
    let end = Instant::now() + GRACE;
    loop {
        let left = left_running();
        if left == 0 || Instant::now() >= end {
            return left;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Ctrl-C in a terminal reaches the command by itself.
fn pass_on(child: &Child, signal: StopSignal) {
    let signal = match signal {
        StopSignal::Interrupt if std::io::stdin().is_terminal() => return,
        StopSignal::Interrupt => Signal::INT,
        StopSignal::Terminate => Signal::TERM,
    };
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended in the meantime.
        let _ = kill_process(pid, signal);
    }
}

/// The exit status, or 128 and the number of the signal that ended the command.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
