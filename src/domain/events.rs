//! What a sender brings to a subject that receives events: copies of an event, and what becomes of each.

use mock_services::word_enum;
use serde::{Deserialize, Serialize};

/// The word of `requires`, `--with` and the skip reason for subjects that receive events.
pub const EVENTS: &str = "events";

word_enum! {
    /// Why a copy of an event is sent.
    pub enum CopyReason {
        /// It is the first.
        First => "first",
        /// The one before did not arrive.
        CopyLost => "copy-lost",
        /// The answer to the one before was lost.
        AnswerLost => "answer-lost",
        /// The one before was answered, and not with a 2xx.
        Refused => "refused",
        /// The one before was not answered.
        Unanswered => "unanswered",
        /// The one before was still being handled when the time of the sender was over.
        StillHandled => "still-handled",
        /// It was sent at the same time as the one before.
        AtOnce => "at-once",
        /// The network delivered the one before twice.
        Repeated => "repeated",
        /// Somebody sent it again by hand.
        ByHand => "by-hand",
        /// It was sent again although the one before was answered.
        Again => "again",
    }
}

word_enum! {
    /// What is wrong with the signature of a copy.
    #[derive(Default)]
    pub enum CopySignature {
        /// Nothing: the sender signed it now.
        #[default]
        Right => "right",
        /// It is made with another secret.
        Wrong => "wrong",
        /// The sender signed it so long ago that a receiver must not take it any more.
        Old => "old",
        /// It is of another body: somebody changed the body on the way.
        OtherBody => "other-body",
    }
}

impl CopySignature {
    /// Whether the receiver must not act on the copy.
    #[must_use]
    pub fn is_forged(self) -> bool {
        self != CopySignature::Right
    }

    /// What follows the words for a copy.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            CopySignature::Right => "",
            CopySignature::Wrong => ", with a wrong signature",
            CopySignature::Old => ", with a signature that is an hour old",
            CopySignature::OtherBody => ", with a body that was changed after it was signed",
        }
    }
}

/// Who sends the task itself again.
pub const CLIENT: &str = "the client";

/// A copy of an event on its way to the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentCopyEvent {
    /// Which start of the caller gets it, from 1; 0 if it does not arrive.
    pub start: u32,
    /// The number of the event in the trial, from 1.
    pub event: u32,
    /// The number of the copy, from 1.
    pub copy: u32,
    /// How many copies there are; 0 if the schedule of the sender decides.
    pub copies: u32,
    /// The sender: `Stripe`.
    pub from: String,
    /// The id of the event, the same in each copy.
    pub id: String,
    /// The type of the event: `charge.succeeded`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Why it is sent.
    pub reason: CopyReason,
    /// What is wrong with its signature on purpose.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub signature: CopySignature,
    /// By how much the schedule of the sender was shortened, if it was sent again by its schedule.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub shortened: u32,
}

/// The answer of the subject to a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyAnswerEvent {
    /// The number of the event in the trial, from 1.
    pub event: u32,
    /// The number of the copy, from 1.
    pub copy: u32,
    /// The status; 0 if there was no answer.
    pub status: u16,
    /// Whether the sender got the answer.
    pub seen: bool,
}

impl CopyAnswerEvent {
    /// Whether the subject took the event, whatever the sender saw of it.
    #[must_use]
    pub const fn is_acknowledged(&self) -> bool {
        self.status >= 200 && self.status < 300
    }

    /// Whether the sender saw that the event was taken.
    #[must_use]
    pub const fn is_taken(&self) -> bool {
        self.seen && self.is_acknowledged()
    }
}
