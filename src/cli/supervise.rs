//! `hapax supervise`: the process that hapax starts between itself and a subject. Users never type it, so it
//! is hidden.

use super::error::CliError;
use crate::ExitStatus;

pub(super) fn run() -> Result<ExitStatus, CliError> {
    let supervised = crate::subject::supervise().map(|()| ExitStatus::Success);
    supervised.map_err(|error| {
        CliError::with_hint(
            format!("cannot read what to supervise from standard input: {error}"),
            "hapax starts this command itself; use `hapax run`",
        )
    })
}
