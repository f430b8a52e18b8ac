//! `hapax control-server`: an MCP server whose results are known, which hapax starts as a control. Users never
//! type it, so it is hidden.

use clap::builder::TypedValueParser as _;

use super::error::CliError;
use crate::ExitStatus;
use crate::subject::control::ControlServer;

/// Serve the tool of a control over standard input and output.
#[derive(clap::Args)]
pub(super) struct ControlServerArgs {
    /// The control
    #[arg(value_name = "NAME", value_parser = control())]
    control: ControlServer,
}

fn control() -> impl clap::builder::TypedValueParser<Value = ControlServer> {
    // The parser accepts only these words.
    clap::builder::PossibleValuesParser::new(ControlServer::ALL.map(ControlServer::as_str))
        .map(|word| word.parse().unwrap_or(ControlServer::Keyless))
}

pub(super) fn run(args: &ControlServerArgs) -> Result<ExitStatus, CliError> {
    args.control.serve().map(|()| ExitStatus::Success).map_err(CliError::new)
}
