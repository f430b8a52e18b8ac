//! `hapax call-tools`: the client of an MCP server under test, which hapax starts as the subject of a trial.
//! Users never type it, so it is hidden.

use super::error::CliError;
use crate::ExitStatus;
use crate::mcp::client::{ServerAddress, drive};

/// Call the tools of an MCP server as the task of the trial says.
#[derive(clap::Args)]
pub(super) struct CallToolsArgs {
    /// The URL of the server
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,

    /// The command that starts the server
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url")]
    command: Vec<String>,
}

pub(super) fn run(args: CallToolsArgs) -> Result<ExitStatus, CliError> {
    let address = args.url.map_or(ServerAddress::Command(args.command), ServerAddress::Url);
    let driven = super::runtime()?.block_on(drive(address));
    driven.map(|()| ExitStatus::Success).map_err(|error| {
        CliError::with_hint(
            format!("cannot call tools: {error}"),
            "hapax starts this command itself; use `hapax certify --mcp`",
        )
    })
}
