//! The arguments that make a scenario without a file, shared by `run` and `replay`.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice, eprintln};
use mock_services::yaml::shown;

use crate::scenario::{Case, LoadError, Quick};
use crate::subject::words::quoted;

/// Where `--help` shows these arguments.
pub(in crate::cli) const HEADING: &str = "One task, without a file";

/// The name of a scenario that is not saved.
const NAME: &str = "task";

/// One task and what is due.
#[derive(clap::Args)]
pub(in crate::cli) struct QuickArgs {
    /// What is to be done, in words
    #[arg(long, value_name = "TEXT", requires = "expect", help_heading = HEADING)]
    task: Option<String>,

    /// What is due: EFFECT[:FIELD=VALUE,...][*TIMES]; can be given more than once
    #[arg(long, value_name = "EFFECT", requires = "task", help_heading = HEADING)]
    expect: Vec<String>,
}

impl QuickArgs {
    /// The cases that these arguments make; `None` where there are none. The scenario is written to `save`.
    pub(in crate::cli) fn cases(&self, save: Option<&Path>) -> Result<Option<Vec<Case>>, String> {
        let Some(quick) = self.quick()? else { return Ok(None) };
        let name = save.and_then(Path::file_stem).map_or(NAME.into(), |stem| stem.to_string_lossy());
        let file = save.map_or("the scenario of --task and --expect".into(), Path::to_string_lossy);
        let cases = quick.cases(&name, &file).map_err(|error| told(&error))?;
        if let Some(path) = save {
            write_new(path, quick.text())?;
            eprintln!("the scenario is written to {}", path.display());
        }
        Ok(Some(cases))
    }

    /// The case with this id among those that these arguments make.
    pub(in crate::cli) fn cases_of(&self, id: &str) -> Result<Option<Vec<Case>>, String> {
        let Some(quick) = self.quick()? else { return Ok(None) };
        let name = id.split('@').next().unwrap_or(NAME);
        let mut cases =
            quick.cases(name, "the scenario of --task and --expect").map_err(|error| told(&error))?;
        cases.retain(|case| case.id == id);
        if cases.is_empty() {
            return Err(format!(
                "--task and --expect make no case `{}`\n  copy the whole line that a report shows",
                shown(id)
            ));
        }
        Ok(Some(cases))
    }

    fn quick(&self) -> Result<Option<Quick>, String> {
        let quick = self.task.as_ref().map(|task| Quick::new(task, &self.expect));
        quick.transpose().map_err(|error| told(&error))
    }

    /// How these arguments are written, for the command that runs a trial again.
    pub(in crate::cli) fn words(&self) -> String {
        let task = self.task.iter().map(|task| format!("--task {} ", quoted(task)));
        task.chain(self.expect.iter().map(|expect| format!("--expect {} ", quoted(expect)))).collect()
    }
}

fn told(error: &LoadError) -> String {
    error.advice(AutoStream::choice(&std::io::stderr()) != ColorChoice::Never)
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    let written = made
        .and_then(|()| File::options().write(true).create_new(true).open(path)?.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!(
                "{} is there already, and is not overwritten\n  choose another name for --save",
                path.display()
            )
        }
        _ => format!("cannot write {}: {error}", path.display()),
    })
}
