//! The probe on the command line: it can be interrupted, and what it found is shown.

use super::error::CliError;
use super::print::{message, output_text};
use crate::ExitStatus;
use crate::report;
use crate::results::{DerivedSettings, FamilyOutcome, ProbeResult, SmokeFailure};
use crate::run::{self, ProbeOptions, RunOptions};
use crate::scenario::Case;
use crate::subject::Subject;

/// Probes a subject with these cases.
pub(super) fn probe(
    cases: &[Case],
    subject: &Subject,
    options: &RunOptions,
    how: ProbeOptions,
) -> Result<ProbeResult, CliError> {
    super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        tokio::select! {
            result = run::probe(cases, subject, options, how) => result.map_err(CliError::from),
            () = stop => Err(CliError::new("interrupted during the probe; no other trial was run")),
        }
    })
}

/// Whether at least one kind of task came out right.
pub(super) fn is_something_right(result: &ProbeResult) -> bool {
    result.families.iter().any(|family| matches!(family.outcome, FamilyOutcome::Right))
}

/// Probes a command with all shipped cases, and shows what was found; `None` if nothing came out right.
pub(super) fn probe_command(command: &[String]) -> Result<Option<DerivedSettings>, CliError> {
    let subject = Subject::command(command.to_vec());
    let options = RunOptions { trials: 1, seed: run::random_seed()?, ..RunOptions::default() };
    message("probe: the agent is started without faults, once for each kind of task");
    let cases = crate::scenario::shipped().map_err(CliError::new)?;
    let result =
        probe(&cases, &subject, &options, ProbeOptions { derives: true, ..ProbeOptions::default() })?;
    if !is_something_right(&result) {
        message(
            "probe: nothing that the agent did came out right, so hapax.yaml has only what every agent needs; \
             `hapax run` shows what is missing",
        );
        return Ok(None);
    }
    message(report::probe_text(&result, &subject.name, None, &super::view(false)).trim_end());
    Ok(Some(result.derived))
}

/// Shows the task that a subject is made for, if it did the same whatever it was asked.
pub(super) fn show_own_task(result: &ProbeResult, command: &str) -> Option<ExitStatus> {
    let task = result.own_task.as_ref()?;
    message(report::own_task_text(task, result.trials, command, &super::view(false)).trim_end());
    Some(ExitStatus::Unproven)
}

/// Shows the failure of a probe after which nothing else is run; `verb` is what was called. Where standard output
/// is for a report in a format of its own, it is only a message.
pub(super) fn show_failure(failure: &SmokeFailure, verb: &str, is_output_text: bool) -> ExitStatus {
    let text = report::smoke_text(failure, verb, &super::view(false));
    let status = failure.problem.exit_status();
    if status == ExitStatus::Usage || !is_output_text {
        message(text.trim_end());
        return status;
    }
    output_text(&text, status)
}
