//! `hapax control`: runs one of the controls that hapax ships, as a subject.

use anstream::eprintln;

use super::ExitStatus;
use crate::subject::control::{self, ControlError, Environment};

/// Run a control: a subject that hapax ships, whose verdict is known in advance.
///
/// It reads its environment as any agent does (HAPAX_STEPS, HAPAX_PAYMENT_URL, HAPAX_RESULT and so on),
/// follows the steps, writes its claim and ends. `hapax run --subject NAME` and `hapax selftest` start it.
#[derive(clap::Args)]
#[command(after_help = "\
Controls:
  naive         retries everything, with a fresh key each time
  sdk-retry     the same key within a call, a new one for each call
  keyed         a key derived from the intent
  verify-first  looks before it repeats
  careful       durable record, key of the intent, looks, waits, says `unknown` when it is
  timid         one attempt, never retries
  constant-key  one key for everything
  overclaimer   one attempt, always claims done
  racer         reads, changes, writes back
  storm         three retries around three retries
  onlooker      looks whether it is done, and never does it

Example:
  HAPAX_STEPS='[{\"do\": \"payment.charge\", \"with\": {\"customer\": \"cus_42\", \"amount\": 4999}}]' \\
  HAPAX_PAYMENT_URL=http://127.0.0.1:4010 HAPAX_PAYMENT_KEY=any hapax control naive
      Without HAPAX_RESULT the claim is the last line of the output.")]
pub(super) struct ControlArgs {
    /// Which one
    name: String,
}

pub(super) fn run(args: &ControlArgs) -> ExitStatus {
    match controlled(&args.name) {
        Ok(()) => ExitStatus::Success,
        Err(error) => {
            eprintln!("error: {error}");
            ExitStatus::Usage
        }
    }
}

fn controlled(name: &str) -> Result<(), ControlError> {
    control::check(name)?;
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    control::run(name, &Environment::read(variables)?)
}
