//! `hapax call-tools`: the client of an MCP server under test, which hapax starts as the subject of a trial.
//! Users never type it, so it is hidden.

use super::error::CliError;
use crate::ExitStatus;
use crate::mcp::client::{ServerAddress, drive};

/// Call the tools of an MCP server as the task of the trial says.
#[derive(clap::Args)]
pub(super) struct CallToolsArgs {
    /// The URL of the server; with a command, the command serves it
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// The command that starts the server
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url")]
    command: Vec<String>,
}

pub(super) fn run(args: CallToolsArgs) -> Result<ExitStatus, CliError> {
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
