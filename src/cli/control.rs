//! `hapax control`: runs one of the controls that hapax ships, as a subject.

use super::error::CliError;
use crate::ExitStatus;
use crate::domain::ControlName;
use crate::process_env;
use crate::subject::control::{self, ControlError, Environment};

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
