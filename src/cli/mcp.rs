//! `hapax mcp`: the tools of a trial for clients that start a command.

use super::error::CliError;
use crate::ExitStatus;
use crate::mcp::bridge;

/// Offer the tools of a trial over standard input and output, for MCP clients that start a command.
///
/// It passes every message on to the endpoint in HAPAX_MCP_URL, which every start of a subject gets.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax mcp
      In the configuration of an agent under test: {\"command\": \"hapax\", \"args\": [\"mcp\"]}.
  hapax mcp --url http://127.0.0.1:4100/mcp
      Another endpoint.

When the endpoint loses a connection, hapax mcp ends with the exit status 1 and without a reply, as a \
server does that died. When a call hangs, there is no reply until the endpoint gives up.")]
pub(super) struct McpBridgeArgs {
    /// The endpoint
    #[arg(long, env = "HAPAX_MCP_URL", value_name = "URL")]
    url: String,
}

pub(super) fn run(args: &McpBridgeArgs) -> Result<ExitStatus, CliError> {
    let input = std::io::BufReader::new(std::io::stdin());
    match bridge::run(&args.url, input, std::io::stdout().lock()) {
        Ok(()) => Ok(ExitStatus::Success),
        Err(error) => {
            super::print::message(&error.to_string());
            Ok(ExitStatus::Failed)
        }
    }
}
