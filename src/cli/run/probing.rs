//! The probe of a run: what it finds is shown, and becomes the settings of the run.

use super::RunArgs;
use crate::ExitStatus;
use crate::cli::error::CliError;
use crate::cli::print::{message, output_text};
use crate::report::{self, Format};
use crate::results::{DerivedSettings, FamilyOutcome, ProbeResult, SmokeFailure};
use crate::run::{self, Partition, Plan, ProbeOptions, RunOptions, Verbosity};
use crate::scenario::Case;
use crate::subject::{Subject, SubjectKind};

/// A run that can begin.
pub(super) struct ReadyRun {
    pub(super) plan: Plan,
    pub(super) options: RunOptions,
    /// The best status that it can end with: a subject that does less than its settings say proves less.
    pub(super) at_best: ExitStatus,
    /// The options that the probe added.
    pub(super) added: String,
}

/// The plan of a run after the probe; or the status of a run that ends here.
pub(super) fn ready(
    args: &RunArgs,
    cases: Vec<Case>,
    subject: &mut Subject,
    typed: &str,
    seed: u64,
) -> Result<Result<ReadyRun, ExitStatus>, CliError> {
    let (plan, mut options) = args.plan(cases.clone(), subject, typed, seed)?;
    let derives = args.subject.is_command() && args.partition.is_none();
    let is_known = matches!(subject.kind, SubjectKind::Control(_)) || plan.cases.is_empty();
    let is_later_part = args.partition.is_some_and(|partition: Partition| partition.part > 1);
    let ready = |plan, options, at_best, added| Ok(Ok(ReadyRun { plan, options, at_best, added }));
    if args.no_probe || is_known || is_later_part || args.resume.is_some() || args.dry_run {
        return ready(plan, options, ExitStatus::Success, String::new());
    }
    if let Some(derived) = args.derived.get() {
        let plan = applied(derived, cases, subject, &mut options)?;
        return ready(plan, options, ExitStatus::Success, String::new());
    }
    if args.execution.verbosity() >= Verbosity::Normal {
        message("probe: one trial without faults for each kind of task");
    }
    let how = ProbeOptions { derives, hard: args.hard };
    let mut result = probe(&cases, subject, &options, how)?;
    if !result.families.iter().any(|family| matches!(family.outcome, FamilyOutcome::Right)) {
        return match run::probe_failure(result) {
            Some(failure) => Ok(Err(show_failure(args, &failure))),
            None => ready(plan, options, ExitStatus::Success, String::new()),
        };
    }
    let command = options.subject_words.clone();
    let planned = plan.cases.len();
    let mut plan = applied(&result.derived, cases, subject, &mut options)?;
    run::skip_probed(&mut plan, &mut result, planned);
    if args.execution.verbosity() >= Verbosity::Normal {
        message(report::probe_text(&result, &command, derives, &crate::cli::view(false)).trim_end());
    }
    let added = result.options.clone();
    let at_best = at_best(&result, derives, subject);
    // Only the first round of --watch gets here.
    let _ = args.derived.set(result.derived);
    ready(plan, options, at_best, added)
}

/// Probes a command with all shipped cases, and shows what was found; `None` if nothing came out right.
pub(in crate::cli) fn probe_command(command: &[String]) -> Result<Option<DerivedSettings>, CliError> {
    let subject = Subject::command(command.to_vec());
    let options = RunOptions { trials: 1, seed: run::random_seed()?, ..RunOptions::default() };
    message("probe: the agent is started without faults, once for each kind of task");
    let cases = crate::scenario::shipped().map_err(CliError::new)?;
    let result = probe(&cases, &subject, &options, ProbeOptions { derives: true, hard: false })?;
    if !result.families.iter().any(|family| matches!(family.outcome, FamilyOutcome::Right)) {
        message(
            "probe: nothing that the agent did came out right, so hapax.yaml has only what every agent needs; \
             `hapax run` shows what is missing",
        );
        return Ok(None);
    }
    message(report::probe_text(&result, &subject.name, false, &crate::cli::view(false)).trim_end());
    Ok(Some(result.derived))
}

fn applied(
    derived: &DerivedSettings,
    cases: Vec<Case>,
    subject: &mut Subject,
    options: &mut RunOptions,
) -> Result<Plan, CliError> {
    run::apply_derived(derived, subject, options);
    Ok(Plan::new(cases, subject, options)?)
}

/// The settings of a subject in hapax.yaml are not changed, so a subject that does less than they say is not proven.
fn at_best(result: &ProbeResult, derives: bool, subject: &Subject) -> ExitStatus {
    let is_silent = |outcome: &FamilyOutcome| matches!(outcome, FamilyOutcome::NotAttempted { .. });
    if derives || !result.families.iter().any(|family| is_silent(&family.outcome)) {
        return ExitStatus::Success;
    }
    let can = result.families.iter().filter(|family| !is_silent(&family.outcome));
    let can: Vec<&str> = can.flat_map(|family| &family.operations).map(String::as_str).collect();
    message(&format!(
        "note: {} makes no attempt in some kinds of tasks, so this run ends with exit status 3 at best; if they are \
         not its tasks, write this into hapax.yaml:\n  can: [{}]",
        subject.name,
        can.join(", ")
    ));
    ExitStatus::Unproven
}

fn probe(
    cases: &[Case],
    subject: &Subject,
    options: &RunOptions,
    how: ProbeOptions,
) -> Result<ProbeResult, CliError> {
    crate::cli::runtime()?.block_on(async {
        let stop = crate::cli::stop_signal()?;
        tokio::select! {
            result = run::probe(cases, subject, options, how) => result.map_err(CliError::from),
            () = stop => Err(CliError::new("interrupted during the probe; no other trial was run")),
        }
    })
}

fn show_failure(args: &RunArgs, failure: &SmokeFailure) -> ExitStatus {
    let text = report::smoke_text(failure, &crate::cli::view(false));
    let status = failure.problem.exit_status();
    // Standard output is only for the report in the format that was asked for.
    if status == ExitStatus::Usage || args.execution.format() != Format::Terminal {
        message(text.trim_end());
        return status;
    }
    output_text(&text, status)
}
