//! The command line: reads arguments, calls the library and prints. It holds no logic, and no other module
//! imports it.

mod args;
mod certify;
mod completions;
mod control;
mod demo;
mod doctor;
mod error;
mod explore;
mod help;
mod init;
mod internal;
mod lint;
mod list;
mod live;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod print;
mod probing;
mod record;
mod report;
mod run;
mod schema;
mod selftest;
mod serve;
mod show;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use tokio::runtime::Runtime;

use crate::ExitStatus;
use crate::process_env;
use crate::report::View;
use crate::scenario::{self, Case};
use error::CliError;

/// Test whether an agent or a tool makes each of its effects happen exactly once when the services that it
/// uses fail.
#[derive(Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  hapax demo
      See what hapax does: a careless and a careful agent, side by side.
  hapax run payment -- python3 agent.py
      Run all payment scenarios against your agent.
  hapax init
      Create hapax.yaml, a first scenario and a CI workflow.

Exit status: 0 everything passed, 1 a verdict failed, 2 the command line or a file is wrong and \
nothing ran, 3 nothing failed, but something is void or was not finished.")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Demo(demo::DemoArgs),
    Init(init::InitArgs),
    Run(Box<run::RunArgs>),
    Replay(Box<run::ReplayArgs>),
    Explore(Box<explore::ExploreArgs>),
    Report(report::ReportArgs),
    Certify(Box<certify::CertifyArgs>),
    Selftest(selftest::SelftestArgs),
    Doctor(doctor::DoctorArgs),
    List(list::ListArgs),
    Show(show::ShowScenarioArgs),
    Lint(lint::LintArgs),
    Serve(Box<serve::ServeArgs>),
    Record(record::RecordArgs),
    #[cfg(feature = "mcp")]
    Mcp(mcp::McpBridgeArgs),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    #[cfg(feature = "mcp")]
    #[command(hide = true)]
    CallTools(internal::CallToolsArgs),
    #[cfg(feature = "mcp")]
    #[command(hide = true)]
    ControlServer(control::ControlServerArgs),
    #[command(hide = true)]
    Control(control::ControlArgs),
    #[command(hide = true)]
    ControlTool(control::ControlToolArgs),
    #[command(hide = true)]
    SealedInit(internal::SealedInitArgs),
    #[command(hide = true)]
    Supervise,
}

impl Verb {
    /// Whether hapax starts it itself, and its output is part of a trial.
    fn is_part_of_a_trial(&self) -> bool {
        match self {
            Verb::Supervise | Verb::SealedInit(_) | Verb::Control(_) | Verb::ControlTool(_) => true,
            #[cfg(feature = "mcp")]
            Verb::CallTools(_) | Verb::ControlServer(_) => true,
            _ => false,
        }
    }
}

/// Runs the command with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    // Before anything else: each program of hapax that starts another one begins here.
    crate::process_protection::keep_inherited_files();
    let verb = internal_verb().unwrap_or_else(|| arguments().verb);
    if !verb.is_part_of_a_trial() {
        // It knows the faults of the trials, and the subject runs as the same user.
        crate::process_protection::close_memory();
    }
    // A supervisor and a control are started by hapax, and their output is part of a trial.
    if !verb.is_part_of_a_trial()
        && let Err(advice) = crate::log::start()
    {
        print::message(&advice);
        return ExitStatus::Usage.into();
    }
    // These two have exit statuses of their own.
    let own_status = match verb {
        Verb::ControlTool(args) => Ok(control::run_tool(args).map(ExitCode::from)),
        Verb::Serve(args) => Ok(serve::run(*args)),
        verb => Err(verb),
    };
    let verb = match own_status {
        Ok(result) => {
            return result.unwrap_or_else(|error| {
                print::message(&error.to_string());
                ExitStatus::Usage.into()
            });
        }
        Err(verb) => verb,
    };
    let result = match verb {
        Verb::Demo(args) => demo::run(&args),
        Verb::Init(args) => init::run(&args),
        Verb::Completions(args) => Ok(completions::run(&args)),
        Verb::Man(args) => man::run(&args),
        Verb::Run(args) => run::run(&args),
        Verb::Replay(args) => run::replay(&args),
        Verb::Report(args) => report::run(&args),
        Verb::Certify(args) => certify::run(&args),
        Verb::Selftest(args) => selftest::run(&args),
        Verb::Explore(args) => explore::run(&args),
        Verb::Supervise => internal::supervise(),
        Verb::SealedInit(args) => internal::sealed_init(&args),
        #[cfg(feature = "mcp")]
        Verb::CallTools(args) => internal::call_tools(args),
        #[cfg(feature = "mcp")]
        Verb::ControlServer(args) => control::serve(&args),
        Verb::Control(args) => control::run(&args),
        Verb::ControlTool(_) | Verb::Serve(_) => Ok(ExitStatus::Success),
        Verb::Record(args) => record::run(args),
        Verb::Doctor(args) => Ok(doctor::run(&args)),
        Verb::List(args) => list::run(&args),
        Verb::Show(args) => show::run(&args),
        Verb::Lint(args) => lint::run(&args),
        #[cfg(feature = "mcp")]
        Verb::Mcp(args) => mcp::run(&args),
        Verb::Schema(args) => Ok(schema::run(&args)),
    };
    let status = result.unwrap_or_else(|error| {
        print::message(&error.to_string());
        ExitStatus::Usage
    });
    status.into()
}

/// The processes that hapax starts around each subject. Reading arguments takes longer than all else that they
/// do before the subject starts, so theirs are only compared.
fn internal_verb() -> Option<Verb> {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).collect();
    match words[..] {
        ["supervise"] => Some(Verb::Supervise),
        ["sealed-init", which] => internal::SealedInitArgs::named(which).map(Verb::SealedInit),
        _ => None,
    }
}

/// The arguments of the process. If they are wrong, prints why and ends the process.
fn arguments() -> Cli {
    let matches = help::with_groups(Cli::command()).try_get_matches();
    matches.and_then(|matches| Cli::from_arg_matches(&matches)).unwrap_or_else(|mut error| {
        let argument = error.get(ContextKind::InvalidArg);
        if matches!(argument, Some(ContextValue::String(name)) if name == "--require-claim") {
            let tip = "a missing claim already fails where a scenario names claims; `--claims optional` \
                turns that off";
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            error.remove(ContextKind::SuggestedArg);
        }
        error.exit()
    })
}

/// The cases that the filters select; notes about them go to standard error.
fn load(filters: &[String], expression: Option<&str>) -> Result<Vec<Case>, CliError> {
    let loaded = scenario::load_matching(filters, expression)?;
    loaded.notes.iter().for_each(|note| print::message(note));
    Ok(loaded.cases)
}

/// The runtime that trials run in.
fn runtime() -> Result<Runtime, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| CliError::new(format!("cannot start the async runtime: {error}")))
}

/// Completes at Ctrl-C, or when the process is asked to end.
fn stop_signal() -> Result<impl Future<Output = ()>, CliError> {
    let stopped = crate::serve::stop_signal().map_err(CliError::from)?;
    Ok(async move {
        stopped.await;
    })
}

/// How text for the terminal is laid out. Colors are removed again when the output is a pipe.
fn view(verbose: bool) -> View {
    let terminal = std::io::stdout()
        .is_terminal()
        .then(|| rustix::termios::tcgetwinsize(std::io::stdout()).ok())
        .flatten();
    let width = process_env::columns()
        .or(terminal.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0))
        .unwrap_or(100);
    View { width, color: true, verbose }
}
