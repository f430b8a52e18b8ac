//! `hapax selftest`: the controls over the scenarios.

use std::path::PathBuf;

use super::error::CliError;
use super::live::Live;
use super::print::output_text;
use crate::ExitStatus;
use crate::run::{ConcurrencyLimiter, RunEvent, RunOptions, Verbosity};
use crate::scratch::Scratch;
use crate::selftest;

/// Check the scenarios themselves: run the controls, whose outcomes are known in advance, and compare.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax selftest
      All scenarios.
  hapax selftest scenarios/mine.yaml --table
      One file, with the outcome of every control.

It is an error when a control has another outcome than its scenario expects, when no control fails a \
scenario (unless it is tagged `clean`), and when `careful` does not pass: exit status 1. When the \
selftest is interrupted: 3. A scenario with a service of your own is skipped: no control can use it.")]
pub(super) struct SelftestArgs {
    /// What to check: a file or folder, a tag, or any part of a case id [default: all cases]
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    /// Check only the cases that this expression selects: 'tag(payment) & keys=stripe & !reply=429'
    #[arg(short = 'E', long, value_name = "EXPRESSION")]
    expression: Option<String>,

    /// The seed that the seeds of the trials are derived from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How many callers run at once [default: as many as keep the machine busy]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    jobs: Option<u16>,

    /// Let the controls use the services only as MCP tools; cases that need more are skipped
    #[arg(long, value_name = "PROTOCOL", value_parser = ["mcp"])]
    via: Option<String>,

    /// Print the outcome of every control in every case
    #[arg(long)]
    table: bool,

    /// Keep the ledgers in this folder [default: they are not kept]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print only the result
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &SelftestArgs) -> Result<ExitStatus, CliError> {
    let mut cases = super::load(&args.filters, args.expression.as_deref())?;
    cases.retain(|case| cfg!(feature = "mcp") || !case.requires_mcp());
    super::args::subject::check_mcp(args.via.is_some())?;
    if args.via.is_some() {
        let skipped = selftest::keep_offered_as_tools(&mut cases);
        if !skipped.is_empty() {
            super::print::message(&skipped);
        }
    }
    let options =
        RunOptions { trials: 1, seed: args.seed, via_mcp: args.via.is_some(), ..RunOptions::default() };
    let scratch =
        Scratch::new().map_err(|error| CliError::new(format!("cannot make a temporary folder: {error}")))?;
    let folder = args.out.as_deref().unwrap_or(scratch.path());
    // Controls are meant to fail, so failures are not shown.
    let mut live = Live::new(if args.quiet { Verbosity::Quiet } else { Verbosity::Progress });
    let result = super::runtime()?.block_on(async {
        let stop = super::stop_signal()?;
        let limiter = ConcurrencyLimiter::new(args.jobs.map(usize::from));
        let on_event = &mut |event: RunEvent<'_>| live.show(&event);
        let result = selftest::run(&cases, &options, folder, &limiter, stop, on_event).await;
        result.map_err(CliError::from)
    })?;
    live.finish();
    Ok(output_text(&selftest::render(&result, args.table), result.exit_status()))
}
