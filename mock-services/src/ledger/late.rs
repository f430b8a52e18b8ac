//! What a ledger says about a request that came after the trial had ended: who writes such a note and who reads it use
//! these types, so every note that is written can be read.

use serde::{Deserialize, Serialize};

use super::entry::{Event, LATE_REQUEST};
use crate::service::Fields;
use crate::word_enum;

word_enum! {
    /// What a late request would have been.
    pub enum LateRequestKind {
        /// A write.
        Write => "write",
        /// A read.
        Read => "read",
        /// A request that the service would have refused.
        Refused => "refused",
        /// A request that cannot be read.
        Unreadable => "unreadable",
    }
}

word_enum! {
    /// Who sent a late request.
    pub enum LateSender {
        /// The subject, or a process of which nothing else is known.
        Subject => "subject",
        /// Another process of the machine, which sent no key of the run.
        Foreign => "foreign",
    }
}

/// A request that came after the trial had ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateRequest {
    /// The service.
    pub service: String,
    /// The method.
    #[serde(default)]
    pub method: String,
    /// The path, without its query.
    #[serde(default)]
    pub path: String,
    /// What it would have been.
    pub kind: LateRequestKind,
    /// Who sent it.
    #[serde(default = "subject", skip_serializing_if = "is_subject")]
    pub sender: LateSender,
    /// The full name of the operation, if the request was understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
}

const fn subject() -> LateSender {
    LateSender::Subject
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_subject(sender: &LateSender) -> bool {
    *sender == LateSender::Subject
}

impl LateRequest {
    /// The note of the ledger, about the caller whose port it came to.
    #[must_use]
    pub fn to_event(&self, caller: u32) -> Event {
        let sender = (self.sender != LateSender::Subject).then(|| self.sender.as_str());
        let fields = Fields::new()
            .with("service", self.service.as_str())
            .with("kind", self.kind.as_str())
            .with_some("sender", sender)
            .with_some("operation", self.operation.as_deref())
            .with("method", self.method.as_str())
            .with("path", self.path.as_str());
        Event::Noted { name: LATE_REQUEST.into(), caller: Some(caller), fields }
    }

    /// Whether a real service could have carried it out for the subject.
    #[must_use]
    pub fn is_write_of_subject(&self) -> bool {
        self.kind == LateRequestKind::Write && self.sender == LateSender::Subject
    }
}
