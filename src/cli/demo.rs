//! `hapax demo`: a careless and a careful agent, side by side.

use std::io::IsTerminal;

use super::error::CliError;
use super::live::Live;
use super::print::output_text;
use crate::ExitStatus;
use crate::demo;
use crate::run::Verbosity;
use crate::scratch::Scratch;

/// Show what a careless and a careful agent do to the same customer when services fail.
///
/// Both are controls that hapax ships. They run over a few of the shipped cases, and what each one did is
/// read from the ledgers of the services. It needs no setup and leaves no files.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax demo
      The two agents, side by side, in a few seconds.
  hapax demo --quiet
      The same, without a progress bar.

Exit status: 0 when both agents have run to the end, 3 when the demo was interrupted.")]
pub(super) struct DemoArgs {
    /// Print only the result
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &DemoArgs) -> Result<ExitStatus, CliError> {
    let scratch =
        Scratch::new().map_err(|error| CliError::new(format!("cannot make a temporary folder: {error}")))?;
    let is_watched = std::io::stderr().is_terminal() && !args.quiet;
    let mut live = Live::new(if is_watched { Verbosity::Progress } else { Verbosity::Quiet });
    let demo = super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        let demo = demo::run(scratch.path(), stop, &mut |event| live.show(&event)).await;
        demo.map_err(CliError::new)
    })?;
    live.finish();
    Ok(output_text(&demo::render(&demo, &super::view(false)), demo.exit_status()))
}
