//! `hapax sealed-init`: the init processes of a sealed start. Users never type it, so it is hidden.

use clap::ValueEnum as _;

use super::error::CliError;
use crate::ExitStatus;

/// Start the init process of a sealed start.
#[derive(clap::Args)]
pub(super) struct SealedInitArgs {
    /// Which of the two init processes it is
    which: InitProcess,
}

impl SealedInitArgs {
    /// The arguments for the init process with this name.
    pub(super) fn named(which: &str) -> Option<Self> {
        let which = InitProcess::from_str(which, false).ok()?;
        Some(SealedInitArgs { which })
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum InitProcess {
    First,
    Second,
}

pub(super) fn run(args: &SealedInitArgs) -> Result<ExitStatus, CliError> {
    let init = match args.which {
        InitProcess::First => crate::subject::first_init(),
        InitProcess::Second => crate::subject::second_init(),
    };
    init.map(|()| ExitStatus::Success).map_err(|error| {
        CliError::with_hint(
            format!("cannot talk to the supervisor: {error}"),
            "hapax starts this command itself; use `hapax run --sealed`",
        )
    })
}
