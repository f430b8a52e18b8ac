//! `hapax demo`: a careless and a careful agent, side by side.

use std::io::IsTerminal;

use super::ExitStatus;
use super::live::{Detail, Live};
use super::print::output_words;
use crate::demo;
use crate::scratch::Scratch;

/// Show what a careless and a careful agent do to the same customer when things go wrong.
///
/// Both are controls that hapax ships. They run over a handful of the shipped cases, and what each did is
/// told from the ledgers of the services. Nothing is needed and nothing is left behind.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax demo
      The two agents, side by side, in a few seconds.
  hapax demo --quiet
      The same, without the bar while it runs.

Exit status: 0 when both have run to their end, whatever they did; 3 when it was stopped before.")]
pub(super) struct DemoArgs {
    /// Show nothing but the result
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &DemoArgs) -> Result<ExitStatus, String> {
    let scratch = Scratch::new().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
    let is_watched = std::io::stderr().is_terminal() && !args.quiet;
    let mut live = Live::new(if is_watched { Detail::Progress } else { Detail::Quiet });
    let demo = super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        let demo = demo::run(scratch.path(), stop, &mut |happened| live.happened(&happened)).await;
        demo.map_err(|error| error.to_string())
    })?;
    live.finish();
    let status = if demo.is_whole() { ExitStatus::Success } else { ExitStatus::Unproven };
    Ok(output_words(&demo::render(&demo, &super::view(false)), status))
}
