//! How a service treats idempotency keys: the profiles of real services.

use std::time::Duration;

use crate::after::After;
use crate::word_enum;

word_enum! {
    /// How a service treats idempotency keys.
    pub enum Profile {
        /// Stripe's API v1: answers are stored and replayed, failures included.
        Stripe => "stripe",
        /// The IETF draft: the key is required on writes; problem documents.
        Ietf => "ietf",
        /// The Agentic Commerce Protocol: the key is required on writes.
        Acp => "acp",
        /// Resend: answers are stored for a day.
        Resend => "resend",
        /// The key is ignored.
        None => "none",
    }
}

impl Profile {
    /// Whether a write without a key is refused.
    #[must_use]
    pub const fn requires_key(self) -> bool {
        matches!(self, Profile::Ietf | Profile::Acp)
    }

    /// Whether a replayed answer has a header that says so.
    pub(crate) const fn marks_replays(self) -> bool {
        matches!(self, Profile::Stripe | Profile::Acp)
    }

    /// The maximum length of a key, in characters.
    pub(crate) const fn longest_key(self) -> usize {
        match self {
            Profile::Resend => 256,
            _ => 255,
        }
    }
}

/// How keys are treated, and how long they are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idempotency {
    /// The rules.
    pub profile: Profile,
    /// When a key may be used for a new request again.
    pub lifetime: After,
}

impl Idempotency {
    /// The profile with the default lifetime: a day.
    #[must_use]
    pub const fn new(profile: Profile) -> Self {
        Idempotency { profile, lifetime: After::Time(Duration::from_secs(24 * 60 * 60)) }
    }
}

/// The refusal of a key by a profile. A service with the API of that profile can answer it in the form of its
/// own errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyError {
    /// The profile that refuses the key.
    pub profile: Profile,
    /// The status of the answer.
    pub status: u16,
    /// The short name of the error, if it has one.
    pub code: Option<&'static str>,
    /// The kind of the error.
    pub kind: &'static str,
    /// The message that is shown.
    pub message: String,
}
