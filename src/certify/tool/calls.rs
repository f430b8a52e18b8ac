//! One trial of a command: its directory, its values, its calls, and the count of its effects.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::file::{KEY, StateCount, ToolCommand, ToolFile, VALUE};
use crate::certify::evidence::sha256;
use crate::domain::{VoidCause, VoidOwner};
use crate::subject::words::quoted;
use crate::subject::{CommandCall, CommandEnd, EndReason, Limits};

/// The placeholder of the directory of the trial.
const DIRECTORY: &str = "${dir}";
/// The maximum number of processes of a call at once.
const MAX_PROCESSES: usize = 64;
/// The maximum size of a file that a call writes.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// How much of an output is quoted, in characters.
const MAX_QUOTED: usize = 160;
/// The maximum length of an evidence line.
const MAX_EVIDENCE: usize = 300;

/// A call that could not be made as planned: why. The trial is void.
#[derive(Debug)]
pub(super) struct VoidCall {
    pub(super) cause: VoidCause,
    pub(super) message: String,
}

impl VoidCall {
    /// What the tool does: it does the same again.
    fn by_tool(reason: &str, message: String) -> Self {
        VoidCall { cause: VoidCause::new(reason, VoidOwner::Subject), message }
    }

    pub(super) fn by_machine(reason: &str, message: String) -> Self {
        VoidCall { cause: VoidCause::new(reason, VoidOwner::Machine), message }
    }
}

/// One trial.
pub(super) struct ToolTrial<'a> {
    file: &'a ToolFile,
    pub(super) command: &'a ToolCommand,
    directory: PathBuf,
    seed: u64,
    /// What was done and seen.
    pub(super) evidence: Vec<String>,
    calls: AtomicU32,
}

impl<'a> ToolTrial<'a> {
    /// Makes the directory, resets the state, and runs the commands that prepare the trial.
    pub(super) async fn new(
        file: &'a ToolFile,
        command: &'a ToolCommand,
        directory: PathBuf,
        seed: u64,
    ) -> Result<ToolTrial<'a>, VoidCall> {
        std::fs::create_dir_all(&directory).map_err(|error| {
            let message = format!("cannot make the directory of the trial: {error}");
            VoidCall::by_machine("unprepared", message)
        })?;
        let trial =
            ToolTrial { file, command, directory, seed, evidence: Vec::new(), calls: AtomicU32::new(0) };
        for program in file.reset.iter().chain(&command.prepare) {
            let end = trial.run(program, None).await?;
            if end.reason != EndReason::Exited(0) {
                let (program, said) = (shown(program), said(&end));
                let message = format!("`{program}` must exit with 0 before the trial, but {said}");
                return Err(VoidCall::by_machine("unprepared", message));
            }
        }
        Ok(trial)
    }

    /// A key of this trial.
    pub(super) fn key(&self, number: u32) -> String {
        format!("hapax-{}", &sha256(format!("key {} {number}", self.seed).as_bytes())[..20])
    }

    /// A value of this trial.
    fn value(&self, number: u32) -> String {
        format!("item-{}", &sha256(format!("value {} {number}", self.seed).as_bytes())[..12])
    }

    /// A number from 0 to 1 that depends on the seed.
    pub(super) fn fraction(&self, number: u32) -> f64 {
        let digest = sha256(format!("fraction {} {number}", self.seed).as_bytes());
        u32::from_str_radix(&digest[..6], 16).map_or(0.5, |digits| f64::from(digits) / f64::from(0x00ff_ffff))
    }

    /// The command with these further arguments.
    pub(super) fn with(&self, further: Option<&[String]>, key: Option<&str>) -> Vec<String> {
        self.filled(&self.command.run, further, key, 0)
    }

    /// The same with another value, or the other arguments of the file; `None` if there are none.
    pub(super) fn with_other(&self, further: Option<&[String]>, key: Option<&str>) -> Option<Vec<String>> {
        match &self.command.other {
            Some(other) => Some(self.filled(other, further, key, 0)),
            None if self.command.run.iter().any(|word| word.contains(VALUE)) => {
                Some(self.filled(&self.command.run, further, key, 1))
            }
            None => None,
        }
    }

    fn filled(
        &self,
        run: &[String],
        further: Option<&[String]>,
        key: Option<&str>,
        value: u32,
    ) -> Vec<String> {
        let value = self.value(value);
        let directory = self.directory.to_string_lossy();
        run.iter()
            .chain(further.unwrap_or_default())
            .map(|word| {
                let word = word.replace(VALUE, &value).replace(DIRECTORY, &directory);
                key.map_or_else(|| word.clone(), |key| word.replace(KEY, key))
            })
            .collect()
    }

    /// Makes a call and records it.
    pub(super) async fn call(&mut self, program: &[String]) -> Result<CommandEnd, VoidCall> {
        let end = self.run(program, None).await?;
        self.record(program, &end);
        Ok(end)
    }

    /// Makes a call that is killed after this time.
    pub(super) async fn killed_call(
        &mut self,
        program: &[String],
        after: Duration,
    ) -> Result<CommandEnd, VoidCall> {
        let end = self.run(program, Some(after)).await?;
        self.record(program, &end);
        Ok(end)
    }

    /// Makes the same call this many times at once.
    pub(super) async fn calls_at_once(
        &mut self,
        program: &[String],
        count: u32,
    ) -> Result<Vec<CommandEnd>, VoidCall> {
        let calls = (0..count).map(|_| self.run(program, None));
        let ends = futures_util::future::try_join_all(calls).await?;
        for end in &ends {
            self.record(program, end);
        }
        Ok(ends)
    }

    fn record(&mut self, program: &[String], end: &CommandEnd) {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        // The directory is different in each run, and is no evidence.
        let directory = self.directory.to_string_lossy().into_owned();
        let text = format!("call {number}: `{}` {}", shown(program), said(end)).replace(&directory, "DIR");
        self.evidence.push(text.chars().take(MAX_EVIDENCE).collect());
    }

    async fn run(&self, program: &[String], kill_after: Option<Duration>) -> Result<CommandEnd, VoidCall> {
        let call = CommandCall {
            program: self.filled(program, None, None, 0),
            directory: self.directory.clone(),
            pass: self.file.pass.clone(),
            limits: Limits {
                time: self.file.timeout,
                processes: MAX_PROCESSES,
                file_size: MAX_FILE_BYTES,
                ..Limits::default()
            },
            kill_after,
        };
        let end = call.run().await;
        match &end.reason {
            EndReason::Exited(_) | EndReason::Signaled(_) => Ok(end),
            EndReason::TimeUp => {
                let (program, limit) = (shown(program), self.file.timeout.as_secs_f64());
                let message =
                    format!("`{program}` did not end within {limit} s (it has no terminal and no input)");
                Err(VoidCall::by_tool("time-up", message))
            }
            EndReason::OverLimit(why) => Err(VoidCall::by_tool("over-limit", why.clone())),
            EndReason::Unstartable(why) | EndReason::NoAnswer(why) => {
                Err(VoidCall::by_machine("unstartable", why.clone()))
            }
            EndReason::Answered(_) => {
                Err(VoidCall::by_tool("not-a-command", "it is not a command".to_owned()))
            }
        }
    }

    /// The number that the state command counts now.
    pub(super) async fn count(&mut self) -> Result<i64, VoidCall> {
        let Some(state) = &self.command.state else {
            return Err(VoidCall::by_tool("no-state", "the file names no `state`".to_owned()));
        };
        let end = self.run(&state.run, None).await?;
        let counted =
            (end.reason == EndReason::Exited(0)).then(|| counted(&state.count, &end.stdout)).flatten();
        let Some(count) = counted else {
            let message = format!("cannot read the state: `{}` {}", shown(&state.run), said(&end));
            return Err(VoidCall::by_tool("state-not-read", message));
        };
        self.evidence.push(format!("state: {count}"));
        Ok(count)
    }
}

/// The number in the output of a state command.
fn counted(count: &StateCount, output: &str) -> Option<i64> {
    match count {
        StateCount::Lines => {
            i64::try_from(output.lines().filter(|line| !line.trim().is_empty()).count()).ok()
        }
        StateCount::Number => output.trim().parse().ok(),
        StateCount::Json(pointer) => {
            let value: serde_json::Value = serde_json::from_str(output.trim()).ok()?;
            i64::try_from(value.pointer(pointer)?.as_array()?.len()).ok()
        }
    }
}

/// A command as it is typed; the path of its program is shortened to its name.
pub(super) fn shown(program: &[String]) -> String {
    let short = |(index, word): (usize, &String)| {
        let is_path = index == 0 && word.contains('/');
        quoted(if is_path { word.rsplit('/').next().unwrap_or(word) } else { word })
    };
    program.iter().enumerate().map(short).collect::<Vec<_>>().join(" ")
}

/// How a call ended, and the first line that it printed.
pub(super) fn said(end: &CommandEnd) -> String {
    let how = match &end.reason {
        EndReason::Exited(status) => format!("exited with {status}"),
        EndReason::Signaled(_) if end.killed => "was killed by hapax".to_owned(),
        EndReason::Signaled(signal) => format!("was ended by signal {signal}"),
        other => other.as_str().to_owned(),
    };
    match beginning(&end.stdout).or_else(|| beginning(&end.stderr)) {
        Some(text) => format!("{how}: {text}"),
        None => how,
    }
}

/// The beginning of an output on one line: its first line, or more of it if the answer is JSON over several lines.
fn beginning(text: &str) -> Option<String> {
    let text = text.trim();
    let is_json = text.starts_with(['{', '[']);
    let line = if is_json {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        text.lines().next()?.to_owned()
    };
    let shown: String = line.trim().chars().take(MAX_QUOTED).collect();
    match shown.len() < line.trim().len() {
        true => Some(format!("{shown}…")),
        false => Some(shown).filter(|shown| !shown.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_quoted_on_one_line() {
        assert_eq!(beginning("\n done \nmore\n").as_deref(), Some("done"));
        assert_eq!(beginning("{\n  \"id\": 1\n}\n").as_deref(), Some("{ \"id\": 1 }"));
        assert_eq!(beginning(&"x".repeat(200)).unwrap().chars().count(), MAX_QUOTED + 1);
        assert_eq!(beginning(" \n"), None);
    }

    #[test]
    fn the_state_is_counted_in_lines_as_a_number_or_as_a_list() {
        assert_eq!(counted(&StateCount::Lines, "a\n\n b\n"), Some(2));
        assert_eq!(counted(&StateCount::Number, " 12\n"), Some(12));
        assert_eq!(counted(&StateCount::Number, "twelve"), None);
        let json = StateCount::Json("/items".to_owned());
        assert_eq!(counted(&json, r#"{"items": [1, 2, 3]}"#), Some(3));
        assert_eq!(counted(&json, r#"{"items": 3}"#), None);
        assert_eq!(counted(&StateCount::Json(String::new()), "[1]"), Some(1));
    }
}
