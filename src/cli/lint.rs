//! `hapax lint`: everything that is wrong with scenario files, at once.

use super::ExitStatus;
use super::print::{output, plural, refused};
use crate::scenario::load;

/// Check scenario files, and show all that is wrong with them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax lint
      The shipped scenarios and those in ./scenarios.
  hapax lint mine/lost-reply.yaml
      One file.

Exit status: 0 where nothing is wrong, 2 otherwise.")]
pub(super) struct LintArgs {
    /// Files or folders to check [default: all scenarios]
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
}

pub(super) fn run(args: LintArgs) -> ExitStatus {
    match load(&args.paths) {
        Ok(loaded) => {
            let (files, cases) = (plural(loaded.files, "file"), plural(loaded.cases.len(), "case"));
            output(format!("{files}, {cases}: no problem\n").as_bytes(), ExitStatus::Success)
        }
        Err(error) => refused(&error),
    }
}
