//! The command that a user has run before each trial, to reset what outlives one. It is told the opaque name
//! of the trial and nothing of its case.

use std::path::PathBuf;
use std::time::Duration;

use super::environment::before_environment;
use super::supervised::{Supervised, Told, parent};
use super::supervisor::Order;
use super::words::quoted;
use super::{Hide, How, Limits, Settings};

/// How long it may take.
const TIME: Duration = Duration::from_secs(60);
/// So many of its last lines are shown where it fails.
const LINES: usize = 8;
/// So many characters of each.
const WIDTH: usize = 200;

/// The trial before which it is run.
#[derive(Debug, Clone)]
pub struct Before {
    /// The name of the trial that the subject is given.
    pub trial: String,
    /// The directory of all callers of the trial.
    pub shared_dir: PathBuf,
    /// Hides secrets in what it says.
    pub hide: Hide,
}

impl Before {
    /// Runs the command of these settings to its end, where there is one.
    ///
    /// # Errors
    /// Where it could not be started, failed, took too long, or left processes running: why, with its last
    /// lines.
    pub async fn run(&self, settings: &Settings) -> Result<(), String> {
        let Some(program) = settings.before.clone() else { return Ok(()) };
        let shown = self.hide.text(&program.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
        let limits = Limits { time: TIME, grace: settings.grace, ..Limits::default() };
        let order = Order {
            program,
            directory: settings.directory.clone(),
            env: before_environment(self, settings, &parent()),
            open_input: false,
            claim_marks: Vec::new(),
            cancel: settings.cancel,
            limits,
        };
        // Nobody strikes it, and it has no claim.
        let (_orders, mut ordered) = tokio::sync::mpsc::unbounded_channel();
        let supervised = Supervised::begin(&order, settings)?;
        let told = supervised.follow(limits, &self.shared_dir, None, &mut ordered).await;
        let how = match &told.how {
            How::Exited(0) if told.left == 0 => return Ok(()),
            How::Exited(0) => {
                "left processes running, which were ended: let it wait for what it starts".to_owned()
            }
            How::Exited(status) => format!("exited with {status}"),
            How::Signalled(signal) => format!("was ended by signal {signal}"),
            How::TimeUp => format!("did not end within {} s", TIME.as_secs()),
            How::OverLimit(what) | How::Unstartable(what) => what.clone(),
            How::Answered(_) | How::NoAnswer(_) => "did not end".to_owned(),
        };
        Err(format!("`{shown}`: {how}{}", self.last_lines(&told)))
    }

    /// The last lines of its standard error, or of its output where that is empty.
    fn last_lines(&self, told: &Told) -> String {
        let stderr = told.stderr.with(&self.hide);
        let text = if stderr.trim().is_empty() { told.stdout.with(&self.hide) } else { stderr };
        let mut lines: Vec<String> = text
            .lines()
            .rev()
            .filter(|line| !line.trim().is_empty())
            .take(LINES)
            .map(|line| line.trim_end().chars().take(WIDTH).collect())
            .collect();
        lines.reverse();
        if lines.is_empty() { String::new() } else { format!("; it said: {}", lines.join(" | ")) }
    }
}
