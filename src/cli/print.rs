//! How every verb prints.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use anstream::eprintln;

use crate::ExitStatus;
use crate::process_env;
use crate::text::ci_commands;

/// A number and what is counted.
pub(super) fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Writes a message for people to standard error.
pub(super) fn message(text: &str) {
    eprintln!("{}", ci_commands::text(text));
}

/// The path of a file for a message: a link where the terminal shows links, plain text elsewhere.
pub(super) fn linked_path(path: &Path) -> String {
    let is_link = std::io::stderr().is_terminal() && process_env::has_terminal_links();
    match path.canonicalize() {
        Ok(full) if is_link => link(&path.display().to_string(), &file_url(&full)),
        _ => path.display().to_string(),
    }
}

/// A link as terminals read it (OSC 8).
fn link(text: &str, url: &str) -> String {
    format!("\u{1b}]8;;{url}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\")
}

fn file_url(path: &Path) -> String {
    let encoded = path.as_os_str().as_encoded_bytes().iter().map(|byte| match byte {
        b'/' | b'-' | b'_' | b'.' | b'~' => char::from(*byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    format!("file://{}", encoded.collect::<String>())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_the_url_of_the_file_and_the_text_of_the_path() {
        assert_eq!(file_url(Path::new("/a b/ü%/index.html")), "file:///a%20b/%C3%BC%25/index.html");
        assert_eq!(link("a", "file:///a"), "\u{1b}]8;;file:///a\u{1b}\\a\u{1b}]8;;\u{1b}\\");
        assert_eq!(anstream::adapter::strip_str(&link("a", "file:///a")).to_string(), "a", "in a pipe");
    }
}
