//! A server that is a program: its start, its standard output without lines that are not messages, and its
//! end. One that serves streamable HTTP has started when its port accepts connections.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::outbound::connect_once;

/// The variables of the trial that are for the driver.
const OWN_VARIABLES: [&str; 9] = [
    super::driver::HEADERS_VARIABLE,
    "HAPAX_TASK",
    "HAPAX_TASK_FILE",
    "HAPAX_STEPS",
    "HAPAX_STEPS_FILE",
    "HAPAX_SHARED_DIR",
    "HAPAX_RESULT",
    "HAPAX_TRIAL",
    "HAPAX_CALLER",
];
/// How often the port is tried.
const INTERVAL: Duration = Duration::from_millis(20);
/// The longest line, in bytes.
const MAX_LINE: u64 = 8 * 1024 * 1024;
/// How much a server can write to its standard output in one connection, in bytes.
const MAX_OUTPUT: u64 = 64 * 1024 * 1024;
/// How much of its standard error is kept for messages, in bytes.
const KEPT_STDERR: usize = 2000;
/// How much of a line is shown.
const SHOWN_LINE: usize = 200;
/// How long a server has to end after its input is closed.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// What is known of the output of a server.
#[derive(Debug, Default)]
pub(super) struct SeenOutput {
    /// Lines that are not messages.
    pub(super) noise: u64,
    /// The first of them.
    pub(super) first_noise: String,
    /// Whether it wrote more than is read.
    pub(super) flooded: bool,
    stderr: VecDeque<u8>,
}

impl SeenOutput {
    /// The last lines of its standard error.
    pub(super) fn last_error_lines(&self) -> String {
        let bytes: Vec<u8> = self.stderr.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(4)..].join(" | ")
    }
}

/// A running server.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    group: Option<Pid>,
    seen: Arc<Mutex<SeenOutput>>,
    pumps: Vec<JoinHandle<()>>,
}

impl ServerProcess {
    /// Starts it; returns the messages that it writes, and its input.
    pub(super) fn start(program: &[String]) -> io::Result<(Self, DuplexStream, ChildStdin)> {
        let (name, arguments) =
            program.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
        let mut command = Command::new(name);
        command.args(arguments).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        OWN_VARIABLES.iter().for_each(|variable| _ = command.env_remove(variable));
        let mut child = command.spawn()?;
        let missing = || io::Error::other("started without a pipe");
        let (input, output) =
            (child.stdin.take().ok_or_else(missing)?, child.stdout.take().ok_or_else(missing)?);
        let errors = child.stderr.take().ok_or_else(missing)?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let seen = Arc::<Mutex<SeenOutput>>::default();
        let (messages, pumped) = tokio::io::duplex(256 * 1024);
        let pumps = vec![
            tokio::spawn(pump_messages(output, pumped, Arc::clone(&seen))),
            tokio::spawn(pump_errors(errors, Arc::clone(&seen))),
        ];
        Ok((ServerProcess { child, group, seen, pumps }, messages, input))
    }

    /// What is known of its output.
    pub(super) fn seen(&self) -> std::sync::MutexGuard<'_, SeenOutput> {
        self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Its exit status, if it has ended.
    pub(super) fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Kills it with all its processes.
    pub(super) async fn kill(mut self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait().await;
    }

    /// Waits until it ends, which it should because its input is closed; kills it with all its processes
    /// after a time.
    pub(super) async fn end(mut self) {
        let ended = tokio::time::timeout(CLOSE_TIME, self.child.wait()).await;
        if let Some(group) = self.group {
            // What it has started must not outlive it. There is nothing to do about a group that is gone.
            let _ = kill_process_group(group, Signal::KILL);
        }
        if ended.is_err() {
            let _ = self.child.wait().await;
        }
        for pump in self.pumps.drain(..) {
            let _ = tokio::time::timeout(CLOSE_TIME, pump).await;
        }
    }
}

/// Copies lines that are JSON objects. Others are counted: many servers print a greeting.
async fn pump_messages(output: impl AsyncRead + Unpin, mut to: DuplexStream, seen: Arc<Mutex<SeenOutput>>) {
    let mut lines = BufReader::new(output);
    let (mut line, mut total) = (Vec::new(), 0_u64);
    loop {
        line.clear();
        let read = (&mut lines).take(MAX_LINE).read_until(b'\n', &mut line).await.unwrap_or(0);
        if read == 0 {
            return;
        }
        total += read as u64;
        let is_cut = read as u64 == MAX_LINE && !line.ends_with(b"\n");
        if is_cut || total > MAX_OUTPUT {
            if let Ok(mut seen) = seen.lock() {
                seen.flooded = true;
            }
            // The connection ends here; the rest is read and dropped, so that the server does not block.
            drop(to);
            let _ = tokio::io::copy(&mut lines, &mut tokio::io::sink()).await;
            return;
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        if matches!(serde_json::from_slice(text), Ok(serde_json::Value::Object(_))) {
            if to.write_all(text).await.is_err() || to.write_all(b"\n").await.is_err() {
                let _ = tokio::io::copy(&mut lines, &mut tokio::io::sink()).await;
                return;
            }
        } else if let Ok(mut seen) = seen.lock() {
            seen.noise += 1;
            if seen.noise == 1 {
                seen.first_noise = String::from_utf8_lossy(text).chars().take(SHOWN_LINE).collect();
            }
        }
    }
}

/// Copies its standard error to that of the driver, which hapax captures, and keeps the end.
async fn pump_errors(mut errors: impl AsyncRead + Unpin, seen: Arc<Mutex<SeenOutput>>) {
    let mut buffer = [0; 4096];
    while let Ok(read) = errors.read(&mut buffer).await
        && read > 0
    {
        // The supervisor reads it at all times, so this does not block for long.
        let _ = std::io::stderr().write_all(&buffer[..read]);
        if let Ok(mut seen) = seen.lock() {
            seen.stderr.extend(&buffer[..read]);
            let surplus = seen.stderr.len().saturating_sub(KEPT_STDERR);
            seen.stderr.drain(..surplus);
        }
    }
}

/// A running server of streamable HTTP.
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
