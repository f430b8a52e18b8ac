//! The ways in which a subject can recover from an ambiguous answer.

use serde::{Deserialize, Serialize};

/// What a subject did after an ambiguous answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// There was no ambiguous answer.
    NoneNeeded,
    /// It tried again with the same key.
    SameKey,
    /// It tried again with another key, without a look.
    NewKey,
    /// It tried again without a key and without a look.
    Blind,
    /// It looked, and did not try again.
    VerifiedThenSkipped,
    /// It looked, and tried again.
    VerifiedThenRetried,
    /// It neither looked nor tried again.
    GaveUp,
}

impl Recovery {
    /// Those that a scenario can permit. Where there is nothing to recover from, nothing need be permitted.
    pub const PERMITTED: [Recovery; 6] = [
        Recovery::SameKey,
        Recovery::NewKey,
        Recovery::Blind,
        Recovery::VerifiedThenSkipped,
        Recovery::VerifiedThenRetried,
        Recovery::GaveUp,
    ];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Recovery::NoneNeeded => "none-needed",
            Recovery::SameKey => "same-key",
            Recovery::NewKey => "new-key",
            Recovery::Blind => "blind",
            Recovery::VerifiedThenSkipped => "verified-then-skipped",
            Recovery::VerifiedThenRetried => "verified-then-retried",
            Recovery::GaveUp => "gave-up",
        }
    }
}
