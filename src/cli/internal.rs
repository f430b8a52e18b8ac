//! The verbs that hapax starts itself. Users never type them, so they are hidden.

use clap::ValueEnum as _;

use super::error::CliError;
use crate::ExitStatus;
#[cfg(feature = "mcp")]
use crate::mcp::client::{ServerAddress, drive};

/// `hapax supervise`: the process between hapax and a subject.
pub(super) fn supervise() -> Result<ExitStatus, CliError> {
    let supervised = crate::subject::supervise().map(|()| ExitStatus::Success);
    supervised.map_err(|error| {
        CliError::with_hint(
            format!("cannot read what to supervise from standard input: {error}"),
            "hapax starts this command itself; use `hapax run`",
        )
    })
}

/// Start the init process of a sealed start.
#[derive(clap::Args)]
pub(super) struct SealedInitArgs {
    /// Which process it is
    which: InitProcess,
}

impl SealedInitArgs {
    /// The arguments for the init process with this name.
    pub(super) fn named(which: &str) -> Option<Self> {
        let which = InitProcess::from_str(which, false).ok()?;
        Some(SealedInitArgs { which })
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum InitProcess {
    First,
    Second,
    Ipc,
}

/// `hapax sealed-init`: the init processes of a sealed start, and the one that keeps what starts share.
pub(super) fn sealed_init(args: &SealedInitArgs) -> Result<ExitStatus, CliError> {
    let init = match args.which {
        InitProcess::First => crate::subject::first_init(),
        InitProcess::Second => crate::subject::second_init(),
        InitProcess::Ipc => crate::subject::keep_ipc(),
    };
    init.map(|()| ExitStatus::Success).map_err(|error| {
        CliError::with_hint(
            format!("cannot talk to the supervisor: {error}"),
            "hapax starts this command itself; use `hapax run --sealed`",
        )
    })
}

/// Call the tools of an MCP server as the task of the trial says.
#[cfg(feature = "mcp")]
#[derive(clap::Args)]
pub(super) struct CallToolsArgs {
    /// The URL of the server; with a command, the command serves it
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// The command that starts the server
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url")]
    command: Vec<String>,
}

/// `hapax call-tools`: the client of an MCP server under test, as the subject of a trial.
#[cfg(feature = "mcp")]
pub(super) fn call_tools(args: CallToolsArgs) -> Result<ExitStatus, CliError> {
    let address = match args.url {
        None => ServerAddress::Command(args.command),
        Some(url) if args.command.is_empty() => ServerAddress::Url(url),
        Some(url) => ServerAddress::Serving { program: args.command, url },
    };
    let driven = super::runtime()?.block_on(drive(address));
    driven.map(|()| ExitStatus::Success).map_err(|error| {
        CliError::with_hint(
            format!("cannot call tools: {error}"),
            "hapax starts this command itself; use `hapax certify --mcp`",
        )
    })
}
