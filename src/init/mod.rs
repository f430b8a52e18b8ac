//! Lays out what someone needs to test an agent of their own: `hapax.yaml`, a first scenario and a workflow for CI. Overwrites nothing.

mod guess;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use guess::{Guess, guess};

/// An agent to begin with, for a folder in which none is found.
pub const SAMPLE_AGENT: &str = "agent.sh";

const CONFIG: &str = include_str!("files/hapax.yaml");
const SCENARIO: &str = include_str!("files/first-charge.yaml");
const WORKFLOW: &str = include_str!("files/workflow.yml");
const AGENT: &str = include_str!("files/agent.sh");

/// What became of a file, by its path below the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrote {
    /// It is new.
    New(&'static str),
    /// It was there, and is as it was.
    Kept(&'static str),
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
    let mut files = vec![
        ("hapax.yaml", CONFIG.replace("@COMMAND@", &quoted_list(&guess.command))),
        ("scenarios/first-charge.yaml", SCENARIO.to_owned()),
        (".github/workflows/hapax.yml", WORKFLOW.to_owned()),
    ];
    if guess.is_sample {
        files.push((SAMPLE_AGENT, AGENT.to_owned()));
    }
    files.into_iter().map(|(name, text)| write_new(root, name, &text)).collect()
}

fn write_new(root: &Path, name: &'static str, text: &str) -> Result<Wrote, InitError> {
    let path = &root.join(name);
    let failed = |error| InitError { path: path.clone(), error };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    match File::options().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).map_err(failed)?;
            Ok(Wrote::New(name))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Wrote::Kept(name)),
        Err(error) => Err(failed(error)),
    }
}

/// A command as a YAML list. JSON is YAML.
fn quoted_list(command: &[String]) -> String {
    serde_json::to_string(command).unwrap_or_default().replace("\",\"", "\", \"")
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
