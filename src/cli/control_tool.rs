//! `hapax control-tool`: one of the two command-line tools that hapax ships as controls.

use super::error::CliError;
use super::print::output;
use crate::subject::control::{ControlToolArguments, control_tool};

/// Run a control tool: a command-line tool whose score is known in advance.
#[derive(clap::Args)]
pub(super) struct ControlToolArgs {
    /// Which one: with-keys or without-keys
    #[arg(value_parser = ["with-keys", "without-keys"])]
    tool: String,

    /// What to do: add, list or busy
    action: String,

    /// The text to add
    text: Option<String>,

    /// The key of the operation
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,

    /// Change nothing, and say what would be done
    #[arg(long)]
    dry_run: bool,
}

/// Runs it; returns the exit status, which has a meaning of its own.
pub(super) fn run(args: ControlToolArgs) -> Result<u8, CliError> {
    let arguments = ControlToolArguments {
        with_keys: args.tool == "with-keys",
        action: args.action,
        text: args.text,
        key: args.idempotency_key,
        dry_run: args.dry_run,
    };
    let directory = std::env::current_dir().map_err(CliError::new)?;
    let (text, status) = control_tool(&arguments, &directory).map_err(CliError::new)?;
    output(text.as_bytes(), crate::ExitStatus::Success);
    Ok(status)
}
