//! `hapax lint`: all problems in scenario files, at once.

use super::error::CliError;
use super::print::{message, output, plural};
use crate::ExitStatus;
use crate::run::callers_limit;
use crate::scenario::load;

/// Check scenario files, and report every problem in them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax lint
      The shipped scenarios and those in ./scenarios.
  hapax lint mine/lost-reply.yaml
      One file.

Exit status: 0 when there is no problem, 2 otherwise.")]
pub(super) struct LintArgs {
    /// Files or folders to check [default: all scenarios]
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
}

pub(super) fn run(args: &LintArgs) -> Result<ExitStatus, CliError> {
    let loaded = load(&args.paths)?;
    let (files, cases) = (plural(loaded.files, "file"), plural(loaded.cases.len(), "case"));
    let limit = callers_limit();
    let too_many = loaded.cases.iter().filter(|case| u64::from(case.callers) > limit.callers);
    if let Some(largest) = too_many.max_by_key(|case| case.callers) {
        message(&format!(
            "note: {} has {} callers, and this machine allows {limit}; {}",
            largest.id,
            largest.callers,
            limit.limited_by.fix()
        ));
    }
    Ok(output(format!("{files}, {cases}: no problem\n").as_bytes(), ExitStatus::Success))
}
