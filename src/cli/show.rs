//! `hapax show`: the text of a scenario.

use super::error::CliError;
use super::print::output;
use crate::ExitStatus;
use crate::scenario::scenario_text;

/// Print the file of a scenario, also of one that is built in.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax show payment/lost-reply
      A scenario that is built in.
  hapax show lost-250 > scenarios/mine.yaml
      Copy it, as the start of your own.")]
pub(super) struct ShowScenarioArgs {
    /// The scenario, or one of its cases: payment/lost-reply; the last part of the name suffices if it is unique
    #[arg(value_name = "SCENARIO")]
    scenario: String,
}

pub(super) fn run(args: &ShowScenarioArgs) -> Result<ExitStatus, CliError> {
    Ok(output(scenario_text(&args.scenario)?.as_bytes(), ExitStatus::Success))
}
