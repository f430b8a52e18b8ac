//! The controls that hapax ships: `hapax control` runs one as a subject, `hapax control-tool` one as a command-line
//! tool, `hapax control-server` one as an MCP server. Users type only the first; the others are hidden.

#[cfg(feature = "mcp")]
use clap::builder::TypedValueParser as _;

use super::error::CliError;
use super::print::output;
use crate::ExitStatus;
use crate::domain::ControlName;
use crate::process_env;
#[cfg(feature = "mcp")]
use crate::subject::control::ControlServer;
use crate::subject::control::{self, ControlError, ControlToolArguments, Environment, control_tool};

/// Run a control: a subject that hapax ships, whose verdict is known in advance.
///
/// It reads its environment like any agent (HAPAX_STEPS, HAPAX_PAYMENT_URL, HAPAX_RESULT and so on), follows
/// the steps, writes its claim and exits. `hapax run --subject NAME` and `hapax selftest` start it.
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub(super) struct ControlArgs {
    /// The name of the control
    name: String,
}

fn after_help() -> String {
    let controls =
        ControlName::ALL.map(|control| format!("  {:12}  {}\n", control.as_str(), control.help())).concat();
    format!(
        "Controls:\n{controls}
Example:
  HAPAX_STEPS='[{{\"do\": \"payment.charge\", \"with\": {{\"customer\": \"cus_42\", \"amount\": 4999}}}}]' \\
  HAPAX_PAYMENT_URL=http://127.0.0.1:4010 HAPAX_PAYMENT_KEY=any hapax control naive
      Without HAPAX_RESULT the claim is the last line of the output."
    )
}

pub(super) fn run(args: &ControlArgs) -> Result<ExitStatus, CliError> {
    run_control(&args.name).map(|()| ExitStatus::Success).map_err(CliError::new)
}

fn run_control(name: &str) -> Result<(), ControlError> {
    let control = control::named(name)?;
    control::run(control, &Environment::read(process_env::all())?)
}

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
pub(super) fn run_tool(args: ControlToolArgs) -> Result<u8, CliError> {
    let arguments = ControlToolArguments {
        with_keys: args.tool == "with-keys",
        action: args.action,
        text: args.text,
        key: args.idempotency_key,
        dry_run: args.dry_run,
    };
    let directory = std::env::current_dir().map_err(CliError::new)?;
    let (text, status) = control_tool(&arguments, &directory).map_err(CliError::new)?;
    output(text.as_bytes(), ExitStatus::Success);
    Ok(status)
}

#[cfg(feature = "mcp")]
/// Serve the tool of a control over standard input and output.
#[derive(clap::Args)]
pub(super) struct ControlServerArgs {
    /// The control
    #[arg(value_name = "NAME", value_parser = control_server())]
    control: ControlServer,
}

#[cfg(feature = "mcp")]
fn control_server() -> impl clap::builder::TypedValueParser<Value = ControlServer> {
    // The parser accepts only these words.
    clap::builder::PossibleValuesParser::new(ControlServer::ALL.map(ControlServer::as_str))
        .map(|word| word.parse().unwrap_or(ControlServer::Keyless))
}

#[cfg(feature = "mcp")]
pub(super) fn serve(args: &ControlServerArgs) -> Result<ExitStatus, CliError> {
    args.control.serve().map(|()| ExitStatus::Success).map_err(CliError::new)
}
