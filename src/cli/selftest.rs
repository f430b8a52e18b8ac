//! `hapax selftest`: the controls over the scenarios.

use std::path::PathBuf;

use super::ExitStatus;
use super::live::{Detail, Live};
use super::print::output_words;
use crate::run::{ConcurrencyLimiter, Options};
use crate::scratch::Scratch;
use crate::selftest;

/// Check the scenarios themselves: run the controls, whose verdicts are known in advance, and compare.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax selftest
      All scenarios.
  hapax selftest scenarios/mine.yaml --table
      One file, with what every control came to.

A control that comes to something else than its scenario says, a scenario that no control fails (unless it is tagged
`clean`), and one that `careful` does not pass are errors: exit status 1. When it is interrupted: 3.
A scenario over a service of your own is not checked, because no control knows how to use it; that is no error.")]
pub(super) struct SelftestArgs {
    /// What to check: a file or folder, a tag, or any part of a case id [default: everything]
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    /// Where the seeds of the trials come from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How many callers run at once [default: as many as keep the machine busy]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    jobs: Option<u16>,

    /// Print what every control came to in every case
    #[arg(long)]
    table: bool,

    /// Keep the ledgers in this folder [default: they are not kept]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Show nothing but the result
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &SelftestArgs) -> Result<ExitStatus, String> {
    let cases = super::load(&args.filters)?;
    let options = Options { trials: 1, seed: args.seed, ..Options::default() };
    let scratch = Scratch::new().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
    let folder = args.out.as_deref().unwrap_or(scratch.path());
    // What fails here is what is meant to; only how far it is is of interest.
    let mut live = Live::new(if args.quiet { Detail::Quiet } else { Detail::Progress });
    let judged = super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        let pace = ConcurrencyLimiter::new(args.jobs.map(usize::from));
        let judged =
            selftest::run(&cases, &options, folder, &pace, stop, &mut |happened| live.happened(&happened))
                .await;
        judged.map_err(|error| error.to_string())
    })?;
    live.finish();
    let status = match (judged.wrong.is_empty(), judged.interrupted) {
        (false, _) => ExitStatus::Failed,
        (true, true) => ExitStatus::Unproven,
        (true, false) => ExitStatus::Success,
    };
    Ok(output_words(&selftest::render(&judged, args.table), status))
}
