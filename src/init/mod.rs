//! Lays out what someone needs to test an agent of their own: `hapax.yaml`, a first scenario and a file for
//! CI. Overwrites nothing.

mod guess;
mod pipeline;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use guess::{Guess, guess};

/// An agent to begin with, for a folder in which none is found.
pub const SAMPLE_AGENT: &str = "agent.sh";

const CONFIG: &str = include_str!("files/hapax.yaml");
const SCENARIO: &str = include_str!("files/first-charge.yaml");
/// What is added to `.gitignore`.
const REPORTS: &str = "reports/\n";
const AGENT: &str = include_str!("files/agent.sh");

/// What became of a file, by its path below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrote {
    /// It is new.
    New(String),
    /// It was there, and is as it was.
    Kept(String),
    /// It was there, and has a line more.
    Added(String),
    /// Something that is left for the user to do.
    ToDo(String),
}

/// Why it could not be laid out.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {error}", path = path.display())]
pub struct InitError {
    path: PathBuf,
    error: io::Error,
}

/// Writes the files below `root` that are not there yet, for an agent that is started as `guess` says.
///
/// # Errors
/// When a file cannot be written; those before it are there.
pub fn lay_out(root: &Path, guess: &Guess) -> Result<Vec<Wrote>, InitError> {
    let pipeline = pipeline::pipeline(root, guess);
    let mut files = vec![
        (PathBuf::from("hapax.yaml"), CONFIG.replace("@COMMAND@", &quoted_list(&guess.command))),
        (PathBuf::from("scenarios/first-charge.yaml"), SCENARIO.to_owned()),
        (pipeline.path, pipeline.text),
    ];
    if guess.is_sample {
        files.push((PathBuf::from(SAMPLE_AGENT), AGENT.to_owned()));
    }
    let wrote = files.into_iter().map(|(name, text)| write_new(root, &name, &text));
    let mut wrote = wrote.collect::<Result<Vec<Wrote>, InitError>>()?;
    wrote.extend(ignore_reports(root)?);
    wrote.extend(pipeline.next.map(Wrote::ToDo));
    Ok(wrote)
}

fn write_new(root: &Path, name: &Path, text: &str) -> Result<Wrote, InitError> {
    let path = &root.join(name);
    let failed = |error| InitError { path: path.clone(), error };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let name = name.to_string_lossy().into_owned();
    match File::options().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).map_err(failed)?;
            Ok(Wrote::New(name))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Wrote::Kept(name)),
        Err(error) => Err(failed(error)),
    }
}

/// Sees to it that what runs leave is not committed.
fn ignore_reports(root: &Path) -> Result<Option<Wrote>, InitError> {
    const NAME: &str = ".gitignore";
    let path = root.join(NAME);
    let failed = |error| InitError { path: path.clone(), error };
    let before = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return write_new(root, Path::new(NAME), REPORTS).map(Some);
        }
        Err(error) => return Err(failed(error)),
    };
    if before.lines().any(|line| matches!(line.trim(), "reports" | "reports/" | "/reports" | "/reports/")) {
        return Ok(None);
    }
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let mut file = File::options().append(true).open(&path).map_err(failed)?;
    file.write_all(format!("{gap}{REPORTS}").as_bytes()).map_err(failed)?;
    Ok(Some(Wrote::Added(NAME.to_owned())))
}

/// A command as a YAML list. JSON is YAML.
fn quoted_list(command: &[String]) -> String {
    serde_json::to_string(command).unwrap_or_default().replace("\",\"", "\", \"")
}

#[cfg(test)]
mod tests;
