//! What several verbs print alike.

use std::io::{self, IsTerminal, Write};

use anstream::eprintln;

use super::ExitStatus;
use crate::report::text::ci_commands;
use crate::scenario::LoadError;

/// A number and what is counted.
pub(super) fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Writes words for people to standard error.
pub(super) fn say(text: &str) {
    eprintln!("{}", ci_commands::text(text));
}

/// Writes words for people to standard output, and gives back the status as [`output`] does.
pub(super) fn output_words(text: &str, status: ExitStatus) -> ExitStatus {
    output(ci_commands::text(text).as_bytes(), status)
}

/// Writes the output, and gives back the status: another where all went well but this. Whoever does not read
/// on has seen enough.
pub(super) fn output(text: &[u8], status: ExitStatus) -> ExitStatus {
    let mut out = anstream::stdout();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write the output: {error}");
            if status == ExitStatus::Success { ExitStatus::Usage } else { status }
        }
        _ => status,
    }
}

/// Says why scenarios could not be loaded.
pub(super) fn refused(error: &LoadError) -> ExitStatus {
    // Only terminals get colours; `NO_COLOR` is heeded behind it.
    say(&error.advice(io::stderr().is_terminal()));
    ExitStatus::Usage
}
