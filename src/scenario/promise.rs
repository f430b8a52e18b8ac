//! What a subject promises about its effects, and so what a lost one comes to.

use serde::{Deserialize, Serialize};

/// What a subject promises about each effect that is due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// It happens, and it happens once.
    #[default]
    ExactlyOnce,
    /// It may be lost where the subject says so, and never happens twice.
    AtMostOnce,
}

impl Promise {
    /// All of them.
    pub const ALL: [Promise; 2] = [Promise::ExactlyOnce, Promise::AtMostOnce];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Promise::ExactlyOnce => "exactly-once",
            Promise::AtMostOnce => "at-most-once",
        }
    }

    /// The one with that name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Promise::ALL.into_iter().find(|promise| promise.word() == word)
    }

    /// Whether it is the promise that is judged where nothing else is said.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    pub(super) fn is_usual(&self) -> bool {
        *self == Promise::default()
    }
}

impl std::fmt::Display for Promise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
