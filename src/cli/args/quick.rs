//! The arguments that make a scenario without a file, shared by `run` and `replay`.

use std::path::Path;

use anstream::eprintln;
use yaml_reader::shown;

use crate::cli::error::CliError;
use crate::results::write_new_file;
use crate::scenario::{AssumedKeys, Case, Quick};
use crate::subject::words::quoted;

/// The heading of these arguments in `--help`.
pub(in crate::cli) const HEADING: &str = "One task, without a file";

/// The name of a scenario that is not saved.
const NAME: &str = "task";

/// What problems call a scenario that is not saved.
const UNSAVED: &str = "the scenario of --task and --expect";

/// One task and its expected effects.
#[derive(clap::Args)]
pub(in crate::cli) struct QuickArgs {
    /// The task, in words
    #[arg(long, value_name = "TEXT", requires = "expect", help_heading = HEADING)]
    task: Option<String>,

    /// An effect that is due: EFFECT[:FIELD=VALUE,...][*TIMES]; can be repeated
    #[arg(long, value_name = "EFFECT", requires = "task", help_heading = HEADING)]
    expect: Vec<String>,

    /// An expected effect for which the subject must ask a person, who approves it; can be repeated
    #[arg(long, value_name = "EFFECT", requires = "task", help_heading = HEADING)]
    approve: Vec<String>,
}

impl QuickArgs {
    /// Whether a task is given.
    pub(in crate::cli) fn is_given(&self) -> bool {
        self.task.is_some()
    }

    /// The cases that these arguments make; `None` if they are not given. Writes the scenario to `save`.
    pub(in crate::cli) fn cases(
        &self,
        save: Option<&Path>,
        assumed: &[AssumedKeys],
    ) -> Result<Option<Vec<Case>>, CliError> {
        let Some(quick) = self.quick(assumed)? else { return Ok(None) };
        let name = save.and_then(Path::file_stem).map_or(NAME.into(), |stem| stem.to_string_lossy());
        let file = save.map_or(UNSAVED.into(), Path::to_string_lossy);
        let cases = quick.cases(&name, &file)?;
        if let Some(path) = save {
            write_new_file(path, quick.text())
                .map_err(|error| CliError::with_hint(error, "choose another name for --save"))?;
            eprintln!("wrote the scenario to {}", path.display());
        }
        Ok(Some(cases))
    }

    /// The case with this id among those that these arguments make.
    pub(in crate::cli) fn cases_of(
        &self,
        id: &str,
        assumed: &[AssumedKeys],
    ) -> Result<Option<Vec<Case>>, CliError> {
        let Some(quick) = self.quick(assumed)? else { return Ok(None) };
        let name = id.split('@').next().unwrap_or(NAME);
        let mut cases = quick.cases(name, UNSAVED)?;
        cases.retain(|case| case.id == id);
        if cases.is_empty() {
            return Err(CliError::with_hint(
                format!("--task and --expect make no case `{}`", shown(id)),
                "copy the whole replay command from the report",
            ));
        }
        Ok(Some(cases))
    }

    /// The scenario that these arguments make, with services that treat keys as is assumed; `None` if they are not given.
    pub(in crate::cli) fn quick(&self, assumed: &[AssumedKeys]) -> Result<Option<Quick>, CliError> {
        let quick = self.task.as_ref().map(|task| Quick::new(task, &self.expect, &self.approve, assumed));
        Ok(quick.transpose()?)
    }

    /// These arguments as they are typed, for the replay command.
    pub(in crate::cli) fn as_typed(&self) -> String {
        let task = self.task.iter().map(|task| format!("--task {} ", quoted(task)));
        let expect = self.expect.iter().map(|expect| format!("--expect {} ", quoted(expect)));
        let approve = self.approve.iter().map(|effect| format!("--approve {} ", quoted(effect)));
        task.chain(expect).chain(approve).collect()
    }
}
