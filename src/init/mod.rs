//! Creates the files that a project needs to test its agent: `hapax.yaml`, a first scenario and a CI
//! workflow. Overwrites nothing.

mod guess;
mod pipeline;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use guess::{Guess, PublishedAgent, guess};

/// The example agent, for a folder in which no agent is found.
pub const SAMPLE_AGENT: &str = "agent.sh";

const CONFIG: &str = include_str!("files/hapax.yaml");
/// The file for a published agent program.
const PUBLISHED_CONFIG: &str = include_str!("files/published.yaml");
/// The settings of an agent that was not probed.
const SETTINGS: &str = include_str!("files/settings.yaml");
const SCENARIO: &str = include_str!("files/first-charge.yaml");
/// What is added to `.gitignore`.
const REPORTS: &str = "reports/\n";
const AGENT: &str = include_str!("files/agent.sh");

/// What was done with a file, by its path below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// It was created.
    Created(String),
    /// It existed, and was not changed.
    Kept(String),
    /// It existed, and a line was added.
    Added(String),
    /// Something that the user has to do.
    ToDo(String),
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {error}", path = path.display())]
pub struct InitError {
    path: PathBuf,
    error: io::Error,
}

/// Writes the files below `root` that are not there yet, for an agent that is started as `guess` says and has the
/// settings that its probe found, as lines of hapax.yaml. `parts` is the number of jobs that share the trials in CI, if
/// there are several.
///
/// # Errors
/// When a file cannot be written; those before it are there.
pub fn create_files(
    root: &Path,
    guess: &Guess,
    found: Option<&[String]>,
    parts: Option<u32>,
) -> Result<Vec<FileChange>, InitError> {
    let settings = found.map_or_else(|| SETTINGS.to_owned(), settings);
    let pipeline = pipeline::pipeline(root, guess, parts);
    let mut files = vec![
        (PathBuf::from("hapax.yaml"), config(guess, &settings)),
        (PathBuf::from("scenarios/first-charge.yaml"), SCENARIO.to_owned()),
        (pipeline.path, pipeline.text),
    ];
    if guess.is_sample {
        files.push((PathBuf::from(SAMPLE_AGENT), AGENT.to_owned()));
    }
    if let Some(agent) = &guess.agent {
        files.push((PathBuf::from(format!("agents/{}.yaml", agent.name)), agent.recipe.clone()));
    }
    let wrote = files.into_iter().map(|(name, text)| write_new(root, &name, &text));
    let mut wrote = wrote.collect::<Result<Vec<FileChange>, InitError>>()?;
    let has_new_pipeline = matches!(wrote.get(2), Some(FileChange::Created(_)));
    wrote.extend(ignore_reports(root)?);
    wrote.extend(pipeline.next.map(FileChange::ToDo));
    if has_new_pipeline {
        wrote.push(FileChange::ToDo(pipeline::NOT_PUBLISHED.to_owned()));
    }
    Ok(wrote)
}

fn write_new(root: &Path, name: &Path, text: &str) -> Result<FileChange, InitError> {
    let path = &root.join(name);
    let failed = |error| InitError { path: path.clone(), error };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let name = name.to_string_lossy().into_owned();
    match File::options().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).map_err(failed)?;
            Ok(FileChange::Created(name))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(FileChange::Kept(name)),
        Err(error) => Err(failed(error)),
    }
}

/// Makes git ignore the folder of reports.
fn ignore_reports(root: &Path) -> Result<Option<FileChange>, InitError> {
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
    Ok(Some(FileChange::Added(NAME.to_owned())))
}

fn config(guess: &Guess, settings: &str) -> String {
    match &guess.agent {
        Some(agent) => PUBLISHED_CONFIG.replace("@AGENT@", &agent.name),
        None => {
            CONFIG.replace("@COMMAND@", &quoted_list(&guess.command)).replace("    # @SETTINGS@\n", settings)
        }
    }
}

/// What the probe found, as lines of hapax.yaml.
fn settings(found: &[String]) -> String {
    let about =
        "# What the probe of `hapax init` found; `hapax run` checks that it is still true.".to_owned();
    [about].iter().chain(found).map(|line| format!("    {line}\n")).collect()
}

/// A command as a YAML list. JSON is YAML.
fn quoted_list(command: &[String]) -> String {
    serde_json::to_string(command).unwrap_or_default().replace("\",\"", "\", \"")
}

#[cfg(test)]
mod tests;
