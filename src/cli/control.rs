//! `hapax control`: runs one of the controls that hapax ships, as a subject.

use super::error::CliError;
use crate::ExitStatus;
use crate::subject::control::{self, ControlError, Environment};

/// Run a control: a subject that hapax ships, whose verdict is known in advance.
///
/// It reads its environment like any agent (HAPAX_STEPS, HAPAX_PAYMENT_URL, HAPAX_RESULT and so on), follows
/// the steps, writes its claim and exits. `hapax run --subject NAME` and `hapax selftest` start it.
#[derive(clap::Args)]
#[command(after_help = "\
Controls:
  naive         retries everything, with a new key for each attempt
  sdk-retry     one key for the attempts of a call, a new key for each call
  keyed         a key derived from the intent
  verify-first  reads the state before it repeats a write
  careful       durable record, key of the intent, reads, waits, claims `unknown` when unsure
  timid         one attempt, no retry
  constant-key  one key for everything
  overclaimer   one attempt, always claims done
  racer         reads, changes, writes back
  storm         three retries around three retries
  onlooker      reads whether it is done, and never does it

Example:
  HAPAX_STEPS='[{\"do\": \"payment.charge\", \"with\": {\"customer\": \"cus_42\", \"amount\": 4999}}]' \\
  HAPAX_PAYMENT_URL=http://127.0.0.1:4010 HAPAX_PAYMENT_KEY=any hapax control naive
      Without HAPAX_RESULT the claim is the last line of the output.")]
pub(super) struct ControlArgs {
    /// The name of the control
    name: String,
}

pub(super) fn run(args: &ControlArgs) -> Result<ExitStatus, CliError> {
    run_control(&args.name).map(|()| ExitStatus::Success).map_err(CliError::new)
}

fn run_control(name: &str) -> Result<(), ControlError> {
    control::check(name)?;
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    control::run(name, &Environment::read(variables)?)
}
