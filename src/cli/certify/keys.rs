//! `hapax certify keygen` and `hapax certify verify`: who issues a certificate, and whether one is true.

use std::path::PathBuf;

use crate::ExitStatus;
use crate::certify::{self, KeyError, VerifyError};
use crate::cli::error::CliError;
use crate::cli::print::output_text;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax certify keygen
      Make hapax.key (private, readable only by you) and hapax.pub.
  hapax certify keygen --out keys/release.key
      Make keys/release.key and keys/release.pub.")]
pub(super) struct KeygenArgs {
    /// The file for the private key; the public key gets the extension `pub`
    #[arg(long, value_name = "FILE", default_value = "hapax.key")]
    out: PathBuf,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hapax certify verify certificate.json --public-key hapax.pub
      Check who issued it, and that it was not changed.
  hapax certify verify certificate.json --public-key hapax.pub --run reports/DIR --subject ./agent
      The same, score the ledgers again, and compare the agent with the one that was tested.")]
pub(super) struct VerifyArgs {
    /// The certificate
    #[arg(value_name = "FILE")]
    certificate: PathBuf,

    /// The public key of the issuer
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,

    /// The folder of the certification: its evidence is checked, and its results are computed again
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,

    /// A file that must be one of those that were tested
    #[arg(long, value_name = "FILE")]
    subject: Option<PathBuf>,
}

pub(super) fn make_keys(args: &KeygenArgs) -> Result<ExitStatus, CliError> {
    let public = args.out.with_extension("pub");
    if public == args.out {
        return Err(CliError::with_hint(
            "the private key cannot have the extension `pub`",
            "choose another name with --out",
        ));
    }
    let key = certify::write_key_pair(&args.out, &public)?;
    let text = format!(
        "wrote {} (private: keep it secret) and {}\nkey id {}\n",
        args.out.display(),
        public.display(),
        key.id()
    );
    Ok(output_text(&text, ExitStatus::Success))
}

pub(super) fn verify_certificate(args: &VerifyArgs) -> Result<ExitStatus, CliError> {
    let VerifyArgs { certificate, public_key, run, subject } = args;
    let verification =
        certify::verify(certificate, public_key.as_deref(), run.as_deref(), subject.as_deref())?;
    let text = certify::verification_text(&verification, &crate::cli::view(false));
    Ok(output_text(&text, verification.exit_status()))
}

impl From<KeyError> for CliError {
    fn from(error: KeyError) -> Self {
        CliError::with_hint(&error, error.hint())
    }
}

impl From<VerifyError> for CliError {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::Key(error) => error.into(),
            other => CliError::new(other),
        }
    }
}
