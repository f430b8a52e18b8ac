//! `hapax supervise`: what hapax starts between itself and a subject. Nobody types it, so it is not shown.

use super::ExitStatus;

pub(super) fn run() -> ExitStatus {
    match crate::subject::supervise() {
        Ok(()) => ExitStatus::Success,
        Err(error) => {
            anstream::eprintln!(
                "error: this is for hapax itself, which tells on standard input what to supervise: {error}"
            );
            ExitStatus::Usage
        }
    }
}
