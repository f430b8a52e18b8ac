//! One start of a program under a supervisor, seen from hapax: hands over the order, passes blows on, hears
//! of the end.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::captured::Captured;
use super::claim::{self, ClaimInputs};
use super::environment::{environment, write_long_values_to_files};
use super::running::{Landing, Ordered, Running};
use super::supervisor::{Answer, Order, SupervisorOrder};
use super::{BeforeStop, Ended, How, Limits, Settings, Start, sweep};
use crate::domain::CapturedOutput;

/// How much longer than the subject a supervisor may take: it tries for ten seconds to kill what is left.
const SLACK: Duration = Duration::from_secs(20);

/// Starts a program under a supervisor of its own.
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
            (Running::new(&start.clone(), |ordered| supervised.until_the_end(settings, start, ordered)), id)
        }
        Err(why) => (Running::unstartable(&start, why), None),
    }
}

/// What a supervisor is told to start: all that the subject is given is in here.
pub(super) fn order(program: Vec<String>, settings: &Settings, start: &Start) -> Result<Order, String> {
    let mut env = environment(start, settings, &parent());
    write_long_values_to_files(&mut env, &start.state_dir)
        .map_err(|error| format!("cannot write the task to {}: {error}", start.state_dir.display()))?;
    Ok(Order {
        program,
        directory: settings.directory.clone(),
        env,
        open_input: settings.open_input,
        claim_marks: claim::marks(&settings.claim),
        cancel: settings.cancel,
        limits: start.limits,
    })
}

/// The environment of hapax itself.
pub(super) fn parent() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// A supervisor that runs.
pub(super) struct Supervised {
    process: Child,
    input: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    order: Vec<u8>,
    waiting: Vec<(SupervisorOrder, oneshot::Sender<Landing>)>,
}

/// What a supervisor told at its end.
pub(super) struct Told {
    pub(super) how: How,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
    /// Processes left behind.
    pub(super) left: usize,
    cpu: Option<Duration>,
}

impl Supervised {
    /// Starts a supervisor, or says why not.
    pub(super) fn begin(order: &Order, settings: &Settings) -> Result<Self, String> {
        let mut order =
            serde_json::to_vec(order).map_err(|error| format!("cannot write down the command: {error}"))?;
        order.push(b'\n');
        let hapax = settings.hapax()?;
        // Its environment is cleared too: whoever can look at the supervisor must not find there what the
        // subject may not see.
        let spawned = Command::new(&hapax)
            .arg("supervise")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut process = spawned
            .map_err(|error| format!("cannot start a supervisor ({} supervise): {error}", hapax.display()))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("a supervisor was started without its pipes".to_owned());
        };
        Ok(Supervised { process, input, answers: BufReader::new(output).lines(), order, waiting: Vec::new() })
    }

    async fn until_the_end(
        self,
        settings: Settings,
        start: Start,
        mut ordered: UnboundedReceiver<Ordered>,
    ) -> Ended {
        let began = SystemTime::now();
        let Told { how, stdout, stderr, left, cpu } =
            self.follow(start.limits, &start.result, start.before_time_up.as_ref(), &mut ordered).await;
        let hide = &start.hide;
        let heard = ClaimInputs {
            how: &how,
            result: &start.result,
            stdout: &stdout.text(),
            stderr: &stderr.text(),
            hide,
        };
        let (claim, reported) = if how == How::TimeUp {
            let written = std::fs::symlink_metadata(&start.result).and_then(|about| about.modified()).ok();
            let file = written.and_then(|written| written.duration_since(began).ok());
            let spoke = |captured: &Captured| captured.spoke.map(Duration::from_millis);
            let times = claim::ClaimTimes {
                file,
                stdout: spoke(&stdout),
                stderr: spoke(&stderr),
                limit: start.limits.time,
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
        Ended { how, claim, output, left, cpu, reported }
    }

    /// Passes blows on until the supervisor tells that everything is gone. The result file tells what was
    /// started here from everything else.
    pub(super) async fn follow(
        mut self,
        limits: Limits,
        result: &Path,
        before_time_up: Option<&BeforeStop>,
        ordered: &mut UnboundedReceiver<Ordered>,
    ) -> Told {
        let order = std::mem::take(&mut self.order);
        // A supervisor that is gone already shows by its silence.
        let _ = self.input.write_all(&order).await;
        let far = Instant::now() + Duration::from_secs(u32::MAX.into());
        let time_up = Instant::now().checked_add(limits.time).unwrap_or(far);
        let mut is_told = false;
        let too_late = Instant::now()
            .checked_add(limits.time.saturating_add(limits.grace).saturating_add(SLACK))
            .unwrap_or(far);
        loop {
            tokio::select! {
                line = self.answers.next_line() => match line.ok().flatten().and_then(|line| serde_json::from_str(&line).ok()) {
                    Some(Answer::Landed(blow)) => self.answered(blow, Landing::Landed),
                    Some(Answer::Missed(blow, why)) => self.answered(blow, Landing::Missed(why)),
                    Some(Answer::Ended { how, stdout, stderr, left, cpu }) => {
                        // It has nothing more to do, and is gone when this returns.
                        drop(self.input);
                        let _ = self.process.wait().await;
                        return Told { how, stdout, stderr, left, cpu: cpu.map(Duration::from_millis) };
                    }
                    None => return self.lost(result, None).await,
                },
                Some(Ordered { blow, landed }) = ordered.recv() => {
                    self.waiting.push((blow, landed));
                    let line = serde_json::to_string(&blow).unwrap_or_default() + "\n";
                    let _ = self.input.write_all(line.as_bytes()).await;
                }
                () = sleep_until(time_up), if !is_told => {
                    // The supervisor would end it by itself, but first it is seen what is still under way.
                    is_told = true;
                    if let Some(before) = before_time_up {
                        before.call();
                    }
                    let line = serde_json::to_string(&SupervisorOrder::TimeUp).unwrap_or_default() + "\n";
                    let _ = self.input.write_all(line.as_bytes()).await;
                }
                () = sleep_until(too_late) => return self.lost(result, Some(How::TimeUp)).await,
            }
        }
    }

    fn answered(&mut self, blow: SupervisorOrder, landing: Landing) {
        if let Some(at) = self.waiting.iter().position(|(waiting, _)| *waiting == blow) {
            let _ = self.waiting.remove(at).1.send(landing);
        }
    }

    /// The supervisor was killed or does nothing any more: what it watched is found in another way, and
    /// ended.
    async fn lost(mut self, result: &Path, how: Option<How>) -> Told {
        let session = self.process.id();
        tracing::warn!(supervisor = session, "supervisor does not answer: ending what it started");
        let _ = self.process.start_kill();
        // Only then is it taken leave of: until then its number, and so its session, is nobody else's.
        sweep::sweep(session, result).await;
        let status = self.process.wait().await;
        let how = how.unwrap_or_else(|| {
            let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            How::Unstartable(format!(
                "the supervisor was killed before the subject had ended ({status}); a subject must leave its parent alone, and the \
                 system must have memory for both"
            ))
        });
        Told { how, stdout: Captured::default(), stderr: Captured::default(), left: 0, cpu: None }
    }
}
