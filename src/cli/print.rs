//! How every verb prints.

use std::io::{self, Write};

use anstream::eprintln;

use crate::ExitStatus;
use crate::text::ci_commands;

/// A number and what is counted.
pub(super) fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Writes a message for people to standard error.
pub(super) fn message(text: &str) {
    eprintln!("{}", ci_commands::text(text));
}

/// Writes text for people to standard output; returns the status as [`output`] does.
pub(super) fn output_text(text: &str, status: ExitStatus) -> ExitStatus {
    output(ci_commands::text(text).as_bytes(), status)
}

/// Writes to standard output and returns the status: another one if the command succeeded and its output
/// cannot be written. A reader that closes the pipe early is no error.
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
