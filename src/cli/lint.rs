//! `hapax lint`: all problems in scenarios, `hapax.yaml`, service files and recipes, at once.

use super::error::CliError;
use super::print::{message, output, plural};
use crate::ExitStatus;
use crate::lint::lint;
use crate::run::callers_limit;

/// Check scenarios, hapax.yaml, service files and recipes, and report every problem in them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax lint
      The shipped scenarios, those in ./scenarios, ./hapax.yaml, and the recipes in ./agents.
  hapax lint mine/lost-reply.yaml
      One file.
  hapax lint hapax.yaml desk.yaml
      The subjects, and a service of your own.

Exit status: 0 when there is no problem, 2 otherwise.")]
pub(super) struct LintArgs {
    /// Scenarios or folders of them, hapax.yaml, service files or recipes [default: all scenarios, and hapax.yaml and recipes here]
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
}

pub(super) fn run(args: &LintArgs) -> Result<ExitStatus, CliError> {
    let linted = lint(&args.paths)?;
    let files = plural(linted.files, "file");
    let cases = match linted.cases.len() {
        0 => String::new(),
        cases => format!(", {}", plural(cases, "case")),
    };
    let limit = callers_limit();
    let too_many = linted.cases.iter().filter(|case| u64::from(case.callers) > limit.callers);
    if let Some(largest) = too_many.max_by_key(|case| case.callers) {
        message(&format!(
            "note: {} has {} callers, and this machine allows {limit}; {}",
            largest.id,
            largest.callers,
            limit.limited_by.fix()
        ));
    }
    Ok(output(format!("{files}{cases}: no problem\n").as_bytes(), ExitStatus::Success))
}
