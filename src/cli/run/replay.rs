//! `hapax replay`: one trial again.

use super::execution::{ExecutionArgs, RunRemarks, execute, finish};
use crate::ExitStatus;
use crate::cli::args::quick::QuickArgs;
use crate::cli::args::subject::SubjectArgs;
use crate::cli::error::CliError;
use crate::cli::live::Live;
use crate::results::Measure;
use crate::run::{Plan, without_faults};

/// Run one trial again, with the same seed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax replay payment/lost-reply@keys=none,reply=drop --seed 181823012 -- python3 agent.py
      The command that a report shows for each trial.")]
pub(in crate::cli) struct ReplayArgs {
    /// The id of the case
    #[arg(value_name = "CASE")]
    case: String,

    /// The scenario file of the case, where it is not in scenarios/
    #[arg(long, value_name = "FILE", conflicts_with = "task")]
    scenario: Option<String>,

    /// Take faults, interrupts and further callers out of the case, as the probe of a run does
    #[arg(long)]
    without_faults: bool,

    #[command(flatten)]
    quick: QuickArgs,

    #[command(flatten)]
    subject: SubjectArgs,

    #[command(flatten)]
    execution: ExecutionArgs,
}

pub(in crate::cli) fn replay(args: &ReplayArgs) -> Result<ExitStatus, CliError> {
    let (mut subject, typed) = args.subject.choose()?;
    let promise = args.execution.judging.promise(&mut subject);
    let mut cases = match args.quick.cases_of(&args.case, &subject.settings.assumed_keys())? {
        Some(cases) => cases,
        None => crate::cli::load(std::slice::from_ref(args.scenario.as_ref().unwrap_or(&args.case)), None)?,
    };
    // A whole id selects its own case, even if it is part of another id.
    if cases.iter().any(|case| case.id == args.case) {
        cases.retain(|case| case.id == args.case);
    }
    cases.retain(|case| case.id.contains(&args.case));
    if cases.is_empty() {
        return Err(CliError::with_hint(
            format!("the file has no case `{}`", args.case),
            "`hapax list FILE` lists its cases",
        ));
    }
    if let [_, another, ..] = cases.as_slice() {
        return Err(CliError::with_hint(
            format!("`{}` matches several cases, for example {}", args.case, another.id),
            "give the whole id",
        ));
    }
    if args.without_faults {
        cases = cases.iter().map(without_faults).collect();
    }
    let Some(seed) = args.execution.seed else {
        return Err(CliError::with_hint(
            "a replay needs the seed of the trial",
            "add --seed N, as in the replay command of the report",
        ));
    };
    let options = args.execution.options(seed, format!("{}{promise}{typed}", args.quick.as_typed()));
    let mut plan = Plan::new(cases, &subject, &options)?;
    plan.trials.iter_mut().for_each(|planned| planned.seed = seed);
    let folder = args.execution.folder()?;
    let live = Live::before_report(args.execution.verbosity());
    let report = execute(plan, subject, options, &args.execution, &folder, live)?;
    finish(report, &folder, &args.execution, &Measure::Verdicts, &RunRemarks::default())
}
