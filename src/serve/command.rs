//! A command that runs beside the services, such as the tests of an agent.

use std::future::Future;
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use super::{ServeError, Serving, StopSignal};

impl Serving {
    /// Runs a command with the variables of the services, and returns its exit status, as a shell gives it.
    /// A signal that stops hapax is passed on to the command.
    ///
    /// # Errors
    /// When the command cannot be started.
    pub async fn run_command(
        &self,
        words: &[String],
        stopped: impl Future<Output = StopSignal>,
    ) -> Result<u8, ServeError> {
        let failed = |error| ServeError::Command { command: words.join(" "), error };
        let (program, arguments) =
            words.split_first().ok_or_else(|| failed(std::io::Error::other("the command is empty")))?;
        let mut child = Command::new(program)
            .args(arguments)
            .envs(self.environment())
            .stdin(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        tokio::select! {
            status = child.wait() => return status.map(exit_code).map_err(failed),
            signal = stopped => pass_on(&child, signal),
        }
        child.wait().await.map(exit_code).map_err(failed)
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
