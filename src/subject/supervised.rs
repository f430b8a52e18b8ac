//! Runs one start of a program under a supervisor: sends the order and the interrupts, and receives the
//! report.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Interest, Lines};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until};

use super::captured::Captured;
use super::claim::{self, ClaimInputs};
use super::command_words;
use super::environment::{TASK_FILE, environment, write_values_to_files};
use super::home;
use super::next_day;
use super::running::{InterruptRequest, InterruptResult, Running};
use super::sealed::{self, Gateway, ServedPorts};
use super::supervisor::{ProgramInput, StartOrder, SupervisorMessage, SupervisorOrder};
use super::{BeforeStop, CallerRate, EndReason, EndedStart, Limits, Settings, StandardInput, Start};
use crate::domain::CapturedOutput;
use crate::proc_stat::ProcStat;
use crate::process_env;

/// A time that does not come.
const FAR: Duration = Duration::from_secs(u32::MAX as u64);

/// How often a start that waits for a turn at its time limit is looked at.
const TURN_INTERVAL: Duration = Duration::from_millis(20);

/// How much longer than the subject a supervisor can take: it tries for ten seconds to kill the rest.
const SUPERVISOR_SLACK: Duration = Duration::from_secs(20);

/// How long to try to kill what is left of a start.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Starts a program under a supervisor.
pub(super) fn start(program: Vec<String>, settings: Settings, start: Start) -> Running {
    with_supervisor(program, settings, start).0
}

/// The same, with the process id of the supervisor.
pub(super) fn with_supervisor(
    program: Vec<String>,
    settings: Settings,
    start: Start,
) -> (Running, Option<u32>) {
    match order(program, &settings, &start).and_then(|order| Supervised::begin(&order, &settings)) {
        Ok(supervised) => {
            let id = supervised.process.id();
            start.supervisor.set(id);
            (Running::new(&start.clone(), |requests| supervised.until_the_end(settings, start, requests)), id)
        }
        Err(why) => (Running::unstartable(&start, why), None),
    }
}

/// The order to the supervisor: it contains everything that the subject gets.
pub(super) fn order(program: Vec<String>, settings: &Settings, start: &Start) -> Result<StartOrder, String> {
    let program = command_words::filled(program, settings, start)?;
    home::write(settings, start)?;
    let mut env = environment(start, settings, &process_env::all());
    if start.machine.is_next_day() {
        next_day::set(&mut env, &next_day::library()?);
    }
    write_values_to_files(&mut env, &start.state_dir)
        .map_err(|error| format!("cannot write the task to {}: {error}", start.state_dir.display()))?;
    if let Some(event) = &start.event {
        let file = start.event_file();
        std::fs::write(&file, event.file_text())
            .map_err(|error| format!("cannot write the event to {}: {error}", file.display()))?;
    }
    let hapax = settings.hapax()?;
    let seal = start.sealed.as_ref().map(|sealed| sealed.order(start, &hapax));
    Ok(StartOrder {
        program,
        directory: home::directory(settings, start),
        env,
        seal,
        input: match settings.input {
            StandardInput::Closed => ProgramInput::Empty,
            StandardInput::Open => ProgramInput::Open,
            StandardInput::Task => ProgramInput::File(start.state_dir.join(TASK_FILE)),
        },
        claim_marks: claim::marks(&settings.claim),
        cancel: settings.cancel,
        limits: match start.rate {
            // hapax itself stops it.
            Some(_) => Limits { time: FAR, ..start.limits },
            None => start.limits,
        },
    })
}

/// A running supervisor.
pub(super) struct Supervised {
    process: Child,
    /// Its standard input. Over it, the supervisor of a sealed start also hands over sockets.
    input: UnixStream,
    messages: Lines<BufReader<ChildStdout>>,
    order: Vec<u8>,
    waiting: Vec<(SupervisorOrder, oneshot::Sender<InterruptResult>)>,
}

/// The next message of a supervisor; `None` if there is none, or it cannot be read.
async fn next_message(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<SupervisorMessage> {
    let line = lines.next_line().await.ok().flatten()?;
    serde_json::from_str(&line).ok()
}

/// The ports that the supervisor of a sealed start hands over.
async fn receive_ports(input: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    input.async_io(Interest::READABLE, || sealed::receive_ports(input)).await
}

/// What hapax does while a supervisor runs.
#[derive(Clone, Copy, Default)]
pub(super) struct FollowHooks<'a> {
    /// Called at the time limit.
    pub(super) before_time_up: Option<&'a BeforeStop>,
    /// Serves the ports of a sealed start.
    pub(super) gateway: Option<&'a Arc<Gateway>>,
    /// The turns for which the time limit does not run.
    pub(super) rate: Option<&'a CallerRate>,
}

/// The last message of a supervisor.
pub(super) struct SupervisorReport {
    pub(super) reason: EndReason,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
    /// The number of processes left running.
    pub(super) left_running: usize,
    cpu: Option<Duration>,
}

impl Supervised {
    /// Starts a supervisor.
    pub(super) fn begin(order: &StartOrder, settings: &Settings) -> Result<Self, String> {
        let mut order =
            serde_json::to_vec(order).map_err(|error| format!("cannot serialize the command: {error}"))?;
        order.push(b'\n');
        let hapax = settings.hapax()?;
        // Its environment is cleared, too: the subject could read it.
        let spawn = || -> io::Result<(Child, UnixStream)> {
            let (own, theirs) = std::os::unix::net::UnixStream::pair()?;
            own.set_nonblocking(true)?;
            let process = Command::new(&hapax)
                .arg("supervise")
                .env_clear()
                .stdin(OwnedFd::from(theirs))
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()?;
            Ok((process, UnixStream::from_std(own)?))
        };
        let (mut process, input) = spawn()
            .map_err(|error| format!("cannot start a supervisor ({} supervise): {error}", hapax.display()))?;
        let Some(output) = process.stdout.take() else {
            return Err("a supervisor was started without its output".to_owned());
        };
        Ok(Supervised {
            process,
            input,
            messages: BufReader::new(output).lines(),
            order,
            waiting: Vec::new(),
        })
    }

    async fn until_the_end(
        self,
        settings: Settings,
        start: Start,
        mut requests: UnboundedReceiver<InterruptRequest>,
    ) -> EndedStart {
        let began = SystemTime::now();
        let hooks = FollowHooks {
            before_time_up: start.before_time_up.as_ref(),
            gateway: start.sealed.as_ref().map(|sealed| &sealed.gateway),
            rate: start.rate.as_ref(),
        };
        let SupervisorReport { reason, stdout, stderr, left_running, cpu } =
            self.follow(start.limits, &start.result, hooks, &mut requests).await;
        let hide = &start.hide;
        let heard = ClaimInputs {
            reason: &reason,
            result: &start.result,
            stdout: &stdout.text(),
            stderr: &stderr.text(),
            hide,
        };
        let (claim, claimed_after) = if reason == EndReason::TimeUp {
            let written = std::fs::symlink_metadata(&start.result).and_then(|about| about.modified()).ok();
            // File systems use a clock that is updated every few milliseconds, so a file that is written soon
            // after the start can have an earlier time.
            let file = written.map(|written| written.duration_since(began).unwrap_or_default());
            let last_claim = |captured: &Captured| captured.last_claim.map(Duration::from_millis);
            let times = claim::ClaimTimes {
                file,
                stdout: last_claim(&stdout),
                stderr: last_claim(&stderr),
                limit: start.limits.time.saturating_add(waited(start.rate.as_ref())),
            };
            claim::before_the_limit(&settings.claim, &heard, times)
        } else {
            (claim::find(&settings.claim, &heard), None)
        };
        let cut = stdout.cut + stderr.cut;
        let output = CapturedOutput {
            caller: start.caller,
            start: start.start,
            stdout: stdout.with(hide),
            stderr: stderr.with(hide),
            cut,
        };
        EndedStart { reason, claim, output, left_running, cpu, claimed_after }
    }

    /// Sends interrupts until the supervisor reports that everything has ended. The path of the result file
    /// identifies the processes of this start.
    pub(super) async fn follow(
        mut self,
        limits: Limits,
        result_file: &Path,
        hooks: FollowHooks<'_>,
        requests: &mut UnboundedReceiver<InterruptRequest>,
    ) -> SupervisorReport {
        let order = std::mem::take(&mut self.order);
        // If the supervisor is gone already, reading its messages fails.
        let _ = self.input.write_all(&order).await;
        let began = Instant::now();
        let later = |time: Duration| began + time.min(FAR);
        let mut time_up = later(limits.time);
        let mut is_time_up_sent = false;
        let mut awaits_ports = hooks.gateway.is_some();
        let mut served: Option<ServedPorts> = None;
        loop {
            tokio::select! {
                message = next_message(&mut self.messages) => match message {
                    Some(SupervisorMessage::Applied(order)) => self.answered(order, InterruptResult::Applied),
                    Some(SupervisorMessage::Missed(order, why)) => {
                        self.answered(order, InterruptResult::Missed(why));
                    }
                    Some(SupervisorMessage::Ended {
                        reason,
                        stdout,
                        stderr,
                        left_running,
                        are_all_dead,
                        cpu,
                    }) => {
                        // It exits when its input is closed.
                        drop(self.input);
                        let _ = self.process.wait().await;
                        if let Some(served) = served {
                            served.close(are_all_dead).await;
                        }
                        let cpu = cpu.map(Duration::from_millis);
                        return SupervisorReport { reason, stdout, stderr, left_running, cpu };
                    }
                    None => return self.lost(result_file, None, served).await,
                },
                ports = receive_ports(&self.input), if awaits_ports => {
                    awaits_ports = false;
                    // Without them the supervisor has failed, and says why.
                    if let (Ok(ports), Some(gateway)) = (ports, hooks.gateway) {
                        served = gateway.serve(ports).await.ok();
                    }
                }
                Some(InterruptRequest { order, result }) = requests.recv() => {
                    self.waiting.push((order, result));
                    let line = serde_json::to_string(&order).unwrap_or_default() + "\n";
                    let _ = self.input.write_all(line.as_bytes()).await;
                }
                () = sleep_until(time_up), if !is_time_up_sent => {
                    time_up = later(limits.time.saturating_add(waited(hooks.rate)));
                    if hooks.rate.is_some_and(CallerRate::is_waiting) {
                        time_up = time_up.max(Instant::now() + TURN_INTERVAL);
                    }
                    if time_up > Instant::now() {
                        continue;
                    }
                    // The supervisor would stop it by itself, but the open requests are recorded first.
                    is_time_up_sent = true;
                    if let Some(before) = hooks.before_time_up {
                        before.call();
                    }
                    let line = serde_json::to_string(&SupervisorOrder::TimeUp).unwrap_or_default() + "\n";
                    let _ = self.input.write_all(line.as_bytes()).await;
                }
                () = sleep_until(time_up + limits.grace + SUPERVISOR_SLACK) => {
                    return self.lost(result_file, Some(EndReason::TimeUp), served).await;
                }
            }
        }
    }

    fn answered(&mut self, order: SupervisorOrder, result: InterruptResult) {
        if let Some(at) = self.waiting.iter().position(|(waiting, _)| *waiting == order) {
            let _ = self.waiting.remove(at).1.send(result);
        }
    }

    /// The supervisor was killed or does not respond: finds its processes in another way, and kills them.
    async fn lost(
        mut self,
        result_file: &Path,
        reason: Option<EndReason>,
        served: Option<ServedPorts>,
    ) -> SupervisorReport {
        let session = self.process.id();
        tracing::warn!(supervisor = session, "supervisor does not answer: ending what it started");
        let _ = self.process.start_kill();
        // It is reaped only afterwards: until then its process id, and so its session, cannot be reused.
        sweep(session, result_file).await;
        let status = self.process.wait().await;
        if let Some(served) = served {
            served.close(false).await;
        }
        let reason = reason.unwrap_or_else(|| {
            let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            EndReason::Unstartable(format!(
                "the supervisor was killed before the subject had ended ({status}); a subject must not kill \
                 its parent, and the system needs enough memory for both"
            ))
        });
        SupervisorReport {
            reason,
            stdout: Captured::default(),
            stderr: Captured::default(),
            left_running: 0,
            cpu: None,
        }
    }
}

/// How long this start waited for its turns.
fn waited(rate: Option<&CallerRate>) -> Duration {
    rate.map_or(Duration::ZERO, CallerRate::waited)
}

/// Kills the processes of a subject whose supervisor was killed, and returns when none is left. They are found by the
/// session of the supervisor, and by the path of the result file in their environment, which is unique for each start.
async fn sweep(session: Option<u32>, result: &Path) {
    let begun = Instant::now();
    let marker = format!("HAPAX_RESULT={}", result.display());
    while begun.elapsed() < KILL_TIMEOUT {
        let left = left(session, marker.as_bytes());
        if left.is_empty() {
            return;
        }
        for pid in left {
            // A process that has ended needs no signal.
            let _ = kill_process(pid, Signal::KILL);
        }
        sleep(POLL_INTERVAL).await;
    }
}

fn left(session: Option<u32>, marker: &[u8]) -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let own = std::process::id();
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != own && is_left(*pid, session, marker))
        .filter_map(|pid| i32::try_from(pid).ok().and_then(Pid::from_raw))
        .collect()
}

fn is_left(pid: u32, session: Option<u32>, marker: &[u8]) -> bool {
    let Some(stat) = ProcStat::of_process(pid).filter(|stat| !stat.is_dead()) else { return false };
    let is_of_session = session.is_some_and(|session| u32::try_from(stat.session) == Ok(session));
    let has_marker = || {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == marker)
    };
    is_of_session || has_marker()
}
