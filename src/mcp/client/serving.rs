//! A program that serves streamable HTTP: its start, until its port accepts connections, and its end.

use std::time::Duration;

use tokio::process::ChildStdin;
use tokio::time::Instant;

use super::server_process::ServerProcess;
use crate::outbound::connect_once;

/// How often the port is tried.
const INTERVAL: Duration = Duration::from_millis(20);

/// A running server.
pub(super) struct ServingProcess {
    process: ServerProcess,
    /// Some servers end when their input ends.
    _input: ChildStdin,
}

impl ServingProcess {
    /// Starts it, and waits until its port accepts connections.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub(super) async fn start(program: &[String], url: &str, limit: Duration) -> Result<Self, String> {
        let shown = program.join(" ");
        // What it prints is not part of the protocol.
        let (mut process, _, input) = ServerProcess::start(program)
            .map_err(|error| format!("cannot start `{shown}`: {error}; check the command"))?;
        let end = Instant::now() + limit;
        loop {
            let Err(refusal) = connect_once(url).await else {
                return Ok(ServingProcess { process, _input: input });
            };
            let why = match process.exit_status() {
                Some(status) => format!("it ended before it could be reached at {url} ({status})"),
                None if Instant::now() > end => format!("it cannot be reached within {limit:?}: {refusal}"),
                None => {
                    tokio::time::sleep(INTERVAL).await;
                    continue;
                }
            };
            let errors = process.seen().last_error_lines();
            process.kill().await;
            return Err(match errors.as_str() {
                "" => why,
                errors => format!("{why}; its standard error ends with: {errors}"),
            });
        }
    }

    /// Kills it: nothing tells it to end.
    pub(super) async fn end(self) {
        self.process.kill().await;
    }
}
