//! The plain types that all other modules share: claims, events of a subject, results of trials, findings.
//! Each enum whose words appear in files or messages has one table of its words. This module imports none of
//! the others.

mod claims;
mod findings;
mod hosts;
mod interrupt;
mod output;
mod promise;
mod remedy;
mod schema;
mod subject_events;
mod tool_cards;
mod verdicts;

pub use claims::{ClaimOrigin, ClaimedOutcome, Honesty};
pub use findings::{ControlOutcome, FindingKind, HarmRank};
pub use hosts::{HostRequests, HostTreatment};
pub(crate) use hosts::{is_loopback, is_loopback_address, real_host, real_hosts};
pub use interrupt::{InterruptAction, InterruptKind};
pub use output::CapturedOutput;
pub use promise::Promise;
pub use remedy::Remedy;
pub(crate) use schema::fields_schema;
pub use subject_events::{
    ClaimEvent, ClaimedBeforeLimit, EndEvent, InterruptEvent, LateRequestEvent, LateRequestKind, StartEnd,
    StartEvent, SubjectEvent, SubjectEventError,
};
pub use tool_cards::{KeyDescription, ToolCards, ToolHints};
pub use verdicts::{Outcome, Recovery, RetriedBy, TrialStatus};
