//! The command line: reads arguments, calls the library and prints. It holds no logic, and nothing imports
//! it.

mod args;
mod completions;
mod control;
mod demo;
mod init;
mod lint;
mod list;
mod live;
mod man;
mod print;
mod report;
mod run;
mod schema;
mod selftest;
mod serve;
mod supervise;

use std::io::IsTerminal;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};
use tokio::runtime::Runtime;

use crate::report::View;
use crate::scenario::{self, Case};

/// What the command's exit status says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// All went well.
    Success = 0,
    /// A verdict failed, or something got worse.
    Failed = 1,
    /// The call or a file is wrong, and nothing ran.
    Usage = 2,
    /// Nothing failed, but something is void, inconclusive or not finished.
    Unproven = 3,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        ExitCode::from(status as u8)
    }
}

/// Finds out whether an agent or a tool makes each of its effects happen exactly once when the world around
/// it fails.
#[derive(Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  hapax demo
      A careless and a careful agent, side by side: see what this is about.
  hapax run payment -- python3 agent.py
      All payment scenarios against an agent of yours.
  hapax init
      Lay out hapax.yaml, a first scenario and a CI workflow.

Exit status: 0 all went well, 1 a verdict failed, 2 the call or a file is wrong and nothing ran,
3 nothing failed, but something is void or was not finished.")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Demo(demo::DemoArgs),
    Init(init::InitArgs),
    Run(run::RunArgs),
    Replay(run::ReplayArgs),
    Report(report::ReportArgs),
    Selftest(selftest::SelftestArgs),
    List(list::ListArgs),
    Lint(lint::LintArgs),
    Serve(Box<serve::ServeArgs>),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    #[command(hide = true)]
    Control(control::ControlArgs),
    #[command(hide = true)]
    Supervise,
}

/// Runs the command with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    let verb = arguments().verb;
    // A supervisor and a control are started by hapax, and their output is part of a trial.
    if !matches!(verb, Verb::Supervise | Verb::Control(_))
        && let Err(advice) = crate::log::start()
    {
        print::say(&advice);
        return ExitStatus::Usage.into();
    }
    match verb {
        Verb::Demo(args) => told(demo::run(&args)),
        Verb::Init(args) => told(init::run(&args)),
        Verb::Completions(args) => completions::run(&args),
        Verb::Man(args) => told(man::run(&args)),
        Verb::Run(args) => told(run::run(&args)),
        Verb::Replay(args) => told(run::replay(&args)),
        Verb::Report(args) => report::run(args, crate::run::rescore),
        Verb::Selftest(args) => told(selftest::run(&args)),
        Verb::Supervise => supervise::run(),
        Verb::Control(args) => control::run(&args),
        Verb::Serve(args) => serve::run(*args),
        Verb::List(args) => list::run(args),
        Verb::Lint(args) => lint::run(args),
        Verb::Schema(args) => schema::run(args),
    }
    .into()
}

/// The arguments of the process; where they are wrong, that is printed and the process ends.
fn arguments() -> Cli {
    Cli::try_parse().unwrap_or_else(|mut error| {
        if matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(name)) if name == "--require-claim") {
            let tip = "a missing claim fails by itself where a scenario names claims; `--claims optional` turns that off";
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            error.remove(ContextKind::SuggestedArg);
        }
        error.exit()
    })
}

/// Prints why a verb could not do its work.
fn told(outcome: Result<ExitStatus, String>) -> ExitStatus {
    outcome.unwrap_or_else(|advice| {
        print::say(&advice);
        ExitStatus::Usage
    })
}

/// The cases that the filters name.
fn load(filters: &[String]) -> Result<Vec<Case>, String> {
    let colour = AutoStream::choice(&std::io::stderr()) != ColorChoice::Never;
    scenario::load(filters).map(|loaded| loaded.cases).map_err(|error| error.advice(colour))
}

/// What trials run in.
fn runtime() -> Result<Runtime, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| format!("cannot start: {error}"))
}

/// Completes at Ctrl-C or when the process is asked to end.
fn stop_signal() -> Result<impl Future<Output = ()>, String> {
    crate::serve::stop_signal().map_err(|error| error.to_string())
}

/// How texts for the terminal are to be. Colours are taken out again on the way to a pipe.
fn view(verbose: bool) -> View {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = std::io::stdout()
        .is_terminal()
        .then(|| rustix::termios::tcgetwinsize(std::io::stdout()).ok())
        .flatten();
    let width =
        asked.or(terminal.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0)).unwrap_or(100);
    View { width, colour: true, verbose }
}
