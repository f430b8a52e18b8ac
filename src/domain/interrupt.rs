//! What an interrupt does to a subject.

use std::time::Duration;

use mock_services::word_enum;
use serde::Serialize;

/// What an interrupt does to a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum InterruptAction {
    /// SIGKILL.
    Kill,
    /// SIGTERM.
    Stop,
    /// SIGINT, or the signal that the subject's settings name.
    Cancel,
    /// SIGSTOP, and SIGCONT after this time.
    Freeze(Duration),
}

impl InterruptAction {
    /// Its kind, without the time of a freeze.
    #[must_use]
    pub const fn kind(self) -> InterruptKind {
        match self {
            InterruptAction::Kill => InterruptKind::Kill,
            InterruptAction::Stop => InterruptKind::Stop,
            InterruptAction::Cancel => InterruptKind::Cancel,
            InterruptAction::Freeze(_) => InterruptKind::Freeze,
        }
    }
}

word_enum! {
    /// The kinds of interrupts.
    pub enum InterruptKind {
        /// SIGKILL.
        Kill => "kill",
        /// SIGTERM.
        Stop => "stop",
        /// SIGINT, or the signal that the subject's settings name.
        Cancel => "cancel",
        /// SIGSTOP, and SIGCONT later.
        Freeze => "freeze",
    }
}

impl InterruptKind {
    /// Whether the subject goes on afterwards as if nothing had happened.
    #[must_use]
    pub const fn is_temporary(self) -> bool {
        match self {
            InterruptKind::Freeze => true,
            InterruptKind::Kill | InterruptKind::Stop | InterruptKind::Cancel => false,
        }
    }
}
