//! The probe of a run: what it finds is shown, and becomes the settings of the run.

use std::collections::BTreeSet;

use super::RunArgs;
use crate::ExitStatus;
use crate::cli::error::CliError;
use crate::cli::print::message;
use crate::cli::probing::{is_something_right, probe, show_failure};
use crate::report::{self, Format};
use crate::results::{DerivedSettings, FamilyOutcome, ProbeResult};
use crate::run::{self, Partition, Plan, ProbeOptions, RunFolder, RunOptions, Verbosity};
use crate::scenario::Case;
use crate::subject::{Subject, SubjectKind};

/// A run that can begin.
pub(super) struct ReadyRun {
    pub(super) plan: Plan,
    pub(super) options: RunOptions,
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
    let derives = args.subject.is_command() && args.part.partition.is_none();
    let is_known = matches!(subject.kind, SubjectKind::Control(_)) || plan.cases.is_empty();
    let is_later_part = args.part.partition.is_some_and(|partition: Partition| partition.part > 1);
    let ready = |plan, options, added| Ok(Ok(ReadyRun { plan, options, added }));
    if let Some(path) = &args.resume {
        let mut plan = plan;
        let skipped = RunFolder::skipped(path)?;
        plan.skip(|case| skipped.iter().find(|skipped| skipped.id == case.id).cloned());
        return ready(plan, options, String::new());
    }
    if args.no_probe || is_known || is_later_part || args.dry_run {
        return ready(plan, options, String::new());
    }
    if let Some(derived) = args.derived.get() {
        let plan = applied(derived, cases, subject, &mut options)?;
        return ready(plan, options, String::new());
    }
    if args.execution.verbosity() >= Verbosity::Normal {
        message("probe: one trial without faults for each kind of task");
    }
    // All parts run the same cases, and only the first one probes.
    let keeps_all = args.measure.is_given() || args.part.partition.is_some();
    let how = ProbeOptions { derives, hard: args.hard, keeps_all };
    let mut result = probe(&cases, subject, &options, how)?;
    if !is_something_right(&result) {
        let is_output_text = args.execution.format() == Format::Terminal;
        return match run::probe_failure(result) {
            Some(failure) => Ok(Err(show_failure(&failure, "run", is_output_text))),
            None => ready(plan, options, String::new()),
        };
    }
    let (command, planned) = (options.subject_words.clone(), plan.cases.len());
    let is_free = derives && subject.settings.can.is_empty();
    let mut plan = applied(&result.derived, cases, subject, &mut options)?;
    if !how.keeps_all {
        run::skip_probed(&mut plan, &mut result, planned, is_free);
    }
    if args.execution.verbosity() >= Verbosity::Normal {
        let verb = derives.then_some("run");
        message(report::probe_text(&result, &command, verb, &crate::cli::view(false)).trim_end());
    }
    if !is_free && !how.keeps_all {
        propose_can(&result, subject);
    }
    let added = result.options.clone();
    // Only the first round of --watch gets here.
    let _ = args.derived.set(result.derived);
    ready(plan, options, added)
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

/// Says which operations a subject has that does less than its settings say.
fn propose_can(result: &ProbeResult, subject: &Subject) {
    let is_silent = |outcome: &FamilyOutcome| matches!(outcome, FamilyOutcome::NotAttempted { .. });
    if !result.families.iter().any(|family| is_silent(&family.outcome)) {
        return;
    }
    let can = result.families.iter().filter(|family| !is_silent(&family.outcome));
    let can: BTreeSet<&str> = can.flat_map(|family| &family.needed).map(String::as_str).collect();
    message(&format!(
        "note: {} makes no attempt in some kinds of tasks, so this run ends with exit status 3 at best; if they are \
         not its tasks, say what it does, with --can or in hapax.yaml:\n  can: [{}]",
        subject.name,
        can.into_iter().collect::<Vec<_>>().join(", ")
    ));
}
