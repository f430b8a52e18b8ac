//! `hapax doctor`: what this machine allows.

use super::print::output_text;
use crate::ExitStatus;
use crate::doctor::{Check, checks};

/// Show what this machine allows: whether subjects can be sealed, and why not.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax doctor
      Whether `hapax run --sealed` works here, and what to do where it does not.

Exit status: 0 everything works, 1 something does not.")]
pub(super) struct DoctorArgs {}

pub(super) fn run(_args: &DoctorArgs) -> ExitStatus {
    let checks = checks();
    let lines = checks.iter().map(|Check { name, works, text }| {
        let mark = if *works { "ok" } else { "no" };
        format!("{mark}  {name:<13} {text}\n")
    });
    let works = checks.iter().all(|check| check.works);
    let status = if works { ExitStatus::Success } else { ExitStatus::Failed };
    output_text(&lines.collect::<String>(), status)
}
