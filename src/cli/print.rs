//! What several verbs print alike.

use std::io::{self, IsTerminal};

use anstream::eprintln;

use super::ExitStatus;
use crate::scenario::LoadError;

/// A number and what is counted.
pub(super) fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Says why scenarios could not be loaded.
pub(super) fn refused(error: &LoadError) -> ExitStatus {
    // Only terminals get colours; `NO_COLOR` is heeded behind it.
    eprintln!("{}", error.advice(io::stderr().is_terminal()));
    ExitStatus::Usage
}
