//! The probe of a run: what it finds is shown, and becomes the settings of the run.

use std::collections::BTreeSet;

use super::RunArgs;
use crate::ExitStatus;
use crate::cli::error::CliError;
use crate::cli::print::message;
use crate::cli::probing::{is_something_right, probe, show_failure, show_own_task};
use crate::report::{self, Format};
use crate::results::{DerivedSettings, FamilyOutcome, ProbeResult, ProbedFamily};
use crate::run::{
    self, DeclinedCases, Partition, Plan, ProbeOptions, RunFolder, RunOptions, Said, Verbosity,
};
use crate::scenario::Case;
use crate::subject::words::quoted;
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
        let before = |id: &str| skipped.iter().find(|skipped| skipped.id == id).cloned();
        plan.skip(|case| before(&case.id));
        // The reason is that of the run, whose probe knows more than its options.
        for skipped in &mut plan.skipped {
            *skipped = before(&skipped.id).unwrap_or_else(|| skipped.clone());
        }
        return ready(plan, options, String::new());
    }
    if args.no_probe || is_known || is_later_part || args.dry_run {
        return ready(plan, options, String::new());
    }
    // All parts run the same cases, and only the first one probes.
    let keeps_all = args.measure.is_given() || args.part.partition.is_some();
    let said = match (derives, subject.settings.can.is_empty()) {
        (_, false) => Said::Operations,
        (true, true) => Said::Nothing,
        (false, true) => Said::Everything,
    };
    options.declined = match said {
        Said::Operations => DeclinedCases::Fail,
        _ if keeps_all => DeclinedCases::Fail,
        Said::Nothing | Said::Everything => DeclinedCases::LeftOut { unproven: said == Said::Everything },
    };
    if let Some(derived) = args.derived.get() {
        let plan = applied(derived, cases, subject, &mut options)?;
        return ready(plan, options, String::new());
    }
    if args.execution.verbosity() >= Verbosity::Normal {
        message("probe: one trial without faults for each kind of task");
    }
    let how = ProbeOptions { derives, hard: args.hard, keeps_all };
    let mut result = probe(&cases, subject, &options, how)?;
    if let Some(status) = show_own_task(&result, &options.subject_words) {
        return Ok(Err(status));
    }
    if !is_something_right(&result) {
        let is_output_text = args.execution.format() == Format::Terminal;
        return match run::probe_failure(result, said) {
            Some(failure) => Ok(Err(show_failure(&failure, "run", is_output_text))),
            None => ready(plan, options, String::new()),
        };
    }
    let (command, planned) = (options.subject_words.clone(), plan.cases.len());
    // What is not done is skipped with what the probe saw as the reason.
    let without_can = DerivedSettings { can: Vec::new(), ..result.derived.clone() };
    let mut plan = applied(&without_can, cases, subject, &mut options)?;
    if !how.keeps_all {
        run::skip_probed(&mut plan, &mut result, planned, said);
    }
    let can = DerivedSettings { can: result.derived.can.clone(), ..DerivedSettings::default() };
    run::apply_derived(&can, subject, &mut options);
    run::keep_can(&mut plan, &subject.settings.can, &subject.name);
    result.cases = (plan.cases.len(), planned.saturating_sub(plan.cases.len()));
    plan.probed = std::mem::take(&mut result.wrong);
    if args.execution.verbosity() >= Verbosity::Normal {
        let verb = derives.then_some("run");
        message(report::probe_text(&result, &command, verb, &crate::cli::view(false)).trim_end());
    }
    if !how.keeps_all {
        propose_can(&result, subject, said);
    }
    let added = result.options.clone();
    let could_start = !result.families.iter().any(|family| could_not_start(&family.outcome));
    // Only the first round of --watch gets here. What could not start is tried again in the next one.
    let _ = args.derived.set(if could_start { result.derived } else { without_can });
    ready(plan, options, added)
}

fn could_not_start(outcome: &FamilyOutcome) -> bool {
    matches!(outcome, FamilyOutcome::CouldNotStart { .. })
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

/// Says which operations a subject has that does less than its settings say, or that could not start for some tasks.
fn propose_can(result: &ProbeResult, subject: &Subject, said: Said) {
    let is_less = |outcome: &FamilyOutcome| {
        could_not_start(outcome)
            || (said == Said::Everything
                && matches!(outcome, FamilyOutcome::Declined { .. } | FamilyOutcome::DoneOtherwise { .. }))
    };
    let less: Vec<&ProbedFamily> = result.families.iter().filter(|family| is_less(&family.outcome)).collect();
    if less.is_empty() || said == Said::Operations {
        return;
    }
    let can = result.families.iter().filter(|family| family.outcome.is_done());
    let can: BTreeSet<&str> = can.flat_map(|family| &family.needed).map(String::as_str).collect();
    let what = match less.iter().find_map(|family| match &family.outcome {
        FamilyOutcome::CouldNotStart { how, .. } => Some((family, how)),
        _ => None,
    }) {
        Some((family, how)) => format!("{} {how} without faults in {}", subject.name, family.case),
        None => format!("{} makes no attempt in some kinds of tasks", subject.name),
    };
    let options: String = can.iter().map(|entry| format!("--can {} ", quoted(entry))).collect();
    message(&format!(
        "note: {what}, so this run ends with exit status 3 at best; if they are not its tasks, say what it does, with \
         {}or in hapax.yaml:\n  can: [{}]",
        options,
        can.into_iter().collect::<Vec<_>>().join(", ")
    ));
}
