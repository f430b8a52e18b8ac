//! Runs the `before` command of a user before each trial, to reset state that outlives a trial. It gets the
//! opaque name of the trial and nothing about its case.

use std::path::PathBuf;
use std::time::Duration;

use super::environment::before_environment;
use super::supervised::{FollowHooks, Supervised, SupervisorReport};
use super::supervisor::{ProgramInput, StartOrder};
use super::words::quoted;
use super::{EndReason, Hide, Limits, Settings};
use crate::process_env;

/// The time limit of the command.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The maximum number of its last lines that are shown when it fails.
const MAX_LINES: usize = 8;
/// The maximum number of characters of each line that are shown.
const MAX_LINE_LENGTH: usize = 200;

/// The trial before which the command runs.
#[derive(Debug, Clone)]
pub struct BeforeCommand {
    /// The name of the trial that the subject is given.
    pub trial: String,
    /// The directory of all callers of the trial.
    pub shared_dir: PathBuf,
    /// Hides secrets in its output.
    pub hide: Hide,
}

impl BeforeCommand {
    /// Runs the `before` command of the settings, if there is one.
    ///
    /// # Errors
    /// If the command cannot be started, fails, takes too long, or leaves processes running: why, with its
    /// last lines.
    pub async fn run(&self, settings: &Settings) -> Result<(), String> {
        let Some(program) = settings.before.clone() else { return Ok(()) };
        let shown = self.hide.text(&program.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
        let limits = Limits { time: TIME_LIMIT, grace: settings.grace, ..Limits::default() };
        let order = StartOrder {
            program,
            directory: settings.directory.clone(),
            env: before_environment(self, settings, &process_env::all()),
            input: ProgramInput::Empty,
            claim_marks: Vec::new(),
            seal: None,
            cancel: settings.cancel,
            limits,
        };
        // It has no interrupts and no claim.
        let (_orders, mut requests) = tokio::sync::mpsc::unbounded_channel();
        let supervised = Supervised::begin(&order, settings)?;
        let report = supervised.follow(limits, &self.shared_dir, FollowHooks::default(), &mut requests).await;
        let failure = match &report.reason {
            EndReason::Exited(0) if report.left_running == 0 => return Ok(()),
            EndReason::Exited(0) => {
                "left processes running, which were killed; make it wait for the processes that it starts"
                    .to_owned()
            }
            EndReason::Exited(status) => format!("exited with {status}"),
            EndReason::Signaled(signal) => format!("was ended by signal {signal}"),
            EndReason::TimeUp => format!("did not finish within {} s", TIME_LIMIT.as_secs()),
            EndReason::OverLimit(what) | EndReason::Unstartable(what) => what.clone(),
            EndReason::Answered(_) | EndReason::NoAnswer(_) => "did not finish".to_owned(),
        };
        Err(format!("`{shown}`: {failure}{}", self.last_lines(&report)))
    }

    /// The last lines of its standard error, or of its output if that is empty.
    fn last_lines(&self, report: &SupervisorReport) -> String {
        let stderr = report.stderr.with(&self.hide);
        let text = if stderr.trim().is_empty() { report.stdout.with(&self.hide) } else { stderr };
        let mut lines: Vec<String> = text
            .lines()
            .rev()
            .filter(|line| !line.trim().is_empty())
            .take(MAX_LINES)
            .map(|line| line.trim_end().chars().take(MAX_LINE_LENGTH).collect())
            .collect();
        lines.reverse();
        if lines.is_empty() { String::new() } else { format!("; last output: {}", lines.join(" | ")) }
    }
}
