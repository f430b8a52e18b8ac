//! Several subjects with the same cases and the same seed, in one table.

use super::RunArgs;
use super::execution::{append_step_summary, execute, save};
use super::probing::{self, ReadyRun};
use crate::ExitStatus;
use crate::cli::error::CliError;
use crate::cli::live::Live;
use crate::cli::print::{linked_path, message, output_text};
use crate::report::{self, Format};
use crate::results::{self, Report};
use crate::run::Verbosity;
use crate::scenario::Case;
use crate::score::TrialStatus;
use crate::subject::Subject;

pub(super) fn run(
    args: &RunArgs,
    cases: &[Case],
    subjects: Vec<(Subject, String)>,
) -> Result<ExitStatus, CliError> {
    check(args, &subjects)?;
    let seed = args.seed()?;
    let mut saved = Vec::new();
    for (mut subject, typed) in subjects {
        let ReadyRun { plan, options, .. } =
            match probing::ready(args, cases.to_vec(), &mut subject, &typed, seed)? {
                Ok(ready) => ready,
                Err(status) => return Ok(status),
            };
        if args.execution.verbosity() >= Verbosity::Normal {
            message(&format!("subject {}", subject.name));
        }
        let folder = args.execution.folder_of(&subject.name)?;
        // The table names only the cases in which the subjects differ.
        let live = Live::new(args.execution.verbosity());
        let report = execute(plan, subject, options, &args.execution, &folder, live)?;
        let is_interrupted = report.interrupted;
        let finished = save(report, &folder, &args.execution)?;
        append_step_summary(&finished.saved, "")?;
        saved.push((finished.saved, folder));
        if is_interrupted {
            break;
        }
    }
    let reports: Vec<&Report> = saved.iter().map(|(saved, _)| &saved.report).collect();
    let text = report::side_by_side(&reports, &crate::cli::view(args.execution.verbose));
    let result = reports.iter().map(|report| results::result(report)).max().unwrap_or(TrialStatus::Void);
    let status = output_text(&text, result.into());
    if !args.execution.quiet {
        for (saved, folder) in &saved {
            let page = linked_path(&folder.path().join(report::PAGE_FILE));
            message(&format!("page of {}: {page}", saved.report.subject));
        }
    }
    Ok(status)
}

/// Refuses the options that are about one run.
fn check(args: &RunArgs, subjects: &[(Subject, String)]) -> Result<(), CliError> {
    let mut names: Vec<&str> = subjects.iter().map(|(subject, _)| subject.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(CliError::with_hint(
            format!("the subject `{}` is named twice", pair[0]),
            "name each subject once; --trials runs one of them several times",
        ));
    }
    let refused = [
        ("--resume", args.resume.is_some()),
        ("--partition", args.part.partition.is_some()),
        ("--rate and --price", args.part.has_rate()),
        ("--dry-run", args.dry_run),
        ("--open", args.execution.open),
        ("--baseline and --require", args.measure.is_given()),
        ("--format and --json", args.execution.format() != Format::Terminal),
    ];
    match refused.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(CliError::with_hint(
            format!("{option} cannot be used with several subjects"),
            "run one subject at a time for that",
        )),
        None => Ok(()),
    }
}
